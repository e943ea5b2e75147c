//! The name of a trigger file: when it was made, and for which run.

use std::{fmt, str::FromStr};

use jiff::{civil::DateTime, fmt::strtime, tz::TimeZone};
use model::{RunId, Timestamp};

/// `<UTC time to the microsecond>-<run id>.json`. Names sort by time; two of one instant differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TriggerName {
    at: Timestamp,
    run: RunId,
}

/// Why a name is none of a trigger file that Matins has written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "read the file name {given:?}: expected <UTC time to the microsecond>-<run id>.json, such as \
     20260430T090000.000000Z-run_<32 hexadecimal digits>.json"
)]
pub struct InvalidName {
    /// The name, or its beginning.
    pub given: String,
}

const FORM: &str = "%Y%m%dT%H%M%S.%6fZ";
const SUFFIX: &str = ".json";
/// Two ends of the years that have four digits.
const FIRST_YEAR: i16 = 0;

impl TriggerName {
    /// Names the file of a run. `None` before the year 0, whose years have no four digits.
    pub fn new(at: Timestamp, run: RunId) -> Option<Self> {
        let year = at.jiff().to_zoned(TimeZone::UTC).year();
        (year >= FIRST_YEAR).then_some(Self { at, run })
    }

    /// When the file was made.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The run that it delivers.
    pub fn run(&self) -> RunId {
        self.run
    }
}

impl fmt::Display for TriggerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.jiff().to_zoned(TimeZone::UTC);
        write!(f, "{}-{}{SUFFIX}", at.strftime(FORM), self.run)
    }
}

impl FromStr for TriggerName {
    type Err = InvalidName;

    /// Reads exactly what is written: another spelling of the same time or run is refused, so that one
    /// run has one name.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let read = || {
            let (at, run) = text.strip_suffix(SUFFIX)?.split_once('-')?;
            let at = strtime::parse(FORM, at).ok()?;
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
