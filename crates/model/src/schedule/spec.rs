//! A trigger's schedule as it is written and stored.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Period, Zone, describe_fire, error::Error};
use crate::time::Timestamp;

/// What someone asked for, in the form that the API takes and the database keeps. [`super::Schedule`]
/// is what it means.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Spec {
    /// At the times of a cron expression.
    Cron {
        /// Five fields, or six with the seconds in front, or a name such as `@daily`.
        expression: String,
        /// The IANA name of the zone in which the fields are read.
        #[serde(default = "utc")]
        zone: String,
    },
    /// At equal distances from an anchor, which is itself an instant of the schedule.
    Every {
        /// The distance.
        period: Period,
        /// Where counting starts; nothing fires before it.
        anchor: Timestamp,
        /// The IANA name of the zone in which quiet hours are read and instants shown.
        #[serde(default = "utc")]
        zone: String,
    },
    /// Once.
    At {
        /// The instant.
        at: Timestamp,
        /// The IANA name of the zone in which quiet hours are read and the instant shown.
        #[serde(default = "utc")]
        zone: String,
    },
    /// On demand only. Written with braces, because serde lets unknown fields pass without them.
    Manual {},
    /// When a signed request arrives.
    Webhook {},
}

fn utc() -> String {
    "UTC".into()
}

impl Spec {
    /// The word that stands for the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cron { .. } => "cron",
            Self::Every { .. } => "every",
            Self::At { .. } => "at",
            Self::Manual {} => "manual",
            Self::Webhook {} => "webhook",
        }
    }

    /// The zone in which the schedule is read, its quiet hours hold and its instants are shown;
    /// UTC for what does not fire by time.
    pub fn zone(&self) -> Result<Zone, Error> {
        match self {
            Self::Cron { zone, .. } | Self::Every { zone, .. } | Self::At { zone, .. } => {
                Zone::parse(zone)
            }
            Self::Manual {} | Self::Webhook {} => Ok(Zone::utc()),
        }
    }
}

impl fmt::Display for Spec {
    /// The short form for people: `cron 0 9 * * 1-5 (Europe/Prague)`, `every 10m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron { expression, zone } => {
                f.write_str("cron")?;
                for field in expression.split_whitespace() {
                    write!(f, " {field}")?;
                }
                write!(f, " ({zone})")
            }
            Self::Every { period, .. } => write!(f, "every {period}"),
            Self::At { at, zone } => match Zone::parse(zone) {
                Ok(zone) => write!(f, "at {}", describe_fire(*at, &zone)),
                Err(_) => write!(f, "at {at}"),
            },
            Self::Manual {} => f.write_str("manual"),
            Self::Webhook {} => f.write_str("webhook"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Schedule, *};

    fn read(json: &str) -> Result<Spec, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn unknown_kinds_and_fields_are_refused() {
        for json in [
            r#"{"kind":"rrule"}"#,
            r#"{"expression":"0 9 * * *"}"#,
            r#"{"kind":"cron","expression":"0 9 * * *","tz":"UTC"}"#,
            r#"{"kind":"every","period":"0s","anchor":"2026-01-01T00:00:00Z"}"#,
            r#"{"kind":"every","period":600,"anchor":"2026-01-01T00:00:00Z"}"#,
            r#"{"kind":"at","at":"2026-01-01 00:00"}"#,
            r#"{"kind":"manual","expression":"0 9 * * *"}"#,
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_specification_is_written_as_it_was_read_and_shown_in_short() {
        for (json, shown) in [
            (
                r#"{"kind":"cron","expression":"0 9 * *  1-5","zone":"Europe/Prague"}"#,
                "cron 0 9 * * 1-5 (Europe/Prague)",
            ),
            (
                r#"{"kind":"every","period":"10m","anchor":"2026-01-01T00:00:00Z","zone":"UTC"}"#,
                "every 10m",
            ),
            (
                r#"{"kind":"at","at":"2026-11-23T08:00:00Z","zone":"Europe/Prague"}"#,
                "at Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            ),
            (r#"{"kind":"manual"}"#, "manual"),
            (r#"{"kind":"webhook"}"#, "webhook"),
        ] {
            let spec = read(json).unwrap();
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
            assert_eq!(spec.to_string(), shown);
            assert!(Schedule::parse(&spec).is_ok());
        }
    }

    #[test]
    fn the_zone_is_utc_where_none_is_named_and_must_exist_where_one_is() {
        let spec = read(r#"{"kind":"cron","expression":"0 9 * * *"}"#).unwrap();
        assert_eq!(spec.zone(), Ok(Zone::utc()));
        for json in [
            r#"{"kind":"every","period":"10m","anchor":"2026-01-01T00:00:00Z","zone":"Mars"}"#,
            r#"{"kind":"at","at":"2026-01-01T00:00:00Z","zone":"Mars"}"#,
        ] {
            let refused = Schedule::parse(&read(json).unwrap());
            assert!(matches!(refused, Err(Error::Zone { .. })), "{json}");
        }
    }

    #[test]
    fn a_past_instant_is_refused_when_new_and_read_when_stored() {
        let spec = read(r#"{"kind":"at","at":"2026-01-01T00:00:00Z"}"#).unwrap();
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(
            Schedule::parse_new(&spec, now),
            Err(Error::Past { at: now, now })
        );
        assert_eq!(Schedule::parse(&spec), Ok(Schedule::At(now)));
        let before = now.saturating_sub(std::time::Duration::from_micros(1));
        assert!(Schedule::parse_new(&spec, before).is_ok());
    }
}
