//! One ACP agent as a child process under a guard.
