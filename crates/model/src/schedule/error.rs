//! The errors of schedules that a person or an agent has written.

use crate::time::Timestamp;

/// The maximum number of windows of one automation.
pub const MAX_QUIET_WINDOWS: usize = 16;

/// The error for a schedule, or a part of one, that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The cron expression as a whole is invalid.
    #[error("invalid cron expression `{}`: {problem}", .expression.escape_debug())]
    Expression {
        /// The expression, shortened.
        expression: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// One field of a cron expression is invalid.
    #[error(
        "invalid {field} field `{}` in the cron expression: {problem}; expected {accepted}",
        .value.escape_debug()
    )]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The value, shortened.
        value: String,
        /// The problem.
        problem: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// The cron expression is well formed, but no instant matches.
    #[error(
        "the cron expression `{}` never fires in {zone}: {problem}",
        .expression.escape_debug()
    )]
    NeverFires {
        /// The expression, shortened.
        expression: String,
        /// The name of the time zone.
        zone: String,
        /// The reason for which no instant matches.
        problem: &'static str,
    },
    /// The time zone is unknown.
    #[error(
        "invalid time zone `{}`: expected an IANA name such as Europe/Prague or UTC{}",
        .zone.escape_debug(),
        .nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    )]
    Zone {
        /// The given name, shortened.
        zone: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A period is invalid.
    #[error(
        "invalid period `{}`: {problem}; expected 1s to 366d, such as 90s, 10m, 1h30m or 2d",
        .period.escape_debug()
    )]
    Period {
        /// The text, shortened.
        period: String,
        /// The problem.
        problem: &'static str,
    },
    /// A text does not name one instant.
    #[error("invalid instant `{}`: {problem}", .at.escape_debug())]
    At {
        /// The text, shortened.
        at: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// An instant is in the past.
    #[error("invalid instant `{at}`: it is not after the present, {now}")]
    Past {
        /// The due instant.
        at: Timestamp,
        /// The present.
        now: Timestamp,
    },
    /// Quiet hours are invalid.
    #[error(
        "invalid quiet hours `{}`: {problem}; expected at most {} windows such as 22:00-07:00",
        .window.escape_debug(),
        MAX_QUIET_WINDOWS
    )]
    QuietHours {
        /// The window, shortened.
        window: String,
        /// The problem.
        problem: &'static str,
    },
}

/// Returns at most the first 80 characters of a text from outside, so that an error stays readable.
pub(super) fn shortened(given: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 80;
    let mut shown: String = given.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    shown
}
