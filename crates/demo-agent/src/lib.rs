//! A small agent without a language model, to try Matins before a real agent is set up.
//!
//! The agent speaks ACP version 1 on standard input and output, keeps its sessions as files in its home folder, and
//! answers with the earlier requests of the session. It follows the protocol closely: it offers resume, load, list
//! and close, holds a lock on each open session, and refuses to restore a session in another working directory. It
//! calls the tools of the session's MCP server for a daily check and in the turns of a goal, and for no other request.
//!
//! - `dispatch` receives the requests of the client and passes them to `agent::DemoAgent`.
//! - `agent::DemoAgent` opens sessions and runs their turns.
//! - `session::Memory` holds the turns of a session and derives the answers from them. `answer_text` makes their pieces.
//! - `turn_work::Work` is the work of a turn that does more than answer, with `tools::Tools`: a `daily_check::DailyCheck`,
//!   or a `goal::GoalTurn`, in which the agent plays a role of a team.
//! - `session_files::SessionFolder` stores and locks the sessions on disk.
//!
//! Read `dispatch.rs` first.
//!
//! **Invariants:** the crate implements the agent's side of the protocol and depends on no other crate of the
//! workspace. Shared code could hide an error that the agent and the client that starts it have in common. Only its tests
//! render the prompts of a goal with `model`.

mod agent;
mod answer_text;
mod daily_check;
mod dispatch;
mod goal;
mod session;
mod session_files;
mod tools;
mod turn_work;

use std::{io, path::PathBuf, time::Duration};

/// An error that ends the demonstration agent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The home folder cannot be created.
    #[error("cannot create the folder {}", path.display())]
    Home {
        /// The path of the home folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The runtime cannot be started.
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    /// The connection to the client failed.
    #[error("the connection to the client failed")]
    Connection(#[source] agent_client_protocol::Error),
}

/// Serves one client on standard input and output until the client closes the connection. Keeps the sessions in
/// `home`, which it creates if necessary. Pauses for `pace` between two updates of a turn.
pub fn run(home: PathBuf, pace: Duration) -> Result<(), Error> {
    let home = session_files::SessionFolder::open(&home)
        .map_err(|source| Error::Home { path: home, source })?;
    let agent = agent::DemoAgent::new(home, pace);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(Error::Runtime)?;
    let result = runtime.block_on(dispatch::serve(agent));
    // Do not wait for a pending read of standard input: it may never return, and would keep the process alive.
    runtime.shutdown_background();
    result.map_err(Error::Connection)
}
