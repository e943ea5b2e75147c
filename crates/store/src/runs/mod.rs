//! The life cycle of runs, one transition in each file.
//!
//! A run is one attempt at an input. The run is `deferred` while it waits for its seat, `queued` while it waits for a
//! worker, `delivered` once a worker has claimed it, `running` during its turn, and then over.

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
