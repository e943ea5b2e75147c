//! Runs the background loops of a server, which fire triggers, take turns and watch over both.
//!
//! ```text
//! Daemon --> scheduler      fires due triggers, promotes runs whose backoff is over
//!        |-> worker pool    claims queued runs, takes their turns (crate `turn`)
//!        |-> watchdog       gives up runs of lost workers
//!        |-> notifier       sends notifications to endpoints
//!        |-> dispatcher     writes trigger files into the folders of instances
//!        |-> checks         runs the checks of tasks whose directory is on this server
//!        |-> housekeeping   removes old rows
//!        |-> presence       shows other servers that this server is online
//!        `-> clock          follows the database's clock (PostgreSQL only)
//! ```
//!
//! - [`Daemon`] starts and stops the loops. [`take_standalone_turn`] takes one turn without them.
//! - [`Host`] holds the resources and [`Settings`] that the loops share.
//! - [`LoopSignals`] wakes the loops after a change in the database.
//! - [`WorkerTurnStore`] is the storage of the turns of one worker, which [`TurnStores`] opens. [`DirectTurnStores`] opens
//!   it over the store, fenced by the run and the worker.
//! - [`FleetClock`] is the clock that all servers of one database share.
//!
//! Read this file first, then `loop_runner.rs` and the loop in question.
//!
//! **Invariants:** this crate has no HTTP server, and shares only the database with one. Each loop except the worker
//! pool is a single tick that tests can call directly; the `loop_runner` module owns the sleeping, waking and stopping
//! of these loops. The worker pool keeps its own time, because it also waits for its turns to end. A wake-up is only
//! an optimization: every loop also polls the database at an interval, so a lost wake-up delays work and never loses
//! it.

mod approval_request;
mod approval_waits;
pub mod checks;
mod content_sweep;
mod deliveries;
mod direct_turn_store;
mod directories;
pub mod dispatcher;
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

// The body of an `async fn` is compiled again in each crate that awaits it. A boxed future is compiled once, here.
use async_recursion::async_recursion as boxed;

use std::{sync::Arc, time::Duration};

use model::limits;
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use direct_turn_store::DirectTurnStores;
pub use error::Error;
pub use fleet_clock::FleetClock;
pub use host::{Host, Settings, TurnStores};
pub use loop_signals::LoopSignals;
pub use pool::StopSummary;
pub use standalone::take_standalone_turn;
pub use turn_store::WorkerTurnStore;

use crate::{
    checks::ChecksRunner,
    deliveries::Deliveries,
    dispatcher::Dispatcher,
    housekeeping::{Housekeeper, TrimProgress},
    loop_runner::LoopBody,
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
    /// The loops that end with `stop`: scheduler, watchdog, housekeeping, notifier, dispatcher and checks.
    loops: Vec<JoinHandle<()>>,
    /// The tasks that running turns depend on; these tasks end with `upkeep_stop`.
    upkeep: Vec<JoinHandle<()>>,
    pool: JoinHandle<StopSummary>,
    /// The notification requests, the deliveries of trigger files and the checks under way.
    delivery_tasks: TaskTracker,
    host: Host,
}

impl Daemon {
    /// Starts the loops. The caller must be inside a tokio runtime.
    pub fn start(host: Host) -> Self {
        Self::start_with_signals(host, LoopSignals::default())
    }

    /// Starts the loops with signals that other parts of the process, such as the API, may already hold.
    pub fn start_with_signals(host: Host, signals: LoopSignals) -> Self {
        Self::start_with_clock(host, signals, None)
    }

