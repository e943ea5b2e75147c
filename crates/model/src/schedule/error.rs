//! The errors of schedules that a person or an agent has written.

use crate::time::Timestamp;

/// The maximum number of windows of one automation.
pub const MAX_QUIET_WINDOWS: usize = 16;

/// The error for a schedule, or a part of one, that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The cron expression as a whole is invalid.
    #[error("read the cron expression {expression:?}: {problem}")]
    Expression {
        /// The expression, shortened.
        expression: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// One field of a cron expression is invalid.
    #[error(
        "read the {field} field {value:?} of the cron expression: {problem}; accepted are {accepted}"
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
    #[error("find any instant for the cron expression {expression:?} in {zone}: {problem}")]
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
        "find the time zone {zone:?}: accepted are IANA names such as Europe/Prague or UTC{}",
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
        "read the period {period:?}: {problem}; accepted are 1s to 366d, such as 90s, 10m, 1h30m or 2d"
    )]
    Period {
        /// The text, shortened.
        period: String,
        /// The problem.
        problem: &'static str,
    },
    /// A text does not name one instant.
    #[error("read the instant {at:?}: {problem}")]
    At {
        /// The text, shortened.
        at: String,
        /// The problem, and the accepted form.
        problem: String,
    },
    /// An instant is in the past.
    #[error("schedule the instant {at}: it is not after the present, {now}")]
    Past {
        /// The due instant.
        at: Timestamp,
        /// The present.
        now: Timestamp,
    },
    /// Quiet hours are invalid.
    #[error(
        "read the quiet hours {window:?}: {problem}; accepted are up to {} windows such as 22:00-07:00",
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
