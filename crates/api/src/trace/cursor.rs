//! Parsing of the cursor with which a client continues a trace.

use model::feed::FeedCursor;

/// The header in which a browser that connects again sends the ID of the last event.
const CURSOR_HEADER: &str = "Last-Event-ID";
/// The query parameter for clients that cannot set a header.
const CURSOR_PARAMETER: &str = "after";

/// The error for a cursor that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid `{field}` {}: expected {expected}", service::quoted(.given))]
pub struct InvalidCursor {
    /// The name of the header or of the parameter: `Last-Event-ID` or `after`.
    pub field: &'static str,
    /// The beginning of the given value.
    pub given: String,
    /// The description of the accepted values.
    pub expected: &'static str,
}

/// Parses the cursor of the trace of a session: the number of an event.
///
/// The header takes precedence over the parameter, because a browser repeats the address with the old parameter when
/// it connects again. An empty value counts as absent. Returns `None` if there is no cursor.
///
/// # Errors
///
/// Returns [`InvalidCursor`] if the value is no number.
pub fn session_cursor(
    header: Option<&str>,
    parameter: Option<&str>,
) -> Result<Option<i64>, InvalidCursor> {
    let expected = "the number of an event of this session, 0 for its beginning";
    parse_cursor(header, parameter, expected, |text| {
        // `parse` alone would accept `+1`.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    })
}

/// Parses the cursor of the feed of a tenant or of an automation, with the precedence of [`session_cursor`].
///
/// # Errors
///
/// Returns [`InvalidCursor`] if the value is no cursor of a feed.
pub fn feed_cursor(
    header: Option<&str>,
    parameter: Option<&str>,
) -> Result<Option<FeedCursor>, InvalidCursor> {
    let expected = "the ID of an event of this feed, such as \
                    812.0197f3c2a9d07cc1a1b2c3d4e5f60718.14";
    parse_cursor(header, parameter, expected, |text| text.parse().ok())
}

fn parse_cursor<T>(
    header: Option<&str>,
    parameter: Option<&str>,
    expected: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, InvalidCursor> {
    let given = |text: Option<&'_ str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let (field, text) = match (given(header), given(parameter)) {
        (Some(text), _) => (CURSOR_HEADER, text),
        (None, Some(text)) => (CURSOR_PARAMETER, text),
        (None, None) => return Ok(None),
    };
    match parse(&text) {
        Some(cursor) => Ok(Some(cursor)),
        None => Err(InvalidCursor {
            field,
            given: text.chars().take(80).collect(),
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_header_takes_precedence_over_parameter() {
        assert_eq!(session_cursor(Some("7"), Some("3")), Ok(Some(7)));
        assert_eq!(session_cursor(None, Some("3")), Ok(Some(3)));
        assert_eq!(session_cursor(Some(""), Some("0")), Ok(Some(0)));
        assert_eq!(session_cursor(None, Some("")), Ok(None));
        assert_eq!(session_cursor(None, None), Ok(None));
        let cursor = FeedCursor::before(9);
        let read = feed_cursor(Some(&cursor.to_string()), Some("garbage"));
        assert_eq!(read, Ok(Some(cursor)));
    }

    #[test]
    fn invalid_cursor_error_names_field_value_and_format() {
        for text in ["x", "-1", "+1", "1.5", " 1", "99999999999999999999"] {
            let refused = session_cursor(Some(text), Some("1")).unwrap_err();
            let message = refused.to_string();
            let expected = format!("invalid `Last-Event-ID` `{text}`: expected the number");
            assert!(message.starts_with(&expected), "{message}");
            let refused = feed_cursor(None, Some(text)).unwrap_err();
            assert!(
                refused
                    .to_string()
                    .starts_with(&format!("invalid `after` `{text}`: "))
            );
        }
    }
}
