//! One ACP agent as a child process under a guard.
//!
//! [`Agent::start`] launches a harness's command and agrees on the protocol; then one session is
//! made ([`Agent::new_session`]) or taken up again ([`Agent::restore`]), prompted
//! ([`Agent::prompt`]) and shut down ([`Agent::shutdown`]). A [`Command`] that speaks no protocol is run
//! under a guard in the same way.
//!
//! **Invariants**
//! - Knows no database and no schedule.
//! - However an [`Agent`] ends (shut down, dropped, its worker killed or frozen), no process of it
//!   stays alive: see [`guard`].
//! - Never a silent new session: restoring succeeds or says why not.
//! - What an agent sends is bounded before it is kept: lines, diagnostics, updates, requests.
//! - Of the protocol's SDK nothing is visible outside `sdk`.

mod agent;
mod command;
mod diagnostics;
mod exit;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod guard;
mod limits;
mod message;
mod offers;
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

pub use agent::{Agent, Launch, Lease, StartError, Starting};
pub use command::{Command, CommandEnd, CommandError, RunningCommand};
pub use diagnostics::Unreadable;
pub use exit::{Ended, Excess, Status, Used};
pub use guard::GuardProgram;
pub use limits::Limits;
pub use offers::{AuthMethod, Offers};
pub use open::OpenError;
pub use permission::{Decision, OptionKind, PermissionOption, PermissionRequest, Permissions};
pub use prompt::PromptError;
pub use sdk::VERSION as PROTOCOL_VERSION;
pub use session::{McpServer, Mode, Modes, Opened, Setting};
pub use settings::SettingsError;
pub use shutdown::{Exit, Grace, How};
pub use update::{Cost, PlanEntry, ToolCall, Update, Usage};
pub use uptime::uptime;
