//! The time of the simulation: the real time, and the clocks that may show another time.

use std::time::Duration;

use model::Timestamp;
use tokio::time::Instant;

/// Microseconds since the simulation began, including the time of suspend. Guards count their leases by it.
pub(crate) type Micros = i64;

pub(crate) const SECOND: Micros = 1_000_000;
pub(crate) const MINUTE: Micros = 60 * SECOND;
pub(crate) const HOUR: Micros = 60 * MINUTE;

/// The number of machines.
pub(crate) const MACHINE_COUNT: usize = 2;

/// The time, and the clocks of the machines.
pub(crate) struct SimulatedTime {
    /// The real time.
    pub(crate) now: Micros,
    /// The time of the clocks at the beginning.
    epoch: i64,
    /// The sum of all changes of the clocks.
    clock_offset: i64,
    /// The difference of each machine's clock to the clock of the first machine.
    clock_skews: [i64; MACHINE_COUNT],
    /// The total suspend of each machine, which monotonic clocks do not count.
    suspended: [Micros; MACHINE_COUNT],
    /// The time at which each machine wakes.
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

    /// Returns the time of a machine's clock, in microseconds since 1970.
    pub(crate) fn micros(&self, machine: usize) -> i64 {
        self.epoch + self.now + self.clock_offset + self.clock_skews[machine]
    }

    /// Returns the time of a machine's clock.
    pub(crate) fn wall_clock(&self, machine: usize) -> Timestamp {
        instant(self.micros(machine))
    }

    /// Returns the monotonic time of a machine's processes.
    pub(crate) fn process_instant(&self, machine: usize) -> Instant {
        self.started + duration(self.now - self.suspended[machine])
    }

    /// Sets all clocks forward or back.
    pub(crate) fn shift_clocks(&mut self, by: i64) {
        self.clock_offset += by;
    }

    /// Returns `true` if a machine is suspended.
    pub(crate) fn is_suspended(&self, machine: usize) -> bool {
        self.now < self.wakes_at[machine]
    }

    /// Suspends a machine. Its time is not read until it wakes.
    pub(crate) fn suspend(&mut self, machine: usize, for_: Micros) {
        self.suspended[machine] += for_;
        self.wakes_at[machine] = self.now + for_;
    }
}

/// Converts microseconds to a duration.
pub(crate) fn duration(micros: Micros) -> Duration {
    Duration::from_micros(micros.unsigned_abs())
}

/// Converts microseconds since 1970 to a timestamp.
pub(crate) fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}
