//! A prompt and its answer.
//!
//! Prompts never overlap: an agent takes the next prompt only after it has answered the previous one.

use std::sync::atomic::Ordering;

use model::{AcpSessionId, outcome::StopReason};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    Agent, EarlyExit, UnreadableOutput, Update, boxed,
    sdk::error::{AgentError, CallError},
};

/// The reason why a prompt has no stop reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PromptError {
    /// No session is open.
    #[error("cannot prompt the agent: no session is open")]
    NoSession,
    /// The agent has not answered the previous prompt yet.
    #[error("cannot prompt the agent: the previous prompt has no answer yet")]
    PromptInProgress,
    /// The agent ended before it answered. Its session may contain the prompt all the same.
    #[error("the agent ended before it answered, with {0}")]
    AgentExited(EarlyExit),
    /// The reader gave up on the agent's output, for this reason.
    #[error("cannot read the agent's output: {0}")]
    Unreadable(UnreadableOutput),
    /// The agent replied with an error.
    #[error("the agent replied with an error: {message} ({code})")]
    AgentError {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
        /// The additional data of the error.
        data: Option<Value>,
    },
    /// The agent's reply does not match the protocol.
    #[error("the agent's reply does not match the protocol: {0}")]
    Protocol(String),
}

/// Cancels the prompt if the caller of [`Agent::prompt`] drops the future before the answer.
struct CancelOnDrop<'a> {
    agent: &'a Agent,
    session: &'a AcpSessionId,
    is_answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            self.agent.is_prompting.store(false, Ordering::Release);
        } else {
            // `is_prompting` stays `true`, because the agent may still work on this prompt and a second one would
            // overlap with it.
            self.agent.router.detach();
            self.agent.connection.cancel(self.session).ok();
        }
    }
}

impl Agent {
    /// Prompts the open session and waits for the end of the turn. Each of `texts` becomes a content block of its own.
    ///
    /// Sends the agent's updates to `updates`, in order. Updates continue after the answer until another session is
    /// opened, the next prompt begins or the agent ends, because some agents send their last updates after the
    /// answer. Updates that an agent still holds back when its input ends may be lost.
    ///
    /// The caller must read the receiver all the while: while it is full, no output of the agent is read, and the
    /// answer cannot arrive. The caller may drop the receiver if it needs no updates. The function has no time limit.
    /// If the caller drops the future, the agent is asked to cancel, and every later prompt fails with
    /// [`PromptError::PromptInProgress`].
    ///
    /// # Errors
    ///
    /// Returns an error if no session is open, if another prompt has no answer yet, if the agent ends first, or if it
    /// replies with an error.
    #[boxed]
    pub async fn prompt(
        &self,
        texts: &[&str],
        updates: mpsc::Sender<Update>,
    ) -> Result<StopReason, PromptError> {
        let session = self.open_session().ok_or(PromptError::NoSession)?.id;
        if self.is_prompting.swap(true, Ordering::AcqRel) {
            return Err(PromptError::PromptInProgress);
        }
        let turn = self.router.attach(session.clone(), updates);
        // From here on, dropping this future cancels the prompt, so that the agent does not work on without a reader.
        let mut cancel_on_drop = CancelOnDrop {
            agent: self,
            session: &session,
            is_answered: false,
        };
        let answer = self.connection.prompt(&session, texts).await;
        cancel_on_drop.is_answered = true;
        // Requests that are still open belong to the finished prompt, so they get the answer `cancelled`.
        turn.cancel();
        match answer {
            Ok(stop_reason) => Ok(stop_reason),
            Err(CallError::ErrorReply(AgentError {
                code,
                message,
                data,
            })) => Err(PromptError::AgentError {
                code,
                message,
                data,
            }),
            Err(CallError::Malformed(detail)) => Err(PromptError::Protocol(detail)),
            Err(CallError::Closed) => Err(match self.diagnostics.unreadable() {
                Some(unreadable) => PromptError::Unreadable(unreadable),
                None => PromptError::AgentExited(self.early_exit().await),
            }),
        }
    }

    /// Asks the agent to cancel the prompt. Permission requests of this turn, pending and later ones, are answered
    /// `cancelled`. The prompt's answer still arrives if the agent obeys.
    pub fn cancel(&self) {
        if let Some(opened) = self.open_session() {
            // Sending fails only if the connection has ended, and then no prompt is left to cancel.
            self.connection.cancel(&opened.id).ok();
        }
        self.router.cancel();
    }
}
