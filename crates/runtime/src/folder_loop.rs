//! The loop over a trigger folder: lists it, works on its files, and waits for changes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use trigger_folder::{FileName, FolderWatcher, Scan};

use crate::{
    file_worker::{FileEnd, FileError, FileWorker},
    pending_files::{PageRequest, PendingFiles},
};

/// The most files at work at once. Files of runs wait among them for a free turn, so that the files of other programs
/// behind them get through.
const MAX_FILES_AT_WORK: usize = 256;
/// The pauses between two tries while the server is away. Each is twice the one before.
const AWAY_PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(1)];
/// The share of time that listings may take: after each one, the loop waits for this multiple of its duration.
const LISTING_PAUSE_FACTOR: u32 = 4;
/// The pause after a listing that failed.
const LISTING_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The loop over one folder.
pub(crate) struct FolderLoop {
    worker: Arc<FileWorker>,
    files: PendingFiles,
    tasks: JoinSet<Result<FileEnd, FileError>>,
    names: HashMap<Id, FileName>,
    /// The absence of the server. `None` while it answers.
    absence: Option<Absence>,
    /// The number of answers of the server, which ends an absence when it grows.
    answers: watch::Receiver<u64>,
    next_listing: Instant,
    /// The error of the last listing, so that each is logged once.
    listing_error: Option<String>,
}

/// The time in which the server does not answer.
#[derive(Debug, Clone, Copy)]
struct Absence {
    /// The instant of the next try.
    until: Instant,
    /// The pause after it.
    pause: Duration,
    /// The task that makes the present try.
    probe: Option<Id>,
}

impl FolderLoop {
    pub(crate) fn new(worker: FileWorker) -> Self {
        Self {
            answers: worker.answers.subscribe(),
            worker: Arc::new(worker),
            files: PendingFiles::default(),
            tasks: JoinSet::new(),
            names: HashMap::new(),
            absence: None,
            next_listing: Instant::now(),
            listing_error: None,
        }
    }

    /// Works on the files of the folder until the worker's stop is cancelled, and then waits for the files at work. A
    /// turn that runs then ends by itself or by the worker's requeue.
    pub(crate) async fn run(mut self, mut watcher: FolderWatcher) {
        let stop = self.worker.stop.clone();
        while !stop.is_cancelled() {
            self.list().await;
            self.start_files().await;
            let next = self.next_instant();
            tokio::select! {
                // The stop goes first, so that a file which ends at the same time starts no other one.
                biased;
                () = stop.cancelled() => {}
                Some(ended) = self.tasks.join_next_with_id() => {
                    self.note_end(ended);
                    while let Some(ended) = self.tasks.try_join_next_with_id() {
                        self.note_end(ended);
                    }
                }
                () = watcher.changed() => self.files.note_change(),
                Ok(()) = self.answers.changed(), if self.absence.is_some() => {
                    self.absence = None;
                    tracing::info!("the server answers again");
                }
                () = sleep_until(next) => {}
            }
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.note_end(ended);
        }
    }

    /// Lists the next page of the folder if one is needed.
    async fn list(&mut self) {
        let now = Instant::now();
        let Some(page) = self.files.next_page().filter(|_| self.next_listing <= now) else {
            return;
        };
        match self.read_page(page).await {
            Ok(found) => {
                self.files.add_page(found);
                self.next_listing = Instant::now() + now.elapsed() * LISTING_PAUSE_FACTOR;
                self.listing_error = None;
            }
            Err(error) => {
                self.next_listing = now + LISTING_RETRY_PAUSE;
                let text = error_chain(&*error);
                // A folder that is missing for a day must not fill the log.
                if self.listing_error.as_ref() != Some(&text) {
                    tracing::error!("{text}: the files wait");
                    self.listing_error = Some(text);
                }
            }
        }
    }

