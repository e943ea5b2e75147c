//! The instants of deadlines.

use std::time::Duration;

use model::{
    Timestamp,
    goal::{Deadline, Effect, GoalState},
    team::TeamLimits,
};

use crate::goals::Goal;

/// The time for which a goal waits for seats that are offline.
const SEATS_TIMEOUT: Duration = Duration::from_mins(30);

/// Sets or ends the deadline of a goal by an effect. `is_presence` is `true` if the effect follows from servers that came or went.
///
/// A stuck goal whose server only comes and goes is given up at the deadline of its first pause. Otherwise it would never end.
/// A turn that starts and a task that moves are progress, after which the time counts anew.
pub(super) fn follow_deadline(goal: &mut Goal, effect: &Effect, is_presence: bool, now: Timestamp) {
    let gives_up = goal
        .deadline
        .is_some_and(|(deadline, _)| deadline == Deadline::GiveUp);
    match effect {
        // A goal that is still stuck keeps its deadline, because no pause would set another one.
        Effect::Started { .. } | Effect::Moved { .. }
            if gives_up && goal.graph.goal() == GoalState::Active =>
        {
            goal.deadline = None;
        }
        Effect::SetDeadline(deadline) => {
            let counts_on = gives_up && is_presence && *deadline == Deadline::GiveUp;
            if !counts_on {
                let at = deadline_after(*deadline, &goal.definition.limits, now);
                goal.deadline = Some((*deadline, at));
            }
        }
        _ => {}
    }
}

/// Returns the instant of a deadline that is set now.
fn deadline_after(deadline: Deadline, limits: &TeamLimits, now: Timestamp) -> Timestamp {
    now + match deadline {
        Deadline::Seats => SEATS_TIMEOUT,
        Deadline::GiveUp => Duration::from_hours(limits.give_up_after_hours.into()),
    }
}
