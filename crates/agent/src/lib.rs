//! One ACP agent as a child process under a guard.
mod exit;
pub mod guard;
pub use exit::Status;
