//! The loops that make things happen on time: scheduler, workers, watchdog, housekeeping.
//!
//! **Invariants:** no HTTP server, and nothing shared with one but the database. Scheduler,
//! watchdog and housekeeping are a `tick` each that can be called by itself, and one small runner owns
//! their sleeping, waking and stopping. The pool of workers keeps its own time, since it waits for its turns.

mod asking;
mod error;
mod fleet;
mod host;
pub mod housekeeping;
mod ledger;
pub mod notifier;
mod once;
mod pool;
mod presence;
mod process;
mod runner;
pub mod scheduler;
mod turns;
mod waits;
mod waker;
pub mod watchdog;

use std::{sync::Arc, time::Duration};

use model::limits;
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use error::Error;
pub use fleet::FleetClock;
pub use host::{Host, Settings};
pub use ledger::StoreLedger;
pub use once::take_one;
pub use pool::Stopped;
pub use process::{SignOfLife, has_let_go};
pub use waker::Waker;

use crate::{
    housekeeping::{Housekeeper, Round},
    notifier::Notifier,
    presence::Presence,
    scheduler::Scheduler,
    watchdog::{Watch, Watchdog},
};

/// How long what has nothing more to do may take to end: it may hang in the database.
const UPKEEP_END: Duration = Duration::from_secs(5);

/// The running loops of one server.
pub struct Daemon {
    waker: Waker,
    /// Nothing more is fired or claimed.
    stop: CancellationToken,
    /// What runs is handed back.
    hand_back: CancellationToken,
    /// Nothing runs any more.
    over: CancellationToken,
    ended: CancellationToken,
    loops: Vec<JoinHandle<()>>,
    upkeep: Vec<JoinHandle<()>>,
    pool: JoinHandle<Stopped>,
    sending: TaskTracker,
    host: Host,
}

impl Daemon {
    /// Starts the loops. Must be called within a tokio runtime.
    pub fn start(host: Host) -> Self {
        Self::start_with(host, Waker::default())
    }

    /// Starts the loops, to be woken by a waker that others may have already.
    pub fn start_with(host: Host, waker: Waker) -> Self {
        Self::start_in_fleet(host, waker, None)
    }

    /// The same, and keeps the host's clock right where it is one that others share.
    pub fn start_in_fleet(host: Host, waker: Waker, clock: Option<Arc<FleetClock>>) -> Self {
        let stop = CancellationToken::new();
        let hand_back = CancellationToken::new();
        let over = CancellationToken::new();
        let ended = CancellationToken::new();
        let scheduler = Scheduler {
            host: host.clone(),
            waker: waker.clone(),
        };
        let watchdog = Watchdog {
            host: host.clone(),
            waker: waker.clone(),
            watch: Watch::default(),
        };
        let housekeeper = Housekeeper {
            host: host.clone(),
            round: Round::default(),
        };
        let sending = TaskTracker::new();
        let news = Arc::clone(&waker.notifier);
        let notifier = Notifier::new(
            host.clone(),
            sending.clone(),
            hand_back.clone(),
            Arc::clone(&news),
        );
        // Nobody wakes the watchdog: what it looks for is that nothing happens. Nor is what is old urgent.
        let never = Arc::new(Notify::new());
        let (tick, period) = (host.settings.tick, host.settings.watchdog);
        let wake = Arc::clone(&waker.scheduler);
        let loops = vec![
            tokio::spawn(telling(
                ended.clone(),
                runner::run(scheduler, host.clone(), tick, wake, stop.clone()),
            )),
            tokio::spawn(telling(
                ended.clone(),
                runner::run(
                    watchdog,
                    host.clone(),
                    period,
                    Arc::clone(&never),
                    stop.clone(),
                ),
            )),
            tokio::spawn(telling(
                ended.clone(),
                runner::run(
                    housekeeper,
                    host.clone(),
                    limits::HOUSEKEEPING,
                    Arc::clone(&never),
                    stop.clone(),
                ),
            )),
            tokio::spawn(telling(
                ended.clone(),
                runner::run(notifier, host.clone(), tick, news, stop.clone()),
            )),
        ];
        // What running turns need goes on until the last one has ended: a server that stops may take hours.
        let presence = Presence {
            host: host.clone(),
            stop: stop.clone(),
            end: ended.clone(),
            hand_back: hand_back.clone(),
        };
        let shows = Presence::period(&host);
        let called = waker.clone().woken_by(host.store.work());
        let mut upkeep = vec![
            tokio::spawn(telling(
                ended.clone(),
                runner::run(presence, host.clone(), shows, never, over.clone()),
            )),
            tokio::spawn(until(over.clone(), called)),
        ];
        if let Some(clock) = clock {
            let keeping = clock.keep(host.clone(), waker.clone(), over.clone());
            upkeep.push(tokio::spawn(telling(ended.clone(), keeping)));
        }
        let pool = pool::run(host.clone(), waker.clone(), stop.clone(), hand_back.clone());
        let pool = tokio::spawn(telling(ended.clone(), pool));
        Self {
            waker,
            stop,
            hand_back,
            over,
            ended,
            loops,
            upkeep,
            pool,
            sending,
            host,
        }
    }

