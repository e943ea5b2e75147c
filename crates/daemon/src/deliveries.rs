//! The writes of trigger files into the folders of instances.
//!
//! **Invariants:** each instance has a task of its own, so that a folder which hangs delays no other one. Once a write has
//! not returned in time, this server begins no further write into that folder until it does, so that a folder on a network
//! volume that is away occupies few threads. Other servers may still reach the folder, and take its files over when the
//! leases are over.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use delivery::{RunTrigger, TriggerKind, TriggerName};
use futures::{
    StreamExt as _,
    future::{BoxFuture, join_all},
    stream,
};
use model::{
    InstanceId, Timestamp, limits, policy::SessionMode, run::Origin, trigger_file::InstanceFolder,
};
use store::{ClaimedTriggerFile, TriggerContent, TriggerFileWrite};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use trigger_folder::{Delivered, Delivery, DirectoryDelivery};

use crate::{Error, Host};

/// The number of files that are written into one folder at once.
const CONCURRENT_WRITES: usize = 8;
/// The number of files that are written at once into all folders. Writes that hang count, so that they leave threads to
/// the rest of the server.
const MAX_WRITES: usize = 256;
/// The number of files in the first claim of a task: a folder that hangs keeps this many files and threads.
const FIRST_CLAIM_FILES: u32 = 1;

/// The time after a claim in which a write may begin, so that it ends, or counts as hanging, before the lease is over.
const MAX_BEGIN_DELAY: Duration =
    limits::TRIGGER_FILE_LEASE.saturating_sub(limits::TRIGGER_FILE_TIMEOUT);

/// Opens the folder of an instance for writing.
pub type OpenFolder = Arc<dyn Fn(&InstanceFolder) -> Box<dyn Delivery> + Send + Sync>;

/// The deliveries of one server. Cheap to clone.
#[derive(Clone)]
pub struct Deliveries {
    host: Host,
    open_folder: OpenFolder,
    write_timeout: Duration,
    /// Cancelled when no more files may be claimed.
    stop: CancellationToken,
    /// The instances that have a task, or a write that has not returned.
    busy: Arc<Mutex<HashSet<InstanceId>>>,
    /// Notified when an instance is no longer busy, because its next file may be due.
    freed: Arc<Notify>,
    slots: Arc<Semaphore>,
}

/// The deliveries that are due.
pub(crate) struct DueDeliveries {
    /// The tasks of the instances with due files that are not busy. Each returns the number of its confirmed writes.
    pub(crate) tasks: Vec<BoxFuture<'static, Result<usize, Error>>>,
    /// The instant at which the next file of another instance is due.
    pub(crate) next: Option<Timestamp>,
}

/// Marks an instance as busy until it is dropped.
struct Reservation {
    instance: InstanceId,
    busy: Arc<Mutex<HashSet<InstanceId>>>,
    freed: Arc<Notify>,
    /// `true` once a write has returned. Without one the end is not notified, so that a task which cannot claim anything
    /// is not restarted without a pause.
    has_written: AtomicBool,
}

/// The result of the delivery of one file.
enum FileDelivery {
    /// The file is in its folder.
    Confirmed,
    /// The file could not be written, and its run shows the reason.
    Failed,
    /// The write has not returned in time.
    Hanging,
    /// The lease is nearly over, so that the write was not begun.
    OutOfTime,
}

impl Deliveries {
    /// Returns the deliveries of a server. They end when `stop` is cancelled, and `freed` is notified when an instance is no
    /// longer busy.
    pub(crate) fn new(host: Host, stop: CancellationToken, freed: Arc<Notify>) -> Self {
        Self {
            host,
            open_folder: Arc::new(|folder: &InstanceFolder| -> Box<dyn Delivery> {
                Box::new(DirectoryDelivery::new(&folder.path))
            }),
            write_timeout: limits::TRIGGER_FILE_TIMEOUT,
            stop,
            busy: Arc::default(),
            freed,
            slots: Arc::new(Semaphore::new(MAX_WRITES)),
        }
    }

