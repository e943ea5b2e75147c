//! The instants of deadlines.

use std::time::Duration;

use model::{
    Timestamp,
    goal::{Deadline, Effect, Event, GoalState, Refusal, advance},
    team::TeamLimits,
};

use crate::goals::Goal;

/// The time for which a goal waits for seats that are offline.
const SEATS_TIMEOUT: Duration = Duration::from_mins(30);

/// Moves the graph of a goal by an event, and sets or ends the deadline of the goal. Returns the effects.
///
/// A stuck goal whose server only comes and goes is given up at the deadline of its first pause. Otherwise it would never end.
/// After progress and after what a person changes, the time counts anew.
///
/// # Errors
///
/// Returns the refusal of an event that the goal does not accept. Nothing has changed then.
pub(super) fn advance_goal(
    goal: &mut Goal,
    event: Event,
    now: Timestamp,
) -> Result<Vec<Effect>, Refusal> {
    let is_presence = matches!(event, Event::SeatPresence(_));
    let mut has_progress = ends_wait(&event);
    let effects = advance(&mut goal.graph, event)?;
    for effect in &effects {
        if let Effect::SetDeadline(deadline) = effect {
            let counts_on = is_presence && *deadline == Deadline::GiveUp && gives_up(goal);
            if !counts_on {
                let at = deadline_after(*deadline, &goal.definition.limits, now);
                goal.deadline = Some((*deadline, at));
            }
        }
        has_progress |= matches!(effect, Effect::Started { .. } | Effect::Moved { .. });
    }
    // A goal that is still stuck keeps its deadline, because no pause would set another one.
    if has_progress && gives_up(goal) && goal.graph.goal() == GoalState::Active {
        goal.deadline = None;
    }
    Ok(effects)
}

fn gives_up(goal: &Goal) -> bool {
    goal.deadline
        .is_some_and(|(deadline, _)| deadline == Deadline::GiveUp)
}

/// `true` if an event is progress or comes from a person, even if it starts nothing because a turn holds its seat.
const fn ends_wait(event: &Event) -> bool {
    matches!(
        event,
        Event::TurnEnded { .. }
            | Event::ChecksPassed(_)
            | Event::CheckFailed { .. }
            | Event::CheckBroken { .. }
            | Event::Limits(_)
            | Event::Publish { .. }
            | Event::EditTask(_)
            | Event::Replan
            | Event::Retry(_)
            | Event::Accept(_)
            | Event::CancelTask(_)
            | Event::Resume
    )
}

/// Returns the instant of a deadline that is set now.
fn deadline_after(deadline: Deadline, limits: &TeamLimits, now: Timestamp) -> Timestamp {
    now + match deadline {
        Deadline::Seats => SEATS_TIMEOUT,
        Deadline::GiveUp => Duration::from_hours(limits.give_up_after_hours.into()),
    }
}
