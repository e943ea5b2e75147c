//! The watchdog: gives up runs whose worker is lost, so that their inputs are retried.
//!
//! **Invariants:** a run is given up only if its worker process is known to be dead, or if its heartbeat is stale by
//! a clock that can be trusted. The processes that a dead worker of this instance has left are killed before its run
//! is given up.

use std::time::Duration;

use model::{RunId, Timestamp};
use tokio::time::Instant;

use crate::{Error, Host, LoopSignals, Settings, boxed, loop_runner::LoopBody};

/// The highest difference between the clock and the monotonic clock, over one interval, that does not count as a
/// leap.
const MAX_CLOCK_DRIFT: Duration = Duration::from_secs(1);

/// Runs one tick: gives up the runs whose worker process on this instance is dead, and the runs with a stale
/// heartbeat, and expires overdue approvals. While the time is unknown, does only the first of these, because it
/// needs no clock. Returns the runs that were given up.
#[boxed]
pub async fn tick(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    if !host.time_is_known() {
        return stall_runs_of_dead_workers(host, now).await;
    }
    let stale_before = now.saturating_sub(host.settings.heartbeat_stale);
    // Dead workers of this instance come first, because `stall` below does not kill their leftover processes.
    let mut given_up = stall_runs_of_dead_workers(host, now).await?;
    let stale = host.store.stall_stale_runs(stale_before, now).await?;
    host.metrics.record_stalls(stale.len());
    given_up.extend(stale);
    // The turn that waits for an approval normally expires it; the watchdog does so in case that worker is dead or
    // frozen. An error is only logged: the caller must still learn of the runs that were given up, so that it wakes
    // the loops that wait for them.
    if let Err(error) = host.store.expire_overdue_approvals(now).await {
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::error!(error, "cannot expire overdue approvals");
        host.metrics.record_loop_error(Watchdog::NAME);
    }
    Ok(given_up)
}

/// Gives up the runs whose worker process belonged to this instance and is dead.
async fn stall_runs_of_dead_workers(host: &Host, now: Timestamp) -> Result<Vec<RunId>, Error> {
    let mut stalled = Vec::new();
    let executing = host.store.runs_executing_on(host.instance).await?;
    let workers: Vec<_> = executing.iter().map(|(_, worker)| worker.clone()).collect();
    for (run, worker) in executing {
        if !host.worker_lock.is_dead(&worker) {
            continue;
        }
        // Kill before the run is given up: afterwards another worker may start the next attempt at any moment.
        kill_leftovers(run).await;
        // `false` if the run has ended, or another server has given it up, since the list was read.
        if host.store.stall_run(run, &worker, now).await? {
            host.metrics.record_stalls(1);
            stalled.push(run);
        }
    }
    // Keep the lock files of workers that had runs in the list above. Without its file a worker no longer counts as
    // dead, and a run that could not be given up now would have to wait until its heartbeat is stale.
    if let Err(error) = host.worker_lock.remove_stale_files(&workers).await {
        let error: &(dyn std::error::Error + 'static) = &error;
        tracing::error!(error, "cannot remove the lock files of dead workers");
    }
    Ok(stalled)
}

/// Kills the processes that the agent of a run has left. The guard has killed them already unless it was killed
/// itself; in that case the old attempt must not live beside the next one. A failure is only logged, because
/// `WorkerLock::kill_leftovers` refuses every claim on this instance until the processes are gone.
async fn kill_leftovers(run: RunId) {
    let swept = tokio::task::spawn_blocking(move || agent::guard::sweep(&run.to_string())).await;
    match swept {
        Ok(Ok(0)) => {}
        Ok(Ok(killed)) => {
            tracing::warn!(%run, killed, "killed {killed} leftover processes of {run}");
        }
        Ok(Err(error)) => {
            tracing::error!(%run, %error, "cannot kill the leftover processes of {run}");
        }
        Err(error) => {
            tracing::error!(%run, %error, "cannot search for leftover processes of {run}");
        }
    }
}

/// Judges heartbeats, and detects when the clock cannot be trusted with their age.
///
/// After the clock leaps forward, every heartbeat looks stale at once, also if it leapt back before. Such a leap comes from a clock that was set
/// (on PostgreSQL the database's, since the machine's own clock does not matter there) or from a machine that was
/// suspended. For one lease after a leap, the monitor therefore gives up only runs whose worker process is known to be
/// dead: during that time live workers renew their heartbeats, and guards kill the agents of frozen workers. The same
/// period follows the start of the watchdog, because it cannot know what the clock did before.
///
/// While the time is unknown, no reading of the clock is kept: the next known time is compared with the last known
/// one. The first reading of the database's clock, which replaces the time of the machine's own clock, therefore
/// counts as the start of the watchdog and not as a leap.
///
/// Public only for the simulation, which has clocks of its own.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct HeartbeatMonitor {
    /// The clock's time at the last tick, with the monotonic time of that tick.
    last_tick: Option<(Timestamp, Instant)>,
    /// The end of the period in which heartbeats may look older than they are. `None` if the clock is trusted.
    doubtful_until: Option<Instant>,
    /// `true` if the last tick found no heartbeat at all.
    idle: bool,
}