    /// What wakes the loops.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Cancelled when a loop has ended. If nobody stopped it, it died, and the server with it: nothing
    /// is fired or taken any more.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// What makes a stop that is under way hand running turns back at once.
    pub fn hurry(&self) -> CancellationToken {
        self.hand_back.clone()
    }

    /// Stops: nothing more is fired or claimed, running turns may end until the deadline of the
    /// settings, and what runs then is handed back.
    pub async fn stop(self) -> Stopped {
        let Self { host, upkeep, .. } = self;
        self.stop.cancel();
        let working = Working {
            loops: self.loops,
            pool: self.pool,
            sending: self.sending,
        };
        let deadline = host.settings.stop_deadline;
        let stopped = working.end(deadline, &self.hand_back).await;
        self.over.cancel();
        for mut running in upkeep {
            if timeout(UPKEEP_END, &mut running).await.is_err() {
                running.abort();
            }
        }
        // Others need not wait to see that nobody serves its folder.
        let gone = host
            .store
            .stop_serving(host.instance, &host.worker, host.now());
        if let Err(error) = gone.await {
            tracing::warn!(%error, "failed to note that this server has stopped");
        }
        stopped
    }
}

/// What comes to its end when a server stops.
struct Working {
    loops: Vec<JoinHandle<()>>,
    pool: JoinHandle<Stopped>,
    sending: TaskTracker,
}

impl Working {
    /// Waits for it; from the deadline on, or when somebody hurries, what runs is handed back.
    async fn end(self, deadline: Duration, hand_back: &CancellationToken) -> Stopped {
        let aborts: Vec<_> = self.loops.iter().map(JoinHandle::abort_handle).collect();
        let mut ended = std::pin::pin!(async {
            for running in self.loops {
                running.await.ok();
            }
            let stopped = self.pool.await.unwrap_or_default();
            // What is being sent now comes to its end, so that nobody is sent it twice.
            self.sending.close();
            self.sending.wait().await;
            stopped
        });
        tokio::select! {
            stopped = &mut ended => return stopped,
            () = sleep(deadline) => {}
            () = hand_back.cancelled() => {}
        }
        // A loop that hangs in the database has nothing that must be brought to an end.
        for hanging in aborts {
            hanging.abort();
        }
        hand_back.cancel();
        ended.await
    }
}

/// Goes on until it is stopped.
async fn until(stop: CancellationToken, running: impl Future<Output = ()>) {
    tokio::select! {
        () = running => {}
        () = stop.cancelled() => {}
    }
}

/// Runs a loop and tells when it has ended, in whatever way.
async fn telling<T>(ended: CancellationToken, running: impl Future<Output = T>) -> T {
    let _tells = ended.drop_guard();
    running.await
}