    /// Returns the deliveries of a process without loops, into folders that `open_folder` opens. A write counts as hanging
    /// after `write_timeout`.
    pub fn standalone(host: Host, open_folder: OpenFolder, write_timeout: Duration) -> Self {
        Self {
            open_folder,
            write_timeout,
            ..Self::new(host, CancellationToken::new(), Arc::new(Notify::new()))
        }
    }

    /// Writes all files that are due, except those of busy instances. Returns the number of confirmed writes.
    ///
    /// # Errors
    ///
    /// Returns an error of the store. A file that cannot be written is no error: its run shows the reason.
    pub async fn deliver_due(&self) -> Result<usize, Error> {
        let due = self.start_due(self.host.now()).await?;
        let delivered = join_all(due.tasks).await;
        delivered.into_iter().sum()
    }

    /// `true` if the clock is certain enough to judge the leases of other servers by it.
    pub(crate) fn time_is_known(&self) -> bool {
        self.host.time_is_known()
    }

    /// Waits for a future. Returns `None` at once when no more files may be claimed.
    pub(crate) async fn until_stopped<T>(&self, waiting: impl Future<Output = T>) -> Option<T> {
        self.stop.run_until_cancelled(waiting).await
    }

    /// Returns a task for each instance with due files that is not busy, and reserves the instance for it.
    pub(crate) async fn start_due(&self, now: Timestamp) -> Result<DueDeliveries, Error> {
        let mut due = DueDeliveries {
            tasks: Vec::new(),
            next: None,
        };
        for (instance, at) in self.host.store.next_trigger_files().await? {
            if at > now {
                due.next = Some(due.next.map_or(at, |next| next.min(at)));
            } else if let Some(reservation) = self.reserve(instance) {
                let task = self.clone().deliver_into(Arc::new(reservation));
                due.tasks.push(Box::pin(task));
            }
        }
        Ok(due)
    }

