//! The faults for which a report is refused.

use crate::goal::plan_error::PlanError;

/// The number of characters of a text that a fault repeats.
const MAX_VALUE_CHARS: usize = 80;

/// A fault of a report in an answer or in the call of a tool. It names the field, the value, and the accepted values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportFault {
    /// A field of a new task has a fault.
    #[error(transparent)]
    Task(#[from] PlanError),
    /// A text is empty.
    #[error("`{field}` is empty; 1 to {accepted} bytes are accepted")]
    Empty {
        /// The field.
        field: &'static str,
        /// The accepted length.
        accepted: usize,
    },
    /// A text is too long.
    #[error("`{field}` is `{}`, which has {length} bytes; at most {accepted} are accepted", .value.escape_debug())]
    Length {
        /// The field.
        field: &'static str,
        /// The beginning of the text.
        value: String,
        /// The length.
        length: usize,
        /// The accepted length.
        accepted: usize,
    },
    /// A list has too many entries.
    #[error("`{field}` has {count} entries; at most {accepted} are accepted")]
    Entries {
        /// The field.
        field: &'static str,
        /// The number of entries.
        count: usize,
        /// The accepted number.
        accepted: usize,
    },
    /// Two findings have the same ID.
    #[error("`findings.id` is `{}` twice; each ID is accepted once", .0.escape_debug())]
    RepeatedId(String),
    /// A finding names an acceptance line that the task does not have.
    #[error("`findings.criterion` is {given}; {}", accepted_lines(*.accepted))]
    Criterion {
        /// The number of the line.
        given: u32,
        /// The number of acceptance lines of the task.
        accepted: usize,
    },
    /// The report is about another task than that of the turn.
    #[error("`task` is `{}`, and the task of this turn is `{own}`", .given.escape_debug())]
    OtherTask {
        /// The beginning of the key in the report.
        given: String,
        /// The key of the task of the turn.
        own: String,
    },
    /// The session has no artifact with a name.
    #[error("`artifacts` names `{}`, which the session does not have; leave the name out", .0.escape_debug())]
    UnknownArtifact(String),
}

fn accepted_lines(accepted: usize) -> String {
    match accepted {
        0 => "the task has no acceptance lines, so leave it out".to_owned(),
        _ => format!("the acceptance lines 1 to {accepted} are accepted"),
    }
}

/// Returns the beginning of a text, as a fault repeats it.
fn excerpt(text: &str) -> String {
    let mut chars = text.chars();
    let mut value: String = chars.by_ref().take(MAX_VALUE_CHARS).collect();
    if chars.next().is_some() {
        value.push('…');
    }
    value
}

impl ReportFault {
    /// Returns the fault of a report about the task with a key in a turn of another one.
    pub fn of_task(given: &str, own: &str) -> Option<Self> {
        (given != own).then(|| Self::OtherTask {
            given: excerpt(given),
            own: own.to_owned(),
        })
    }

    /// Returns the fault of a text that is longer than `accepted`.
    pub(super) fn of_length(field: &'static str, text: &str, accepted: usize) -> Option<Self> {
        (text.len() > accepted).then(|| Self::Length {
            field,
            value: excerpt(text),
            length: text.len(),
            accepted,
        })
    }

    /// Returns the fault of a text that is empty, or longer than `accepted`.
    pub(super) fn of_content(field: &'static str, text: &str, accepted: usize) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::Empty { field, accepted });
        }
        Self::of_length(field, text, accepted)
    }

    /// Returns the fault of a list with more entries than `accepted`.
    pub(super) fn of_count(field: &'static str, count: usize, accepted: usize) -> Option<Self> {
        (count > accepted).then_some(Self::Entries {
            field,
            count,
            accepted,
        })
    }
}
