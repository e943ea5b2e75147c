//! One ACP agent as a child process under a guard.
//!
//! [`Agent::start`] starts an agent from its command line and negotiates the version of the Agent Client Protocol
//! (ACP) with it. The caller then creates a session ([`Agent::new_session`]) or restores an earlier one
//! ([`Agent::restore`]), prompts it ([`Agent::prompt`]) and shuts the agent down ([`Agent::shutdown`]). A [`Command`]
//! is a program that speaks no protocol, such as a precheck; it runs under a guard in the same way.
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
mod router;
mod sdk;
mod session;
mod settings;
mod shutdown;
mod tail;
mod update;
mod uptime;

pub use agent::{Agent, Launch, Lease, StartError, StartingAgent};
pub use capabilities::{AuthMethod, Capabilities};
pub use command::{Command, CommandEnd, CommandError, RunningCommand};
pub use diagnostics::UnreadableOutput;
pub use exit::{EarlyExit, ExceededLimit, ExitStatus, ResourceUsage};
pub use guard::GuardProgram;
pub use limits::Limits;
pub use open::OpenError;
pub use permission::{Decision, OptionKind, PermissionOption, PermissionRequest, Permissions};
pub use prompt::PromptError;
pub use sdk::PROTOCOL_VERSION;
pub use session::{McpServer, Mode, Modes, OpenSession, Setting};
pub use settings::SettingsError;
pub use shutdown::{Exit, GracePeriods, ShutdownStep};
pub use update::{Cost, PlanEntry, ToolCall, Update, Usage};
pub use uptime::uptime;
