//! Runs an agent that speaks the Agent Client Protocol (ACP) as a child process under a guard.
//!
//! ```text
//! Launch --Agent::launch--> StartingAgent --negotiate--> Agent --shutdown--> Exit
//!                                                          |
//!          new_session, restore --> OpenSession            |-- prompt --> Update, Update, ... --> stop reason
//!          apply_settings                                  `-- PermissionRequest --> Permissions --> Decision
//! ```
//!
//! - [`Launch`] is the agent's command and its conditions; [`Agent::launch`] starts the process.
//! - [`StartingAgent`] negotiates the version of the protocol and becomes an [`Agent`].
//! - An [`Agent`] creates a session ([`Agent::new_session`]) or restores an earlier one ([`Agent::restore`]), takes
//!   prompts ([`Agent::prompt`]) and is shut down ([`Agent::shutdown`]).
//! - A [`Lease`] keeps the agent alive. If its owner does not renew it in time, the guard kills the agent.
//! - [`Permissions`] is the port that decides the agent's permission requests.
//! - A [`Command`] is a program that speaks no protocol, such as a precheck. It runs under a guard in the same way.
//! - [`guard`] is the process between the worker and the agent.
//! - A [`WorkerLock`] proves to other workers of the same folder that a worker lives, and kills the processes that dead
//!   ones have left.
//!
//! Read `agent.rs` first, then `guard/mod.rs`.
//!
//! **Invariants**
//! - The crate uses no database and no schedule.
//! - However an [`Agent`] ends (shut down, dropped, its worker killed or frozen), none of its processes stays alive:
//!   see [`guard`].
//! - [`Agent::restore`] never replaces a session silently by a new one: it restores the session or returns an error.
//! - The crate bounds all input from an agent before it keeps it: lines, diagnostics, updates and requests.
//! - No type of the protocol's SDK is visible outside `sdk`.

mod agent;
mod capabilities;
mod command;
mod diagnostics;
mod exit;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod guard;
mod limits;
mod message;
mod open;
mod output;
mod permission;
mod prompt;
mod sdk;
mod session;
mod settings;
mod shutdown;
mod tail;
mod update;
mod uptime;
mod worker_host;
mod worker_lock;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use agent::{Agent, Launch, Lease, StartError, StartingAgent};
pub use capabilities::{AuthMethod, Capabilities};
pub use command::{Command, CommandEnd, CommandError, RunningCommand};
pub use diagnostics::UnreadableOutput;
pub use exit::{EarlyExit, ExceededLimit, ExitStatus, ResourceUsage};
pub use guard::GuardProgram;
pub use limits::Limits;
pub use open::OpenError;
pub use permission::{
    Decision, ElicitationReply, ElicitationRequest, OptionKind, PermissionOption,
    PermissionRequest, Permissions,
};
pub use prompt::PromptError;
pub use sdk::PROTOCOL_VERSION;
pub use session::{McpServer, Mode, Modes, OpenSession, Setting};
pub use settings::SettingsError;
pub use shutdown::{Exit, GracePeriods, ShutdownStep};
pub use update::{
    CompactionUpdate, Cost, Notice, PlanEntry, ToolCall, ToolCallUpdate, Update, Usage,
};
pub use uptime::uptime;
pub use worker_lock::{WorkerLock, is_worker_dead};
