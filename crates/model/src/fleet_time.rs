//! The time of a fleet: the servers that share a database take the time of the database's clock, regardless of their
//! own clocks.
//!
//! **Invariants:**
//!
//! - Between two readings of the database's clock, time passes as the machine's uptime does, so that setting a
//!   machine's clock changes nothing.
//! - The shown time goes back only if readings prove it wrong by more than [`limits::MAX_CLOCK_STANDSTILL`].
//! - The uncertainty is never smaller than the error that the readings allow.

use std::time::Duration;

use crate::{Timestamp, limits};

/// A reading of the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The uptime of the machine when the query was sent.
    pub sent_uptime: Duration,
    /// The uptime of the machine when the answer arrived.
    pub received_uptime: Duration,
    /// The instant that the database's clock showed between the two.
    pub database_time: Timestamp,
}

impl ClockReading {
    /// Returns the duration of the query.
    pub fn round_trip(&self) -> Duration {
        self.received_uptime.saturating_sub(self.sent_uptime)
    }
}

/// A known instant at one uptime, from which the time at other uptimes is computed.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    uptime: Duration,
    time: Timestamp,
    error: Duration,
}

impl Anchor {
    /// Dates the reading to the middle of the query. The error is at most half of the query's duration, because the
    /// database read its clock at some instant between the request and the response.
    fn of(reading: ClockReading) -> Self {
        let error = reading.round_trip() / 2;
        Self {
            uptime: reading.sent_uptime + error,
            time: reading.database_time,
            error,
        }
    }

    fn at(&self, uptime: Duration) -> Timestamp {
        match uptime.checked_sub(self.uptime) {
            Some(since) => self.time + since,
            None => self.time.saturating_sub(self.uptime.abs_diff(uptime)),
        }
    }

    /// Returns the largest possible error of [`Self::at`] at an uptime: the error of the reading, plus the drift
    /// since then.
    fn error_at(&self, uptime: Duration) -> Duration {
        let since = uptime.abs_diff(self.uptime);
        let drift =
            since.as_micros() * u128::from(limits::CLOCK_DRIFT_MICROS_PER_SECOND) / 1_000_000;
        self.error + Duration::from_micros(u64::try_from(drift).unwrap_or(u64::MAX))
    }
}

/// A server's knowledge of the fleet's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct FleetTime {
    anchor: Option<Anchor>,
    /// The latest instant that [`Self::now`] returned.
    last: Option<Timestamp>,
}

impl FleetTime {
    /// Takes a reading into account.
    ///
    /// If the reading agrees with the known time, the more exact of the two stays. If the reading contradicts the
    /// known time, either the database's clock was set or the machine stopped without counting it as uptime (a paused
    /// virtual machine), and the reading replaces the known time.
    pub fn add_reading(&mut self, reading: ClockReading) {
        let new = Anchor::of(reading);
        if let Some(old) = self.anchor {
            let (expected, error) = (old.at(new.uptime), old.error_at(new.uptime));
            let apart = expected.since(new.time).max(new.time.since(expected));
            if apart <= error + new.error && error < new.error {
                // The old anchor is the more exact one. Replacing it by a slow reading would add to the uncertainty.
                return;
            }
        }
        self.anchor = Some(new);
    }

    /// Returns the time at the present uptime. Returns `None` before the first reading.
    ///
    /// After a small backward correction the shown time stands still until the corrected time reaches it, so that an
    /// effect is never dated before its cause. After a large correction the time goes back, because otherwise nothing
    /// would be due until the corrected time reaches the shown one.
    pub fn now(&mut self, uptime: Duration) -> Option<Timestamp> {
        let now = self.at(uptime)?;
        let shown = match self.last {
            Some(last) if last.since(now) <= limits::MAX_CLOCK_STANDSTILL => last.max(now),
            _ => now,
        };
        self.last = Some(shown);
        Some(shown)
    }

    /// Returns the largest possible difference between the shown time at an uptime and the database's clock. Returns
    /// [`Duration::MAX`] before the first reading.
    pub fn uncertainty(&self, uptime: Duration) -> Duration {
        let Some(anchor) = self.anchor else {
            return Duration::MAX;
        };
        let ahead = self
            .last
            .map_or(Duration::ZERO, |last| last.since(anchor.at(uptime)));
        // While the shown time stands still, its known lead adds to the uncertainty.
        let lead = Some(ahead).filter(|ahead| *ahead <= limits::MAX_CLOCK_STANDSTILL);
        anchor.error_at(uptime) + lead.unwrap_or_default()
    }

