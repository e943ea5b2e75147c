//! Texts of agents in the Markdown of a report.

use crate::text::plain_line;

/// The longest text in a cell of a table, in characters.
const CELL_CHARS: usize = 300;

/// Returns a text that stays in one cell of a table and in one line, whatever an agent wrote: without markup that would end
/// the cell, begin HTML, or make a link or an image.
pub(super) fn cell(given: &str) -> String {
    escape_markup(&plain_line(given, CELL_CHARS))
}

/// Returns a text as a quotation, without markup that would begin HTML, or make a heading, a link or an image.
pub(super) fn quote(text: &str) -> String {
    // A carriage return alone ends a line of Markdown, too, so the text after it would leave the quotation.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split('\n');
    let lines = lines.map(|line| format!("> {}", escape_markup(line)).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text in which the characters of Markdown and of HTML stand for themselves.
fn escape_markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '[' | ']' | '`' | '*' | '_' | '\\' | '#' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_agent_stays_in_its_cell() {
        assert_eq!(cell("a | b\nc"), "a \\| b c");
        assert_eq!(cell("![x](http://e)"), "!\\[x\\](http://e)");
        assert_eq!(cell("<img src=x>"), "&lt;img src=x&gt;");
        assert_eq!(cell("\u{1b}[2J"), "\\[2J");
        assert_eq!(cell(&"x".repeat(1000)).chars().count(), CELL_CHARS);
    }
}
