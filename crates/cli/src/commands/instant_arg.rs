//! An instant as an argument of a command: an instant, a local date and time, or a period before now.

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use model::{Timestamp, schedule::Period};

use crate::{
    error::{CliError, Exit},
    output::LocalTime,
};

/// An instant as people give it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InstantArg {
    /// An instant with an offset, such as `2026-11-19T22:41:00+01:00`.
    Instant(Timestamp),
    /// A date and time of the local clock, such as `2026-11-19T22:41` or `2026-11-19`.
    Local(DateTime),
    /// A period before now, such as `12h`.
    Ago(Period),
}

impl InstantArg {
    /// Returns the instant.
    ///
    /// # Errors
    ///
    /// Returns an error that names `option` if the instant of a local time is out of range.
    pub(crate) fn resolve(
        self,
        option: &str,
        now: Timestamp,
        zone: &LocalTime,
    ) -> Result<Timestamp, CliError> {
        match self {
            Self::Instant(instant) => Ok(instant),
            Self::Local(local) => zone.instant(local).ok_or_else(|| {
                let message = format!("invalid `{option}` {local}: the instant is out of range");
                CliError::message(Exit::Usage, message)
            }),
            Self::Ago(period) => Ok(now.saturating_sub(period.duration())),
        }
    }
}

impl FromStr for InstantArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(instant) = text.parse() {
            return Ok(Self::Instant(instant));
        }
        if let Ok(date) = text.parse::<Date>()
            && text.len() == "2026-11-19".len()
        {
            return Ok(Self::Local(date.to_datetime(jiff::civil::Time::midnight())));
        }
        // The parser of jiff ignores an offset and a zone. A text with an offset was parsed as an instant above, so
        // that one which comes here has an invalid offset.
        if let Ok(local) = text.parse::<DateTime>()
            && text
                .chars()
                .skip("2026-11-19".len())
                .all(|char| char.is_ascii_digit() || "T: .".contains(char))
        {
            return Ok(Self::Local(local));
        }
        let period: Result<Period, _> = text.parse();
        period.map(Self::Ago).map_err(|_| {
            "accepted are a period before now (12h), a local date and time (2026-11-19T22:41), and an instant \
             (2026-11-19T21:41:00Z)"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> String {
        let now: Timestamp = "2026-11-20T08:00:00Z".parse().unwrap();
        let zone = LocalTime::of_zone("Europe/Prague");
        let arg: InstantArg = text.parse().unwrap();
        arg.resolve("--since", now, &zone).unwrap().to_string()
    }

    #[test]
    fn period_date_and_instant_are_accepted() {
        assert_eq!(resolve("12h"), "2026-11-19T20:00:00Z");
        assert_eq!(resolve("2026-11-19"), "2026-11-18T23:00:00Z");
        assert_eq!(resolve("2026-11-19T22:41"), "2026-11-19T21:41:00Z");
        assert_eq!(resolve("2026-11-19 22:41:30"), "2026-11-19T21:41:30Z");
        assert_eq!(resolve("2026-11-19T22:41:00Z"), "2026-11-19T22:41:00Z");
        assert_eq!(resolve("2026-11-19T22:41:00+01:00"), "2026-11-19T21:41:00Z");
    }

    #[test]
    fn local_time_out_of_range_is_refused_with_option() {
        let arg: InstantArg = "9999-12-31T23:59:59".parse().unwrap();
        let zone = LocalTime::of_zone("America/New_York");
        let refused = arg.resolve("--since", Timestamp::UNIX_EPOCH, &zone);
        assert!(refused.unwrap_err().full_message().contains("`--since`"));
    }

    #[test]
    fn other_text_is_refused_with_accepted_forms() {
        for text in [
            "yesterday",
            "",
            "12",
            "2026-13-01",
            "9pm",
            "2026-11-19T22:41-99:00",
        ] {
            let refused = text.parse::<InstantArg>().unwrap_err();
            assert!(refused.contains("12h"), "{text}: {refused}");
        }
    }
}
