//! Creating a session, and restoring an earlier one.
//!
//! Agents report a failed restore by different codes. This module therefore sorts the errors into the three cases that
//! a worker treats differently: the session is busy (retry later), not found (a retry does not help), or refused for
//! another reason.

use std::{path::Path, sync::PoisonError, time::Duration};

use model::{AcpSessionId, agent::RestoreBy};
use tokio::time::timeout;

use crate::{
    Agent, AuthMethod, EarlyExit, McpServer, OpenSession, UnreadableOutput, boxed,
    capabilities::format_auth_methods,
    limits::MAX_LIST_PAGES,
    sdk::error::{AgentError, CallError},
};

/// The code of `auth_required` in the protocol.
const AUTH_REQUIRED: i32 = -32000;
/// The code of `resource_not_found` in the protocol.
const RESOURCE_NOT_FOUND: i32 = -32002;
/// The codes by which known agents report that another process has the session open.
const SESSION_BUSY_CODES: [i32; 2] = [-32003, -31002];
/// The code that means a busy session only if the error also contains [`BUSY_WRITER_TEXT`].
const BUSY_WRITER_CODE: i32 = -32600;
const BUSY_WRITER_TEXT: &str = "thread_active_writer";

/// The reason why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The agent does not offer the configured method to restore sessions.
    #[error("cannot restore the session: {wanted} is required, and the agent offers {offered}")]
    Unsupported {
        /// The methods that the configuration accepts.
        wanted: &'static str,
        /// The methods that the agent offers.
        offered: &'static str,
    },
    /// Another process has the session open. A later retry may succeed.
    #[error("the session is in use elsewhere ({code}: {message})")]
    Busy {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent does not know the session any more. A retry does not help.
    #[error("the agent does not know the session `{id}`")]
    SessionNotFound {
        /// The session.
        id: AcpSessionId,
    },
    /// A person must sign in, or the configuration must name a sign-in method.
    #[error("the agent requires a sign-in; it offers {}", format_auth_methods(.methods))]
    SignInNeeded {
        /// The sign-in methods that the agent offers.
        methods: Vec<AuthMethod>,
    },
    /// The agent did not reply in time.
    #[error("the agent did not open the session within {limit:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// The agent ended before it replied.
    #[error("the agent ended before it opened the session, with {0}")]
    AgentExited(EarlyExit),
    /// The reader gave up on the agent's output, for this reason.
    #[error("cannot read the agent's output: {0}")]
    Unreadable(UnreadableOutput),
    /// The agent replied with any other error.
    #[error("cannot open the session: the agent replied with an error: {message} ({code})")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent's reply does not match the protocol.
    #[error("the agent's reply does not match the protocol: {0}")]
    Malformed(String),
}

impl Agent {
    /// Creates a new session. `cwd` must be absolute, and every later restore of the session must use the same
    /// directory.
    #[boxed]
    pub async fn new_session(
        &self,
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<OpenSession, OpenError> {
        // Detach the previous turn, so that updates of the new session cannot reach its receiver.
        self.router.detach();
        let limit = self.limits.start;
        match timeout(limit, self.connection.new_session(cwd, servers)).await {
            Ok(Ok(opened)) => Ok(self.store_open_session(opened)),
            Ok(Err(error)) => Err(self.open_error(error).await),
            Err(_) => Err(OpenError::Timeout { limit }),
        }
    }

    /// Restores a session. The caller must pass the working directory and the MCP servers with which the session was
    /// created.
    ///
    /// Discards the history that `session/load` replays. The caller must apply mode and settings again
    /// ([`Agent::apply_settings`]), because some agents lose them.
    ///
    /// # Errors
    ///
    /// Returns [`OpenError::Busy`] if a later retry may succeed, and [`OpenError::SessionNotFound`] if the agent does
    /// not know the session any more.
    #[boxed]
    pub async fn restore(
        &self,
        id: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServer],
        restore_by: RestoreBy,
    ) -> Result<OpenSession, OpenError> {
        let resume = self.uses_resume(restore_by)?;
        // Without a turn, the router discards the history that `session/load` replays.
        self.router.detach();
        let limit = self.limits.restore;
        let restored = timeout(limit, async {
            if resume {
                self.connection.resume(id, cwd, servers).await
            } else {
                self.connection.load(id, cwd, servers).await
            }
        });
        match restored.await {
            Ok(Ok(opened)) => {
                if !resume {
                    self.drain_late_replay().await;
                }
                Ok(self.store_open_session(opened))
            }
            Ok(Err(error)) => Err(self.restore_error(id, error).await),
            Err(_) => Err(OpenError::Timeout { limit }),
        }
    }

