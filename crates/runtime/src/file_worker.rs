//! The work on one file, from reading it to removing it.
//!
//! **Invariants:** the file of a run is removed only after the server has said that the run is over, or has recorded
//! the end of its turn. The file of a run that another instance has to take is moved away and never removed. The file of another program is removed only after the server has created its run. Every other
//! end leaves the file in the folder.

use std::{
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use delivery::{ForeignTrigger, Trigger, TriggerRequest};
use futures::future::BoxFuture;
use model::RunId;
use tokio::{
    sync::{AcquireError, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use trigger_folder::{
    FileName, FileStamp, FolderError, IncompleteFiles, ReadOutcome, TriggerFolder, WaitingFile,
};
use turn::{TurnControl, TurnEnd, TurnStoreError};

use crate::{
    locks::Locks,
    running_turns::RunningTurns,
    server_port::{ClaimOutcome, FireOutcome, ServerError, TriggerServer},
    turn_slots::{TurnSlot, TurnSlots},
};

/// The most unknown fields of a file that the log names.
const MAX_LOGGED_FIELDS: usize = 5;
/// The longest wait of a file for the end of the work on another file of its run.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest wait for the folder, or for an answer of the server, after the stop.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The request of a file.
pub(crate) enum FileRequest {
    /// The file is no longer there.
    Missing,
    /// The file may still be under way.
    Incomplete,
    /// The file is no trigger, for this reason.
    Rejected(String),
    /// The turn of a run.
    Run(RunId, FileStamp),
    /// A run of an automation, with the idempotency key of the file.
    Automation(Box<ForeignTrigger>, String, FileStamp),
}

/// A place in the queue for a slot, which becomes the slot.
pub(crate) type QueuedTurn = BoxFuture<'static, Result<TurnSlot, AcquireError>>;

/// The end of the work on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileEnd {
    /// The file is no longer in the folder.
    Removed,
    /// The file must be tried again later.
    Later,
    /// The file may still be under way: a program writes to it.
    Incomplete,
    /// The file must be tried again at once.
    Again,
    /// The runtime stops before the file's turn could begin.
    Stopped,
}

/// The result of the work on the file of a run.
enum RunFile {
    /// The file has no purpose any more.
    Done,
    /// The file stays, for this reason.
    Kept(FileEnd),
    /// Another instance has to take the run.
    Foreign,
}

/// The error of the work on a file. The file stays in the folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The server did not answer, or cannot serve this runtime now.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The end of the turn could not be written.
    #[error("cannot take the turn of {run}")]
    Turn {
        /// The run.
        run: RunId,
        /// The cause.
        source: TurnStoreError,
    },
}

/// The resources of the work on files.
pub(crate) struct FileWorker {
    pub(crate) folder: TriggerFolder,
    pub(crate) locks: Arc<Locks>,
    pub(crate) server: Arc<dyn TriggerServer>,
    /// The turns that may run at once.
    pub(crate) turns: TurnSlots,
    pub(crate) running: RunningTurns,
    /// Counts the answers of the server.
    pub(crate) answers: watch::Sender<u64>,
    pub(crate) incomplete: Mutex<IncompleteFiles>,
    /// The longest wait for the folder, or for an answer of the server, after the stop: [`STOP_TIMEOUT`], except in tests.
    pub(crate) stop_timeout: Duration,
    /// Cancelled when no more turns may begin.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the running turns must end and their runs are requeued.
    pub(crate) requeue: CancellationToken,
}

impl FileWorker {
    /// Reads a file and finds out what it requests.
    pub(crate) async fn read(&self, name: &FileName) -> Result<FileRequest, FileError> {
        let WaitingFile { content, stamp } = match self.folder.read(name.clone()).await? {
            ReadOutcome::Read(file) => file,
            ReadOutcome::Missing => return Ok(FileRequest::Missing),
            ReadOutcome::Changing => return Ok(FileRequest::Incomplete),
            ReadOutcome::Refused(reason) => return Ok(FileRequest::Rejected(reason)),
        };
        let trigger = match Trigger::parse(&content) {
            Ok(trigger) => trigger,
            Err(error) if error.may_be_incomplete() && !self.is_final(name, stamp) => {
                return Ok(FileRequest::Incomplete);
            }
            Err(error) => return Ok(FileRequest::Rejected(error.to_string())),
        };
        log_unknown_fields(name, &trigger);
        Ok(match trigger.request {
            TriggerRequest::Run(run) => FileRequest::Run(run, stamp),
            TriggerRequest::Automation(trigger) => {
                let key = Trigger::idempotency_key(name.as_bytes(), &content);
                FileRequest::Automation(Box::new(trigger), key, stamp)
            }
        })
    }

    /// Queues the turn of a file for the next free slot. Returns `None` if the file needs no turn.
    pub(crate) async fn queue_turn(
        &self,
        request: &Result<FileRequest, FileError>,
    ) -> Option<QueuedTurn> {
        let Ok(FileRequest::Run(..)) = request else {
            return None;
        };
        let mut slot: QueuedTurn = Box::pin(self.turns.clone().acquire());
        // The first poll takes the place in the queue, or the slot.
        match futures::poll!(&mut slot) {
            Poll::Ready(slot) => Some(Box::pin(std::future::ready(slot))),
            Poll::Pending => Some(slot),
        }
    }

    /// Does the work of one file.
    pub(crate) async fn work_on(
        &self,
        name: FileName,
        request: FileRequest,
        slot: Option<QueuedTurn>,
    ) -> Result<FileEnd, FileError> {
        // 1. Do the work that the file requests.
        let stamp = match request {
            FileRequest::Missing => return Ok(self.removed(&name)),
            FileRequest::Incomplete => return Ok(FileEnd::Incomplete),
            FileRequest::Rejected(reason) => return self.reject(name, reason).await,
            FileRequest::Run(run, stamp) => match self.take_run(run, slot).await? {
                RunFile::Done => stamp,
                RunFile::Kept(end) => return Ok(end),
                RunFile::Foreign => {
                    let reason = format!(
                        "{run} belongs to another instance of the server, which must have a folder of its own"
                    );
                    return self.reject(name, reason).await;
                }
            },
            FileRequest::Automation(trigger, key, stamp) => {
                let fire = self.fire(&name, *trigger, key);
                // The key of the file lets the next runtime repeat the request.
                match self.await_until_stop_timeout(fire).await {
                    None => return Ok(FileEnd::Stopped),
                    Some(Ok(None)) => stamp,
                    Some(Ok(Some(reason))) => return self.reject(name, reason).await,
                    Some(Err(error)) => return Err(error),
                }
            }
        };
        // 2. Remove it. If that fails, the next try finds that the work is done.
        #[cfg(feature = "failpoints")]
        failpoint::reached("runtime: file done");
        let removal = self.folder.remove(name.clone(), stamp);
        let end = self.await_removal(&name, removal).await?;
        #[cfg(feature = "failpoints")]
        failpoint::reached("runtime: file removed");
        Ok(end)
    }

    /// Waits until a file has left the folder. After the stop, waits for at most the timeout, because a network volume may
    /// hang. The file then stays, and the next runtime removes it.
    async fn await_removal(
        &self,
        name: &FileName,
        removal: impl Future<Output = Result<(), FolderError>>,
    ) -> Result<FileEnd, FileError> {
        if let Some(removed) = self.await_until_stop_timeout(removal).await {
            removed?;
            return Ok(self.removed(name));
        }
        tracing::warn!(file = %name, "`{name}` stays, because its folder does not answer");
        Ok(FileEnd::Later)
    }

    /// Waits for the folder or the server. After the stop, waits for at most the timeout, and then returns `None`.
    async fn await_until_stop_timeout<T>(&self, awaited: impl Future<Output = T>) -> Option<T> {
        let overdue = async {
            self.stop.cancelled().await;
            sleep(self.stop_timeout).await;
        };
        tokio::select! {
            biased;
            done = awaited => Some(done),
            () = overdue => None,
        }
    }

    /// Claims a run and takes its turn.
    async fn take_run(&self, run: RunId, slot: Option<QueuedTurn>) -> Result<RunFile, FileError> {
        let (later, stopped) = (
            Ok(RunFile::Kept(FileEnd::Later)),
            Ok(RunFile::Kept(FileEnd::Stopped)),
        );
        // Two files of one run exist if the server has delivered it again, or if somebody has copied it.
        let Some(registration) = self.running.register(run) else {
            // Files that meet are delayed equally, so they would meet at each try, and each minute would remove one.
            drop(slot);
            let released = timeout(RELEASE_TIMEOUT, self.running.released(run));
            return tokio::select! {
                biased;
                () = self.stop.cancelled() => stopped,
                released = released => match released {
                    Ok(()) => Ok(RunFile::Kept(FileEnd::Again)),
                    Err(_) => later,
                },
            };
        };
        let Some(slot) = slot else {
            return later;
        };
        let slot = tokio::select! {
            biased;
            () = self.stop.cancelled() => return stopped,
            slot = slot => slot,
        };
        let Ok(slot) = slot else {
            return stopped;
        };
        let claim_sent_at = agent::uptime();
        // Without an answer, the server may have claimed the run, and gives it up as that of a worker that died.
        let claim = self.server.claim(run);
        let Some(claimed) = self.await_until_stop_timeout(claim).await else {
            return stopped;
        };
        let claimed = claimed?;
        self.answers.send_modify(|count| *count += 1);
        let claimed = match claimed {
            ClaimOutcome::Claimed(claimed) => claimed,
            ClaimOutcome::Over => return Ok(RunFile::Done),
            ClaimOutcome::NotOfInstance => return Ok(RunFile::Foreign),
            ClaimOutcome::NotNow => return later,
        };
        #[cfg(feature = "failpoints")]
        failpoint::reached("runtime: claimed");
        let control = TurnControl {
            requeue: self.requeue.clone(),
            heartbeat_now: registration.begin_turn(),
            claim_sent_at,
        };
        match self
            .server
            .take_turn(claimed, control, slot.turn_waits())
            .await
        {
            // The server has recorded the end, or the reason for which the turn did not begin. A run that waits again
            // gets another file.
            Ok(TurnEnd::Finished | TurnEnd::Requeued | TurnEnd::NotBegun) => Ok(RunFile::Done),
            // Another worker may have the run, or it may be over. The next claim tells.
            Ok(TurnEnd::Lost) => later,
            Err(source) => Err(FileError::Turn { run, source }),
        }
    }

    /// Requests the run of a foreign file. Returns the reason if the server refuses it.
    async fn fire(
        &self,
        name: &FileName,
        trigger: ForeignTrigger,
        key: String,
    ) -> Result<Option<String>, FileError> {
        let servers = trigger.mcp_server_count;
        if servers > 0 {
            tracing::warn!(file = %name, "`{name}` names {servers} MCP servers, which are never started");
        }
        let fired = self.server.fire(trigger, key).await?;
        self.answers.send_modify(|count| *count += 1);
        Ok(match fired {
            FireOutcome::Fired(run) => {
                tracing::info!(file = %name, %run, "`{name}` has fired {run}");
                None
            }
            FireOutcome::Refused(reason) => Some(reason),
        })
    }

    async fn reject(&self, name: FileName, reason: String) -> Result<FileEnd, FileError> {
        tracing::warn!(file = %name, "moved `{name}` to `failed`: {reason}");
        let rejection = self.folder.reject(name.clone(), reason);
        self.await_removal(&name, rejection).await
    }

    fn removed(&self, name: &FileName) -> FileEnd {
        let mut incomplete = self
            .incomplete
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        incomplete.forget(name);
        FileEnd::Removed
    }

    fn is_final(&self, name: &FileName, stamp: FileStamp) -> bool {
        let mut incomplete = self
            .incomplete
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        incomplete.is_final(name, stamp, Instant::now())
    }
}

fn log_unknown_fields(name: &FileName, trigger: &Trigger) {
    let unknown = &trigger.unknown_fields;
    if unknown.is_empty() {
        return;
    }
    let fields = unknown.keys().take(MAX_LOGGED_FIELDS);
    let fields: Vec<String> = fields
        .map(|field| {
            format!(
                "`{}`",
                field.chars().take(40).collect::<String>().escape_debug()
            )
        })
        .collect();
    let (count, fields) = (unknown.len(), fields.join(", "));
    tracing::info!(file = %name, "`{name}` has {count} unknown fields, which are ignored: {fields}");
}
