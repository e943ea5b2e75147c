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
pub(crate) const MACHINE_COUNT: usize = 2;

/// Time, and how the machines' clocks show it.
pub(crate) struct SimulatedTime {
    /// What has passed.
    pub(crate) now: Micros,
    /// What the clocks showed at the beginning.
    epoch: i64,
    /// By how much the clocks were set, forward or back.
    clock_offset: i64,
    /// By how much each machine's clock is ahead of the first one's.
    clock_skews: [i64; MACHINE_COUNT],
    /// How long each machine was suspended: a process's own time stands still meanwhile.
    suspended: [Micros; MACHINE_COUNT],
    /// When each machine wakes.
    wakes_at: [Micros; MACHINE_COUNT],
    started: Instant,
}

impl SimulatedTime {
    pub(crate) fn new(epoch: Timestamp, ahead: [i64; MACHINE_COUNT]) -> Self {
        Self {
            now: 0,
            epoch: epoch.as_microsecond(),
            clock_offset: 0,
            clock_skews: ahead,
            suspended: [0; MACHINE_COUNT],
            wakes_at: [0; MACHINE_COUNT],
            started: Instant::now(),
        }
    }

    /// What a machine's clock shows, in microseconds since 1970.
    pub(crate) fn micros(&self, machine: usize) -> i64 {
        self.epoch + self.now + self.clock_offset + self.clock_skews[machine]
    }

    /// What a machine's clock shows.
    pub(crate) fn wall_clock(&self, machine: usize) -> Timestamp {
        instant(self.micros(machine))
    }

    /// The own time of a machine's processes.
    pub(crate) fn process_instant(&self, machine: usize) -> Instant {
        self.started + duration(self.now - self.suspended[machine])
    }

    /// Sets all clocks, forward or back.
    pub(crate) fn shift_clocks(&mut self, by: i64) {
        self.clock_offset += by;
    }

    /// Whether a machine is suspended.
    pub(crate) fn is_suspended(&self, machine: usize) -> bool {
        self.now < self.wakes_at[machine]
    }

    /// A machine is suspended. Nobody asks it for its time until it wakes.
    pub(crate) fn suspend(&mut self, machine: usize, for_: Micros) {
        self.suspended[machine] += for_;
        self.wakes_at[machine] = self.now + for_;
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
