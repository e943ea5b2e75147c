//! The open sessions of the demonstration agent, and their turns.
//!
//! Two mutexes protect the map of open sessions and the state of each session. No function holds both at the same
//! time, and none holds either of them across an `await`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as blocking},
    time::Duration,
};

use agent_client_protocol::{
    Client, Error,
    v1::{ConnectionTo, schema},
};
use schema::{
    ContentBlock, McpServer, McpServerStdio, SessionId, SessionNotification, SessionUpdate,
    StopReason,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    session::{Memory, Turn, TurnEnd, prompt_text},
    session_files::{DiskError, SessionFile, SessionFolder},
    tools,
    turn_work::{self, Work},
};

/// The error code for "another process has this session open". The protocol defines none.
const SESSION_BUSY: i32 = -32_003;

/// A reason to refuse a request of the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("`cwd` {} is not absolute", .0.display())]
    RelativeCwd(PathBuf),
    #[error(
        "session `{id}` belongs to the working directory {}; it cannot be restored in {}",
        home.display(),
        requested.display()
    )]
    CwdMismatch {
        id: String,
        home: PathBuf,
        requested: PathBuf,
    },
    #[error("session `{0}` is not open here: create, resume or load it first")]
    NotOpen(String),
    #[error("session `{0}` has a turn already; cancel it or wait for its end")]
    TurnRunning(String),
    #[error("the prompt has content that is neither text nor a link")]
    UnsupportedContent,
}

impl From<RequestError> for Error {
    fn from(refusal: RequestError) -> Self {
        let code = match &refusal {
            RequestError::Disk(DiskError::UnknownSession(_)) => -32_002,
            RequestError::Disk(DiskError::Busy(_)) => SESSION_BUSY,
            RequestError::Disk(DiskError::Corrupt { .. } | DiskError::Io { .. }) => -32_603,
            RequestError::TurnRunning(_) => -32_600,
            RequestError::RelativeCwd(_)
            | RequestError::CwdMismatch { .. }
            | RequestError::NotOpen(_)
            | RequestError::UnsupportedContent => -32_602,
        };
        Error::new(code, format_with_sources(&refusal))
    }
}

/// Formats an error and its sources, separated by colons.
fn format_with_sources(error: &dyn std::error::Error) -> String {
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
    home: SessionFolder,
    update_interval: Duration,
    open_sessions: Mutex<HashMap<String, Arc<OpenSession>>>,
}

#[derive(Debug)]
struct OpenSession {
    file: SessionFile,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    memory: Memory,
    /// The server of tools that the client has named last. A session on disk has none.
    tools: Option<McpServerStdio>,
    /// Cancels the running turn. `None` if no turn is running.
    cancel_running: Option<CancellationToken>,
}

/// Locks a mutex, even a poisoned one. A panic cannot leave the content inconsistent, because each change is a single
/// assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DemoAgent {
    pub(super) fn new(home: SessionFolder, pace: Duration) -> Self {
        Self {
            home,
            update_interval: pace,
            open_sessions: Mutex::new(HashMap::new()),
        }
    }

    /// Creates a session in a working directory and opens it.
    pub(super) fn create(
        &self,
        cwd: PathBuf,
        servers: Vec<McpServer>,
    ) -> Result<SessionId, RequestError> {
        require_absolute(&cwd)?;
        let memory = Memory::new(cwd);
        let (id, file) = self.home.create(&memory)?;
        let session = Arc::new(OpenSession::new(file, memory));
        session.set_tools(servers);
        lock(&self.open_sessions).insert(id.clone(), session);
        Ok(SessionId::new(id))
    }

    /// Opens a session unless it is already open, and returns its memory.
    ///
    /// # Errors
    ///
    /// Refuses a working directory other than that of the session, and a session that another process has open.
    pub(super) fn restore(
        &self,
        id: &SessionId,
        cwd: &Path,
        servers: Vec<McpServer>,
    ) -> Result<Memory, RequestError> {
        require_absolute(cwd)?;
        let id = id.to_string();
        let open = lock(&self.open_sessions).get(&id).cloned();
        let session = if let Some(session) = open {
            session
        } else {
            let (file, memory) = self.home.reopen(&id)?;
            Arc::new(OpenSession::new(file, memory))
        };
        let memory = lock(&session.state).memory.clone();
        // Compare before the session is kept open. Dropping a session that was just reopened releases its lock.
        if memory.cwd != cwd {
            return Err(RequestError::CwdMismatch {
                id,
                home: memory.cwd,
                requested: cwd.to_owned(),
            });
        }
        session.set_tools(servers);
        lock(&self.open_sessions).insert(id, session);
        Ok(memory)
    }

    /// Lists the sessions of a working directory, or all sessions if `cwd` is `None`.
    pub(super) fn list(
        &self,
        cwd: Option<&Path>,
    ) -> Result<Vec<schema::SessionInfo>, RequestError> {
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
    pub(super) fn close(&self, id: &SessionId) -> Result<(), RequestError> {
        self.cancel(id);
        match lock(&self.open_sessions).remove(id.0.as_ref()) {
            Some(_) => Ok(()),
            None => Err(RequestError::NotOpen(id.to_string())),
        }
    }

    /// Cancels the session's turn, if one is running.
    pub(super) fn cancel(&self, id: &SessionId) {
        let session = lock(&self.open_sessions).get(id.0.as_ref()).cloned();
        if let Some(session) = session
            && let Some(running) = &lock(&session.state).cancel_running
        {
            running.cancel();
        }
    }

    /// Saves the request before any part of the answer is sent, and prepares the answer. A crash in the turn then
    /// leaves the request in the session's memory.
    pub(super) fn begin_turn(
        &self,
        request: &schema::PromptRequest,
    ) -> Result<RunningTurn, RequestError> {
        let request_text = prompt_text(&request.prompt).ok_or(RequestError::UnsupportedContent)?;
        let id = &request.session_id;
        let session = lock(&self.open_sessions).get(id.0.as_ref()).cloned();
        let session = session.ok_or_else(|| RequestError::NotOpen(id.to_string()))?;
        let cancelled = CancellationToken::new();
        let (updates, work) = {
            let mut state = lock(&session.state);
            if state.cancel_running.is_some() {
                return Err(RequestError::TurnRunning(id.to_string()));
            }
            let mut memory = state.memory.clone();
            memory.turns.push(Turn {
                request: request_text,
                answer: String::new(),
                end: None,
            });
            // Save first, so that a failed write leaves the session without a running turn.
            session.file.save(&memory)?;
            let work = Work::parse(&memory, state.tools.as_ref());
            let updates = match &work {
                Some(work) if work.is_answer() => memory.usage_updates(),
                _ => memory.answer_updates(),
            };
            state.memory = memory;
            state.cancel_running = Some(cancelled.clone());
            (updates, work)
        };
        Ok(RunningTurn {
            id: id.clone(),
            session,
            work,
            updates,
            update_interval: self.update_interval,
            cancelled,
        })
    }
}

