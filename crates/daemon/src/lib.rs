//! The background loops of a server: scheduler, worker pool, watchdog, notifier, housekeeping, presence and, on
//! PostgreSQL, the clock keeper.
//!
//! **Invariants:** this crate has no HTTP server, and shares only the database with one. Each loop except the worker
//! pool is a single tick that tests can call directly; the `runner` module owns the sleeping, waking and stopping of
//! these loops. The worker pool keeps its own time, because it also waits for its turns to end. A wake-up is only an
//! optimization: every loop also polls the database at an interval, so a lost wake-up delays work and never loses it.

mod approval_request;
mod approval_waits;
mod error;
mod fleet_clock;
mod host;
pub mod housekeeping;
mod loop_runner;
mod loop_signals;
pub mod notifier;
mod pool;
mod presence;
pub mod scheduler;
mod standalone;
mod turn_store;
mod turns;
pub mod watchdog;
mod worker_lock;

use std::{sync::Arc, time::Duration};

use model::limits;
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use error::Error;
pub use fleet_clock::FleetClock;
pub use host::{Host, Settings};
pub use loop_signals::LoopSignals;
pub use pool::StopSummary;
pub use standalone::take_standalone_turn;
pub use turn_store::WorkerTurnStore;
pub use worker_lock::{WorkerLock, is_worker_dead};

use crate::{
    housekeeping::{Housekeeper, TrimProgress},
    notifier::Notifier,
    presence::PresenceReporter,
    scheduler::Scheduler,
    watchdog::{HeartbeatMonitor, Watchdog},
};

/// The time that each upkeep task gets to end after the last turn has ended. The limit exists because such a task may
/// hang in a database call.
const UPKEEP_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The running loops of one server.
pub struct Daemon {
    signals: LoopSignals,
    /// Stops the firing of triggers and the claiming of runs.
    stop: CancellationToken,
    /// Makes running turns end, so that their runs are requeued.
    requeue: CancellationToken,
    /// Stops the upkeep tasks once no turn runs any more.
    upkeep_stop: CancellationToken,
    /// Cancelled as soon as any loop has ended, whether by a stop or by a panic.
    loop_ended: CancellationToken,
    /// The loops that end with `stop`: scheduler, watchdog, housekeeping and notifier.
    loops: Vec<JoinHandle<()>>,
    /// The tasks that running turns depend on; these tasks end with `over`.
    upkeep: Vec<JoinHandle<()>>,
    pool: JoinHandle<StopSummary>,
    /// The notification requests under way.
    delivery_tasks: TaskTracker,
    host: Host,
}

impl Daemon {
    /// Starts the loops. The caller must be inside a tokio runtime.
    pub fn start(host: Host) -> Self {
        Self::start_with_signals(host, LoopSignals::default())
    }

    /// Starts the loops with a `Waker` that other parts of the process, such as the API, may already hold.
    pub fn start_with_signals(host: Host, waker: LoopSignals) -> Self {
        Self::start_with_clock(host, waker, None)
    }

    /// Starts the loops, and keeps `clock` synchronized with the database's clock if one is given.
    pub fn start_with_clock(
        host: Host,
        waker: LoopSignals,
        clock: Option<Arc<FleetClock>>,
    ) -> Self {
        // 1. Build the loops.
        let stop = CancellationToken::new();
        let requeue = CancellationToken::new();
        let over = CancellationToken::new();
        let ended = CancellationToken::new();
        let scheduler = Scheduler {
            host: host.clone(),
            signals: waker.clone(),
        };
        let watchdog = Watchdog {
            host: host.clone(),
            signals: waker.clone(),
            monitor: HeartbeatMonitor::default(),
        };
        let housekeeper = Housekeeper {
            host: host.clone(),
            progress: TrimProgress::default(),
        };
        let sending = TaskTracker::new();
        let news = Arc::clone(&waker.notifier);
        let notifier = Notifier::new(
            host.clone(),
            sending.clone(),
            requeue.clone(),
            Arc::clone(&news),
        );
        // Nothing notifies `never`: the watchdog polls, because a missing heartbeat produces no event, and
        // housekeeping is never urgent.
        let never = Arc::new(Notify::new());
        let (tick, period) = (host.settings.tick, host.settings.watchdog);
        let wake = Arc::clone(&waker.scheduler);
        // 2. Start the loops that end with `stop`.
        let loops = vec![
            tokio::spawn(cancel_when_done(
                ended.clone(),
                loop_runner::run(scheduler, host.clone(), tick, wake, stop.clone()),
            )),
            tokio::spawn(cancel_when_done(
                ended.clone(),
                loop_runner::run(
                    watchdog,
                    host.clone(),
                    period,
                    Arc::clone(&never),
                    stop.clone(),
                ),
            )),
            tokio::spawn(cancel_when_done(
                ended.clone(),
                loop_runner::run(
                    housekeeper,
                    host.clone(),
                    limits::HOUSEKEEPING_INTERVAL,
                    Arc::clone(&never),
                    stop.clone(),
                ),
            )),
            tokio::spawn(cancel_when_done(
                ended.clone(),
                loop_runner::run(notifier, host.clone(), tick, news, stop.clone()),
            )),
        ];
        // 3. Start the tasks that running turns depend on. These tasks end with `over` and not with `stop`, because a
        // server that stops may wait for hours for its last turn. Without presence, other servers would take this
        // server for dead; without the clock, its heartbeats would not be renewed; without the forwarded wake-ups, a
        // cancellation from another server would arrive only with the next heartbeat.
        let presence = PresenceReporter {
            host: host.clone(),
            stop: stop.clone(),
            stop_server: ended.clone(),
            requeue: requeue.clone(),
        };
        let shows = PresenceReporter::interval(&host);
        let called = waker
            .clone()
            .forward_remote_work(host.store.subscribe_work());
        let mut upkeep = vec![
            tokio::spawn(cancel_when_done(
                ended.clone(),
                loop_runner::run(presence, host.clone(), shows, never, over.clone()),
            )),
            tokio::spawn(run_until(over.clone(), called)),
        ];
        if let Some(clock) = clock {
            let keeping = clock.keep_synchronized(host.clone(), waker.clone(), over.clone());
            upkeep.push(tokio::spawn(cancel_when_done(ended.clone(), keeping)));
        }
        // 4. Start the workers.
        let pool = pool::run(host.clone(), waker.clone(), stop.clone(), requeue.clone());
        let pool = tokio::spawn(cancel_when_done(ended.clone(), pool));
        Self {
            signals: waker,
            stop,
            requeue,
            upkeep_stop: over,
            loop_ended: ended,
            loops,
            upkeep,
            pool,
            delivery_tasks: sending,
            host,
        }
    }

