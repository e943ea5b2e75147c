//! Defines the domain of Matins: its entities, state machines and decisions.
//!
//! ```text
//! Tenant ─┬─ Session ── Seat ── Run ── Message     a conversation, one agent in it, its turns, the transcript
//!         ├─ Automation ── Trigger                 a prompt that schedules and webhooks turn into runs
//!         ├─ Agent                                 the configuration that starts the process of a seat's agent
//!         └─ Endpoint ── Delivery                  an address that receives notifications
//!
//! Trigger ──occurrence::plan──▶ due instants ──automation::decide_occurrence──▶ Run or skip
//! Run ──turn──▶ outcome::Outcome ──outcome::follow_up──▶ the next attempt, or the end of the input
//! ```
//!
//! The modules `entity` and `run` have the entities, `lifecycle` the trait of the state machines, and `limits` all
//! limits and default intervals. Read `entity.rs` first, then `run.rs` and `occurrence.rs`.
//!
//! **Invariant:** this crate does no I/O, has no `async` code, and never reads a clock, randomness or the
//! environment. A function that depends on time or chance takes a [`Timestamp`], a [`Clock`] or an [`Entropy`], so
//! that tests can fix both.

pub mod access;
pub mod agent;
pub mod allowlist;
pub mod approval;
pub mod artifact;
mod assignment;
pub mod automation;
pub mod budget;
pub mod caller_name;
pub mod cursor;
pub mod entity;
mod entry;
pub mod escape;
pub mod event;
pub mod feed;
pub mod fleet_time;
pub mod goal;
pub mod ids;
mod invalid_policy;
pub mod lifecycle;
pub mod limits;
pub mod memory;
pub mod nearest;
pub mod notification;
pub mod occurrence;
mod one_line;
pub mod outcome;
pub mod owner;
pub mod permission;
pub mod policy;
pub mod precheck;
pub mod prompt;
pub mod question;
pub mod run;
pub mod schedule;
#[cfg(feature = "schema")]
mod schema;
pub mod seat;
pub mod seat_message;
pub mod session;
pub mod signing_secret;
pub mod team;
pub mod text_enum;
pub mod time;
pub mod tools;
pub mod transcript;
pub mod trigger_file;
pub mod turn;
mod working_directory;

#[cfg(test)]
mod tests_decisions;
#[cfg(test)]
mod tests_states;

pub use ids::*;
pub use one_line::is_one_line;
pub use time::{Clock, Entropy, Timestamp, Uptime};
pub use working_directory::WorkingDirectory;