    async fn read_page(
        &self,
        page: PageRequest,
    ) -> Result<Scan, Box<dyn std::error::Error + Send + Sync>> {
        // Another folder may have returned in place of one that vanished.
        self.worker.locks.renew().await?;
        Ok(self.worker.folder.scan(page.after, page.limit).await?)
    }

    /// Starts the work on the files that are ready. Reads them one after the other and queues their turns at once, so
    /// that the turns begin in the order of the names.
    async fn start_files(&mut self) {
        let now = Instant::now();
        let limit = match &mut self.absence {
            None => MAX_FILES_AT_WORK,
            Some(absence) if absence.until > now => return,
            // One file finds out whether the server is back.
            Some(absence) => {
                absence.until = now + absence.pause;
                self.tasks.len() + 1
            }
        };
        while self.tasks.len() < limit
            && let Some(name) = self.files.take(now)
        {
            let (worker, taken) = (Arc::clone(&self.worker), name.clone());
            let request = worker.read(&taken).await;
            let slot = worker.queue_turn(&request).await;
            let work = async move { worker.work_on(taken, request?, slot).await };
            let task = self.tasks.spawn(work);
            self.names.insert(task.id(), name);
            if let Some(absence) = &mut self.absence {
                absence.probe = Some(task.id());
            }
        }
    }

    /// Returns the instant at which the loop has to go on without any event.
    fn next_instant(&self) -> Instant {
        let now = Instant::now();
        let listing = self.files.next_page().map(|_| self.next_listing);
        let has_room = self.tasks.len() < MAX_FILES_AT_WORK;
        let ready = (has_room && self.files.has_ready()).then_some(now);
        let file = [ready, self.files.next_instant()].into_iter().flatten();
        let file = file.min().map(|instant| match self.absence {
            Some(absence) => instant.max(absence.until),
            None => instant,
        });
        // Long enough, because the watcher polls the folder.
        let longest = now + Duration::from_mins(1);
        [listing, file]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(longest)
    }

    fn note_end(&mut self, ended: Result<(Id, Result<FileEnd, FileError>), JoinError>) {
        let now = Instant::now();
        let (id, end) = match ended {
            Ok((id, end)) => (id, end),
            Err(error) => {
                // The run is not ended here. Its heartbeat is no longer renewed, so the server gives the run up.
                tracing::error!(%error, "the work on a file panicked");
                (error.id(), Ok(FileEnd::Later))
            }
        };
        let Some(name) = self.names.remove(&id) else {
            return;
        };
        match end {
            Ok(FileEnd::Removed) => self.files.remove(name),
            Ok(FileEnd::Later) => self.files.delay(name, false, now),
            Ok(FileEnd::Incomplete) => self.files.delay(name, true, now),
            Ok(FileEnd::Stopped) => self.files.put_back(name),
            Err(FileError::Server(error)) => {
                self.note_absence(id, &error, now);
                self.files.delay(name, false, now);
            }
            Err(error) => {
                log_error(&format!("work on `{name}`"), &error);
                self.files.delay(name, false, now);
            }
        }
    }

    fn note_absence(&mut self, id: Id, error: &(dyn std::error::Error + 'static), now: Instant) {
        match &mut self.absence {
            None => {
                log_error("reach the server, the files wait", error);
                let [first, _] = AWAY_PAUSES;
                self.answers.mark_unchanged();
                self.absence = Some(Absence {
                    until: now + first,
                    pause: first * 2,
                    probe: None,
                });
            }
            // Other files may have failed with the first one. Only a try lengthens the pause.
            Some(absence) if absence.probe != Some(id) => {}
            Some(absence) => {
                absence.until = now + absence.pause;
                absence.pause = (absence.pause * 2).min(AWAY_PAUSES[1]);
            }
        }
    }
}

fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| {
        format!("{text}: {source}")
    })
}

fn log_error(what: &str, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(error, "cannot {what}");
}

#[cfg(test)]
#[path = "tests_folder_loop.rs"]
mod tests;
