//! The name of a trigger file: the instant of its creation and the ID of its run.

use std::{fmt, str::FromStr};

use jiff::{civil::DateTime, fmt::strtime, tz::TimeZone};
use model::{RunId, Timestamp};

/// The name `<UTC time to the microsecond>-<run ID>.json`. Names sort by time, and two files of one instant differ by
/// their runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TriggerName {
    at: Timestamp,
    run: RunId,
}

/// The error for a name that no trigger file of Matins has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid file name `{}`: expected <UTC time to the microsecond>-<run ID>.json, such as \
     20260430T090000.000000Z-run_<32 hexadecimal digits>.json",
    .given.escape_debug()
)]
pub struct InvalidName {
    /// The name, or its beginning.
    pub given: String,
}

const TIME_FORMAT: &str = "%Y%m%dT%H%M%S.%6fZ";
const SUFFIX: &str = ".json";
/// The first year with four digits. Names sort by time only if all years have the same number of digits.
const FIRST_YEAR: i16 = 0;

impl TriggerName {
    /// Makes the name of the file for a run. Returns `None` for an instant before the year 0, which has a sign.
    pub fn new(at: Timestamp, run: RunId) -> Option<Self> {
        let year = at.jiff().to_zoned(TimeZone::UTC).year();
        (year >= FIRST_YEAR).then_some(Self { at, run })
    }

    /// Returns the instant at which the file was created.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns the run that the file delivers.
    pub fn run(&self) -> RunId {
        self.run
    }
}

impl fmt::Display for TriggerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.jiff().to_zoned(TimeZone::UTC);
        write!(f, "{}-{}{SUFFIX}", at.strftime(TIME_FORMAT), self.run)
    }
}

impl FromStr for TriggerName {
    type Err = InvalidName;

    /// Parses a name. Refuses any other notation of the same time or run, so that a run has exactly one name.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let read = || {
            let (at, run) = text.strip_suffix(SUFFIX)?.split_once('-')?;
            let at = strtime::parse(TIME_FORMAT, at).ok()?;
            let at: DateTime = at.to_datetime().ok()?;
            let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp();
            let name = Self::new(Timestamp::from_jiff(at), run.parse().ok()?)?;
            (name.to_string() == text).then_some(name)
        };
        read().ok_or_else(|| InvalidName {
            given: text.chars().take(100).collect(),
        })
    }
}
