//! The open sessions of the demonstration agent, and their turns.
//!
//! Two mutexes protect the map of open sessions and the state of each session. No function holds both at the same
//! time, and none holds either of them across an `await`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_client_protocol::{
    Client, Error,
    v1::{ConnectionTo, schema},
};
use schema::{ContentBlock, SessionId, SessionNotification, SessionUpdate, StopReason};
use tokio_util::sync::CancellationToken;

use super::{
    disk::{DiskError, Home, SessionFile},
    session::{End, Memory, Turn, asked},
};

/// The error code for "another process has this session open". The protocol defines none.
const BUSY: i32 = -32_003;

/// A reason to refuse a request of the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("cwd {} is not absolute", .0.display())]
    RelativeCwd(PathBuf),
    #[error(
        "session {id} belongs to the working directory {}; it cannot be restored in {}",
        home.display(),
        asked.display()
    )]
    CwdMismatch {
        id: String,
        home: PathBuf,
        asked: PathBuf,
    },
    #[error("session {0:?} is not open here: make, resume or load it first")]
    NotOpen(String),
    #[error("session {0} has a turn already; cancel it or wait for its end")]
    TurnRunning(String),
    #[error("the prompt has content that is neither text nor a link")]
    Content,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Disk(DiskError::Unknown(_)) => -32_002,
            Refusal::Disk(DiskError::Busy(_)) => BUSY,
            Refusal::Disk(DiskError::Corrupt { .. } | DiskError::Io { .. }) => -32_603,
            Refusal::TurnRunning(_) => -32_600,
            Refusal::RelativeCwd(_)
            | Refusal::CwdMismatch { .. }
            | Refusal::NotOpen(_)
            | Refusal::Content => -32_602,
        };
        Error::new(code, with_sources(&refusal))
    }
}

/// Formats an error and its sources, separated by colons.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// The agent: the sessions on disk, and those that this process has open.
#[derive(Debug)]
pub(super) struct DemoAgent {
    home: Home,
    pace: Duration,
    open: Mutex<HashMap<String, Arc<OpenSession>>>,
}

#[derive(Debug)]
struct OpenSession {
    file: SessionFile,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    memory: Memory,
    /// Cancels the running turn. `None` if no turn is running.
    running: Option<CancellationToken>,
}