impl HeartbeatMonitor {
    /// Runs one tick. `now` is the time of the clock, `at` the monotonic time of the process. Returns the runs that
    /// were given up.
    #[boxed]
    pub async fn tick(
        &mut self,
        host: &Host,
        now: Timestamp,
        at: Instant,
    ) -> Result<Vec<RunId>, Error> {
        if !host.time_is_known() {
            self.idle = false;
            let given_up = tick(host, now).await?;
            return Ok(log_given_up(given_up));
        }
        // 1. Detect a leap of the clock. The first tick counts as one.
        let leapt = match self.last_tick.replace((now, at)) {
            Some((shown, then)) => {
                // A leap back may hide a leap forward, before which a worker has renewed its heartbeat.
                let expected = shown + (at - then);
                now.since(expected).max(expected.since(now))
            }
            None => Duration::MAX,
        };
        if leapt > MAX_CLOCK_DRIFT {
            if leapt < Duration::MAX {
                tracing::warn!("the clock leapt by {leapt:?}: waiting for heartbeats");
            }
            self.doubtful_until = Some(at + host.settings.lease());
        }
        // 2. Stop here if there is no heartbeat: every claimed run has one, so no run can be given up and no approval
        // is pending. This keeps an idle tick at one statement.
        self.idle = host.store.oldest_heartbeat().await?.is_none();
        if self.idle {
            if !self.is_clock_doubtful(at) {
                self.doubtful_until = None;
            }
            return Ok(Vec::new());
        }
        // 3. Give up runs: by the age of their heartbeats only if the clock is trusted.
        let given_up = if self.is_clock_doubtful(at) {
            stall_runs_of_dead_workers(host, now).await?
        } else {
            self.doubtful_until = None;
            tick(host, now).await?
        };
        Ok(log_given_up(given_up))
    }

    /// `true` if heartbeats may look older than they are.
    fn is_clock_doubtful(&self, at: Instant) -> bool {
        self.doubtful_until.is_some_and(|until| at < until)
    }
}

fn log_given_up(given_up: Vec<RunId>) -> Vec<RunId> {
    for run in &given_up {
        tracing::warn!(%run, "gave up {run}: its worker is lost");
    }
    given_up
}

/// The watchdog loop of one server. Ticks at its own period, and when the oldest heartbeat can become stale.
pub(crate) struct Watchdog {
    pub(crate) host: Host,
    pub(crate) signals: LoopSignals,
    pub(crate) monitor: HeartbeatMonitor,
}

impl LoopBody for Watchdog {
    const NAME: &'static str = "watchdog";

