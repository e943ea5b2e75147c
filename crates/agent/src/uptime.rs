//! The clock of leases.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the time since the machine started, with the time of suspend. Guards count leases by the same clock,
/// because nothing can set it.
pub fn uptime() -> Duration {
    // The clock never returns a negative value.
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}
