//! Executes one run: runs its precheck, begins the turn, starts the agent, creates or restores its session, prompts
//! it, records its updates, shuts it down, and finishes the run.
//!
//! ```text
//! execute --> begin --> precheck
//!    |--> Turn: start_agent --> open_session --> converse --> shut_down_agent --> finish
//!    `--> send_heartbeats, beside the steps above, until the end is written
//! ```
//!
//! - [`execute`] takes all steps for one claimed run and returns a [`TurnEnd`].
//! - [`TurnStore`] is the port to the storage. Every call of it can be repeated safely.
//! - [`TurnControl`] carries requests from outside: end the turn and requeue the run, or send a heartbeat now.
//! - [`AgentRuntime`] holds the conditions under which agents run: the guard, the clock and the time limits.
//! - [`ToolGrants`] is the way of agents to the tools of Matins, for the time of their turns. A [`ToolServer`] answers them.
//!
//! Read `execute.rs` first.
//!
//! **Invariants**
//! - This is the only crate that runs turns, whatever their trigger.
//! - The crate uses no database. Everything that outlives the turn goes through a [`TurnStore`].
//! - When the store reports that this worker has lost the run, the turn stops its agent and writes nothing more.

mod agent_runtime;
mod approvals;
mod begin;
mod conversation;
mod execute;
mod failure_kind;
mod finish;
mod heartbeat;
mod masked_store;
mod permissions;
mod precheck;
mod recorder;
mod session_folder;
#[cfg(test)]
mod test_secret;
mod time_limits;
mod tool_grants;
mod tool_server;
mod turn_store;

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

pub use agent_runtime::AgentRuntime;
pub use execute::execute;
pub use finish::TurnEnd;
pub use heartbeat::TurnControl;
pub use session_folder::is_directory_here;
pub use tool_grants::{
    GrantedConnection, GrantedRun, MCP_ARGUMENT, RUN_FILE_VARIABLE, RunFile, TOOL_SERVER_NAME,
    ToolGrants,
};
pub use tool_server::{
    AgentConnection, ListenForTools, ListeningTools, RUN_OVER, ServeConnection, ToolServer,
};
pub use turn_store::{TurnStore, TurnStoreError};

use model::RunId;

/// Logs an error that is retried, or that the turn can do without.
fn log_warning(run: RunId, error: &(dyn std::error::Error + 'static), what: &str) {
    tracing::warn!(%run, error, "cannot {what} of {run}");
}
