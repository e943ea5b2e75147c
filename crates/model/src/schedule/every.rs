//! Schedules with equal intervals.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::error::{Error, shortened};
use crate::time::Timestamp;

/// The shortest period.
pub const MIN_PERIOD: Duration = Duration::from_secs(1);
/// The longest period.
pub const MAX_PERIOD: Duration = Duration::from_hours(366 * 24);

/// The longest text of a period, in bytes.
const MAX_PERIOD_BYTES: usize = 32;

/// The units from the largest to the smallest, with their lengths in seconds. A day is 24 hours: periods have no time
/// zone, so clock changes do not affect them.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// A period: a whole number of seconds from [`MIN_PERIOD`] to [`MAX_PERIOD`], written `90s`, `10m`, `1h30m` or `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(u32);

impl Period {
    /// Returns the length of the period.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }

    fn micros(self) -> i64 {
        i64::from(self.0) * 1_000_000
    }
}

impl FromStr for Period {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let seconds = read_seconds(text).and_then(|seconds| {
            let bounds = MIN_PERIOD.as_secs()..=MAX_PERIOD.as_secs();
            match u32::try_from(seconds) {
                Ok(whole) if bounds.contains(&seconds) => Ok(whole),
                _ => Err("it is out of bounds"),
            }
        });
        seconds.map(Self).map_err(|problem| Error::Period {
            period: shortened(text),
            problem,
        })
    }
}

/// Returns the sum of numbers with units. Each unit may occur once, from the largest to the smallest.
fn read_seconds(text: &str) -> Result<u64, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_PERIOD_BYTES {
        return Err("it is too long");
    }
    let mut units = UNITS.iter();
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        let number: u64 = number
            .parse()
            .map_err(|_| "it is not made of whole numbers with units")?;
        let mut after = after.chars();
        let unit = after.next().ok_or("a number has no unit")?;
        // `units` continues after the unit found last, so that a repeated or a larger unit is refused.
        let (_, seconds) = units
            .find(|(name, _)| *name == unit)
            .ok_or("its units are not d, h, m and s in this order")?;
        total = number
            .checked_mul(*seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or("it is out of bounds")?;
        rest = after.as_str();
    }
    Ok(total)
}

impl fmt::Display for Period {
    /// Writes the shortest form: `1h30m` for 90 minutes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::from(self.0);
        for (unit, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{unit}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for Period {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        crate::schema::text("A distance in time: numbers with their units, such as `1h30m`.")
            .pattern(Some(
                "^([0-9]{1,8}d)?([0-9]{1,6}h)?([0-9]{1,8}m)?([0-9]{1,8}s)?$",
            ))
            .examples(["10m"])
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for Period {}

impl Serialize for Period {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A schedule that fires at its anchor and at every whole period after it. The anchor is stored, so a restart does
/// not shift the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    /// The interval between two instants.
    pub period: Period,
    /// The first instant.
    pub anchor: Timestamp,
}

impl Every {
    /// Returns the first instant strictly after `after`.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let fired = i64::try_from(self.count_until(after)).ok()?;
        let distance = fired.checked_mul(self.period.micros())?;
        let micros = self.anchor.as_microsecond().checked_add(distance)?;
        Timestamp::from_microsecond(micros)
            .ok()
            .filter(|at| *at <= Timestamp::MAX)
    }

    /// Returns the number of instants in `(after, until]`.
    pub(super) fn count(&self, after: Timestamp, until: Timestamp) -> u64 {
        self.count_until(until)
            .saturating_sub(self.count_until(after))
    }

    /// Returns the number of instants up to and including `until`.
    fn count_until(&self, until: Timestamp) -> u64 {
        let since = until.as_microsecond() - self.anchor.as_microsecond();
        u64::try_from(since.div_euclid(self.period.micros()) + 1).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn invalid_period_is_refused_with_accepted_forms() {
        for text in [
            "",
            "0s",
            "0d",
            "90",
            "m",
            "-5m",
            "+5m",
            "1.5h",
            "1h 30m",
            "30m1h",
            "1h1h",
            "10M",
            "10min",
            "367d",
            "366d1s",
            "99999999999999999999d",
            "999999999999999999d",
            "１m",
            &"1".repeat(1000),
        ] {
            let error = text.parse::<Period>().unwrap_err().to_string();
            assert!(error.contains("1s to 366d"), "{text}: {error}");
        }
    }

    #[test]
    fn period_displays_in_its_shortest_form() {
        for (text, seconds, shortest) in [
            ("1s", 1, "1s"),
            ("90s", 90, "1m30s"),
            ("10m", 600, "10m"),
            ("1h30m", 5400, "1h30m"),
            ("2d", 172_800, "2d"),
            ("0d36h", 129_600, "1d12h"),
            ("366d", 31_622_400, "366d"),
        ] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.duration(), Duration::from_secs(seconds));
            assert_eq!(period.to_string(), shortest);
        }
    }

    #[test]
    fn anchor_is_first_instant_of_interval_schedule() {
        let anchor = at("2026-11-21T09:00:00.5Z");
        let period = "1h30m".parse().unwrap();
        let every = Every { period, anchor };
        assert_eq!(every.next_after(Timestamp::UNIX_EPOCH), Some(anchor));
        let second = at("2026-11-21T10:30:00.5Z");
        assert_eq!(every.next_after(anchor), Some(second));
        assert_eq!(
            every.next_after(at("2026-11-21T10:30:00.499999Z")),
            Some(second)
        );
    }

    #[test]
    fn interval_schedule_ends_at_last_representable_instant() {
        let period = "1d".parse().unwrap();
        let anchor = Timestamp::UNIX_EPOCH;
        let every = Every { period, anchor };
        assert_eq!(every.next_after(Timestamp::MAX), None);
        assert_eq!(
            every.next_after(at("9999-12-29T12:00:00Z")),
            Some(at("9999-12-30T00:00:00Z"))
        );
    }

    proptest! {
        #[test]
        fn next_interval_instant_is_the_only_one_up_to_itself(
            seconds in 1..=31_622_400_u32,
            anchor in 0..4_000_000_000_000_000_i64,
            after in 0..4_000_000_000_000_000_i64,
        ) {
            let every = Every {
                period: Period(seconds),
                anchor: Timestamp::from_microsecond(anchor).unwrap(),
            };
            let after = Timestamp::from_microsecond(after).unwrap();
            let next = every.next_after(after).unwrap();
            prop_assert!(next > after);
            prop_assert_eq!(every.count(after, next), 1);
            prop_assert_eq!(next.since(every.anchor).as_micros() % (u128::from(seconds) * 1_000_000), 0);
        }
    }
}
