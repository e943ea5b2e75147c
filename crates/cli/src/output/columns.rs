//! Counts the columns of a terminal that a text takes, and fits texts into columns.

use service::one_line;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The selector after a character that makes it a picture of two columns.
const PICTURE_SELECTOR: char = '\u{fe0f}';
/// The most characters of an excerpt for each of its columns, because some characters take none.
const MAX_CHARS_PER_COLUMN: usize = 4;

/// Returns the number of columns of a text on one line. A letter of Chinese, Japanese or Korean takes two of them.
pub(crate) fn column_count(text: &str) -> usize {
    text.width()
}

/// Returns the beginning of a text on one line, safe for a terminal and no wider than `columns` columns.
pub(crate) fn excerpt(text: &str, columns: usize) -> String {
    let line = one_line(text);
    let most = columns * MAX_CHARS_PER_COLUMN;
    if column_count(&line) <= columns && line.chars().nth(most).is_none() {
        return line;
    }
    let room = columns.saturating_sub(1);
    let mut used = 0;
    let fits = |letter: &char| {
        used += match *letter {
            PICTURE_SELECTOR => 1,
            letter => letter.width().unwrap_or(1),
        };
        used <= room
    };
    let mut cut: String = line.chars().take(most).take_while(fits).collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Returns a text with blanks behind it, so that it takes at least `columns` columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(column_count(text));
    format!("{text}{:blanks$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_has_at_most_its_columns() {
        for (text, expected) in [
            ("a\n  b", "a b"),
            ("abcdef", "abc…"),
            ("žluť", "žluť"),
            ("\u{202e}", "\\u{…"),
            // Four columns.
            ("東京", "東京"),
            // Five columns. The second letter would end in the fourth one, where the sign of the cut stands.
            ("東京a", "東…"),
            ("a東京", "a東…"),
            ("❤\u{fe0f}❤\u{fe0f}a", "❤\u{fe0f}❤…"),
        ] {
            let cut = excerpt(text, 4);
            assert_eq!(cut, expected);
            assert!(column_count(&cut) <= 4, "{cut}");
        }
        assert_eq!(excerpt("abc", 0), "");
    }

    #[test]
    fn excerpt_of_marks_without_width_is_bounded() {
        let marks = format!("a{}", "\u{301}".repeat(1000));
        assert!(excerpt(&marks, 10).chars().count() <= 41);
    }

    #[test]
    fn padded_text_fills_columns() {
        assert_eq!(padded("東京", 6), "東京  ");
        assert_eq!(padded("abc", 2), "abc");
    }
}
