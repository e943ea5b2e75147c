//! The life of runs, one transition a file.

mod about;
pub(crate) mod batches;
mod begin;
pub(crate) mod cancel;
mod claim;
mod decline;
mod end;
mod fire;
mod heartbeat;
pub(crate) mod not_run;
pub(crate) mod occur;
pub(crate) mod place;
mod plans;
mod precheck;
mod read;
mod record;
mod refuse;
mod retry;
mod say;
pub(crate) mod spend;
mod sweep;
mod webhook;

pub use fire::Fired;
pub use read::RunFilter;
pub(crate) use record::owned;
pub use sweep::Swept;
pub use webhook::Received;