impl OpenSession {
    fn new(file: SessionFile, memory: Memory) -> Self {
        let state = Mutex::new(State {
            memory,
            tools: None,
            cancel_running: None,
        });
        Self { file, state }
    }

    fn set_tools(&self, servers: Vec<McpServer>) {
        lock(&self.state).tools = tools::first_stdio_server(servers);
    }
}

/// A turn whose request is saved and whose updates are not sent yet.
#[derive(Debug)]
pub(super) struct RunningTurn {
    id: SessionId,
    session: Arc<OpenSession>,
    work: Option<Work>,
    /// The updates after those of the work.
    updates: Vec<SessionUpdate>,
    update_interval: Duration,
    cancelled: CancellationToken,
}

impl RunningTurn {
    /// Does the work of the turn, sends the updates one by one until all are sent or the turn is cancelled, and saves
    /// the text that was sent.
    pub(super) async fn run(
        self,
        client: &ConnectionTo<Client>,
    ) -> Result<schema::PromptResponse, Error> {
        let mut answer = String::new();
        let mut end = TurnEnd::Completed;
        let mut pause = Duration::ZERO;
        let (updates, mut shown_by_work) = mpsc::unbounded_channel();
        // The sender is dropped when the turn is cancelled, also because the client has closed the connection.
        let (running, cancelled) = blocking::channel::<()>();
        let turn = turn_work::Turn {
            updates,
            cancelled,
            update_interval: self.update_interval,
        };
        let run = |work: Work| tokio::task::spawn_blocking(move || work.run(&turn));
        let work = self.work.map(run);
        let mut rest = self.updates.into_iter();
        loop {
            let next = async {
                let shown = shown_by_work.recv().await;
                let update = shown.or_else(|| rest.next());
                if update.is_some() {
                    tokio::time::sleep(pause).await;
                }
                update
            };
            let Some(next) = self.cancelled.run_until_cancelled(next).await else {
                end = TurnEnd::Cancelled;
                break;
            };
            let Some(update) = next else { break };
            if let SessionUpdate::AgentMessageChunk(chunk) = &update
                && let ContentBlock::Text(text) = &chunk.content
            {
                answer.push_str(&text.text);
            }
            notify(client, &self.id, update)?;
            pause = self.update_interval;
        }
        drop(running);
        if let Some(work) = work {
            // The turn ends after its work, so that no file changes later.
            work.await.map_err(Error::into_internal_error)?;
        }
        let mut state = lock(&self.session.state);
        state.cancel_running = None;
        if let Some(turn) = state.memory.turns.last_mut() {
            turn.answer = answer;
            turn.end = Some(end);
        }
        let saved = self.session.file.save(&state.memory);
        saved.map_err(|error| Error::from(RequestError::from(error)))?;
        Ok(schema::PromptResponse::new(match end {
            TurnEnd::Completed => StopReason::EndTurn,
            TurnEnd::Cancelled => StopReason::Cancelled,
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

fn require_absolute(cwd: &Path) -> Result<(), RequestError> {
    if cwd.is_absolute() {
        return Ok(());
    }
    Err(RequestError::RelativeCwd(cwd.to_owned()))
}
