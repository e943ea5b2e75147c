//! One ACP agent as a child process under a guard.
pub mod guard;
mod exit;
pub use exit::Status;
