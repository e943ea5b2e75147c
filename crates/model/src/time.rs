//! Instants, and the traits through which the rest of the code gets time and randomness.
//!
//! **Invariant:** a [`Timestamp`] has a precision of microseconds from its creation on, so that both databases return
//! exactly the stored value.

use std::{fmt, ops::Add, str::FromStr, time::Duration};

use jiff::fmt::temporal::Pieces;
use serde::{
    Deserialize, Serialize,
    de::{self, Unexpected, Visitor},
};

/// The number of characters of a text that an error shows.
const MAX_SHOWN_CHARS: usize = 80;
/// The instants that jiff can hold, for an error.
const ACCEPTED_RANGE: &str = "accepted are instants from -9999-01-02 to 9999-12-30";

/// An instant in UTC with a precision of microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(value_type = String, format = DateTime))]
#[serde(transparent)]
pub struct Timestamp(jiff::Timestamp);

/// The error for an instant outside of the years -9999 to 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the instant {0} microseconds after 1970 is outside the years -9999 to 9999")]
pub struct OutOfRange(i64);

impl Timestamp {
    /// The Unix epoch.
    pub const UNIX_EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);
    /// The last instant that can be written.
    pub const MAX: Self = Self(jiff::Timestamp::constant(253_402_207_200, 0));

    /// Returns the instant of a number of microseconds since the Unix epoch.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`] if the instant is outside of the years -9999 to 9999.
    pub fn from_microsecond(micros: i64) -> Result<Self, OutOfRange> {
        jiff::Timestamp::from_microsecond(micros)
            .map(Self)
            .map_err(|_| OutOfRange(micros))
    }

    /// Returns the instant, rounded down to microseconds.
    pub fn from_jiff(instant: jiff::Timestamp) -> Self {
        let nanos = instant.as_nanosecond();
        let micros = i64::try_from(nanos.div_euclid(1000)).unwrap_or(i64::MIN);
        // Neither fallback is reached: rounding down stays within the range, because the earliest instant of `jiff`
        // is a whole second.
        jiff::Timestamp::from_microsecond(micros).map_or(Self(instant), Self)
    }

    /// Returns the instant for calendar arithmetic.
    pub const fn jiff(self) -> jiff::Timestamp {
        self.0
    }

    /// Returns the microseconds since the Unix epoch.
    pub fn as_microsecond(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Returns the time from `earlier` to this instant. Returns zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self
            .as_microsecond()
            .saturating_sub(earlier.as_microsecond());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Returns this instant, rounded up to a whole second.
    #[must_use]
    pub fn ceil_second(self) -> Self {
        let over = self.as_microsecond().rem_euclid(1_000_000).unsigned_abs();
        let rest = if over == 0 { 0 } else { 1_000_000 - over };
        self + Duration::from_micros(rest)
    }

    /// Returns this instant, rounded down to a whole second.
    #[must_use]
    pub fn floor_second(self) -> Self {
        let over = self.as_microsecond().rem_euclid(1_000_000).unsigned_abs();
        self.saturating_sub(Duration::from_micros(over))
    }

    /// Returns the instant `duration` earlier. Returns the earliest possible instant if that is out of range.
    #[must_use]
    pub fn saturating_sub(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let at = self.as_microsecond().saturating_sub(micros);
        jiff::Timestamp::from_microsecond(at).map_or(Self(jiff::Timestamp::MIN), Self)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    /// Returns the instant `duration` later, and [`Timestamp::MAX`] if that is out of range.
    fn add(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        let at = self.as_microsecond().saturating_add(micros);
        jiff::Timestamp::from_microsecond(at)
            .map_or(Self::MAX, Self)
            .min(Self::MAX)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    /// Parses RFC 3339 and RFC 9557. The text must have an offset or a time zone.
    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        text.parse().map(Self::from_jiff)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an instant with an offset, such as 2026-11-20T06:00:00Z")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        // The parser of jiff describes its steps instead of the accepted texts.
        text.parse().map_err(|_| {
            let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
            let is_instant = |it: Pieces<'_>| it.time().is_some() && it.offset().is_some();
            if Pieces::parse(text).is_ok_and(is_instant) {
                return E::custom(format_args!(
                    "the instant \"{shown}\" is out of range, {ACCEPTED_RANGE}"
                ));
            }
            E::invalid_value(Unexpected::Str(&shown), &self)
        })
    }
}

/// A source of the present time. Only the binary has an implementation that reads the system's clock.
pub trait Clock: Send + Sync {
    /// Returns the present instant.
    fn now(&self) -> Timestamp;

    /// Returns the largest possible difference between [`Self::now`] and the time of the servers that share the
    /// database. A clock that is not shared has no such difference.
    fn uncertainty(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns the lead of the machine's own clock over [`Self::now`], in microseconds. Returns `None` if
    /// [`Self::now`] is the machine's own clock.
    fn machine_clock_lead_micros(&self) -> Option<i64> {
        None
    }
}

/// A source of the machine's uptime, which includes sleep and, unlike the clock, cannot be set.
pub trait Uptime: Send + Sync {
    /// Returns the time since the start of the machine.
    fn uptime(&self) -> Duration;
}

/// A source of randomness. Only the binary has an implementation that reads the system's source.
pub trait Entropy: Send + Sync {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_rounded_down_to_microseconds() {
        let fine = jiff::Timestamp::new(-1, -1).unwrap();
        assert_eq!(Timestamp::from_jiff(fine).as_microsecond(), -1_000_001);
        let text: Timestamp = "2026-11-21T09:00:00.123456789Z".parse().unwrap();
        assert_eq!(text.to_string(), "2026-11-21T09:00:00.123456Z");
    }

    #[test]
    fn error_of_instant_names_its_value_and_an_accepted_one() {
        let read =
            |json: &str| serde_json::from_str::<Timestamp>(json).map_err(|it| it.to_string());
        let accepted = "expected an instant with an offset, such as 2026-11-20T06:00:00Z";
        for (json, says) in [
            ("\"07:00\"", "invalid value: string \"07:00\""),
            (
                "\"2026-11-20T06:00\"",
                "invalid value: string \"2026-11-20T06:00\"",
            ),
            ("7", "invalid type: integer `7`"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(&format!("{says}, {accepted}")), "{error}");
        }
        let last = read("\"9999-12-31T23:59:59Z\"").unwrap_err();
        let says = "the instant \"9999-12-31T23:59:59Z\" is out of range, \
                    accepted are instants from -9999-01-02 to 9999-12-30";
        assert!(last.contains(says), "{last}");
        let long = read(&format!("\"{}\"", "x".repeat(200))).unwrap_err();
        assert!(!long.contains(&"x".repeat(MAX_SHOWN_CHARS + 1)), "{long}");
        let offset = read("\"2026-11-20T07:00:00+01:00\"").unwrap();
        assert_eq!(offset.to_string(), "2026-11-20T06:00:00Z");
    }

    #[test]
    fn ceil_second_rounds_up_to_whole_second() {
        for (micros, raised) in [(0, 0), (1, 1), (1_000_000, 1), (1_999_999, 2), (-1, 0)] {
            let at = Timestamp::from_microsecond(micros).unwrap().ceil_second();
            assert_eq!(at.as_microsecond(), raised * 1_000_000, "{micros}");
        }
    }

    #[test]
    fn timestamp_arithmetic_saturates() {
        assert_eq!(Timestamp::MAX + Duration::from_secs(1), Timestamp::MAX);
        assert_eq!(Timestamp::UNIX_EPOCH + Duration::MAX, Timestamp::MAX);
        assert_eq!(Timestamp::UNIX_EPOCH.since(Timestamp::MAX), Duration::ZERO);
    }
}
