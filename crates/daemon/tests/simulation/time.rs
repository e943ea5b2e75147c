//! The time of the simulation: one that really passes, and the clocks that show another one.

use std::time::Duration;

use model::Timestamp;
use tokio::time::Instant;

/// Microseconds since the simulation began, suspended or not: what a guard's deadline counts.
pub(crate) type Micros = i64;

pub(crate) const SECOND: Micros = 1_000_000;
pub(crate) const MINUTE: Micros = 60 * SECOND;
pub(crate) const HOUR: Micros = 60 * MINUTE;

/// How many machines there are.
pub(crate) const MACHINES: usize = 2;

/// Time, and how the machines' clocks show it.
pub(crate) struct Time {
    /// What has passed.
    pub(crate) now: Micros,
    /// What the clocks showed at the beginning.
    epoch: i64,
    /// By how much the clocks were set, forward or back.
    set: i64,
    /// By how much each machine's clock is ahead of the first one's.
    ahead: [i64; MACHINES],
    /// How long each machine was suspended: a process's own time stands still meanwhile.
    asleep: [Micros; MACHINES],
    /// When each machine wakes.
    wakes: [Micros; MACHINES],
    started: Instant,
}

impl Time {
    pub(crate) fn new(epoch: Timestamp, ahead: [i64; MACHINES]) -> Self {
        Self {
            now: 0,
            epoch: epoch.as_microsecond(),
            set: 0,
            ahead,
            asleep: [0; MACHINES],
            wakes: [0; MACHINES],
            started: Instant::now(),
        }
    }

    /// What a machine's clock shows, in microseconds since 1970.
    pub(crate) fn micros(&self, machine: usize) -> i64 {
        self.epoch + self.now + self.set + self.ahead[machine]
    }

    /// What a machine's clock shows.
    pub(crate) fn clock(&self, machine: usize) -> Timestamp {
        instant(self.micros(machine))
    }

    /// The own time of a machine's processes.
    pub(crate) fn of_process(&self, machine: usize) -> Instant {
        self.started + duration(self.now - self.asleep[machine])
    }

    /// Sets all clocks, forward or back.
    pub(crate) fn set(&mut self, by: i64) {
        self.set += by;
    }

    /// Whether a machine is suspended.
    pub(crate) fn sleeps(&self, machine: usize) -> bool {
        self.now < self.wakes[machine]
    }

    /// A machine is suspended. Nobody asks it for its time until it wakes.
    pub(crate) fn suspend(&mut self, machine: usize, for_: Micros) {
        self.asleep[machine] += for_;
        self.wakes[machine] = self.now + for_;
    }
}

/// How long so many microseconds are.
pub(crate) fn duration(micros: Micros) -> Duration {
    Duration::from_micros(micros.unsigned_abs())
}

/// An instant from microseconds since 1970.
pub(crate) fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}
