//! The part of the world that a role can change: the tools, the conversation and the time.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::Duration,
};

use agent_client_protocol::v1::schema::{McpServerStdio, SessionUpdate};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    answer_text::sentence,
    tools::{CallError, Tools, tool_call},
};

/// The reason why the work of a turn ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error("the turn was cancelled")]
    Cancelled,
    #[error("the session has no tools of Matins")]
    NoTools,
    #[error(transparent)]
    Call(#[from] CallError),
}

/// The tools, the conversation and the time of a turn.
pub(crate) trait Workplace {
    /// Returns `true` if the session has a tool.
    fn has_tool(&self, tool: &str) -> bool;

    /// Calls a tool, and shows the call in the conversation.
    fn call(&mut self, tool: &'static str, arguments: Value) -> Result<Value, WorkError>;

    /// Shows an update in the conversation.
    fn show(&mut self, update: SessionUpdate);

    /// Pauses, so that a person can watch the work.
    ///
    /// # Errors
    ///
    /// Returns [`WorkError::Cancelled`] as soon as the turn is cancelled.
    fn pause(&mut self) -> Result<(), WorkError>;
}

/// Sends a sentence of the answer.
pub(super) fn send_text(workplace: &mut dyn Workplace, text: &str) {
    workplace.show(sentence(text));
}

/// The workplace of a turn of a client.
pub(crate) struct TurnWorkplace<'a> {
    tools: Option<(Tools, Vec<String>)>,
    updates: &'a UnboundedSender<SessionUpdate>,
    /// Its sender is dropped when the turn is cancelled. It never sends.
    cancelled: &'a Receiver<()>,
    pause: Duration,
    calls: usize,
}

impl<'a> TurnWorkplace<'a> {
    /// Opens the workplace. Starts the server of the tools and lists them, because Matins takes tools that were never
    /// listed for unavailable.
    ///
    /// # Errors
    ///
    /// Returns an error if the server of the tools cannot be used.
    pub(crate) fn open(
        server: Option<&McpServerStdio>,
        updates: &'a UnboundedSender<SessionUpdate>,
        cancelled: &'a Receiver<()>,
        pause: Duration,
    ) -> Result<Self, WorkError> {
        let start = |server| {
            let mut tools = Tools::start(server)?;
            let names = tools.list()?;
            Ok::<_, CallError>((tools, names))
        };
        Ok(Self {
            tools: server.map(start).transpose()?,
            updates,
            cancelled,
            pause,
            calls: 0,
        })
    }
}

impl Workplace for TurnWorkplace<'_> {
    fn has_tool(&self, tool: &str) -> bool {
        let tools = self.tools.as_ref();
        tools.is_some_and(|(_, names)| names.iter().any(|name| name == tool))
    }

    fn call(&mut self, tool: &'static str, arguments: Value) -> Result<Value, WorkError> {
        if self.cancelled.try_recv() == Err(TryRecvError::Disconnected) {
            return Err(WorkError::Cancelled);
        }
        let (tools, _) = self.tools.as_mut().ok_or(WorkError::NoTools)?;
        let answer = tools.call(tool, &arguments);
        let update = tool_call(self.calls, tool, &answer);
        self.calls += 1;
        self.show(update);
        Ok(answer?)
    }

    fn show(&mut self, update: SessionUpdate) {
        // The turn ends without the updates if it was cancelled.
        self.updates.send(update).ok();
    }

    fn pause(&mut self) -> Result<(), WorkError> {
        match self.cancelled.recv_timeout(self.pause) {
            Err(RecvTimeoutError::Disconnected) => Err(WorkError::Cancelled),
            Ok(()) | Err(RecvTimeoutError::Timeout) => Ok(()),
        }
    }
}
