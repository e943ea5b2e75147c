//! Statements that take many rows.
//!
//! Such a statement is written for one row. A marker in its text marks the template of the row:
//! `values /* row */ ($1, $2)`. Every other `values` in the text is part of the statement itself.
//!
//! Another marker, `/* columns */ *`, marks the place of a list of columns that several statements share.

use std::borrow::Cow;

/// The marker of a row's template. The parenthesis of the template follows.
const MARKER: &str = "values /* row */ ";

/// The marker of a shared list of columns. The `*` makes the file a whole statement, which tests can run as it is. No
/// server runs it, because PostgreSQL refuses a prepared `*` once a later version has added a column.
const COLUMNS_MARKER: &str = "/* columns */ *";

/// Returns `true` if a text marks the place of a shared list of columns.
pub(crate) const fn takes_columns(text: &str) -> bool {
    find_marker(text.as_bytes(), COLUMNS_MARKER, 0) < text.len()
}

/// Returns a text with a list of columns in its marked place.
pub(crate) fn with_columns<'a>(text: &'a str, columns: &str) -> Cow<'a, str> {
    match text.split_once(COLUMNS_MARKER) {
        Some((before, after)) if !columns.is_empty() => {
            Cow::Owned(format!("{before}{columns}{after}"))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Returns the number of row templates in a text.
pub(crate) const fn count_templates(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut count, mut at) = (0, find_marker(bytes, MARKER, 0));
    while at < bytes.len() {
        count += 1;
        at = find_marker(bytes, MARKER, at + 1);
    }
    count
}

/// Returns the range of a row's template, from its parenthesis to the one that closes it. Returns an empty range if
/// the text marks none.
pub(crate) const fn find_template(text: &str) -> (usize, usize) {
    let bytes = text.as_bytes();
    let start = find_marker(bytes, MARKER, 0) + MARKER.len();
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' if depth == 1 => return (start, at + 1),
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    (0, 0)
}

/// Returns the first place of a marker at or after `at`, or the end of the text.
const fn find_marker(bytes: &[u8], marker: &str, mut at: usize) -> usize {
    let marker = marker.as_bytes();
    while at + marker.len() <= bytes.len() {
        let mut matched = 0;
        while matched < marker.len() && bytes[at + matched] == marker[matched] {
            matched += 1;
        }
        if matched == marker.len() {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Returns a text in which `replacement` replaces the marker and its row template.
pub(crate) fn with_rows_from(text: &str, replacement: &str) -> String {
    let (start, end) = find_template(text);
    format!(
        "{}{replacement}{}",
        &text[..start - MARKER.len()],
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_reaches_to_its_own_parenthesis() {
        let text = "insert into t values /* row */ ($1, lower($2))\non conflict (a) do nothing";
        let (start, end) = find_template(text);
        assert_eq!(&text[start..end], "($1, lower($2))");
        assert_eq!(find_template("insert into t values ($1)"), (0, 0));
        assert_eq!(count_templates(text), 1);
        assert_eq!(count_templates("values /* row */ (values /* row */ ("), 2);
    }

    #[test]
    fn shared_columns_stand_in_marked_place() {
        let text = "select /* columns */ *, c from t";
        assert!(takes_columns(text) && !takes_columns("select * from t"));
        assert_eq!(with_columns(text, "a, b"), "select a, b, c from t");
        assert_eq!(with_columns(text, ""), text);
        assert_eq!(with_columns("select * from t", "a"), "select * from t");
    }
}
