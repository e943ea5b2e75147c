//! Makes text of agents and tools safe for a terminal.

/// Returns the text with each control character except newline and tab replaced, and CRLF as newline. Agents and
/// tools may write escape sequences, which would otherwise control the user's terminal.
pub fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|letter| match letter {
            '\n' | '\t' => letter,
            letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
            letter => letter,
        })
        .collect()
}

/// Returns a text on one line, safe for a terminal.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a given text for a message: in backticks, with control characters escaped, so that it cannot control a
/// terminal.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('`');
    for letter in text.chars() {
        if letter.is_control() {
            quoted.extend(letter.escape_default());
        } else {
            quoted.push(letter);
        }
    }
    quoted.push('`');
    quoted
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_replaced() {
        assert_eq!(
            clean("a\u{1b}[2Jb\rc\r\nd\te\u{9b}"),
            "a\u{fffd}[2Jb\u{fffd}c\nd\te\u{fffd}"
        );
    }

    #[test]
    fn quoted_text_has_escaped_control_characters() {
        assert_eq!(quoted("a\nb\u{1b} \"c\""), "`a\\nb\\u{1b} \"c\"`");
    }

    #[test]
    fn excerpt_is_one_line_of_bounded_length() {
        assert_eq!(excerpt("a\n  b", 10), "a b");
        assert_eq!(excerpt("abcdef", 4), "abc…");
        assert_eq!(excerpt("žluť", 4), "žluť");
    }
}
