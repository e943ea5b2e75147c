//! Making a session, and taking one up again.

use std::{path::Path, sync::PoisonError, time::Duration};

use model::{AcpSessionId, harness::RestoreBy};
use tokio::time::timeout;

use crate::{
    Agent, AuthMethod, Ended, McpServer, Opened, Unreadable,
    limits::LIST_PAGES,
    offers::names,
    sdk::error::{AgentError, CallError},
};

/// `auth_required` in the protocol.
const SIGN_IN_NEEDED: i32 = -32000;
/// `resource_not_found` in the protocol.
const NOT_FOUND: i32 = -32002;
/// Codes that agents seen use for a session that another process has open.
const BUSY: [i32; 2] = [-32003, -31002];
/// With this code, a session is busy if the error says [`BUSY_WRITER`], too.
const BUSY_IF_WRITER: i32 = -32600;
const BUSY_WRITER: &str = "thread_active_writer";

/// Why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The agent cannot take up sessions that way.
    #[error("restore the session: the agent offers {offered}, {wanted} was asked for")]
    Unsupported {
        /// What was asked for.
        wanted: &'static str,
        /// What the agent offers.
        offered: &'static str,
    },
    /// Another process has the session open. Trying again later may help.
    #[error("restore the session: it is in use elsewhere ({code}: {message})")]
    Busy {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent does not know the session any more. Trying again does not help.
    #[error("restore the session {id}: the agent does not know it")]
    Gone {
        /// The session.
        id: AcpSessionId,
    },
    /// A person must sign in, or the harness must name a method.
    #[error("open a session: the agent wants a sign-in; it offers {}", names(.methods))]
    SignInNeeded {
        /// The ways to sign in.
        methods: Vec<AuthMethod>,
    },
    /// The agent did not answer in time.
    #[error("open a session within {limit:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// The agent ended meanwhile.
    #[error("open a session: the agent ended with {0}")]
    AgentExited(Ended),
    /// What the agent wrote cannot be read.
    #[error("read the agent's output: {0}")]
    Unreadable(Unreadable),
    /// The agent answered with any other error.
    #[error("open a session: the agent answered {code}: {message}")]
    Refused {
        /// The JSON-RPC code.
        code: i32,
        /// The agent's message.
        message: String,
    },
    /// The agent's answer is not what the protocol says.
    #[error("read the agent's answer: {0}")]
    Malformed(String),
}

impl Agent {
    /// Makes a new session. `cwd` is absolute and never changes for this session.
    pub async fn new_session(
        &self,
        cwd: &Path,
        servers: &[McpServer],
    ) -> Result<Opened, OpenError> {
        self.router.detach();
        let limit = self.limits.start;
        match timeout(limit, self.connection.new_session(cwd, servers)).await {
            Ok(Ok(opened)) => Ok(self.remember(opened)),
            Ok(Err(error)) => Err(self.open_error(error).await),
            Err(_) => Err(OpenError::Timeout { limit }),
        }
    }

    /// Takes up a session again, with the working directory and the MCP servers it has always had.
    ///
    /// What `session/load` replays is discarded. Mode and settings must be applied again after it
    /// ([`Agent::apply_settings`]): some agents lose them.
    pub async fn restore(
        &self,
        id: &AcpSessionId,
        cwd: &Path,
        servers: &[McpServer],
        how: RestoreBy,
    ) -> Result<Opened, OpenError> {
        let resume = self.resumes(how)?;
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
                    self.let_replay_end().await;
                }
                Ok(self.remember(opened))
            }
            Ok(Err(error)) => Err(self.restore_error(id, error).await),
            Err(_) => Err(OpenError::Timeout { limit }),
        }
    }

    /// Discards what an agent still replays after it has answered `session/load`, which it should
    /// not; it would look like the next answer.
    async fn let_replay_end(&self) {
        let mut discarded = self.router.discarded();
        let pause = self.limits.late_replay;
        let paused = async { while timeout(pause, discarded.changed()).await.is_ok() {} };
        timeout(self.limits.late_replay_total(), paused).await.ok();
    }

    /// Takes a session away that is not wanted any more: deletes it where the agent offers that, else
    /// closes it where it offers that. Answers whether it did the first.
    pub async fn discard_session(&self, id: &AcpSessionId) -> bool {
        let limit = self.limits.restore;
        if self.offers.close {
            timeout(limit, self.connection.close_session(id)).await.ok();
        }
        self.session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.offers.delete
            && matches!(
                timeout(limit, self.connection.delete_session(id)).await,
                Ok(Ok(()))
            )
    }

    /// Whether to use `session/resume` (or else `session/load`).
    fn resumes(&self, how: RestoreBy) -> Result<bool, OpenError> {
        match (how, self.offers.resume, self.offers.load) {
            (RestoreBy::Auto | RestoreBy::Resume, true, _) => Ok(true),
            (RestoreBy::Auto | RestoreBy::Load, _, true) => Ok(false),
            (_, resume, load) => Err(OpenError::Unsupported {
                wanted: match how {
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

    fn remember(&self, opened: Opened) -> Opened {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.insert(opened).clone()
    }

    async fn open_error(&self, error: CallError) -> OpenError {
        match error {
            CallError::Answered(AgentError {
                code: SIGN_IN_NEEDED,
                ..
            }) => OpenError::SignInNeeded {
                methods: self.offers.auth_methods.clone(),
            },
            CallError::Answered(AgentError { code, message, .. }) => {
                OpenError::Refused { code, message }
            }
            CallError::Closed => match self.diagnostics.unreadable() {
                Some(unreadable) => OpenError::Unreadable(unreadable),
                None => OpenError::AgentExited(self.ended().await),
            },
            CallError::Malformed(what) => OpenError::Malformed(what),
        }
    }

    /// No single code means that a session is gone, so where the agent can list its sessions, the
    /// list decides.
    async fn restore_error(&self, id: &AcpSessionId, error: CallError) -> OpenError {
        let CallError::Answered(answered) = error else {
            return self.open_error(error).await;
        };
        if is_busy(&answered) {
            let AgentError { code, message, .. } = answered;
            return OpenError::Busy { code, message };
        }
        if answered.code != SIGN_IN_NEEDED {
            let listed = timeout(self.limits.restore, self.lists(id))
                .await
                .ok()
                .flatten();
            let gone = listed.map_or(answered.code == NOT_FOUND, |listed| !listed);
            if gone {
                return OpenError::Gone { id: id.clone() };
            }
        }
        self.open_error(CallError::Answered(answered)).await
    }

    /// Whether the agent lists the session; `None` if that cannot be known.
    async fn lists(&self, id: &AcpSessionId) -> Option<bool> {
        if !self.offers.list {
            return None;
        }
        let mut cursor = None;
        for _ in 0..LIST_PAGES {
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
    let says_writer = || {
        let data = error
            .data
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        error.message.contains(BUSY_WRITER) || data.contains(BUSY_WRITER)
    };
    BUSY.contains(&error.code) || (error.code == BUSY_IF_WRITER && says_writer())
}
