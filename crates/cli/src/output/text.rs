//! Pieces of text for people.

use anstyle::Style;
use jiff::tz::TimeZone;
use model::Timestamp;

/// Writes a text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Takes out what could command a terminal: agents and tools write what they like.
pub(crate) fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|letter| match letter {
            '\n' | '\t' => letter,
            letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
            letter => letter,
        })
        .collect()
}

/// The beginning of a text, on one line.
pub(crate) fn excerpt(text: &str, chars: usize) -> String {
    let line = clean(text);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut cut: String = line.chars().take(chars).collect();
    if cut.len() < line.len() {
        cut.pop();
        cut.push('…');
    }
    cut
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_an_agent_writes_commands_the_terminal() {
        assert_eq!(
            clean("a\u{1b}[2Jb\rc\r\nd\te\u{9b}"),
            "a\u{fffd}[2Jb\u{fffd}c\nd\te\u{fffd}"
        );
    }

    #[test]
    fn an_excerpt_is_one_line_of_a_given_length() {
        assert_eq!(excerpt("a\n  b", 10), "a b");
        assert_eq!(excerpt("abcdef", 4), "abc…");
        assert_eq!(excerpt("žluť", 4), "žluť");
    }
}
