//! The contract of the store, with PostgreSQL and SQLite behind it.
//!
//! **Invariants:** the only crate with SQL that names our tables, migrations included. [`open`] checks a database,
//! brings it to this version and gives a [`Database`]; everything else is a transition of [`Store`] in one transaction, or in
//! one for each run where it sweeps. Transactions never leak out. Rows are locked in the order
//! tenant, trigger, automation, seat, session. No statement asks for the time but the one
//! that reads the database's clock: instants come in as parameters.

/// The machinery below the transitions, for tests that break the rules of the schema on purpose.
#[macro_use]
pub extern crate db as database;

mod answers;
mod approvals;
mod automations;
mod batch;
mod clock;
mod coordinator;
mod error;
mod feed;
mod harnesses;
mod instances;
mod journal;
mod locks;
mod notifications;
mod opening;
mod outlook;
mod page;
mod prefixes;
mod retention;
mod rows;
mod runs;
mod schema;
mod server;
mod sessions;
mod spending;
mod store;
mod stored;
mod tenants;
mod text;
mod tokens;
mod waking;
mod webhooks;

pub use answers::{Answered, KeyClaim};
pub use approvals::ApprovalFilter;
pub use automations::{
    AutomationEdit, AutomationFilter, Automations, InSession, NewAutomation, NewTrigger, Unreadable,
};
pub use coordinator::{NewMessage, Published, Recipients, SeatMessage};
pub use db::{
    Database, Dialect, Examined, InvalidLocation, Location, OpenError, PoolSize, Scope, Sessions,
    params,
};
pub use error::Error;
pub use feed::{FeedEvent, FeedPage, Lost};
pub use instances::{InstanceStanding, Presence, Serving};
pub use notifications::{
    Attempted, Claimed, NewDelivery, NewEndpoint, Notice, NoticeAutomation, NoticeSession,
    Subscription,
};
pub use opening::{examine, open, open_to_read};
pub use outlook::{Outlook, QueueDepth};
pub use page::Page;
pub use retention::LogsTrimmed;
pub use runs::{Fired, Received, RunFilter, Swept};
pub use server::{Backend, DeadRows, Privileges, Server, Upkeep};
pub use sessions::{
    Deletion, LiveText, Logged, NewSession, News, SessionEdit, SessionFilter, Transcript,
};
pub use store::Store;
pub use stored::FORMAT;
pub use tokens::{NewBrowser, NewToken};
pub use waking::{Calls, Changed, Changes, ListenerState, Unheard, Work};
pub use webhooks::WebhookTrigger;
