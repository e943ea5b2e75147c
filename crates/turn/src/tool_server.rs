//! The port between the socket of the tools and the server of the tools behind it.
//!
//! A server answers its agents itself. A runtime passes each message of an agent on to its server.

use std::{fmt, io, sync::Arc};

use futures::future::BoxFuture;
use model::{WorkerId, access::secret::RunSecret};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{GrantedRun, ToolGrants};

/// Serves the tools of running turns.
pub trait ToolServer: Send + Sync {
    /// Opens the tools of a run to a process that has shown `secret`. The error is a text for the agent: the secret is
    /// another one, the turn is over, or the tools cannot be served.
    fn open(
        &self,
        run: GrantedRun,
        secret: RunSecret,
    ) -> BoxFuture<'_, Result<ServeConnection, String>>;
}

/// Serves the tools of one run over a connection, until the agent closes it or the token is cancelled.
pub type ServeConnection =
    Box<dyn FnOnce(AgentConnection, CancellationToken) -> BoxFuture<'static, ()> + Send>;

/// The connection of an agent to its tools.
pub struct AgentConnection {
    /// The messages of the agent, one on each line.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// The answers, one on each line.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// An open socket of tools.
pub struct ListeningTools {
    /// The way of agents to the socket.
    pub grants: ToolGrants,
    /// Closes the socket when it is dropped.
    pub socket: Box<dyn Send + Sync>,
}

/// Opens the socket at which a worker serves tools. The second argument are the dead workers of its folder, whose files are
/// removed.
pub type ListenForTools = Box<
    dyn FnOnce(&WorkerId, &[WorkerId], Arc<dyn ToolServer>) -> io::Result<ListeningTools>
        + Send
        + Sync,
>;

/// The answer to an agent whose turn is over, or that has another secret.
pub const RUN_OVER: &str = "401 run_over: the turn is over, or its secret is another one";

impl fmt::Debug for ListeningTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("ListeningTools");
        output.field("grants", &self.grants).finish_non_exhaustive()
    }
}
