//! The loops that make things happen on time: scheduler, workers, watchdog.
//!
//! **Invariants:** no HTTP server, and nothing shared with one but the database. Scheduler and
//! watchdog are a `tick` each that can be called by itself, and one small runner owns their sleeping,
//! waking and stopping. The pool of workers keeps its own time, since it waits for its turns.

mod error;
mod host;
mod ledger;
mod once;
mod pool;
mod process;
mod runner;
pub mod scheduler;
pub mod watchdog;

use std::sync::Arc;

use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use error::Error;
pub use host::{Host, Settings};
pub use ledger::StoreLedger;
pub use once::take_one;
pub use pool::Stopped;

use crate::{
    scheduler::Scheduler,
    watchdog::{Watch, Watchdog},
};

/// Wakes the loops after something changed in the database. Cheap to clone.
#[derive(Clone)]
pub struct Waker {
    pub(crate) scheduler: Arc<Notify>,
    pub(crate) pool: Arc<Notify>,
    pub(crate) beats: Arc<Notify>,
}

impl Waker {
    fn new() -> Self {
        Self {
            scheduler: Arc::new(Notify::new()),
            pool: Arc::new(Notify::new()),
            beats: Arc::new(Notify::new()),
        }
    }

    /// Makes every loop look again: something may be due, queued or called off.
    pub fn wake(&self) {
        self.scheduler.notify_one();
        self.pool.notify_one();
        self.beats.notify_one();
    }
}

/// The running loops of one server.
pub struct Daemon {
    waker: Waker,
    stop: CancellationToken,
    hand_back: CancellationToken,
    loops: Vec<JoinHandle<()>>,
    pool: JoinHandle<Stopped>,
    host: Host,
}

impl Daemon {
    /// Starts the loops. Must be called within a tokio runtime.
    pub fn start(host: Host) -> Self {
        let waker = Waker::new();
        let stop = CancellationToken::new();
        let hand_back = CancellationToken::new();
        let scheduler = Scheduler {
            host: host.clone(),
            waker: waker.clone(),
        };
        let watchdog = Watchdog {
            host: host.clone(),
            waker: waker.clone(),
            watch: Watch::default(),
        };
        // Nobody wakes the watchdog: what it looks for is that nothing happens.
        let never = Arc::new(Notify::new());
        let (tick, period) = (host.settings.tick, host.settings.watchdog);
        let wake = Arc::clone(&waker.scheduler);
        let loops = vec![
            tokio::spawn(runner::run(
                scheduler,
                host.clone(),
                tick,
                wake,
                stop.clone(),
            )),
            tokio::spawn(runner::run(
                watchdog,
                host.clone(),
                period,
                never,
                stop.clone(),
            )),
        ];
        let pool = tokio::spawn(pool::run(
            host.clone(),
            waker.clone(),
            stop.clone(),
            hand_back.clone(),
        ));
        Self {
            waker,
            stop,
            hand_back,
            loops,
            pool,
            host,
        }
    }

    /// What wakes the loops.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// What makes a stop that is under way hand running turns back at once.
    pub fn hurry(&self) -> CancellationToken {
        self.hand_back.clone()
    }

    /// Stops: nothing more is fired or claimed, running turns may end until the deadline of the
    /// settings, and what runs then is handed back.
    pub async fn stop(mut self) -> Stopped {
        self.stop.cancel();
        for running in self.loops.drain(..) {
            running.await.ok();
        }
        let deadline = tokio::time::sleep(self.host.settings.stop_deadline);
        tokio::select! {
            stopped = &mut self.pool => return stopped.unwrap_or_default(),
            () = deadline => {}
            () = self.hand_back.cancelled() => {}
        }
        self.hand_back.cancel();
        self.pool.await.unwrap_or_default()
    }
}
