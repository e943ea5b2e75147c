//! The closing notice of a run, with the consequence of its end.

use model::{
    outcome::{FollowUp, NextAttempt},
    run::Origin,
};

/// Appends to the closing notice of a run whether and when the run is retried.
pub(super) fn append_follow_up(text: String, origin: Origin, next: FollowUp) -> String {
    match next {
        FollowUp::Final if origin == Origin::Message => {
            format!(
                "{text} Its messages wait for the next message, turn or acknowledgement of the seat."
            )
        }
        FollowUp::Final => text,
        FollowUp::Retry(NextAttempt {
            not_before: None, ..
        }) => format!("{text} The run will be retried."),
        FollowUp::Retry(NextAttempt {
            not_before: Some(at),
            ..
        }) => {
            let at = at.jiff().round(jiff::Unit::Second).unwrap_or(at.jiff());
            format!("{text} The run will be retried at {at}.")
        }
    }
}
