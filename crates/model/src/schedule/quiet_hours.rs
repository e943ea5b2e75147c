//! Quiet hours: daily windows in which occurrences are skipped.

use std::{fmt, str::FromStr};

use jiff::civil::Time;
use serde::{Deserialize, Serialize};

use super::{
    Zone,
    error::{Error, MAX_QUIET_WINDOWS, shortened},
};
use crate::time::Timestamp;

/// A window of each day, `[start, end)` on the wall clock, written `22:00-07:00`. If the end is before the start, the
/// window ends on the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietWindow {
    start: Time,
    end: Time,
}

/// The quiet hours of one automation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<QuietWindow>")]
pub struct QuietHours(Vec<QuietWindow>);

impl QuietHours {
    /// Returns quiet hours with these windows. Windows may overlap.
    ///
    /// # Errors
    ///
    /// [`Error::QuietHours`] if there are more than [`MAX_QUIET_WINDOWS`] windows.
    pub fn new(windows: Vec<QuietWindow>) -> Result<Self, Error> {
        match windows.get(MAX_QUIET_WINDOWS) {
            None => Ok(Self(windows)),
            Some(beyond) => Err(Error::QuietHours {
                window: beyond.to_string(),
                problem: "there are too many windows",
            }),
        }
    }

    /// Returns the windows, in the order in which they were given.
    pub fn windows(&self) -> &[QuietWindow] {
        &self.0
    }

    /// Returns `true` if `instant`, on the wall clock of `zone`, lies in one of the windows.
    pub fn covers(&self, instant: Timestamp, zone: &Zone) -> bool {
        let local = zone.jiff().to_datetime(instant.jiff()).time();
        self.0.iter().any(|window| window.covers(local))
    }
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, window) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{window}")?;
        }
        Ok(())
    }
}

impl QuietWindow {
    fn covers(self, time: Time) -> bool {
        let (from_start, to_end) = (self.start <= time, time < self.end);
        if self.start < self.end {
            from_start && to_end
        } else {
            from_start || to_end
        }
    }
}

impl TryFrom<Vec<QuietWindow>> for QuietHours {
    type Error = Error;

    fn try_from(windows: Vec<QuietWindow>) -> Result<Self, Error> {
        Self::new(windows)
    }
}

impl FromStr for QuietWindow {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |problem| Error::QuietHours {
            window: shortened(text),
            problem,
        };
        let (start, end) = text
            .split_once('-')
            .and_then(|(start, end)| Some((read_time(start)?, read_time(end)?)))
            .ok_or_else(|| {
                refuse("it is not two times from 00:00 to 23:59 with a `-` between them")
            })?;
        if start == end {
            return Err(refuse("its start and its end are equal"));
        }
        Ok(Self { start, end })
    }
}

/// Reads a time of exactly the form `HH:MM`.
fn read_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let two_digits = |part: &str| {
        let plain = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|_| plain)
    };
    Time::new(two_digits(hour)?, two_digits(minute)?, 0, 0).ok()
}

impl fmt::Display for QuietWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start, self.end);
        write!(f, "{}-{}", start.strftime("%H:%M"), end.strftime("%H:%M"))
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for QuietHours {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let window = crate::schema::text("A window of each day, `[start, end)`.")
            .pattern(Some(
                "^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$",
            ))
            .examples(["22:00-07:00"]);
        utoipa::openapi::ArrayBuilder::new()
            .items(window)
            .max_items(Some(MAX_QUIET_WINDOWS))
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for QuietHours {}

impl Serialize for QuietWindow {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QuietWindow {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hours(windows: &[&str]) -> QuietHours {
        QuietHours::new(windows.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    #[test]
    fn invalid_quiet_window_is_refused() {
        for text in [
            "",
            "22:00",
            "22:00-",
            "22-07",
            "7:00-8:00",
            "22:00-24:00",
            "22:60-23:00",
            "+1:00-02:00",
            "22:00-07:00-08:00",
            "22:00 - 07:00",
            "09:00-09:00",
        ] {
            assert!(text.parse::<QuietWindow>().is_err(), "{text}");
        }
    }

    #[test]
    fn quiet_hours_show_their_windows_in_order() {
        let quiet = hours(&["22:00-07:00", "12:00-13:30"]);
        assert_eq!(quiet.to_string(), "22:00-07:00, 12:00-13:30");
        assert_eq!(QuietHours::default().to_string(), "");
        let windows: Vec<_> = quiet.windows().iter().map(ToString::to_string).collect();
        assert_eq!(windows, ["22:00-07:00", "12:00-13:30"]);
    }

    #[test]
    fn too_many_quiet_windows_are_refused() {
        let json = |count| format!("[{}]", vec![r#""01:00-02:00""#; count].join(","));
        assert!(serde_json::from_str::<QuietHours>(&json(MAX_QUIET_WINDOWS)).is_ok());
        let error = serde_json::from_str::<QuietHours>(&json(MAX_QUIET_WINDOWS + 1));
        assert!(error.unwrap_err().to_string().contains("too many windows"));
    }

    #[test]
    fn quiet_window_includes_start_and_excludes_end() {
        let zone = Zone::parse("Europe/Prague").unwrap();
        for (window, local, covered) in [
            ("22:00-07:00", "21:59:59.999999", false),
            ("22:00-07:00", "22:00", true),
            ("22:00-07:00", "00:00", true),
            ("22:00-07:00", "06:59:59.999999", true),
            ("22:00-07:00", "07:00", false),
            ("12:00-13:00", "11:59", false),
            ("12:00-13:00", "12:00", true),
            ("12:00-13:00", "13:00", false),
            ("22:00-00:00", "23:59", true),
            ("22:00-00:00", "00:00", false),
        ] {
            let instant = format!("2026-11-23T{local}+01:00").parse().unwrap();
            assert_eq!(
                hours(&[window]).covers(instant, &zone),
                covered,
                "{window} {local}"
            );
        }
    }

    #[test]
    fn quiet_window_uses_wall_clock_of_zone() {
        let night = hours(&["22:00-07:00"]);
        let zone = Zone::parse("America/New_York").unwrap();
        let before_winter_time = "2026-10-31T11:00:00Z".parse().unwrap();
        let after_winter_time = "2026-11-01T11:00:00Z".parse().unwrap();
        assert!(!night.covers(before_winter_time, &zone));
        assert!(night.covers(after_winter_time, &zone));
        assert!(!QuietHours::default().covers(after_winter_time, &zone));
    }

    proptest! {
        #[test]
        fn quiet_window_and_its_reverse_partition_the_day(
            start in 0..1440_i64, length in 1..1440_i64, second in 0..86_400_i64,
        ) {
            let time = |minutes: i64| {
                let minutes = minutes.rem_euclid(1440);
                format!("{:02}:{:02}", minutes / 60, minutes % 60)
            };
            let (start, end) = (time(start), time(start + length));
            let window = hours(&[&format!("{start}-{end}")]);
            let reverse = hours(&[&format!("{end}-{start}")]);
            let instant = Timestamp::from_microsecond(second * 1_000_000).unwrap();
            prop_assert_ne!(
                window.covers(instant, &Zone::utc()),
                reverse.covers(instant, &Zone::utc())
            );
            let json = serde_json::to_string(&window).unwrap();
            prop_assert_eq!(serde_json::from_str::<QuietHours>(&json).unwrap(), window);
        }
    }
}
