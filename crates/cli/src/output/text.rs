//! Formats pieces of text for people.

use anstyle::Style;
use jiff::tz::TimeZone;
use model::Timestamp;

/// Formats a text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Formats instants in a time zone.
#[derive(Debug, Clone)]
pub(crate) struct LocalTime(TimeZone);

impl LocalTime {
    /// Returns the formatter for the time zone of this machine, or UTC if that is unknown.
    pub(crate) fn system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// Returns the IANA name of the zone. Returns `None` if it has none.
    pub(crate) fn zone(&self) -> Option<&str> {
        self.0.iana_name()
    }

    /// Formats the time of day.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        self.format_in_zone(at, "%H:%M:%S")
    }

    /// Formats the date and time with the offset.
    pub(crate) fn date_time(&self, at: Timestamp) -> String {
        self.format_in_zone(at, "%Y-%m-%d %H:%M:%S %:z")
    }

    fn format_in_zone(&self, at: Timestamp, format: &str) -> String {
        let local = at.jiff().to_zoned(self.0.clone());
        local.strftime(format).to_string()
    }
}
