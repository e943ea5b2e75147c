//! Makes text of agents and tools safe for a terminal.

use std::borrow::Cow;

use model::escape::{escape_line, escape_text};

/// Returns a text of several lines, safe for a terminal.
pub fn clean(text: &str) -> Cow<'_, str> {
    escape_text(text)
}

/// Returns a text on one line, safe for a terminal.
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    escape_line(&words.join(" ")).into_owned()
}

/// Returns a given text for a message: in backticks and escaped, so that it cannot control a terminal.
pub fn quoted(text: &str) -> String {
    format!("`{}`", escape_line(text))
}

/// Returns the beginning of a text on one line, safe for a terminal and no longer than `chars` characters.
pub fn excerpt(text: &str, chars: usize) -> String {
    let line = one_line(text);
    let mut cut: String = line.chars().take(chars).collect();
    if cut.len() < line.len() {
        cut.pop();
        cut.push('…');
    }
    cut
}

/// Returns the beginning of a text on one line, no longer than `chars` characters and without control characters. For
/// programs: nothing is escaped, so a command must escape the line before it prints it.
pub(crate) fn plain_line(text: &str, chars: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    let mut shown = line.chars().filter(|c| !c.is_control());
    let mut cut: String = shown.by_ref().take(chars).collect();
    if shown.next().is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_line_has_no_breaks_and_no_control_characters() {
        assert_eq!(plain_line("a\n\n b\u{1b}[1m", 20), "a b[1m");
        assert_eq!(plain_line("žluťák", 4), "žlu…");
        assert_eq!(plain_line("žluť\u{7}", 4), "žluť");
    }

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(
            clean("a\u{1b}[2Jb\rc\r\nd\te\u{9b}"),
            "a\\u{1b}[2Jb\\rc\nd\te\\u{9b}"
        );
    }

    #[test]
    fn quoted_text_has_escaped_control_characters() {
        assert_eq!(quoted("a\nb\u{1b} \"c\""), "`a\\nb\\u{1b} \"c\"`");
    }

    #[test]
    fn excerpt_is_one_line_of_bounded_length() {
        assert_eq!(excerpt("a\n  b", 10), "a b");
        assert_eq!(excerpt("a\u{202e}b", 20), "a\\u{202e}b");
        assert_eq!(excerpt("abcdef", 4), "abc…");
        assert_eq!(excerpt("žluť", 4), "žluť");
    }
}