    fn reserve(&self, instance: InstanceId) -> Option<Reservation> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.insert(instance).then(|| Reservation {
            instance,
            busy: Arc::clone(&self.busy),
            freed: Arc::clone(&self.freed),
            has_written: AtomicBool::new(false),
        })
    }

    /// Writes the files of one instance until none is due or a write hangs. Returns the number of confirmed writes.
    async fn deliver_into(self, reservation: Arc<Reservation>) -> Result<usize, Error> {
        let (mut confirmed, mut limit) = (0, FIRST_CLAIM_FILES);
        // The leases are judged by the clock alone. With an unknown time, this server could take over a file that another
        // server is still writing.
        while self.time_is_known() && !self.stop.is_cancelled() {
            let now = self.host.now();
            let until = now + limits::TRIGGER_FILE_LEASE;
            let begin_before = Instant::now() + MAX_BEGIN_DELAY;
            let instance = reservation.instance;
            let claimed = self
                .host
                .store
                .claim_trigger_files(instance, limit, until, now);
            let files = claimed.await?;
            if files.is_empty() {
                break;
            }
            let writes = files.into_iter().map(|file| {
                let this = self.clone();
                this.deliver_file(file, Arc::clone(&reservation), begin_before)
            });
            let mut writes = stream::iter(writes).buffer_unordered(CONCURRENT_WRITES);
            while let Some(delivered) = writes.next().await {
                match delivered? {
                    FileDelivery::Confirmed => confirmed += 1,
                    FileDelivery::Failed => {}
                    // The claimed files that were not begun are due again when their leases are over.
                    FileDelivery::Hanging | FileDelivery::OutOfTime => return Ok(confirmed),
                }
            }
            limit = limits::TRIGGER_FILES_PER_CLAIM;
        }
        Ok(confirmed)
    }

    /// Writes one file and records the result, unless the write would begin too late.
    async fn deliver_file(
        self,
        file: ClaimedTriggerFile,
        reservation: Arc<Reservation>,
        begin_before: Instant,
    ) -> Result<FileDelivery, Error> {
        let slot = timeout_at(begin_before, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(slot)) = slot else {
            return Ok(FileDelivery::OutOfTime);
        };
        let (sender, receiver) = oneshot::channel();
        // A task of its own keeps the reservation and the slot until the write has returned, however long it hangs.
        tokio::spawn(self.write_and_record(file, sender, (reservation, slot)));
        // The sender is dropped if the task panics.
        receiver.await.unwrap_or(Ok(FileDelivery::Failed))
    }

    async fn write_and_record(
        self,
        file: ClaimedTriggerFile,
        sender: oneshot::Sender<Result<FileDelivery, Error>>,
        (reservation, _slot): (Arc<Reservation>, OwnedSemaphorePermit),
    ) {
        let mut writing = std::pin::pin!(write(&self.open_folder, &file));
        if let Ok(written) = timeout(self.write_timeout, &mut writing).await {
            reservation.has_written.store(true, Ordering::Relaxed);
            let recorded = self.record(&file, written).await;
            // The reservation goes first, so that a caller which has the result can start the next delivery.
            drop(reservation);
            sender.send(recorded).ok();
            return;
        }
        // 1. Show that the folder does not answer.
        let hanging = format!(
            "the folder `{}` did not answer within {} s",
            file.folder.path,
            self.write_timeout.as_secs()
        );
        let recorded = self.record(&file, Err(hanging)).await;
        sender.send(recorded.map(|_| FileDelivery::Hanging)).ok();
        // 2. Wait for the write, which cannot be aborted. If it succeeds and no other attempt has begun, it counts.
        let written = writing.await;
        reservation.has_written.store(true, Ordering::Relaxed);
        if written.is_ok()
            && let Err(error) = self.record(&file, written).await
        {
            tracing::warn!(run = %file.run, %error, "cannot record the late delivery of {}", file.run);
        }
    }

    /// Records the result of a write.
    async fn record(
        &self,
        file: &ClaimedTriggerFile,
        written: Result<TriggerFileWrite, String>,
    ) -> Result<FileDelivery, Error> {
        let (store, run, now) = (&self.host.store, file.run, self.host.now());
        match written {
            Ok(write) => {
                // A fenced record means that a runtime has claimed the run already, or that another attempt has begun.
                let _ = store.record_trigger_file(file, write, now).await?;
                Ok(FileDelivery::Confirmed)
            }
            Err(error) => {
                tracing::warn!(%run, instance = %file.instance, %error, "cannot deliver {run}, will retry");
                let _ = store.record_trigger_file_failure(file, &error, now).await?;
                Ok(FileDelivery::Failed)
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.remove(&self.instance);
        drop(busy);
        if self.has_written.load(Ordering::Relaxed) {
            self.freed.notify_one();
        }
    }
}

async fn write(
    open_folder: &OpenFolder,
    file: &ClaimedTriggerFile,
) -> Result<TriggerFileWrite, String> {
    let name = TriggerName::new(file.named_at, file.run);
    let name = name.ok_or_else(|| format!("no file can be named by {}", file.named_at))?;
    let content = trigger(file).to_json().map_err(|error| error.to_string())?;
    let folder = open_folder(&file.folder);
    match folder.deliver(&name, content.as_bytes()).await {
        Ok(Delivered::Written) => Ok(TriggerFileWrite::Written),
        Ok(Delivered::AlreadyThere) => Ok(TriggerFileWrite::AlreadyThere),
        Err(error) => Err(error.message()),
    }
}

/// Returns the content of a file.
fn trigger(file: &ClaimedTriggerFile) -> RunTrigger {
    let TriggerContent {
        automation,
        origin,
        at,
        task,
    } = file.content.clone();
    let kind = match origin {
        Origin::Occurrence => TriggerKind::Cron,
        Origin::Task => TriggerKind::Task,
        Origin::Person | Origin::Message => TriggerKind::Message,
    };
    let to_session = |mode| RunTrigger::new(file.run, kind, at, task, mode);
    match automation {
        Some((id, name, mode)) => to_session(mode).of_automation(id, name),
        None => to_session(SessionMode::Bound),
    }
}