    fn at(&self, uptime: Duration) -> Option<Timestamp> {
        Some(self.anchor?.at(uptime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-11-23T12:00:00Z";

    fn noon() -> Timestamp {
        NOON.parse().unwrap()
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns a reading of `shown` by a query that was sent at the uptime `sent`.
    fn clock_reading(sent: Duration, took: Duration, shown: Timestamp) -> ClockReading {
        ClockReading {
            sent_uptime: sent,
            received_uptime: sent + took,
            database_time: shown,
        }
    }

    #[test]
    fn fleet_time_is_unknown_before_first_reading() {
        let mut time = FleetTime::default();
        assert_eq!(time.now(secs(7)), None);
        assert_eq!(time.uncertainty(secs(7)), Duration::MAX);
    }

    #[test]
    fn fleet_time_advances_with_uptime_after_reading() {
        let mut time = FleetTime::default();
        time.add_reading(clock_reading(secs(100), millis(20), noon()));
        assert_eq!(time.now(secs(100) + millis(10)), Some(noon()));
        assert_eq!(time.now(secs(160) + millis(10)), Some(noon() + secs(60)));
        // Another thread may request the time for an uptime before the reading.
        let earlier = FleetTime { last: None, ..time }.now(secs(100));
        assert_eq!(earlier, Some(noon().saturating_sub(millis(10))));
    }

    #[test]
    fn clock_uncertainty_is_half_round_trip_plus_drift() {
        let mut time = FleetTime::default();
        time.add_reading(clock_reading(secs(100), millis(20), noon()));
        assert_eq!(time.uncertainty(secs(100) + millis(10)), millis(10));
        assert_eq!(time.uncertainty(secs(110) + millis(10)), millis(20));
        // Without another reading, the time stays accurate enough for one hour, but not for two.
        assert!(time.uncertainty(secs(100 + 3600)) < limits::MAX_CLOCK_UNCERTAINTY);
        assert!(time.uncertainty(secs(100 + 7200)) > limits::MAX_CLOCK_UNCERTAINTY);
        let mut slow = FleetTime::default();
        slow.add_reading(clock_reading(secs(100), secs(11), noon()));
        assert!(slow.uncertainty(secs(111)) > limits::MAX_CLOCK_UNCERTAINTY);
    }

    #[test]
    fn more_exact_of_two_agreeing_clock_readings_wins() {
        let mut time = FleetTime::default();
        time.add_reading(clock_reading(secs(100), millis(2), noon()));
        // This query took long, so its error is larger than that of the known time.
        time.add_reading(clock_reading(secs(110), secs(4), noon() + secs(13)));
        assert_eq!(time.uncertainty(secs(110) + millis(1)), millis(11));
        assert_eq!(time.now(secs(110) + millis(1)), Some(noon() + secs(10)));
        // The error of this reading is smaller than the drift of ten seconds.
        time.add_reading(clock_reading(
            secs(120),
            millis(2),
            noon() + secs(20) + millis(7),
        ));
        assert_eq!(time.uncertainty(secs(120) + millis(1)), millis(1));
    }

    #[test]
    fn small_backward_correction_stops_time_until_it_is_reached() {
        let mut time = FleetTime::default();
        time.add_reading(clock_reading(secs(100), millis(2), noon()));
        let shown = time.now(secs(110) + millis(1)).unwrap();
        time.add_reading(clock_reading(
            secs(110),
            millis(2),
            shown.saturating_sub(millis(8)),
        ));
        assert_eq!(time.now(secs(110) + millis(1)), Some(shown));
        assert_eq!(time.uncertainty(secs(110) + millis(1)), millis(9));
        assert_eq!(time.now(secs(110) + millis(9)), Some(shown));
        assert_eq!(time.now(secs(110) + millis(10)), Some(shown + millis(1)));
    }

    #[test]
    fn large_change_of_database_clock_applies_at_once() {
        for apart in [secs(2), secs(600)] {
            for back in [true, false] {
                let mut time = FleetTime::default();
                time.add_reading(clock_reading(secs(100), millis(2), noon()));
                let before = time.now(secs(110) + millis(1)).unwrap();
                let set = if back {
                    before.saturating_sub(apart)
                } else {
                    before + apart
                };
                // A slow reading suffices if the change is larger than its error.
                time.add_reading(clock_reading(secs(110), millis(2000), set + millis(999)));
                assert_eq!(time.now(secs(110) + millis(1)), Some(set), "{apart:?}");
            }
        }
    }
}
