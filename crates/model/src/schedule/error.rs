//! What can be wrong with a schedule that someone wrote.

use crate::time::Timestamp;

/// How many windows one automation may have.
pub const MAX_QUIET_WINDOWS: usize = 16;

/// Why a schedule, or a part of one, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The expression as a whole is not one.
    #[error("read the cron expression {expression:?}: {problem}")]
    Expression {
        /// What was given, shortened.
        expression: String,
        /// What is wrong with it, and what is accepted.
        problem: String,
    },
    /// One field of an expression is wrong.
    #[error(
        "read the {field} field {value:?} of the cron expression: {problem}; accepted are {accepted}"
    )]
    Field {
        /// The field's name.
        field: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        problem: String,
        /// What the field takes.
        accepted: &'static str,
    },
    /// The expression is well formed and has no instant.
    #[error("find any instant for the cron expression {expression:?} in {zone}: {problem}")]
    NeverFires {
        /// What was given.
        expression: String,
        /// The zone it was to be read in.
        zone: String,
        /// Why there is none.
        problem: &'static str,
    },
    /// There is no such zone.
    #[error(
        "find the time zone {zone:?}: accepted are IANA names such as Europe/Prague or UTC{}",
        .nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
    )]
    Zone {
        /// What was given, shortened.
        zone: String,
        /// The known name that is most like it.
        nearest: Option<String>,
    },
    /// A period is not one.
    #[error(
        "read the period {period:?}: {problem}; accepted are 1s to 366d, such as 90s, 10m, 1h30m or 2d"
    )]
    Period {
        /// What was given, shortened.
        period: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A text does not name one instant.
    #[error("read the instant {at:?}: {problem}")]
    At {
        /// What was given, shortened.
        at: String,
        /// What is wrong with it, and what is accepted.
        problem: String,
    },
    /// An instant is over.
    #[error("schedule the instant {at}: it is not after the present, {now}")]
    Past {
        /// The instant.
        at: Timestamp,
        /// The present.
        now: Timestamp,
    },
    /// Quiet hours are not ones.
    #[error(
        "read the quiet hours {window:?}: {problem}; accepted are up to {} windows such as 22:00-07:00",
        MAX_QUIET_WINDOWS
    )]
    QuietHours {
        /// What was given, shortened.
        window: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// Shortens what came from outside, so that an error stays readable.
pub(super) fn shortened(given: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 80;
    let mut shown: String = given.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    shown
}