    /// Starts the loops, and keeps `clock` synchronized with the database's clock if one is given.
    pub fn start_with_clock(
        host: Host,
        signals: LoopSignals,
        clock: Option<Arc<FleetClock>>,
    ) -> Self {
        // 1. Build the loops.
        let stop = CancellationToken::new();
        let requeue = CancellationToken::new();
        let upkeep_stop = CancellationToken::new();
        let loop_ended = CancellationToken::new();
        let scheduler = Scheduler {
            host: host.clone(),
            signals: signals.clone(),
        };
        let watchdog = Watchdog {
            host: host.clone(),
            signals: signals.clone(),
            monitor: HeartbeatMonitor::default(),
        };
        let housekeeper = Housekeeper {
            host: host.clone(),
            progress: TrimProgress::default(),
        };
        let delivery_tasks = TaskTracker::new();
        let notifier = Notifier::new(
            host.clone(),
            delivery_tasks.clone(),
            requeue.clone(),
            Arc::clone(&signals.notifier),
        );
        let freed = Arc::clone(&signals.dispatcher);
        let deliveries = Deliveries::new(host.clone(), stop.clone(), freed);
        let dispatcher = Dispatcher::new(deliveries, delivery_tasks.clone(), requeue.clone());
        let checks = ChecksRunner::new(
            host.clone(),
            delivery_tasks.clone(),
            stop.clone(),
            signals.clone(),
        );
        // Nothing notifies `never`: the watchdog polls, because a missing heartbeat produces no event, and
        // housekeeping is never urgent.
        let never = Arc::new(Notify::new());
        let (tick, period) = (host.settings.tick, host.settings.watchdog);
        // 2. Start the loops that end with `stop`.
        let end = (&stop, &loop_ended);
        let loops = vec![
            spawn_loop(&host, scheduler, tick, &signals.scheduler, end),
            spawn_loop(&host, watchdog, period, &never, end),
            spawn_loop(
                &host,
                housekeeper,
                limits::HOUSEKEEPING_INTERVAL,
                &never,
                end,
            ),
            spawn_loop(&host, notifier, tick, &signals.notifier, end),
            spawn_loop(&host, dispatcher, tick, &signals.dispatcher, end),
            spawn_loop(&host, checks, tick, &signals.checks, end),
        ];
        // 3. Start the tasks that running turns depend on. These tasks end with `upkeep_stop` and not with `stop`,
        // because a server that stops may wait for hours for its last turn. Without presence, other servers would take
        // this server for dead; without the clock, its heartbeats would not be renewed; without the forwarded wake-ups,
        // a cancellation from another server would arrive only with the next heartbeat.
        let presence = PresenceReporter {
            host: host.clone(),
            stop: stop.clone(),
            stop_server: loop_ended.clone(),
            requeue: requeue.clone(),
        };
        let interval = PresenceReporter::interval(&host);
        let remote_work = signals
            .clone()
            .forward_remote_work(host.store.subscribe_work());
        let mut upkeep = vec![
            spawn_loop(
                &host,
                presence,
                interval,
                &never,
                (&upkeep_stop, &loop_ended),
            ),
            tokio::spawn(run_until(upkeep_stop.clone(), remote_work)),
        ];
        if let Some(clock) = clock {
            let clock = clock.keep_synchronized(host.clone(), signals.clone(), upkeep_stop.clone());
            upkeep.push(tokio::spawn(cancel_when_done(loop_ended.clone(), clock)));
        }
        // 4. Start the workers.
        let pool = pool::run(host.clone(), signals.clone(), stop.clone(), requeue.clone());
        let pool = tokio::spawn(cancel_when_done(loop_ended.clone(), pool));
        Self {
            signals,
            stop,
            requeue,
            upkeep_stop,
            loop_ended,
            loops,
            upkeep,
            pool,
            delivery_tasks,
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
    #[boxed]
    pub async fn stop(self) -> StopSummary {
        let Self { host, upkeep, .. } = self;
        self.stop.cancel();
        let stopping = StoppingTasks {
            loops: self.loops,
            pool: self.pool,
            delivery_tasks: self.delivery_tasks,
        };
        let deadline = host.settings.stop_deadline;
        let stopped = stopping.stop(deadline, &self.requeue).await;
        self.upkeep_stop.cancel();
        for mut running in upkeep {
            if timeout(UPKEEP_STOP_TIMEOUT, &mut running).await.is_err() {
                running.abort();
            }
        }
        // Record the stop, so that other servers see at once that the data folder is free. Without the record, this
        // server would count as online until `limits::SERVER_OFFLINE_AFTER` has passed.
        let recorded = host
            .store
            .record_server_stop(host.instance, &host.worker, host.now());
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "cannot record the stop of this server");
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

/// Starts a loop, which ends with `stop` and cancels `ended` when it has ended.
fn spawn_loop(
    host: &Host,
    body: impl LoopBody + 'static,
    longest: Duration,
    wake: &Arc<Notify>,
    (stop, ended): (&CancellationToken, &CancellationToken),
) -> JoinHandle<()> {
    let running = loop_runner::run(body, host.clone(), longest, Arc::clone(wake), stop.clone());
    tokio::spawn(cancel_when_done(ended.clone(), running))
}

/// Runs a loop and cancels `ended` after it. The drop guard does so even if the loop panics.
async fn cancel_when_done<T>(ended: CancellationToken, running: impl Future<Output = T>) -> T {
    let _cancel_on_drop = ended.drop_guard();
    running.await
}
