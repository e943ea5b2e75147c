//! Reports changes of a trigger folder, by events of the kernel and by polling.
//!
//! **Invariant:** a report only means that the folder may have changed: the reader lists the folder again. So a lost
//! event, an overflow of the kernel's queue, a folder without events and a folder that vanished and returned need no
//! treatment of their own.

use std::{
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    time::{Instant, sleep_until},
};

/// The time between two polls. Network volumes send no events for the changes of other machines.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The time between two polls while the folder cannot be watched, usually because it is missing.
const UNWATCHED_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The size of the buffer for events. One event takes at most 272 bytes.
const EVENT_BUFFER_BYTES: usize = 4096;

/// The events after which a folder is listed: a file was renamed into it, linked into it, or closed after writing, and
/// the folder itself was removed or renamed.
const EVENTS: WatchFlags = WatchFlags::MOVED_TO
    .union(WatchFlags::CREATE)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// The events after which the watch no longer belongs to the path.
const WATCH_ENDS: ReadFlags = ReadFlags::IGNORED
    .union(ReadFlags::DELETE_SELF)
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT);

/// Reports that a folder may have changed.
#[derive(Debug)]
pub struct FolderWatcher {
    watch: Arc<FolderWatch>,
    /// The instant of the last report without an event. `None` before the first one.
    last_poll: Option<Instant>,
}

/// The watch of a folder, which the reader renews before each listing.
#[derive(Debug)]
pub struct FolderWatch {
    folder: PathBuf,
    /// The queue of events. `None` if the kernel gives this process none; the folder is then only polled.
    queue: Option<AsyncFd<OwnedFd>>,
    /// The watch in the queue. `None` while the folder cannot be watched.
    descriptor: Mutex<Option<i32>>,
}

impl FolderWatcher {
    /// Starts to watch a folder, which may be missing. The first report comes at once.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let queue = open_queue().inspect_err(|error| {
            let error: &(dyn std::error::Error + 'static) = error;
            let folder = folder.display();
            tracing::warn!(error, "cannot watch `{folder}` by events: it is polled");
        });
        Self {
            watch: Arc::new(FolderWatch::new(folder, queue.ok())),
            last_poll: None,
        }
    }

    /// Returns the watch, whose renewal belongs to each listing.
    pub fn watch(&self) -> Arc<FolderWatch> {
        Arc::clone(&self.watch)
    }

    /// Waits until the folder may have changed. May be dropped and called again without losing a report. After a report,
    /// the caller must renew the watch and then list the folder.
    ///
    /// While nothing changes, it reports once in 10 s, or once a second while the folder cannot be watched.
    pub async fn changed(&mut self) {
        loop {
            let next_poll = self.next_poll();
            tokio::select! {
                events = wait_for_events(self.watch.queue.as_ref()) => match events {
                    Events::Irrelevant => {}
                    // After the end of a watch, another folder may have the name already.
                    Events::Changed | Events::WatchEnded => return,
                    Events::Broken => {
                        let folder = self.watch.folder.clone();
                        self.watch = Arc::new(FolderWatch::new(folder, None));
                    }
                },
                () = sleep_until(next_poll) => {
                    self.last_poll = Some(Instant::now());
                    return;
                }
            }
        }
    }

    /// Returns the instant of the next report without an event.
    fn next_poll(&self) -> Instant {
        let interval = match self.watch.descriptor() {
            Some(_) => POLL_INTERVAL,
            None => UNWATCHED_POLL_INTERVAL,
        };
        self.last_poll.map_or_else(Instant::now, |at| at + interval)
    }
}

impl FolderWatch {
    fn new(folder: PathBuf, queue: Option<AsyncFd<OwnedFd>>) -> Self {
        Self {
            folder,
            queue,
            descriptor: Mutex::default(),
        }
    }

    /// Watches the folder that the path names now, which may be another one than before. The kernel keeps one watch for
    /// each folder, so that this changes nothing if the folder is the same. Blocks the calling thread.
    pub fn renew(&self) {
        let Some(queue) = &self.queue else {
            return;
        };
        let renewed = inotify::add_watch(queue.get_ref(), &self.folder, EVENTS).ok();
        let before = std::mem::replace(&mut *self.lock_descriptor(), renewed);
        if let Some(before) = before.filter(|_| renewed != before) {
            // An error means that the kernel has removed the watch already.
            inotify::remove_watch(queue.get_ref(), before).ok();
        }
    }

    fn descriptor(&self) -> Option<i32> {
        *self.lock_descriptor()
    }

    fn lock_descriptor(&self) -> MutexGuard<'_, Option<i32>> {
        let descriptor = self.descriptor.lock();
        descriptor.unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    deprecated,
    reason = "the successor is an unsafe function, and its condition holds: an `OwnedFd` always has one descriptor"
)]
fn open_queue() -> std::io::Result<AsyncFd<OwnedFd>> {
    let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    AsyncFd::with_interest(queue, Interest::READABLE)
}

/// The meaning of the events that have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Events {
    /// No event concerns a file that may be a trigger.
    Irrelevant,
    /// The folder may have changed.
    Changed,
    /// The path may name another folder now, or none.
    WatchEnded,
    /// The queue cannot be read.
    Broken,
}

/// Waits for events and reads all of them. Never returns without a queue.
async fn wait_for_events(queue: Option<&AsyncFd<OwnedFd>>) -> Events {
    let Some(queue) = queue else {
        return std::future::pending().await;
    };
    let Ok(mut ready) = queue.readable().await else {
        return Events::Broken;
    };
    // From here on nothing waits, so that a dropped future loses no event.
    let mut buffer = [const { MaybeUninit::uninit() }; EVENT_BUFFER_BYTES];
    let mut reader = Reader::new(queue.get_ref(), &mut buffer);
    let mut found = Events::Irrelevant;
    loop {
        match reader.next() {
            Ok(event) => {
                let name = event.file_name().map_or(&b""[..], |name| name.to_bytes());
                if event.events().intersects(WATCH_ENDS) {
                    found = Events::WatchEnded;
                } else if !name.starts_with(b".") && found == Events::Irrelevant {
                    // An overflow has no name, and counts as a change. Hidden files are written by deliveries.
                    found = Events::Changed;
                }
            }
            Err(Errno::WOULDBLOCK) => break,
            Err(Errno::INTR) => {}
            Err(_) => return Events::Broken,
        }
    }
    ready.clear_ready();
    found
}

#[cfg(test)]
#[path = "tests_watcher.rs"]
mod tests;
