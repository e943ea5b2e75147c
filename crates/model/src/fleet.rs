//! The time of a fleet: that of the database's clock, whatever the clocks of its servers show.
//!
//! **Invariants:** between two readings of the database's clock time passes as the machine's uptime does, so
//! that a machine's clock may be set and nothing changes. What is shown goes back only where readings prove it
//! wrong by more than [`limits::CLOCK_HOLD`]. The uncertainty is never less than what the readings leave open.

use std::time::Duration;

use crate::{Timestamp, limits};

/// One reading of the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The uptime when it was asked.
    pub asked: Duration,
    /// The uptime when the answer was there.
    pub answered: Duration,
    /// What it showed, at some time between the two.
    pub shown: Timestamp,
}

impl Reading {
    /// How long the answer took.
    pub fn took(&self) -> Duration {
        self.answered.saturating_sub(self.asked)
    }
}

/// The time at one uptime, from which others are counted.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    uptime: Duration,
    shown: Timestamp,
    error: Duration,
}

impl Anchor {
    /// In the middle of question and answer it is wrong by half of what lies between at the most.
    fn of(reading: Reading) -> Self {
        let error = reading.took() / 2;
        Self {
            uptime: reading.asked + error,
            shown: reading.shown,
            error,
        }
    }

    fn at(&self, uptime: Duration) -> Timestamp {
        match uptime.checked_sub(self.uptime) {
            Some(since) => self.shown + since,
            None => self.shown.saturating_sub(self.uptime.abs_diff(uptime)),
        }
    }

    /// How far what it gives may be wrong by then.
    fn error_at(&self, uptime: Duration) -> Duration {
        let since = uptime.abs_diff(self.uptime);
        let drift = since.as_micros() * u128::from(limits::CLOCK_DRIFT_MICROS) / 1_000_000;
        self.error + Duration::from_micros(u64::try_from(drift).unwrap_or(u64::MAX))
    }
}

/// What a process knows of the time of its fleet.
#[derive(Debug, Clone, Copy, Default)]
pub struct FleetTime {
    anchor: Option<Anchor>,
    /// The latest instant that was shown.
    last: Option<Timestamp>,
}

impl FleetTime {
    /// Takes a reading into account. Where it agrees with what is known, the more exact of both is kept; where it
    /// does not, the database's clock was set, or the machine stood still unnoticed, and the reading counts.
    pub fn learn(&mut self, reading: Reading) {
        let new = Anchor::of(reading);
        if let Some(old) = self.anchor {
            let (expected, error) = (old.at(new.uptime), old.error_at(new.uptime));
            let apart = expected.since(new.shown).max(new.shown.since(expected));
            if apart <= error + new.error && error < new.error {
                return;
            }
        }
        self.anchor = Some(new);
    }

    /// The time at an uptime, that of the present; none before the first reading.
    ///
    /// After a small correction backward it stands still until it is right again: what follows something is
    /// never dated before it. After a large one nothing would be due for as long, so that it goes back.
    pub fn show(&mut self, uptime: Duration) -> Option<Timestamp> {
        let now = self.at(uptime)?;
        let shown = match self.last {
            Some(last) if last.since(now) <= limits::CLOCK_HOLD => last.max(now),
            _ => now,
        };
        self.last = Some(shown);
        Some(shown)
    }