/// Locks a mutex, even a poisoned one. A panic cannot leave the content inconsistent, because each change is a single
/// assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DemoAgent {
    pub(super) fn new(home: Home, pace: Duration) -> Self {
        Self {
            home,
            pace,
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Creates a session in a working directory and opens it.
    pub(super) fn create(&self, cwd: PathBuf) -> Result<SessionId, Refusal> {
        require_absolute(&cwd)?;
        let memory = Memory::new(cwd);
        let (id, file) = self.home.create(&memory)?;
        let session = Arc::new(OpenSession::new(file, memory));
        lock(&self.open).insert(id.clone(), session);
        Ok(SessionId::new(id))
    }

    /// Opens a session unless it is already open, and returns its memory.
    ///
    /// # Errors
    ///
    /// Refuses a working directory other than that of the session, and a session that another process has open.
    pub(super) fn restore(&self, id: &SessionId, cwd: &Path) -> Result<Memory, Refusal> {
        require_absolute(cwd)?;
        let id = id.to_string();
        let open = lock(&self.open).get(&id).cloned();
        let session = if let Some(session) = open {
            session
        } else {
            let (file, memory) = self.home.reopen(&id)?;
            Arc::new(OpenSession::new(file, memory))
        };
        let memory = lock(&session.state).memory.clone();
        // Compare before the session is kept open. Dropping a session that was just reopened releases its lock.
        if memory.cwd != cwd {
            return Err(Refusal::CwdMismatch {
                id,
                home: memory.cwd,
                asked: cwd.to_owned(),
            });
        }
        lock(&self.open).insert(id, session);
        Ok(memory)
    }

    /// Lists the sessions of a working directory, or all sessions if `cwd` is `None`.
    pub(super) fn list(&self, cwd: Option<&Path>) -> Result<Vec<schema::SessionInfo>, Refusal> {
        let sessions = self.home.list()?.into_iter();
        Ok(sessions
            .filter(|(_, memory)| cwd.is_none_or(|cwd| cwd == memory.cwd))
            .map(|(id, memory)| {
                let title = memory.title();
                schema::SessionInfo::new(id, memory.cwd).title(title)
            })
            .collect())
    }

    /// Cancels the session's turn and closes the session. Other processes can open it when the turn has ended,
    /// because the running turn still holds its lock.
    pub(super) fn close(&self, id: &SessionId) -> Result<(), Refusal> {
        self.cancel(id);
        match lock(&self.open).remove(id.0.as_ref()) {
            Some(_) => Ok(()),
            None => Err(Refusal::NotOpen(id.to_string())),
        }
    }

    /// Cancels the session's turn, if one is running.
    pub(super) fn cancel(&self, id: &SessionId) {
        let session = lock(&self.open).get(id.0.as_ref()).cloned();
        if let Some(session) = session
            && let Some(running) = &lock(&session.state).running
        {
            running.cancel();
        }
    }

    /// Saves the request before any part of the answer is sent, and prepares the answer. A crash in the turn then
    /// leaves the request in the session's memory.
    pub(super) fn begin(&self, request: &schema::PromptRequest) -> Result<RunningTurn, Refusal> {
        let asked = asked(&request.prompt).ok_or(Refusal::Content)?;
        let id = &request.session_id;
        let session = lock(&self.open).get(id.0.as_ref()).cloned();
        let session = session.ok_or_else(|| Refusal::NotOpen(id.to_string()))?;
        let cancelled = CancellationToken::new();
        let updates = {
            let mut state = lock(&session.state);
            if state.running.is_some() {
                return Err(Refusal::TurnRunning(id.to_string()));
            }
            let mut memory = state.memory.clone();
            memory.turns.push(Turn {
                asked,
                said: String::new(),
                end: None,
            });
            // Save first, so that a failed write leaves the session without a running turn.
            session.file.save(&memory)?;
            let updates = memory.answer();
            state.memory = memory;
            state.running = Some(cancelled.clone());
            updates
        };
        Ok(RunningTurn {
            id: id.clone(),
            session,
            updates,
            pace: self.pace,
            cancelled,
        })
    }
}

impl OpenSession {
    fn new(file: SessionFile, memory: Memory) -> Self {
        let state = Mutex::new(State {
            memory,
            running: None,
        });
        Self { file, state }
    }
}

/// A turn whose request is saved and whose updates are not sent yet.
#[derive(Debug)]
pub(super) struct RunningTurn {
    id: SessionId,
    session: Arc<OpenSession>,
    updates: Vec<SessionUpdate>,
    pace: Duration,
    cancelled: CancellationToken,
}

impl RunningTurn {
    /// Sends the updates one by one until all are sent or the turn is cancelled, and saves the text that was sent.
    pub(super) async fn run(
        self,
        client: &ConnectionTo<Client>,
    ) -> Result<schema::PromptResponse, Error> {
        let mut said = String::new();
        let mut end = End::Answered;
        let mut pause = Duration::ZERO;
        for update in self.updates {
            let sleep = tokio::time::sleep(pause);
            if self.cancelled.run_until_cancelled(sleep).await.is_none() {
                end = End::Cancelled;
                break;
            }
            if let SessionUpdate::AgentMessageChunk(chunk) = &update
                && let ContentBlock::Text(text) = &chunk.content
            {
                said.push_str(&text.text);
            }
            notify(client, &self.id, update)?;
            pause = self.pace;
        }
        let mut state = lock(&self.session.state);
        state.running = None;
        if let Some(turn) = state.memory.turns.last_mut() {
            turn.said = said;
            turn.end = Some(end);
        }
        let saved = self.session.file.save(&state.memory);
        saved.map_err(|error| Error::from(Refusal::from(error)))?;
        Ok(schema::PromptResponse::new(match end {
            End::Answered => StopReason::EndTurn,
            End::Cancelled => StopReason::Cancelled,
        }))
    }
}

/// Sends one update of a session to the client.
pub(super) fn notify(
    client: &ConnectionTo<Client>,
    id: &SessionId,
    update: SessionUpdate,
) -> Result<(), Error> {
    client.send_notification(SessionNotification::new(id.clone(), update))
}

fn require_absolute(cwd: &Path) -> Result<(), Refusal> {
    if cwd.is_absolute() {
        return Ok(());
    }
    Err(Refusal::RelativeCwd(cwd.to_owned()))
}
