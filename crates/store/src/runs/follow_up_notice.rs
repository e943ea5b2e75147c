//! The closing notice of a run, with the consequence of its end.

use model::{
    outcome::{FollowUp, NextAttempt},
    run::{Origin, RunStatus},
};

/// Appends to the closing notice of a run whether and when the run is retried.
pub(super) fn append_follow_up(
    text: String,
    (origin, ended_as): (Origin, RunStatus),
    next: FollowUp,
) -> String {
    // The messages of a cancelled run may be delivered, or its session may take no more.
    let has_failed = matches!(ended_as, RunStatus::Failed | RunStatus::Stalled);
    match next {
        FollowUp::Final if origin == Origin::Message && has_failed => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failed_turn_leaves_its_messages() {
        let notice = |ended_as, origin| {
            append_follow_up("It ended.".into(), (origin, ended_as), FollowUp::Final)
        };
        for ended_as in [RunStatus::Failed, RunStatus::Stalled] {
            assert!(notice(ended_as, Origin::Message).contains("Its messages wait"));
            assert_eq!(notice(ended_as, Origin::Person), "It ended.");
        }
        for ended_as in [RunStatus::Succeeded, RunStatus::Cancelled] {
            assert_eq!(notice(ended_as, Origin::Message), "It ended.");
        }
    }
}
