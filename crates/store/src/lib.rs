//! The contract of the store, with PostgreSQL and SQLite behind it.
//!
//! **Invariants:** the only crate with SQL. [`open`] checks a database, brings it to this version
//! and gives a [`Database`]; everything else is a transition of [`Store`] in one transaction, or in
//! one for each run where it sweeps. Transactions never leak out. Rows are locked in the order
//! trigger, automation, seat, session. No statement asks for the time: instants come in as
//! parameters.

#[macro_use]
pub mod database;
mod automations;
mod error;
mod harnesses;
mod journal;
pub mod opening;
mod outlook;
mod prefixes;
mod retention;
mod rows;
mod runs;
mod sessions;
mod store;
mod tenants;
mod together;

pub use automations::{AutomationEdit, Automations, NewAutomation, Unreadable};
pub use database::{Database, Scope};
pub use error::Error;
pub use opening::{Examined, Location, OpenError, examine, open, open_to_read};
pub use outlook::Outlook;
pub use retention::LogsTrimmed;
pub use runs::{Fired, RunFilter, Swept};
pub use sessions::{Deletion, NewSession, Transcript};
pub use store::Store;
pub use tenants::InstanceStanding;
