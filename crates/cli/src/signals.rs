//! The signals Ctrl-C (SIGINT) and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CliError;

/// The signals by which users and service managers request a process to stop.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Starts to listen. From then on these signals no longer end the process.
    pub(crate) fn listen() -> Result<Self, CliError> {
        let listen = |kind| {
            signal(kind).map_err(|source| CliError::environment("cannot listen to signals", source))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