    /// Discards the history that an agent still replays after its reply to `session/load`. The protocol forbids such
    /// a late replay; without this wait, the replayed text would look like the answer to the next prompt.
    async fn drain_late_replay(&self) {
        let mut discarded = self.router.discarded();
        let pause = self.limits.late_replay_pause;
        let paused = async { while timeout(pause, discarded.changed()).await.is_ok() {} };
        timeout(self.limits.max_late_replay(), paused).await.ok();
    }

    /// Closes and then deletes a session, each of them only if the agent offers it. Returns `true` if the agent
    /// deleted the session.
    #[boxed]
    pub async fn discard_session(&self, id: &AcpSessionId) -> bool {
        let limit = self.limits.restore;
        if self.capabilities.close {
            timeout(limit, self.connection.close_session(id)).await.ok();
        }
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.capabilities.delete
            && matches!(
                timeout(limit, self.connection.delete_session(id)).await,
                Ok(Ok(()))
            )
    }

    /// Returns `true` if the restore must use `session/resume`, and `false` if it must use `session/load`.
    fn uses_resume(&self, restore_by: RestoreBy) -> Result<bool, OpenError> {
        match (restore_by, self.capabilities.resume, self.capabilities.load) {
            (RestoreBy::Auto | RestoreBy::Resume, true, _) => Ok(true),
            (RestoreBy::Auto | RestoreBy::Load, _, true) => Ok(false),
            (_, resume, load) => Err(OpenError::Unsupported {
                wanted: match restore_by {
                    RestoreBy::Auto => "session/resume or session/load",
                    RestoreBy::Resume => "session/resume",
                    RestoreBy::Load => "session/load",
                },
                offered: match (resume, load) {
                    (true, _) => "session/resume",
                    (_, true) => "session/load",
                    _ => "neither session/resume nor session/load",
                },
            }),
        }
    }

    fn store_open_session(&self, opened: OpenSession) -> OpenSession {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.insert(opened).clone()
    }

    async fn open_error(&self, error: CallError) -> OpenError {
        match error {
            CallError::ErrorReply(AgentError {
                code: AUTH_REQUIRED,
                ..
            }) => OpenError::SignInNeeded {
                methods: self.capabilities.auth_methods.clone(),
            },
            CallError::ErrorReply(AgentError { code, message, .. }) => {
                OpenError::Refused { code, message }
            }
            CallError::Closed => match self.diagnostics.unreadable() {
                Some(unreadable) => OpenError::Unreadable(unreadable),
                None => OpenError::AgentExited(self.early_exit().await),
            },
            CallError::Malformed(detail) => OpenError::Malformed(detail),
        }
    }

    /// Sorts the error of a restore. No single code means that a session does not exist, so the list of the agent's
    /// sessions decides if the agent can list them.
    async fn restore_error(&self, id: &AcpSessionId, error: CallError) -> OpenError {
        let CallError::ErrorReply(reply) = error else {
            return self.open_error(error).await;
        };
        if is_busy(&reply) {
            let AgentError { code, message, .. } = reply;
            return OpenError::Busy { code, message };
        }
        if reply.code != AUTH_REQUIRED {
            let listed = timeout(self.limits.restore, self.lists_session(id))
                .await
                .ok()
                .flatten();
            // Without a list, the code alone decides.
            let not_found = listed.map_or(reply.code == RESOURCE_NOT_FOUND, |listed| !listed);
            if not_found {
                return OpenError::SessionNotFound { id: id.clone() };
            }
        }
        self.open_error(CallError::ErrorReply(reply)).await
    }

    /// Returns `true` if the agent lists the session. Returns `None` if the agent cannot list its sessions, or if the
    /// list has more than [`MAX_LIST_PAGES`] pages.
    async fn lists_session(&self, id: &AcpSessionId) -> Option<bool> {
        if !self.capabilities.list {
            return None;
        }
        let mut cursor = None;
        for _ in 0..MAX_LIST_PAGES {
            let page = self.connection.list(cursor).await.ok()?;
            if page.sessions.contains(id) {
                return Some(true);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Some(false);
            }
        }
        None
    }
}

fn is_busy(error: &AgentError) -> bool {
    let names_other_writer = || {
        let data = error
            .data
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        error.message.contains(BUSY_WRITER_TEXT) || data.contains(BUSY_WRITER_TEXT)
    };
    SESSION_BUSY_CODES.contains(&error.code)
        || (error.code == BUSY_WRITER_CODE && names_other_writer())
}