    async fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        if !self
            .monitor
            .tick(&self.host, now, Instant::now())
            .await?
            .is_empty()
        {
            self.signals.scheduler.notify_one();
            self.signals.wake_queue();
        }
        let Settings {
            heartbeat,
            heartbeat_stale,
            ..
        } = self.host.settings;
        if self.monitor.idle {
            return Ok(None);
        }
        if !self.host.time_is_known() {
            return Ok(Some(now + heartbeat));
        }
        if self.monitor.doubtful_until.is_some() {
            // Make this worker's turns renew their heartbeats now, so that none looks stale when the period ends.
            self.signals.heartbeats.notify_one();
            return Ok(Some(now + heartbeat + MAX_CLOCK_DRIFT));
        }
        let oldest = self.host.store.oldest_heartbeat().await?;
        // The extra microsecond is needed because a heartbeat that is exactly as old as allowed is not stale yet.
        Ok(oldest.map(|at| at + heartbeat_stale + Duration::from_micros(1)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{collections::BTreeMap, path::Path, sync::Arc};

    use agent::{GracePeriods, GuardProgram, WorkerLock};
    use model::{
        ApprovalId, Clock as _, Entropy, InstanceId, SessionId, WorkerId,
        agent::AgentConfig,
        approval::{ApprovalRequest, ApprovalStatus},
        entity::SeatSettings,
        run::RunStatus,
        session::{SessionKind, SessionType},
        turn::{HeartbeatReply, StartReply, WriteOutcome},
    };
    use store::{Location, NewSeat, NewSession, Scope, Store, database::Statement, params};
    use testkit::clock::{FakeClock, SeededEntropy};
    use turn::AgentRuntime;

    use super::*;

    /// So short that a lease is over by the second tick.
    const HEARTBEAT_STALE: Duration = Duration::from_micros(4);

    /// Returns a server that takes no turns.
    pub(crate) async fn host(clock: &Arc<FakeClock>, workers: &Path) -> Host {
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(1));
        let database = store::open(&Location::SqliteMemory).await.unwrap();
        let settings = Settings {
            heartbeat_stale: HEARTBEAT_STALE,
            ..Settings::default()
        };
        let worker = WorkerId::generate("test", std::process::id(), &*entropy);
        Host {
            turn_stores: Arc::new(crate::DirectTurnStores),
            store: Store::new(database, Arc::clone(&entropy), workers.join("sessions")),
            clock: Arc::<FakeClock>::clone(clock),
            instance: InstanceId::generate(clock.now(), &*entropy),
            worker_lock: Arc::new(WorkerLock::acquire(workers, &worker).unwrap()),
            artifacts: None,
            worker,
            agent_runtime: AgentRuntime {
                guard: GuardProgram {
                    program: "/nowhere/guard".into(),
                    args: Vec::new(),
                    worker: None,
                },
                environment: BTreeMap::new(),
                clock: Arc::<FakeClock>::clone(clock),
                entropy: Arc::clone(&entropy),
                heartbeat: settings.heartbeat,
                lease: settings.lease(),
                grace: GracePeriods::default(),
                tools: None,
            },
            entropy,
            settings,
            metrics: telemetry::Metrics::new("test"),
        }
    }

    /// Sends a message and lets the server claim its run.
    pub(crate) async fn claimed_run(host: &Host) -> RunId {
        let run = queued_run(host).await;
        let claimed = host
            .store
            .claim(&host.worker, host.instance, 1, Some(run), host.now());
        assert_eq!(claimed.await.unwrap().len(), 1);
        run
    }

    /// Sends a message to a new session. No worker claims its run.
    pub(crate) async fn queued_run(host: &Host) -> RunId {
        let (store, now) = (&host.store, host.now());
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        let registered = store.register_instance(tenant, host.instance, "test", now);
        registered.await.unwrap();
        let config = AgentConfig::new(vec!["agent".into()]);
        let agent = store.put_agent(tenant, "agent", &config, None, now);
        let id = SessionId::generate(now, &*host.entropy);
        let session = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: None,
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(agent.await.unwrap().id, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        store.create_session(tenant, &session, now).await.unwrap();
        store
            .send_message(tenant, id, None, "hello", now)
            .await
            .unwrap()
            .run_id
    }

    /// Lets the server begin a turn that requests an approval.
    async fn run_with_approval(
        host: &Host,
        title: &str,
        patience: Duration,
    ) -> (RunId, ApprovalId) {
        let run = claimed_run(host).await;
        let (store, now) = (&host.store, host.now());
        let begun = store.begin(run, &host.worker, host.instance, now, None);
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        let id = ApprovalId::generate(now, &*host.entropy);
        let question = ApprovalRequest::new("execute", title, "call-1", None);
        let asked = store.request_approval(run, &host.worker, id, &question, now + patience, now);
        assert_eq!(asked.await.unwrap(), WriteOutcome::Committed);
        (run, id)
    }

    #[tokio::test]
    async fn failed_approval_expiry_does_not_block_other_expiries() {
        const BREAK_APPROVALS_SQL: &str = "create trigger break_one before update on approvals \
            when old.title = 'broken' begin select raise(abort, 'it is broken'); end";
        static BREAK_STATEMENT: Statement = Statement::new(
            "a test's statement",
            BREAK_APPROVALS_SQL,
            BREAK_APPROVALS_SQL,
        );
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T08:00:00Z"));
        let host = host(&clock, folder.path()).await;
        let store = &host.store;
        // The approval whose expiry fails comes first.
        let (first, broken) = run_with_approval(&host, "broken", Duration::from_secs(1)).await;
        let (second, overdue) = run_with_approval(&host, "ls", Duration::from_secs(2)).await;
        let lost = claimed_run(&host).await;
        let now = clock.advance(Duration::from_secs(3));
        let live = [first, second];
        let beats = store.renew_heartbeats(&host.worker, &live, now);
        assert_eq!(
            beats.await.unwrap(),
            [HeartbeatReply::Continue, HeartbeatReply::Continue]
        );
        let mut tx = store.database().begin(Scope::System).await.unwrap();
        tx.execute(&BREAK_STATEMENT, params![]).await.unwrap();
        tx.commit().await.unwrap();

        assert!(store.expire_overdue_approvals(now).await.is_err());
        let state = async |id| store.approval(Scope::System, id).await.unwrap().status();
        assert_eq!(state(broken).await, ApprovalStatus::Pending);
        assert_eq!(state(overdue).await, ApprovalStatus::Expired);
        // The tick returns the stalled run nevertheless, so that the loops are woken for it.
        assert_eq!(tick(&host, now).await.unwrap(), [lost]);
    }

    #[tokio::test]
    async fn watchdog_ticks_when_oldest_heartbeat_becomes_stale() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T08:00:00Z"));
        let host = host(&clock, folder.path()).await;
        let run = claimed_run(&host).await;
        let mut watchdog = Watchdog {
            host: host.clone(),
            signals: LoopSignals::default(),
            monitor: HeartbeatMonitor::default(),
        };
        let beat = clock.now();
        // A new monitor does not trust the clock for one lease.
        watchdog.tick(beat).await.unwrap();
        let stale = beat + HEARTBEAT_STALE + Duration::from_micros(1);
        assert_eq!(watchdog.tick(beat).await.unwrap(), Some(stale));
        clock.set(stale);
        watchdog.tick(stale).await.unwrap();
        let run = host.store.run(Scope::System, run).await.unwrap();
        assert_eq!(run.status(), RunStatus::Stalled);
    }
}
