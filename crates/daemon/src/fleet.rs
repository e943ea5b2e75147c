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
    fleet::{FleetTime, Reading},
    limits,
};
use store::Store;
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Host, Waker,
    runner::{self, Look},
};

/// The time limit of a reading. Half of the answer time is uncertain, so a slower reading would exceed
/// [`limits::MAX_CLOCK_UNCERTAINTY`] and be useless.
const PATIENCE: Duration = limits::MAX_CLOCK_UNCERTAINTY.saturating_mul(2);

/// A clock that shows the time of the database's clock. Before the first reading it shows the machine's own clock,
/// and its uncertainty is unbounded. It counts on from a reading by the machine's uptime, so that the machine's own
/// clock may be wrong or be set.
pub struct FleetClock {
    own: Arc<dyn Clock>,
    uptime: Arc<dyn Uptime>,
    time: Mutex<FleetTime>,
}

impl FleetClock {
    /// Returns a clock without a reading, from the machine's own clock and its uptime.
    pub fn new(own: Arc<dyn Clock>, uptime: Arc<dyn Uptime>) -> Self {
        Self {
            own,
            uptime,
            time: Mutex::default(),
        }
    }

    /// Reads the database's clock. On SQLite this does nothing, because the machine's clock is the only one.
    ///
    /// # Errors
    ///
    /// Returns an error if the database does not answer, or not within 10 s.
    pub async fn read(&self, store: &Store) -> Result<(), Error> {
        let reading = timeout(PATIENCE, store.read_clock(&*self.uptime)).await;
        if let Some(reading) = reading.map_err(|_| Error::TooLong(PATIENCE))?? {
            self.learn(reading);
        }
        Ok(())
    }

    /// Takes a reading into account.
    pub fn learn(&self, reading: Reading) {
        self.time().learn(reading);
    }

    /// Reads the database's clock at an interval until `stop` is cancelled. Wakes the loops when the time becomes
    /// known.
    pub async fn keep(self: Arc<Self>, host: Host, waker: Waker, stop: CancellationToken) {
        let keeper = Keeper {
            known: host.time_is_known(),
            host: host.clone(),
            clock: self,
            waker,
            fails: false,
        };
        let never = Arc::new(Notify::new());
        runner::run(keeper, host, limits::CLOCK_READ_INTERVAL, never, stop).await;
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
        let shown = time.show(self.uptime.uptime());
        drop(time);
        shown.unwrap_or_else(|| self.own.now())
    }

    fn uncertainty(&self) -> Duration {
        let time = self.time();
        time.uncertainty(self.uptime.uptime())
    }

    fn own_ahead_micros(&self) -> Option<i64> {
        let now = self.time().show(self.uptime.uptime())?;
        let own = self.own.now();
        Some(own.as_microsecond().saturating_sub(now.as_microsecond()))
    }
}

/// The loop that keeps the clock of one server synchronized.
struct Keeper {
    host: Host,
    clock: Arc<FleetClock>,
    waker: Waker,
    /// `true` if the time was known at the last tick.
    known: bool,
    /// `true` if the last reading failed.
    fails: bool,
}

impl Look for Keeper {
    const NAME: &'static str = "clock";

    async fn look(&mut self, _: Timestamp) -> Result<Option<Timestamp>, Error> {
        let read = self.clock.read(&self.host.store).await;
        // Do not return the error: the runner would back off up to 30 s, and until then nothing could fire or be
        // claimed. Log only the first failure of an outage, because the other loops log it as well.
        let failed = read.is_err();
        if let Err(error) = read {
            self.host.metrics.failed(Self::NAME);
            if !self.fails {
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(error, "failed to read the database's clock");
            }
        }
        self.fails = failed;
        let known = self.host.time_is_known();
        if known != self.known {
            self.tell(known);
        }
        self.known = known;
        let again = if known && !failed {
            limits::CLOCK_READ_INTERVAL
        } else {
            limits::UNCERTAIN_CLOCK_READ_INTERVAL
        };
        Ok(Some(self.host.now() + again))
    }
}

