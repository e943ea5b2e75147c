//! One prompt and its answer.

use std::sync::atomic::Ordering;

use model::{AcpSessionId, outcome::StopReason};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    Agent, Ended, Unreadable, Update,
    sdk::error::{AgentError, CallError},
};

/// Why a prompt has no end.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PromptError {
    /// No session is open.
    #[error("prompt the agent: no session is open")]
    NoSession,
    /// The prompt before is not answered yet.
    #[error("prompt the agent: the prompt before has no answer yet")]
    Overlap,
    /// The agent ended in the middle. It may have kept the prompt.
    #[error("get the agent's answer: it ended with {0}")]
    AgentExited(Ended),
    /// What the agent wrote cannot be read.
    #[error("read the agent's output: {0}")]
    Unreadable(Unreadable),
    /// The agent answered with an error.
    #[error("get the agent's answer: it answered {code}: {message}")]
    AgentError {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
        /// What the agent added.
        data: Option<Value>,
    },
    /// The agent's answer is not what the protocol says.
    #[error("read the agent's answer: {0}")]
    Protocol(String),
}

/// Asks the agent to stop if nobody waits for its answer any more.
struct CancelOnDrop<'a> {
    agent: &'a Agent,
    session: &'a AcpSessionId,
    answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.answered {
            self.agent.prompting.store(false, Ordering::Release);
        } else {
            self.agent.router.detach();
            self.agent.connection.cancel(self.session).ok();
        }
    }
}

impl Agent {
    /// Prompts the open session and waits for the end of the turn. What the agent tells goes to
    /// `updates`, in order, also after its answer, until a session is opened, it is prompted again, or
    /// it is gone: some agents tell the last after they have answered. What they would tell after the
    /// end of their input, and do not, is lost.
    ///
    /// The receiver must be read all the while: while it is full, nothing of the agent is read, and
    /// its answer cannot come. It may be dropped when nobody wants to know. There is no limit of time
    /// here. If the future is dropped, the agent is asked to cancel, and no other prompt is taken:
    /// prompts never overlap.
    pub async fn prompt(
        &self,
        text: &str,
        updates: mpsc::Sender<Update>,
    ) -> Result<StopReason, PromptError> {
        let session = self.opened().ok_or(PromptError::NoSession)?.id;
        if self.prompting.swap(true, Ordering::AcqRel) {
            return Err(PromptError::Overlap);
        }
        let turn = self.router.attach(session.clone(), updates);
        let mut asked = CancelOnDrop {
            agent: self,
            session: &session,
            answered: false,
        };
        let answer = self.connection.prompt(&session, text).await;
        asked.answered = true;
        turn.cancel();
        match answer {
            Ok(stop_reason) => Ok(stop_reason),
            Err(CallError::Answered(AgentError {
                code,
                message,
                data,
            })) => Err(PromptError::AgentError {
                code,
                message,
                data,
            }),
            Err(CallError::Malformed(what)) => Err(PromptError::Protocol(what)),
            Err(CallError::Closed) => Err(match self.diagnostics.unreadable() {
                Some(unreadable) => PromptError::Unreadable(unreadable),
                None => PromptError::AgentExited(self.ended().await),
            }),
        }
    }

    /// Asks the agent to stop; permission requests that wait, and those to come in this turn, are
    /// answered `cancelled`. The prompt's answer still comes, if the agent obeys.
    pub fn cancel(&self) {
        if let Some(opened) = self.opened() {
            // Fails only if the agent is gone, and then there is nothing to stop.
            self.connection.cancel(&opened.id).ok();
        }
        self.router.cancel();
    }
}
