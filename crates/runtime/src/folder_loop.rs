//! The loop over a trigger folder: lists it, works on its files, and waits for changes.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::{Id, JoinError, JoinHandle, JoinSet, spawn_blocking},
    time::{Instant, sleep_until, timeout},
};
use trigger_folder::{FileName, FolderWatch, FolderWatcher, Scan};

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

/// The error of listing a page of the folder.
type ListingError = Box<dyn std::error::Error + Send + Sync>;

/// The loop over one folder.
pub(crate) struct FolderLoop {
    worker: Arc<FileWorker>,
    files: PendingFiles,
    /// The listing under way, on a thread for blocking work.
    listing: Option<JoinHandle<Result<Scan, ListingError>>>,
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
            listing: None,
            tasks: JoinSet::new(),
            names: HashMap::new(),
            absence: None,
            next_listing: Instant::now(),
            listing_error: None,
        }
    }

    /// Works on the files of the folder until the worker's stop is cancelled, and then waits for the files at work. A
    /// turn that runs then ends by itself or by the worker's requeue.
    pub(crate) async fn run(mut self, watcher: FolderWatcher) {
        let stop = self.worker.stop.clone();
        tokio::select! {
            // The stop goes first, so that a file which ends at the same time starts no other one. It interrupts a
            // listing and the reading of a file, because the folder may hang.
            biased;
            () = stop.cancelled() => {}
            never = self.serve(watcher) => match never {},
        }
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.note_end(ended);
        }
        // A listing uses the locks, which the next runtime of the folder needs.
        if let Some(listing) = self.listing.take() {
            timeout(self.worker.stop_timeout, listing).await.ok();
        }
    }

    async fn serve(&mut self, mut watcher: FolderWatcher) -> Infallible {
        loop {
            self.list(watcher.watch()).await;
            self.start_files().await;
            let next = self.next_instant();
            tokio::select! {
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
    }

    /// Lists the next page of the folder if one is needed.
    async fn list(&mut self, watch: Arc<FolderWatch>) {
        let now = Instant::now();
        let Some(page) = self.files.next_page().filter(|_| self.next_listing <= now) else {
            return;
        };
        let worker = Arc::clone(&self.worker);
        let listing = spawn_blocking(move || read_page(&worker, &watch, &page));
        let found = self.listing.insert(listing).await;
        self.listing = None;
        match found.unwrap_or_else(|died| Err(died.into())) {
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
            Ok(FileEnd::Again | FileEnd::Stopped) => self.files.put_back(name),
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

/// Renews the watch and the locks, because another folder may have returned in place of one that vanished, and lists a page.
/// Blocks the calling thread: one task does all three, so that an idle runtime wakes up seldom.
fn read_page(
    worker: &FileWorker,
    watch: &FolderWatch,
    page: &PageRequest,
) -> Result<Scan, ListingError> {
    watch.renew();
    worker.locks.renew()?;
    Ok(worker.folder.scan(page.after.as_ref(), page.limit)?)
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
