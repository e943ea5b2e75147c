//! Formats pieces of text for people.

use anstyle::Style;
use jiff::{
    civil::{Date, DateTime},
    tz::TimeZone,
};
use model::Timestamp;
use service::clean;

/// The width of a line that is made for any terminal.
pub(crate) const LINE_COLUMNS: usize = 80;
/// The width of the names of fields.
pub(crate) const FIELD_COLUMNS: usize = 14;

/// Formats a text in a style. Escapes the text, so that it cannot end the style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{}{style:#}", clean(text))
}

/// Formats a field of an object as a row, or as several rows of which all but the first are indented.
pub(crate) fn field_row(name: &str, value: &str) -> String {
    let width = FIELD_COLUMNS - 2;
    format!("  {name:width$}{}", continued(value, FIELD_COLUMNS))
}

/// Escapes a text and indents all lines but the first, so that none looks like a row or a message of its own.
pub(crate) fn continued(text: &str, columns: usize) -> String {
    clean(text).replace('\n', &format!("\n{:columns$}", ""))
}

/// Breaks the lines of a text so that none has more than `columns` columns, between words where it can. Returns no line for
/// an empty text.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let options = textwrap::Options::new(columns)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = text.lines().flat_map(|line| textwrap::wrap(line, &options));
    lines.map(std::borrow::Cow::into_owned).collect()
}

/// Formats instants in a time zone.
#[derive(Debug, Clone)]
pub(crate) struct LocalTime(TimeZone);

impl LocalTime {
    /// Returns the formatter for the time zone of this machine, or UTC if that is unknown.
    pub(crate) fn system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// Returns the formatter for a zone of the IANA database.
    #[cfg(test)]
    pub(crate) fn of_zone(name: &str) -> Self {
        Self(TimeZone::get(name).unwrap())
    }

    /// Returns the instant of a local date and time. A time that a clock change skips is taken with the offset before
    /// the change, and the first of two equal times is taken. Returns `None` if the instant is out of range.
    pub(crate) fn instant(&self, local: DateTime) -> Option<Timestamp> {
        let zoned = local.to_zoned(self.0.clone()).ok()?;
        Some(Timestamp::from_jiff(zoned.timestamp()))
    }

    /// Returns the local date of an instant.
    pub(crate) fn date(&self, at: Timestamp) -> Date {
        at.jiff().to_zoned(self.0.clone()).date()
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

    /// Formats the date and the time to the minute, without the offset, for narrow tables.
    pub(crate) fn minute(&self, at: Timestamp) -> String {
        self.format_in_zone(at, "%Y-%m-%d %H:%M")
    }

    fn format_in_zone(&self, at: Timestamp, format: &str) -> String {
        let local = at.jiff().to_zoned(self.0.clone());
        local.strftime(format).to_string()
    }
}
