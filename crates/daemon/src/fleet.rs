//! The clock of a process that shares a PostgreSQL database with others: the database's, as far as it is known.

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

/// How long the database may take to tell the time: what takes longer says too little.
const PATIENCE: Duration = limits::CLOCK_UNCERTAINTY.saturating_mul(2);

/// Shows the time of the database's clock, which is the one of all who share it. Between readings it counts by
/// the machine's uptime, so that it does not matter what the machine's own clock shows, or is set to; that one
/// is shown only before the first reading.
pub struct FleetClock {
    own: Arc<dyn Clock>,
    uptime: Arc<dyn Uptime>,
    time: Mutex<FleetTime>,
}

impl FleetClock {
    /// Makes a clock of which nothing is known yet, from the machine's own clock and its uptime.
    pub fn new(own: Arc<dyn Clock>, uptime: Arc<dyn Uptime>) -> Self {
        Self {
            own,
            uptime,
            time: Mutex::default(),
        }
    }

    /// Reads the database's clock. On SQLite there is none, and nothing is learned.
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

    /// Reads the database's clock again and again until it is stopped, and wakes the loops once the time is
    /// known that was not.
    pub async fn keep(
        self: Arc<Self>,
        host: Host,
        waker: Waker,
        stop: CancellationToken,
    ) {
        let keeper = Keeper {
            known: host.knows_the_time(),
            host: host.clone(),
            clock: self,
            waker,
            fails: false,
        };
        let never = Arc::new(Notify::new());
        runner::run(keeper, host, limits::CLOCK_READ, never, stop).await;
    }

    fn time(&self) -> MutexGuard<'_, FleetTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for FleetClock {
    fn now(&self) -> Timestamp {
        // Asked for under the lock, so that of two who ask the later one is shown no earlier time.
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

/// What keeps the clock of one server right.
struct Keeper {
    host: Host,
    clock: Arc<FleetClock>,
    waker: Waker,
    /// Whether the time was known at the last look.
    known: bool,
    /// Whether the last reading failed.
    fails: bool,
}

impl Look for Keeper {
    const NAME: &'static str = "clock";

    async fn look(&mut self, _: Timestamp) -> Result<Option<Timestamp>, Error> {
        let read = self.clock.read(&self.host.store).await;
        // Told once, and tried again at once: a database that is away is told of by all others as well.
        let failed = read.is_err();
        if let Err(error) = read {
            self.host.metrics.failed(Self::NAME);
            if !self.fails {
                let error: &(dyn std::error::Error + 'static) = &error;
                tracing::warn!(error, "failed to read the database's clock");
            }
        }
        self.fails = failed;
        let known = self.host.knows_the_time();
        if known != self.known {
            self.tell(known);
        }
        self.known = known;
        let again = if known && !failed {
            limits::CLOCK_READ
        } else {
            limits::CLOCK_READ_AGAIN
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
