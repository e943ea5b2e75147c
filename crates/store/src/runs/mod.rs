//! The life of runs, one transition a file.

mod about;
mod begin;
pub(crate) mod cancel;
mod claim;
mod decline;
mod end;
mod fire;
mod heartbeat;
mod lock;
pub(crate) mod not_run;
pub(crate) mod occur;
pub(crate) mod place;
mod plans;
mod precheck;
mod read;
mod record;
mod retry;
mod say;
pub(crate) mod spend;
mod sweep;
mod webhook;

pub(crate) use begin::Beginning;
pub(crate) use end::Finishing;
pub use fire::Fired;
pub(crate) use heartbeat::Beating;
pub(crate) use lock::lock;
pub use read::RunFilter;
pub(crate) use record::{Recording, owned};
pub(crate) use say::Words;
pub use sweep::Swept;
pub use webhook::Received;