    /// Returns the signals that wake the loops.
    pub fn signals(&self) -> LoopSignals {
        self.signals.clone()
    }

    /// Returns a token that is cancelled once any loop has ended. If the caller has not stopped the server, that loop
    /// has died and the server must stop, because triggers no longer fire or runs are no longer claimed.
    pub fn loop_ended(&self) -> CancellationToken {
        self.loop_ended.clone()
    }

    /// Returns a token that, when cancelled during a stop, requeues the running turns at once instead of at the
    /// deadline.
    pub fn requeue_token(&self) -> CancellationToken {
        self.requeue.clone()
    }

    /// Stops the server: fires and claims nothing more, lets running turns end until `Settings::stop_deadline`, and
    /// then requeues the turns that still run. Returns how many turns ended and how many were requeued.
    pub async fn stop(self) -> StopSummary {
        let Self { host, upkeep, .. } = self;
        self.stop.cancel();
        let working = StoppingTasks {
            loops: self.loops,
            pool: self.pool,
            delivery_tasks: self.delivery_tasks,
        };
        let deadline = host.settings.stop_deadline;
        let stopped = working.stop(deadline, &self.requeue).await;
        self.upkeep_stop.cancel();
        for mut running in upkeep {
            if timeout(UPKEEP_STOP_TIMEOUT, &mut running).await.is_err() {
                running.abort();
            }
        }
        // Record the stop, so that other servers see at once that the data folder is free. Without the record, this
        // server would count as online until `limits::SERVER_OFFLINE_AFTER` has passed.
        let gone = host
            .store
            .record_server_stop(host.instance, &host.worker, host.now());
        if let Err(error) = gone.await {
            tracing::warn!(%error, "failed to note that this server has stopped");
        }
        stopped
    }
}

/// The tasks that a stop waits for.
struct StoppingTasks {
    loops: Vec<JoinHandle<()>>,
    pool: JoinHandle<StopSummary>,
    delivery_tasks: TaskTracker,
}

impl StoppingTasks {
    /// Waits until all tasks have ended. At the deadline, or as soon as `requeue` is cancelled, aborts the loops
    /// and requeues the running turns.
    async fn stop(self, deadline: Duration, requeue: &CancellationToken) -> StopSummary {
        let aborts: Vec<_> = self.loops.iter().map(JoinHandle::abort_handle).collect();
        let mut ended = std::pin::pin!(async {
            for running in self.loops {
                running.await.ok();
            }
            let stopped = self.pool.await.unwrap_or_default();
            // Let the requests under way complete. A request that is cut off counts as unsent, and would be sent a
            // second time once its lease is over.
            self.delivery_tasks.close();
            self.delivery_tasks.wait().await;
            stopped
        });
        tokio::select! {
            stopped = &mut ended => return stopped,
            () = sleep(deadline) => {}
            () = requeue.cancelled() => {}
        }
        // Abort the loops, because one may hang in a database call and would block the stop. A loop may be aborted
        // anywhere, since each of its changes is one transaction. The pool is not aborted: each of its turns must
        // still shut its agent down and write its end.
        for hanging in aborts {
            hanging.abort();
        }
        requeue.cancel();
        ended.await
    }
}

/// Runs `running` until it ends or `stop` is cancelled.
async fn run_until(stop: CancellationToken, running: impl Future<Output = ()>) {
    tokio::select! {
        () = running => {}
        () = stop.cancelled() => {}
    }
}

/// Runs a loop and cancels `ended` after it. The drop guard does so even if the loop panics.
async fn cancel_when_done<T>(ended: CancellationToken, running: impl Future<Output = T>) -> T {
    let _tells = ended.drop_guard();
    running.await
}