    /// How far what it shows at an uptime may be from the database's clock; [`Duration::MAX`] before the first
    /// reading.
    pub fn uncertainty(&self, uptime: Duration) -> Duration {
        let Some(anchor) = self.anchor else {
            return Duration::MAX;
        };
        let ahead = self
            .last
            .map_or(Duration::ZERO, |last| last.since(anchor.at(uptime)));
        // It is wrong by more, and known to be, while it stands still.
        let held = Some(ahead).filter(|ahead| *ahead <= limits::CLOCK_HOLD);
        anchor.error_at(uptime) + held.unwrap_or_default()
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

    /// A reading whose answer took so long.
    fn reading(asked: Duration, took: Duration, shown: Timestamp) -> Reading {
        Reading {
            asked,
            answered: asked + took,
            shown,
        }
    }

    #[test]
    fn before_the_first_reading_nothing_is_known() {
        let mut time = FleetTime::default();
        assert_eq!(time.show(secs(7)), None);
        assert_eq!(time.uncertainty(secs(7)), Duration::MAX);
    }

    #[test]
    fn from_a_reading_on_time_passes_as_the_uptime_does() {
        let mut time = FleetTime::default();
        time.learn(reading(secs(100), millis(20), noon()));
        assert_eq!(time.show(secs(100) + millis(10)), Some(noon()));
        assert_eq!(time.show(secs(160) + millis(10)), Some(noon() + secs(60)));
        // An instant before the reading, as another thread may have asked for it.
        let earlier = FleetTime { last: None, ..time }.show(secs(100));
        assert_eq!(earlier, Some(noon().saturating_sub(millis(10))));
    }

    #[test]
    fn what_is_uncertain_is_half_of_the_way_and_the_drift_since() {
        let mut time = FleetTime::default();
        time.learn(reading(secs(100), millis(20), noon()));
        assert_eq!(time.uncertainty(secs(100) + millis(10)), millis(10));
        assert_eq!(time.uncertainty(secs(110) + millis(10)), millis(20));
        // Without any answer it is known for more than an hour, and not for two.
        assert!(time.uncertainty(secs(100 + 3600)) < limits::CLOCK_UNCERTAINTY);
        assert!(time.uncertainty(secs(100 + 7200)) > limits::CLOCK_UNCERTAINTY);
        let mut slow = FleetTime::default();
        slow.learn(reading(secs(100), secs(11), noon()));
        assert!(slow.uncertainty(secs(111)) > limits::CLOCK_UNCERTAINTY);
    }

    #[test]
    fn the_more_exact_of_two_readings_that_agree_is_kept() {
        let mut time = FleetTime::default();
        time.learn(reading(secs(100), millis(2), noon()));
        // This one was on its way for long: all that it says is known better.
        time.learn(reading(secs(110), secs(4), noon() + secs(13)));
        assert_eq!(time.uncertainty(secs(110) + millis(1)), millis(11));
        assert_eq!(time.show(secs(110) + millis(1)), Some(noon() + secs(10)));
        // Ten seconds of drift are more than this one leaves open.
        time.learn(reading(secs(120), millis(2), noon() + secs(20) + millis(7)));
        assert_eq!(time.uncertainty(secs(120) + millis(1)), millis(1));
    }

    #[test]
    fn a_small_correction_backward_has_time_stand_still_until_it_is_right() {
        let mut time = FleetTime::default();
        time.learn(reading(secs(100), millis(2), noon()));
        let shown = time.show(secs(110) + millis(1)).unwrap();
        time.learn(reading(
            secs(110),
            millis(2),
            shown.saturating_sub(millis(8)),
        ));
        assert_eq!(time.show(secs(110) + millis(1)), Some(shown));
        assert_eq!(time.uncertainty(secs(110) + millis(1)), millis(9));
        assert_eq!(time.show(secs(110) + millis(9)), Some(shown));
        assert_eq!(time.show(secs(110) + millis(10)), Some(shown + millis(1)));
    }

    #[test]
    fn a_database_whose_clock_was_set_is_followed_at_once() {
        for apart in [secs(2), secs(600)] {
            for back in [true, false] {
                let mut time = FleetTime::default();
                time.learn(reading(secs(100), millis(2), noon()));
                let before = time.show(secs(110) + millis(1)).unwrap();
                let set = if back {
                    before.saturating_sub(apart)
                } else {
                    before + apart
                };
                // Even by an answer that was long on its way, as long as it proves it.
                time.learn(reading(secs(110), millis(2000), set + millis(999)));
                assert_eq!(time.show(secs(110) + millis(1)), Some(set), "{apart:?}");
            }
        }
    }
}
