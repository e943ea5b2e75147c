//! The clock of a process that shares a PostgreSQL database with other processes: the database's clock.
//!
//! **Invariants:** all servers of a database judge instants by one clock. Between two readings the time advances by
//! the machine's uptime, so that setting the machine's own clock has no effect. The uncertainty is at least half of
//! the time that the reading took, plus the possible drift since.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{
    Clock, Timestamp, Uptime,
    fleet_time::{ClockReading, FleetTime},
    limits,
};
use store::Store;
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Host, LoopSignals, boxed,
    loop_runner::{self, LoopBody},
};

/// The time limit of a reading. Half of the answer time is uncertain, so a slower reading would exceed
/// [`limits::MAX_CLOCK_UNCERTAINTY`] and be useless.
const CLOCK_READ_TIMEOUT: Duration = limits::MAX_CLOCK_UNCERTAINTY.saturating_mul(2);

/// A clock that shows the time of the database's clock. Before the first reading it shows the machine's own clock,
/// and its uncertainty is unbounded. It counts on from a reading by the machine's uptime, so that the machine's own
/// clock may be wrong or be set.
pub struct FleetClock {
    machine_clock: Arc<dyn Clock>,
    uptime: Arc<dyn Uptime>,
    time: Mutex<FleetTime>,
}

impl FleetClock {
    /// Returns a clock without a reading, from the machine's own clock and its uptime.
    pub fn new(machine_clock: Arc<dyn Clock>, uptime: Arc<dyn Uptime>) -> Self {
        Self {
            machine_clock,
            uptime,
            time: Mutex::default(),
        }
    }

    /// Reads the database's clock. On SQLite this does nothing, because the machine's clock is the only one.
    ///
    /// # Errors
    ///
    /// Returns an error if the database does not answer, or not within 10 s.
    #[boxed]
    pub async fn read(&self, store: &Store) -> Result<(), Error> {
        let reading = timeout(CLOCK_READ_TIMEOUT, store.read_clock(&*self.uptime)).await;
        if let Some(reading) = reading.map_err(|_| Error::Timeout(CLOCK_READ_TIMEOUT))?? {
            self.apply_reading(reading);
        }
        Ok(())
    }

    /// Takes a reading into account.
    pub fn apply_reading(&self, reading: ClockReading) {
        self.time().add_reading(reading);
    }

    /// Reads the database's clock at an interval until `stop` is cancelled. Wakes the loops when the time becomes
    /// known.
    #[boxed]
    pub async fn keep_synchronized(
        self: Arc<Self>,
        host: Host,
        signals: LoopSignals,
        stop: CancellationToken,
    ) {
        let synchronizer = ClockSynchronizer {
            time_was_known: host.time_is_known(),
            host: host.clone(),
            clock: self,
            signals,
            last_read_failed: false,
        };
        let never = Arc::new(Notify::new());
        loop_runner::run(synchronizer, host, limits::CLOCK_READ_INTERVAL, never, stop).await;
    }

    fn time(&self) -> MutexGuard<'_, FleetTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for FleetClock {
    fn now(&self) -> Timestamp {
        // The uptime must be read under the lock. Otherwise a thread could read it, wait for the lock, and then show
        // an earlier time than another thread has already shown.
        let mut time = self.time();
        let fleet_time = time.now(self.uptime.uptime());
        drop(time);
        fleet_time.unwrap_or_else(|| self.machine_clock.now())
    }

    fn uncertainty(&self) -> Duration {
        let time = self.time();
        time.uncertainty(self.uptime.uptime())
    }

    fn machine_clock_lead_micros(&self) -> Option<i64> {
        let now = self.time().now(self.uptime.uptime())?;
        let machine_time = self.machine_clock.now();
        Some(
            machine_time
                .as_microsecond()
                .saturating_sub(now.as_microsecond()),
        )
    }
}

/// The loop that keeps the clock of one server synchronized.
struct ClockSynchronizer {
    host: Host,
    clock: Arc<FleetClock>,
    signals: LoopSignals,
    /// `true` if the time was known at the last tick.
    time_was_known: bool,
    /// `true` if the last reading failed.
    last_read_failed: bool,
}

impl LoopBody for ClockSynchronizer {
    const NAME: &'static str = "clock";

    async fn tick(&mut self, _: Timestamp) -> Result<Option<Timestamp>, Error> {
        let read = self.clock.read(&self.host.store).await;
        // Do not return the error: the runner would back off up to 30 s, and until then nothing could fire or be
        // claimed. Log only the first failure of an outage, because the other loops log it as well.
        let failed = read.is_err();
        if let Err(error) = read {
            self.host.metrics.record_loop_error(Self::NAME);
            if !self.last_read_failed {
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(error, "cannot read the database's clock");
            }
        }
        self.last_read_failed = failed;
        let is_known = self.host.time_is_known();
        if is_known != self.time_was_known {
            self.report_time_known(is_known);
        }
        self.time_was_known = is_known;
        let interval = if is_known && !failed {
            limits::CLOCK_READ_INTERVAL
        } else {
            limits::UNCERTAIN_CLOCK_READ_INTERVAL
        };
        Ok(Some(self.host.now() + interval))
    }
}

