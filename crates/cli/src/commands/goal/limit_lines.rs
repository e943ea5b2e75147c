//! The limits of a goal as lines: which are used up, and what is left of the others.

use api_types::{Goal, GoalReason, GoalStatus, GoalSummary};
use model::goal::{BudgetLevel, GoalLimit};

use crate::{
    app::App,
    error::CliError,
    output::{LINE_COLUMNS, LocalTime, excerpt, one_line, wrapped},
};

/// Returns `true` if a limit has paused a goal.
pub(super) fn is_paused_by_limit(goal: &GoalSummary) -> bool {
    goal.state == GoalStatus::Paused && goal.reason == Some(GoalReason::Budget)
}

/// Prints the limits of a goal that a person has to know.
pub(super) fn print_limits(app: &App, goal: &Goal) -> Result<(), CliError> {
    for line in limit_lines(goal, &app.time) {
        app.output.line(&line)?;
    }
    Ok(())
}

/// Returns all limits of a goal that a limit has paused, and otherwise those that are reached or do not count all usage.
fn limit_lines(goal: &Goal, time: &LocalTime) -> Vec<String> {
    let summary = &goal.summary;
    let is_over = matches!(summary.state, GoalStatus::Done | GoalStatus::Failed);
    let mut lines = Vec::new();
    for used in &goal.limit_usage {
        let is_reached = !is_over && used.level != BudgetLevel::Enough;
        if !is_paused_by_limit(summary) && !is_reached && used.note.is_none() {
            continue;
        }
        let until = match (used.limit, summary.until) {
            (GoalLimit::Time, Some(until)) => format!(" (until {})", time.minute(until)),
            _ => String::new(),
        };
        let line = format!("{}: {}{until}", used.limit, used.text);
        lines.push(format!("  {}", excerpt(&line, LINE_COLUMNS - 2)));
        let note = used.note.as_deref().map(one_line).unwrap_or_default();
        let note = wrapped(&note, LINE_COLUMNS - 4).into_iter();
        lines.extend(note.map(|line| format!("    {line}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::column_count;

    fn goal(state: &str) -> Goal {
        let reason = (state == "paused").then_some("budget");
        serde_json::from_value(json!({
            "id": "ses_01970197019701970197019701970197", "title": null, "goal": "Write", "state": state,
            "reason": reason, "team": "demo",
            "tasks": {
                "total": 4, "done": 1, "running": 0, "ready": 0, "pending": 3, "failed": 0, "cancelled": 0
            },
            "turns": 3, "turn_limit": 200,
            "usage": { "tokens": 1180, "unreported_runs": 0, "cost": [] },
            "until": "2026-11-20T06:00:00Z",
            "created_at": "2026-11-20T05:00:00Z", "updated_at": "2026-11-20T06:04:00Z",
            "plan_version": 1, "replans": 0, "replan_limit": 5, "seats": [], "limits": {}, "checks": {}, "questions": [],
            "limit_usage": [
                {
                    "limit": "cost", "level": "enough", "text": "0 of 6 USD, 6 USD left",
                    "note": "3 turns reported no cost, so this limit does not count them"
                },
                { "limit": "tokens", "level": "used_up", "text": "1180 of 700, used up" },
                { "limit": "turns", "level": "enough", "text": "3 of 200, 197 left" },
                { "limit": "time", "level": "used_up", "text": "used up 4m ago" }
            ]
        }))
        .unwrap()
    }

    fn lines(goal: &Goal) -> Vec<String> {
        limit_lines(goal, &LocalTime::of_zone("Europe/Prague"))
    }

    #[test]
    fn goal_paused_by_limit_shows_all_limits() {
        assert_eq!(
            lines(&goal("paused")),
            [
                "  cost: 0 of 6 USD, 6 USD left",
                "    3 turns reported no cost, so this limit does not count them",
                "  tokens: 1180 of 700, used up",
                "  turns: 3 of 200, 197 left",
                "  time: used up 4m ago (until 2026-11-20 07:00)",
            ]
        );
    }

    #[test]
    fn other_goal_shows_limits_that_are_reached_or_do_not_count() {
        let active = [
            "  cost: 0 of 6 USD, 6 USD left",
            "    3 turns reported no cost, so this limit does not count them",
            "  tokens: 1180 of 700, used up",
            "  time: used up 4m ago (until 2026-11-20 07:00)",
        ];
        assert_eq!(lines(&goal("active")), active);
        assert_eq!(lines(&goal("done")), active[..2]);
        // A server of an earlier version sends no usage of limits.
        let mut earlier = goal("paused");
        earlier.limit_usage.clear();
        assert!(lines(&earlier).is_empty());
    }

    #[test]
    fn line_of_limit_has_at_most_80_columns() {
        let mut long = goal("paused");
        for used in &mut long.limit_usage {
            used.text = "x".repeat(200);
            used.note = Some("\u{1b}".repeat(200));
        }
        for line in lines(&long) {
            assert!(column_count(&line) <= LINE_COLUMNS, "{line}");
            assert!(!line.contains('\u{1b}'), "{line:?}");
        }
    }
}
