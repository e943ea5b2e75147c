//! Specifications: a trigger's schedule as it is written and stored.

use std::fmt;

use super::{Period, Zone, error::Error, format_instant};
use crate::time::Timestamp;

/// A schedule in the form that the API accepts and the database stores. [`super::Schedule`] is its parsed form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Spec {
    /// Fires at the times of a cron expression.
    Cron {
        /// Five fields, six with the seconds first, or a nickname such as `@daily`.
        expression: String,
        /// The IANA name of the time zone of the fields.
        zone: String,
    },
    /// Fires at equal intervals. The anchor is the first instant.
    Every {
        /// The interval.
        period: Period,
        /// The first instant. Nothing fires before it.
        anchor: Timestamp,
        /// The IANA name of the time zone for quiet hours and for display.
        zone: String,
    },
    /// Fires once.
    At {
        /// The due instant.
        at: Timestamp,
        /// The IANA name of the time zone for quiet hours and for display.
        zone: String,
    },
    /// Fires only on demand.
    Manual {},
    /// Fires when a signed webhook request arrives.
    Webhook {},
}

impl Spec {
    /// Returns the word of the kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cron { .. } => "cron",
            Self::Every { .. } => "every",
            Self::At { .. } => "at",
            Self::Manual {} => "manual",
            Self::Webhook {} => "webhook",
        }
    }

    /// Returns the name of the time zone. Returns `None` for schedules that do not fire by time.
    pub fn zone_name(&self) -> Option<&str> {
        match self {
            Self::Cron { zone, .. } | Self::Every { zone, .. } | Self::At { zone, .. } => {
                Some(zone)
            }
            Self::Manual {} | Self::Webhook {} => None,
        }
    }

    /// Returns the time zone of the schedule, of its quiet hours and of its display. Returns UTC for schedules that
    /// do not fire by time.
    ///
    /// # Errors
    ///
    /// [`Error::Zone`] if the name is unknown.
    pub fn zone(&self) -> Result<Zone, Error> {
        self.zone_name()
            .map_or_else(|| Ok(Zone::utc()), Zone::parse)
    }
}

impl fmt::Display for Spec {
    /// Formats the schedule for people: `cron 0 9 * * 1-5 (Europe/Prague)`, `every 10m`.
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
                Ok(zone) => write!(f, "at {}", format_instant(*at, &zone)),
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

    fn cron(expression: &str, zone: &str) -> Spec {
        Spec::Cron {
            expression: expression.into(),
            zone: zone.into(),
        }
    }

    fn every(zone: &str) -> Spec {
        Spec::Every {
            period: "10m".parse().unwrap(),
            anchor: "2026-01-01T00:00:00Z".parse().unwrap(),
            zone: zone.into(),
        }
    }

    fn at(at: &str, zone: &str) -> Spec {
        Spec::At {
            at: at.parse().unwrap(),
            zone: zone.into(),
        }
    }

    #[test]
    fn schedule_spec_displays_in_short_form() {
        for (spec, shown) in [
            (
                cron("0 9 * *  1-5", "Europe/Prague"),
                "cron 0 9 * * 1-5 (Europe/Prague)",
            ),
            (every("UTC"), "every 10m"),
            (
                at("2026-11-23T08:00:00Z", "Europe/Prague"),
                "at Mon 2026-11-23 09:00:00 +01:00 Europe/Prague",
            ),
            (Spec::Manual {}, "manual"),
            (Spec::Webhook {}, "webhook"),
        ] {
            assert_eq!(spec.to_string(), shown);
            assert!(Schedule::parse(&spec).is_ok());
        }
    }

    #[test]
    fn schedule_spec_with_unknown_zone_is_refused() {
        assert_eq!(cron("0 9 * * *", "UTC").zone(), Ok(Zone::utc()));
        for spec in [every("Mars"), at("2026-01-01T00:00:00Z", "Mars")] {
            let refused = Schedule::parse(&spec);
            assert!(matches!(refused, Err(Error::Zone { .. })), "{spec}");
        }
    }

    #[test]
    fn past_instant_is_refused_if_new_and_parsed_if_stored() {
        let spec = at("2026-01-01T00:00:00Z", "UTC");
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
