//! Pieces of text for people.

use anstyle::Style;
use jiff::tz::TimeZone;
use model::Timestamp;

/// Writes a text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Shows instants on the wall clock of this machine.
#[derive(Debug, Clone)]
pub(crate) struct LocalTime(TimeZone);

impl LocalTime {
    /// The zone of this machine.
    pub(crate) fn system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// The name of the zone, where it has one.
    pub(crate) fn zone(&self) -> Option<&str> {
        self.0.iana_name()
    }

    /// The time of day.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        self.shown(at, "%H:%M:%S")
    }

    /// Date and time, with the offset.
    pub(crate) fn date_time(&self, at: Timestamp) -> String {
        self.shown(at, "%Y-%m-%d %H:%M:%S %:z")
    }

    fn shown(&self, at: Timestamp, format: &str) -> String {
        let local = at.jiff().to_zoned(self.0.clone());
        local.strftime(format).to_string()
    }
}
