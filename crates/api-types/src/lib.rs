//! The types of the HTTP API and their JSON schemas: requests, responses, patches and events.
//!
//! The crates `api` (routes), `service` (rules), `client` (calls) and `cli` (commands) share these types. The doc
//! comments of the types become the descriptions in the published API document, `docs/openapi.json`.
//!
//! Read `document.rs` first: its macro declares the three types of a configuration document and the conversions between
//! them. `problem.rs` has the only shape of an error, and `trace_event.rs` the events that leave the process.
//!
//! | type | example | unknown keys |
//! | --- | --- | --- |
//! | request | [`PoliciesRequest`] | refused, with the path of the field |
//! | response | [`Policies`] | ignored by the client, because a newer server may send more |
//! | patch | [`PoliciesPatch`] | refused, with the path of the field |
//!
//! **Invariant:** this crate holds types and their conversions only. A domain type (crate `model`) is never a request
//! or a response: each has a type here, and one conversion that destructures the domain type, so that a new field
//! fails to compile until it is mapped. Values that have one textual form everywhere (IDs, instants, words such as
//! `queue`) are those of `model`.

mod access;
mod agents;
mod approvals;
mod artifacts;
mod automations;
mod blocked_on;
mod budgets;
mod document;
mod goals;
mod instances;
mod memory;
mod messages;
mod milliseconds;
mod notification_body;
mod notifications;
mod overview;
mod page;
mod policies;
mod previews;
mod problem;
mod questions;
mod resource_limits;
mod run_batches;
mod run_outcome;
mod runs;
mod seat_messages;
mod server;
mod session_target;
mod sessions;
mod settings;
mod tagged;
mod tasks;
mod trace_event;
mod triggers;

pub use access::*;
pub use agents::*;
pub use approvals::*;
pub use artifacts::*;
pub use automations::*;
pub use blocked_on::*;
pub use budgets::*;
pub use document::Change;
pub use goals::*;
pub use instances::*;
pub use memory::*;
pub use messages::*;
pub use model::{
    access::{Permission, Role, TokenKind},
    approval::{ApprovalStatus, OnUnmatched},
    goal::{CountedVerdict, GoalStatus, Severity, Step, TaskKind, TaskStatus},
    notification::{DeliveryStatus, NotificationKind},
    question::{QuestionKind, QuestionStatus},
    seat_message::SeatMessageStatus,
};
pub use notification_body::*;
pub use notifications::*;
pub use overview::*;
pub use page::*;
pub use policies::*;
pub use previews::*;
pub use problem::*;
pub use questions::*;
pub use resource_limits::*;
pub use run_batches::*;
pub use run_outcome::*;
pub use runs::*;
pub use seat_messages::*;
pub use server::*;
pub use session_target::{InvalidSessionTarget, SessionTarget};
pub use sessions::*;
pub use settings::*;
pub use tasks::*;
pub use trace_event::*;
pub use triggers::*;

/// The version of the API: of the names of its paths, properties and words. It grows when one of them changes its name
/// or its meaning, and stays when one is added.
pub const API_VERSION: u32 = 2;

/// The header of every response with [`API_VERSION`].
pub const API_VERSION_HEADER: &str = "matins-api-version";