impl Keeper {
    fn tell(&self, known: bool) {
        if known {
            tracing::info!("the time is known again: going on");
            self.waker.wake();
            return;
        }
        tracing::error!(
            "the time cannot be known within {:?}, because the database does not answer or answers too \
             slowly: nothing is fired, claimed or given up until it is",
            self.host.settings.clock_uncertainty(),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::{RunId, run::RunStatus, turn::Beat};
    use store::Scope;
    use testkit::clock::{FakeClock, FakeUptime};
    use tokio::time::Instant;
    use turn::Ledger as _;

    use super::*;
    use crate::{
        Settings, WorkerTurnStore, housekeeping, scheduler, turns,
        watchdog::{
            self, Watch,
            tests::{claimed, host as alone, queued},
        },
    };

    const MINUTE: Duration = Duration::from_mins(1);
    /// So long that clocks drift apart by more than is bearable.
    const LONG: Duration = Duration::from_hours(2);

    /// A server whose clock is one that others share, and what moves it.
    struct Member {
        host: Host,
        clock: Arc<FleetClock>,
        own: Arc<FakeClock>,
        uptime: Arc<FakeUptime>,
    }

    impl Member {
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
                own,
                uptime,
            }
        }

        /// Reads that it is `shown` at present.
        fn learns(&self, shown: Timestamp) {
            let uptime = self.uptime.uptime();
            self.clock.learn(Reading {
                asked: uptime,
                answered: uptime,
                shown,
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
        let member = Member::new(folder.path()).await;
        let (clock, own) = (&member.clock, &member.own);
        // Before anything is known there is nothing better than its own.
        assert_eq!(clock.now(), own.now());
        assert_eq!(clock.own_ahead_micros(), None);
        let shown = own.now() + 10 * MINUTE;
        member.learns(shown);
        assert_eq!(clock.now(), shown);
        assert_eq!(clock.own_ahead_micros(), Some(-600_000_000));
        own.advance(LONG);
        assert_eq!(clock.now(), shown);
        member.uptime.advance(MINUTE);
        assert_eq!(clock.now(), shown + MINUTE);
        own.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), shown + MINUTE);
    }

    #[tokio::test]
    async fn unknown_time_blocks_claims_fires_and_housekeeping() {
        let folder = tempfile::tempdir().unwrap();
        let member = Member::new(folder.path()).await;
        let host = &member.host;
        assert!(!host.time_is_known());
        let run = queued(host).await;
        assert!(turns::claim(host, 4, None).await.unwrap().is_empty());
        assert!(turns::claim(host, 1, Some(run)).await.unwrap().is_empty());
        assert_eq!(member.status(run).await, RunStatus::Queued);
        let now = host.now();
        let tick = scheduler::tick(host, now).await.unwrap();
        assert_eq!((tick.started, tick.next), (0, None));
        let round = &mut housekeeping::Round::default();
        let next = housekeeping::tick(host, round, now).await.unwrap();
        assert_eq!(next, now + limits::TICK);

        member.learns(now + MINUTE);
        assert!(host.time_is_known());
        let claimed = turns::claim(host, 4, None).await.unwrap();
        assert_eq!(claimed.iter().map(|it| it.run).collect::<Vec<_>>(), [run]);
    }

    #[tokio::test]
    async fn unknown_time_blocks_stalling_and_heartbeats() {
        let folder = tempfile::tempdir().unwrap();
        let member = Member::new(folder.path()).await;
        let host = &member.host;
        member.learns(member.own.now());
        let run = claimed(host).await;
        let ledger = WorkerTurnStore::new(host.clone());
        assert_eq!(ledger.heartbeat(run).await.unwrap(), Beat::Continue);

        // Nobody has answered for so long that it may be any time.
        member.uptime.advance(LONG);
        assert!(!host.time_is_known());
        let given_up = watchdog::tick(host, host.now()).await.unwrap();
        assert!(given_up.is_empty());
        // A heartbeat that is dated wrongly must not renew a lease.
        let refused = ledger.heartbeat(run).await.unwrap_err();
        assert!(refused.transient, "{refused}");

        // Known again: it has indeed been silent for as long.
        member.learns(host.now());
        assert_eq!(watchdog::tick(host, host.now()).await.unwrap(), [run]);
        assert_eq!(member.status(run).await, RunStatus::Stalled);
    }

    #[tokio::test]
    async fn watchdog_waits_one_lease_after_first_reading_and_clock_leap() {
        let folder = tempfile::tempdir().unwrap();
        let member = Member::new(folder.path()).await;
        let host = &member.host;
        // A worker that is alive and elsewhere, by a clock that is right.
        let right = member.own.now() + 60 * MINUTE;
        let mut elsewhere = host.clone();
        elsewhere.clock = Arc::new(FakeClock::new(right));
        let run = claimed(&elsewhere).await;
        let (mut watch, at, lease) = (Watch::default(), Instant::now(), host.settings.lease());
        let given_up = watch.look(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());

        // Whoever has looked for longer than a lease, by a clock that was none, has not looked.
        let at = at + 2 * lease;
        member.learns(right + 2 * lease);
        let given_up = watch.look(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());
        let Host { store, worker, .. } = host;
        let beats = store.heartbeat(worker, &[run], host.now()).await;
        assert_eq!(beats.unwrap(), [Beat::Continue]);

        // The database's clock is set forward: all heartbeats look stale until they are renewed.
        let at = at + lease;
        member.uptime.advance(lease);
        member.learns(host.now() + 10 * MINUTE);
        let given_up = watch.look(host, host.now(), at).await.unwrap();
        assert!(given_up.is_empty());

        // Nobody renews it for as long as a lease. Setting the machine's own clock adds nothing to that.
        let at = at + lease;
        member.uptime.advance(lease);
        member.own.advance(LONG);
        let given_up = watch.look(host, host.now(), at).await.unwrap();
        assert_eq!(given_up, [run]);
    }

    #[tokio::test]
    async fn loops_are_woken_when_time_becomes_known() {
        let folder = tempfile::tempdir().unwrap();
        let member = Member::new(folder.path()).await;
        let mut keeper = Keeper {
            host: member.host.clone(),
            clock: Arc::clone(&member.clock),
            waker: Waker::default(),
            known: false,
            fails: false,
        };
        let now = member.host.now();
        // SQLite has no clock: what is not known stays so, and is looked for often.
        let next = keeper.look(now).await.unwrap();
        assert_eq!(next, Some(now + limits::UNCERTAIN_CLOCK_READ_INTERVAL));
        member.learns(now);
        let next = keeper.look(now).await.unwrap();
        assert_eq!(next, Some(now + limits::CLOCK_READ_INTERVAL));
        let Waker {
            scheduler, pool, ..
        } = &keeper.waker;
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
