//! The step by which a person lets a waiting goal go on.

use api_types::{GoalReason, GoalStatus, GoalSummary};
use model::goal::StuckCause;

/// Returns `true` if a goal is paused because it is stuck.
pub(super) fn is_stuck(goal: &GoalSummary) -> bool {
    goal.state == GoalStatus::Paused && goal.reason == Some(GoalReason::Stuck)
}

/// Returns the command by which a person lets a waiting goal go on.
pub(super) fn next_step(goal: &GoalSummary) -> Option<String> {
    let id = goal.id;
    match (goal.state, goal.reason?) {
        (GoalStatus::Paused, GoalReason::Budget) => Some(format!(
            "To go on: matins goal edit {id}\n  with more --budget, --until or --limit turns=NUMBER"
        )),
        (GoalStatus::Paused, GoalReason::Stuck) => Some(stuck_step(goal)),
        (GoalStatus::Paused, GoalReason::ApprovePlan) => {
            Some(format!("To approve the plan: matins goal resume {id}"))
        }
        (GoalStatus::Paused, _) => Some(format!("To go on: matins goal resume {id}")),
        _ => None,
    }
}

/// Returns the commands that let a stuck goal go on, by the cause. A later server may name a cause that is unknown here.
fn stuck_step(goal: &GoalSummary) -> String {
    let id = goal.id;
    let cause: Option<StuckCause> = goal.cause.as_ref().and_then(|cause| cause.parse().ok());
    match cause {
        Some(StuckCause::NoPlan) => format!(
            "To plan again: matins goal resume {id}\n  \
             There is no first plan. If the planner lacks something, say so first:\n  \
             matins goal edit --text TEXT, or matins goal message."
        ),
        Some(StuckCause::JudgeBroken) => format!(
            "To repeat the reviews: matins goal resume {id}\n  \
             A review gave no verdict. Or retry or accept the task."
        ),
        Some(StuckCause::CheckRejected) => format!(
            "To go on: matins goal resume {id}\n  \
             The judge sent the whole back as often as its limits permit.\n  \
             If a plan is left, the planner answers the findings before the next check.\n  \
             Or accept the check, which ends the goal without another plan."
        ),
        Some(StuckCause::NoProgress) => format!(
            "For as many turns again: matins goal resume {id}\n  \
             The last turns brought no finished task, no new artifact and no new plan.\n  \
             First message a seat, edit, retry, accept or cancel a task, or replan it."
        ),
        // A resume would start nothing.
        Some(StuckCause::Idle) | None => format!(
            "To go on: matins goal report {id}\n  \
             tells what is missing.\n\
             Edit, retry, accept or cancel a task, or replan the goal."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{LINE_COLUMNS, column_count};

    fn stuck_goal() -> GoalSummary {
        serde_json::from_value(serde_json::json!({
            "id": "ses_01970197019701970197019701970197", "title": null, "goal": "Write", "state": "paused",
            "reason": "stuck", "cause": "goal sent back", "team": "demo",
            "tasks": {
                "total": 1, "done": 0, "running": 0, "ready": 0, "pending": 0, "failed": 1, "cancelled": 0
            },
            "turns": 3, "turn_limit": 200, "usage": { "tokens": 0, "unreported_runs": 0, "cost": [] },
            "created_at": "2026-11-20T06:00:00Z", "updated_at": "2026-11-20T08:04:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn next_step_has_lines_of_at_most_80_columns() {
        let reasons = [
            GoalReason::Budget,
            GoalReason::Stuck,
            GoalReason::ApprovePlan,
            GoalReason::Person,
        ];
        let causes = StuckCause::ALL.iter().map(StuckCause::to_string);
        let causes: Vec<_> = causes.chain(["a later one".to_owned()]).collect();
        let pairs = reasons
            .iter()
            .flat_map(|reason| causes.iter().map(move |cause| (*reason, cause)));
        for (reason, cause) in pairs {
            let goal = GoalSummary {
                reason: Some(reason),
                cause: Some(cause.clone()),
                ..stuck_goal()
            };
            let next = next_step(&goal).unwrap();
            assert!(next.contains("matins goal "), "{next}");
            for line in next.lines() {
                assert!(column_count(line) <= LINE_COLUMNS, "{line}");
            }
        }
    }

    #[test]
    fn next_step_of_stuck_goal_depends_on_cause() {
        let step = |cause: &str| {
            next_step(&GoalSummary {
                cause: Some(cause.into()),
                ..stuck_goal()
            })
        };
        let steps = [
            ("no plan", "There is no first plan."),
            ("no verdict", "A review gave no verdict."),
            ("goal sent back", "Or accept the check"),
            ("no progress", "For as many turns again: "),
            ("nothing can run", "tells what is missing."),
        ];
        for (cause, expected) in steps {
            let next = step(cause).unwrap();
            assert!(next.contains(expected), "{cause}: {next}");
            // A resume starts nothing if nothing can run.
            assert_eq!(
                next.contains("resume"),
                cause != "nothing can run",
                "{cause}: {next}"
            );
        }
    }
}
