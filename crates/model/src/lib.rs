//! The domain of Matins: its entities, state machines and decisions.
//!
//! **Invariant:** this crate does no I/O, has no `async` code, and never reads a clock, randomness or the
//! environment. A function that depends on time or chance takes a [`Timestamp`], a [`Clock`] or an [`Entropy`], so
//! that tests can fix both.

pub mod access;
pub mod agent;
pub mod allowlist;
pub mod approval;
pub mod automation;
pub mod budget;
pub mod entity;
mod entry;
pub mod event;
pub mod feed;
pub mod fleet_time;
pub mod ids;
mod invalid_policy;
pub mod lifecycle;
pub mod limits;
pub mod nearest;
pub mod notification;
pub mod occurrence;
pub mod outcome;
pub mod permission;
pub mod policy;
pub mod precheck;
pub mod prompt;
pub mod run;
pub mod schedule;
#[cfg(feature = "schema")]
mod schema;
pub mod session;
pub mod signing_secret;
pub mod text_enum;
pub mod time;
pub mod transcript;
pub mod turn;

#[cfg(test)]
mod tests_decisions;
#[cfg(test)]
mod tests_states;

pub use ids::*;
pub use time::{Clock, Entropy, Timestamp, Uptime};
