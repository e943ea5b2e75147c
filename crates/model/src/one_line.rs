//! The form of names and titles.

/// Returns `true` if a text is one line: not empty, without control characters, and without spaces at its ends. Lists and tables
/// show each name and title in a line of its own.
pub fn is_one_line(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}