impl ClockSynchronizer {
    fn report_time_known(&self, is_known: bool) {
        if is_known {
            tracing::info!("the time is known again: the loops continue");
            self.signals.wake();
            return;
        }
        tracing::error!(
            "the time is uncertain by more than {:?}, because the database does not answer or answers too \
             slowly: until the time is known again, this server fires no trigger, claims no run and gives up \
             no run because of its heartbeat",
            self.host.settings.clock_uncertainty(),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::{RunId, run::RunStatus, turn::HeartbeatReply};
    use store::Scope;
    use testkit::clock::{FakeClock, FakeUptime};
    use tokio::time::Instant;
    use turn::TurnStore as _;

    use super::*;
    use crate::{
        Settings, WorkerTurnStore, housekeeping, scheduler, turns,
        watchdog::{
            self, HeartbeatMonitor,
            tests::{claimed_run, host as alone, queued_run},
        },
    };

    const MINUTE: Duration = Duration::from_mins(1);
    /// A period in which clocks drift apart by more than the limit.
    const DRIFT_BEYOND_LIMIT: Duration = Duration::from_hours(2);

    /// A server with a shared clock, and the clocks that move it.
    struct TestServer {
        host: Host,
        clock: Arc<FleetClock>,
        machine_clock: Arc<FakeClock>,
        uptime: Arc<FakeUptime>,
    }

    impl TestServer {
        async fn new(folder: &Path) -> Self {
            let own = Arc::new(FakeClock::at("2026-11-23T08:00:00Z"));
            let uptime = Arc::new(FakeUptime::new(Duration::from_hours(30)));
            let clock = Arc::new(FleetClock::new(
                Arc::<FakeClock>::clone(&own),
                Arc::<FakeUptime>::clone(&uptime),
            ));
            let mut host = alone(&own, folder).await;
            host.settings = Settings::default();
            host.clock = Arc::<FleetClock>::clone(&clock);
            Self {
                host,
                clock,
                machine_clock: own,
                uptime,
            }
        }

        /// Applies a reading of the database's clock that shows this time.
        fn set_database_time(&self, shown: Timestamp) {
            let uptime = self.uptime.uptime();
            self.clock.apply_reading(ClockReading {
                sent_uptime: uptime,
                received_uptime: uptime,
                database_time: shown,
            });
        }

        async fn status(&self, run: RunId) -> RunStatus {
            let run = self.host.store.run(Scope::System, run).await;
            run.unwrap().status()
        }
    }

    #[tokio::test]
    async fn fleet_clock_ignores_changes_of_machine_clock() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let (clock, own) = (&member.clock, &member.machine_clock);
        // Before the first reading, the machine's own clock is the best source.
        assert_eq!(clock.now(), own.now());
        assert_eq!(clock.machine_clock_lead_micros(), None);
        let shown = own.now() + 10 * MINUTE;
        member.set_database_time(shown);
        assert_eq!(clock.now(), shown);
        assert_eq!(clock.machine_clock_lead_micros(), Some(-600_000_000));
        own.advance(DRIFT_BEYOND_LIMIT);
        assert_eq!(clock.now(), shown);
        member.uptime.advance(MINUTE);
        assert_eq!(clock.now(), shown + MINUTE);
        own.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), shown + MINUTE);
    }

    #[tokio::test]
    async fn unknown_time_blocks_claims_fires_and_housekeeping() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let host = &member.host;
        assert!(!host.time_is_known());
        let run = queued_run(host).await;
        assert!(turns::claim(host, 4, None).await.unwrap().is_empty());
        assert!(turns::claim(host, 1, Some(run)).await.unwrap().is_empty());
        assert_eq!(member.status(run).await, RunStatus::Queued);
        let now = host.now();
        let tick = scheduler::tick(host, now).await.unwrap();
        assert_eq!((tick.started, tick.next), (0, None));
        let round = &mut housekeeping::TrimProgress::default();
        let next = housekeeping::tick(host, round, now).await.unwrap();
        assert_eq!(next, now + limits::SCHEDULER_POLL_INTERVAL);

        member.set_database_time(now + MINUTE);
        assert!(host.time_is_known());
        let claimed = turns::claim(host, 4, None).await.unwrap();
        assert_eq!(claimed.iter().map(|it| it.run).collect::<Vec<_>>(), [run]);
    }

    #[tokio::test]
    async fn unknown_time_blocks_stalling_and_heartbeats() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let host = &member.host;
        member.set_database_time(member.machine_clock.now());
        let run = claimed_run(host).await;
        let turn_store = WorkerTurnStore::new(host.clone());
        assert_eq!(
            turn_store.heartbeat(run).await.unwrap(),
            HeartbeatReply::Continue
        );

        // No reading arrives for so long that the time is unknown.
        member.uptime.advance(DRIFT_BEYOND_LIMIT);
        assert!(!host.time_is_known());
        let given_up = watchdog::tick(host, host.now()).await.unwrap();
        assert!(given_up.is_empty());
        // A heartbeat with a wrong date must not renew a lease.
        let refused = turn_store.heartbeat(run).await.unwrap_err();
        assert!(refused.transient, "{refused}");

        // The time is known again, and the heartbeat has been missing for that long.
        member.set_database_time(host.now());
        assert_eq!(watchdog::tick(host, host.now()).await.unwrap(), [run]);
        assert_eq!(member.status(run).await, RunStatus::Stalled);
    }

    #[tokio::test]
    async fn watchdog_waits_one_lease_after_first_reading_and_clock_leap() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let host = &member.host;
        // Another worker lives, and its clock is right.
        let right = member.machine_clock.now() + 60 * MINUTE;
        let mut elsewhere = host.clone();
        elsewhere.clock = Arc::new(FakeClock::new(right));
        let run = claimed_run(&elsewhere).await;
        let (mut watch, at, lease) = (
            HeartbeatMonitor::default(),
            Instant::now(),
            host.settings.lease(),
        );
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());

        // The time before the first reading does not count, although it was longer than a lease.
        let at = at + 2 * lease;
        member.set_database_time(right + 2 * lease);
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());
        let Host { store, worker, .. } = host;
        let beats = store.renew_heartbeats(worker, &[run], host.now()).await;
        assert_eq!(beats.unwrap(), [HeartbeatReply::Continue]);

        // The database's clock is set forward: all heartbeats look stale until they are renewed.
        let at = at + lease;
        member.uptime.advance(lease);
        member.set_database_time(host.now() + 10 * MINUTE);
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());

        // No worker renews the heartbeat for one lease. Setting the machine's own clock does not count.
        let at = at + lease;
        member.uptime.advance(lease);
        member.machine_clock.advance(DRIFT_BEYOND_LIMIT);
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert_eq!(given_up, [run]);
    }

    #[tokio::test]
    async fn heartbeat_between_two_clock_leaps_is_not_stale() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let host = &member.host;
        member.set_database_time(member.machine_clock.now() + 60 * MINUTE);
        let run = claimed_run(host).await;
        let (mut watch, at, lease) = (
            HeartbeatMonitor::default(),
            Instant::now(),
            host.settings.lease(),
        );
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());
        let at = at + lease;
        member.uptime.advance(lease);
        let Host { store, worker, .. } = host;
        store
            .renew_heartbeats(worker, &[run], host.now())
            .await
            .unwrap();
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());

        // The clock is set back, the worker renews its heartbeat, and the clock is set forward by less.
        member.set_database_time(host.now().saturating_sub(60 * MINUTE));
        store
            .renew_heartbeats(worker, &[run], host.now())
            .await
            .unwrap();
        member.set_database_time(host.now() + 30 * MINUTE);
        let given_up = watch.tick(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());
    }

    #[tokio::test]
    async fn loops_are_woken_when_time_becomes_known() {
        let folder = tempfile::tempdir().unwrap();
        let member = TestServer::new(folder.path()).await;
        let mut keeper = ClockSynchronizer {
            host: member.host.clone(),
            clock: Arc::clone(&member.clock),
            signals: LoopSignals::default(),
            time_was_known: false,
            last_read_failed: false,
        };
        let now = member.host.now();
        // SQLite has no clock to read, so the time stays unknown and the next tick comes soon.
        let next = keeper.tick(now).await.unwrap();
        assert_eq!(next, Some(now + limits::UNCERTAIN_CLOCK_READ_INTERVAL));
        member.set_database_time(now);
        let next = keeper.tick(now).await.unwrap();
        assert_eq!(next, Some(now + limits::CLOCK_READ_INTERVAL));
        let LoopSignals {
            scheduler, pool, ..
        } = &keeper.signals;
        scheduler.notified().await;
        pool.notified().await;
    }

    #[test]
    fn clock_uncertainty_is_at_most_half_of_lease_margin() {
        let mut settings = Settings::default();
        assert_eq!(settings.clock_uncertainty(), limits::MAX_CLOCK_UNCERTAINTY);
        settings.heartbeat_stale = Duration::from_secs(12);
        let early = settings.heartbeat_stale.saturating_sub(settings.lease());
        assert_eq!(settings.clock_uncertainty() * 2, early);
    }
}
