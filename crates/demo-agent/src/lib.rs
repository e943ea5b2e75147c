//! A small agent without any model, to try Matins before a real agent is set up.
//!
//! It speaks ACP version 1 on standard input and output, keeps its sessions as files in its home
//! folder, and answers with what it was asked before. It behaves as a good agent does: it offers
//! resume, load, list and close, holds a lock on each open session, and refuses to restore a
//! session in another working directory. MCP servers are accepted and not used.
//!
//! **Invariants:** speaks the agent's side of the protocol and knows no other crate of the workspace,
//! so that it proves nothing by sharing code with the client that starts it.

mod agent;
mod disk;
mod server;
mod session;

use std::{io, path::PathBuf, time::Duration};

/// Tells why the demonstration agent cannot serve its client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The home folder cannot be made.
    #[error("failed to make {}", path.display())]
    Home {
        /// The home folder.
        path: PathBuf,
        /// Why the system refuses it.
        source: io::Error,
    },
    /// The runtime does not start.
    #[error("failed to start the runtime")]
    Runtime(#[source] io::Error),
    /// The connection to the client failed.
    #[error("failed to serve the client")]
    Connection(#[source] agent_client_protocol::Error),
}

/// Serves one client on standard input and output until it hangs up. The sessions are kept in `home`, which
/// is made if it does not exist; `pace` is the pause between two updates of a turn.
pub fn run(home: PathBuf, pace: Duration) -> Result<(), Error> {
    let home = disk::Home::open(&home).map_err(|source| Error::Home { path: home, source })?;
    let agent = agent::DemoAgent::new(home, pace);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(Error::Runtime)?;
    let served = runtime.block_on(server::serve(agent));
    // A read of standard input that is still under way must not keep the process.
    runtime.shutdown_background();
    served.map_err(Error::Connection)
}
