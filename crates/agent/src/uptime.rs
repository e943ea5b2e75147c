//! The time by which leases are counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Gives for how long the machine has run, its sleep included: nobody can set it, and guards count by it.
pub fn uptime() -> Duration {
    // It is never negative.
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
