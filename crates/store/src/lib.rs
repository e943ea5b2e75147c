//! The storage of Matins: every transition of the domain, as a method of [`Store`], on PostgreSQL or SQLite.
//!
//! A caller opens a database with [`open`], which checks it and migrates it to this version, and passes the
//! [`Database`] to a [`Store`]. Each method of [`Store`] reads, or makes one transition in one transaction. A sweep
//! uses one transaction for each run that it changes.
//!
//! **Invariants:** this is the only crate with SQL that names our tables, migrations included. No transaction leaves
//! this crate. A transition locks rows in the order tenant, trigger, automation, seat, session, so that transitions
//! do not deadlock. Only one statement reads the database's clock; every other statement receives its instants as
//! parameters.

/// The database layer below the transitions, for tests that break the rules of the schema on purpose.
#[macro_use]
pub extern crate db as database;

mod agents;
mod answers;
mod approvals;
mod automations;
mod batch;
mod clock;
mod coordinator;
mod error;
mod feed;
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
    AutomationEdit, AutomationFilter, Automations, NewAutomation, NewTrigger, SessionSelector,
    Unreadable,
};
pub use coordinator::{NewSeatMessage, Published, Recipients, SeatMessage};
pub use db::{
    Database, Dialect, Examined, InvalidLocation, Location, OpenError, PoolSize, Scope, Sessions,
    params,
};
pub use error::Error;
pub use feed::{FeedEvent, FeedPage, Lost};
pub use instances::{InstanceStatus, Presence, Serving};
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
pub use tokens::{NewBrowserToken, NewToken};
pub use waking::{Calls, Changed, Changes, ListenerState, Unheard, Work};
pub use webhooks::WebhookTrigger;
