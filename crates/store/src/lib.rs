//! The storage of Matins: every transition of the domain, as a method of [`Store`], on PostgreSQL or SQLite.
//!
//! ```text
//! open(Location) -> Database -> Store::new() -> Store -> one method per query or transition
//!                                                 |
//!                                                 +-> changes(), subscribe_work(): notification after commits
//!                                                 +-> session updates, feeds, seat messages: ordered logs
//! ```
//!
//! - [`open`] checks a [`Database`] and migrates it to this version.
//! - [`Store`] has all queries and transitions. Each transition runs in one transaction. A sweep uses one transaction
//!   for each run that it changes.
//! - [`Changes`] and [`WorkSubscription`] wake tasks after commits. [`SessionUpdates`], [`FeedPage`] and
//!   [`SeatMessageStream`] read the ordered logs.
//! - `sql/` has one file for each statement. `stored/` has the formats of the JSON documents.
//!
//! Read `store.rs` first, then `runs/mod.rs` for the life of a run.
//!
//! **Invariants:** this is the only crate with SQL that names our tables, migrations included. No transaction leaves
//! this crate. A transition locks rows in the order tenant, trigger, automation, seat, run, session, so that
//! transitions do not deadlock. Only one statement reads the database's clock; every other statement receives its instants as
//! parameters.

/// The database layer below the transitions, for tests that break the rules of the schema on purpose.
#[macro_use]
pub extern crate db as database;

mod agents;
mod approvals;
mod artifacts;
mod automation_deletion;
mod automations;
mod batch;
mod batches;
mod changes;
mod clock;
mod closed_days;
mod database_server;
mod decision_wait;
mod document_format;
mod error;
mod feed;
mod generic_plan;
mod goals;
mod id_lookup;
mod idempotency;
mod instances;
mod locks;
mod memory;
mod new_instances;
mod new_memory_entry;
mod new_sessions;
mod notifications;
mod opening;
mod overview;
mod owned_runs;
mod page;
mod question_log;
mod questions;
mod reported_turns;
mod retention;
mod rows;
mod runs;
mod scheduler_status;
mod schema;
mod seat_message_rows;
mod seat_messages;
mod session_log;
mod session_title;
mod sessions;
mod shown_usage;
mod spenders;
mod store;
mod stored;
mod tenants;
mod text_search;
mod tokens;
mod tool_caller;
mod tool_calls;
mod trigger_files;
mod usage;
mod webhooks;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use agents::{AgentRemoval, UsingAutomation, UsingSession};
pub use approvals::ApprovalFilter;
pub use automations::{
    AutomationEdit, AutomationFilter, AutomationItem, AutomationItems, AutomationNumbers,
    AutomationRank, AutomationSort, Automations, CorruptAutomation, InvalidRank, NewAutomation,
    NewTrigger, PAUSED_BY_PERSON, RecomputeReport, RunOutcome, SessionSelector, SortedAutomations,
};
pub use changes::{
    ChangeSet, Changes, ListenerState, PollingReason, WorkSignals, WorkSubscription,
};
pub use database_server::{DeadRows, OpenTransaction, PostgresStatus, Privileges, VacuumStatus};
pub use db::{
    Database, DatabaseExamination, Dialect, InvalidLocation, Location, OpenError, PoolSize,
    PoolingMode, Scope, params,
};
pub use document_format::DOCUMENT_FORMAT;
pub use error::Error;
pub use feed::{FeedEvent, FeedPage, UnusableCursor};
pub use idempotency::{KeyClaim, RecordedResponse};
pub use instances::{InstanceServer, InstanceStatus, ServedInstance, ServerHeartbeatReply};
pub use memory::{MemoryPage, MemoryVersion};
pub use new_instances::NewInstance;
pub use new_memory_entry::NewMemoryEntry;
pub use new_sessions::{NewSeat, NewSession};
pub use notifications::{
    AttemptResult, ClaimedDelivery, NewDelivery, NewEndpoint, Notice, NoticeAutomation, NoticeGoal,
    NoticeSession, Subscription,
};
pub use opening::{examine, open, open_read_only};
pub use overview::{
    NeedyGoal, OverviewLimits, OverviewPeriods, OverviewRows, Period, PeriodCounts, PeriodOutcome,
    PeriodOutcomes, TimelineRows,
};
pub use page::Page;
pub use questions::QuestionFilter;
pub use reported_turns::ReportedTurns;
pub use retention::LogsTrimmed;
pub use runs::{
    CountedRun, DirectoryRefusal, FireReport, GoalChange, GoalFilter, GoalItem, GoalReportRows,
    GoalSeat, GoalTask, GoalUsage, GoalView, NewGoal, PromotionReport, ReportedArtifact,
    ReportedTask, RunFilter, RunNames, RunVerdict, TaskChecks, TaskCount, TaskDetails, TaskFinding,
    TaskRunRow, WebhookReceipt,
};
pub use scheduler_status::{QueueDepth, SchedulerStatus};
pub use seat_message_rows::SeatMessage;
pub use seat_messages::{NewSeatMessage, Recipients, SeatMessageStream};
pub use sessions::{
    ChangeCursor, EarlierMessages, InvalidCursor, LastMessage, LiveText, LogEntry, SeatOverview,
    SessionDeletion, SessionEdit, SessionFilter, SessionItem, SessionOrder, SessionUpdates,
};
pub use spenders::{ListedSpender, SpenderUsage};
pub use store::Store;
pub use tokens::{NewBrowserToken, NewToken, RevocationExtent, TokenRevocation};
pub use tool_caller::ToolCaller;
pub use tool_calls::{
    CallingTurn, MemorySearch, NewAgentAutomation, NewArtifact, NewQuestion, RecalledEntry,
    StagedCancellation, StagedTask, StoredTaskReport, TaskContent, TaskReport, TurnOffer, TurnTask,
    TurnTasks,
};
pub use trigger_files::{ClaimedTriggerFile, TriggerContent, TriggerFileWrite};
pub use webhooks::WebhookTrigger;
