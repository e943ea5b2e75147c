//! Goals and tasks as text, at most 80 columns wide.

use api_types::{
    Goal, GoalQuestion, GoalReason, GoalStatus, GoalSummary, Task, TaskKind, TaskStatus,
};
use model::{Clock as _, Timestamp, goal::short_time};
use server::SystemClock;

use super::{
    limit_lines::print_limits,
    missing_server::note_missing_server,
    next_step::next_step,
    task_line::{Widths, cause_line},
    usage::{format_time_left, format_usage_of_limits},
};
use crate::{
    app::App,
    error::CliError,
    output::{LINE_COLUMNS, clean, column_count, excerpt, one_line},
};

/// Formats the state of a goal: its phase while it is active, otherwise its state with the reason and the cause.
pub(super) fn format_state(goal: &GoalSummary) -> String {
    match (goal.reason, &goal.cause) {
        (Some(GoalReason::Stuck), Some(cause)) => {
            format!("{} (stuck: {})", goal.state, one_line(cause))
        }
        _ => format_short_state(goal),
    }
}

/// Formats the state of a goal as [`format_state`] does, without the cause, so that it fits into a list.
pub(super) fn format_short_state(goal: &GoalSummary) -> String {
    match (goal.state, goal.phase, goal.reason) {
        (GoalStatus::Active, Some(phase), _) => phase.as_str().to_owned(),
        (state, _, Some(reason)) => format!("{state} ({})", reason.as_str().replace('_', " ")),
        (state, _, None) => state.to_string(),
    }
}

/// Formats the head of a goal, such as `working 2h04   7/9 done   3.10 USD of 6 USD   71/200 turns   5h12 left`. A long head
/// has several lines.
fn format_head(goal: &GoalSummary, now: Timestamp) -> String {
    let end = goal.ended_at.unwrap_or(now);
    let elapsed = end.since(goal.created_at);
    let mut parts = vec![
        format!("{} {}", format_state(goal), short_time(elapsed)),
        format!("{}/{} done", goal.tasks.done, goal.tasks.total),
    ];
    parts.extend(format_usage_of_limits(goal));
    parts.push(format!("{}/{} turns", goal.turns, goal.turn_limit));
    parts.extend(format_time_left(goal, now));
    join_parts(&parts)
}

/// Formats the messages between seats with their limits, such as `5/200 messages   4/40 message turns   4/6 alternating`.
/// Returns `None` if the seats have sent none.
fn format_messages(goal: &Goal) -> Option<String> {
    let of = |count: u32, limit: &str, what: &str| {
        let limit = goal.limits.get(limit);
        let limit = limit.map_or_else(String::new, |limit| format!("/{limit}"));
        format!("{count}{limit} {what}")
    };
    let parts = [
        of(goal.messages, "messages", "messages"),
        of(goal.message_turns, "message_turns", "message turns"),
        of(goal.alternating_turns, "alternating_turns", "alternating"),
    ];
    (goal.messages > 0).then(|| join_parts(&parts))
}

/// Joins parts with three blanks. A part that has no room continues on the next line, which is indented by two.
fn join_parts(parts: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if column_count(line) + 3 + column_count(part) <= LINE_COLUMNS => {
                line.push_str("   ");
                line.push_str(part);
            }
            Some(_) => lines.push(format!("  {}", excerpt(part, LINE_COLUMNS - 2))),
            None => lines.push(excerpt(part, LINE_COLUMNS)),
        }
    }
    lines.join("\n")
}

/// Prints a goal with the tasks that are of interest, and its open questions.
pub(super) fn print_goal(app: &App, goal: &Goal, tasks: &[Task]) -> Result<(), CliError> {
    let summary = &goal.summary;
    app.output
        .line(&clean(&format_head(summary, SystemClock.now())))?;
    let title = summary.title.as_deref().unwrap_or(&summary.goal);
    app.output.line(&excerpt(title, LINE_COLUMNS))?;
    print_limits(app, goal)?;
    if let Some(talk) = format_messages(goal) {
        app.output.line(&talk)?;
    }
    // The columns fit the tasks that are left out, too, because lines about their changes may follow.
    let widths = Widths::of(tasks);
    for task in tasks.iter().filter(|task| is_shown(task)) {
        app.output.line(&widths.line(task))?;
        if let Some(cause) = cause_line(task) {
            app.output.line(&cause)?;
        }
    }
    for question in &goal.questions {
        print_question(app, question)?;
    }
    if let Some(next) = next_step(summary) {
        app.output.aside(&next);
    }
    note_missing_server(app, summary);
    Ok(())
}

/// Returns `true` for the tasks of the plan, and for the others until they are done.
fn is_shown(task: &Task) -> bool {
    task.kind == TaskKind::Work || !matches!(task.status, TaskStatus::Done | TaskStatus::Cancelled)
}

pub(super) fn print_question(app: &App, question: &GoalQuestion) -> Result<(), CliError> {
    let text = format!("{}: {}", question.seat, question.text);
    app.output
        .line(&format!("?  {}", excerpt(&text, LINE_COLUMNS - 3)))?;
    let deadline = app.time.minute(question.deadline);
    let default = match &question.default {
        Some(default) => format!("   \"{}\" at {deadline}", excerpt(default, 40)),
        None => format!("   no answer at {deadline}"),
    };
    app.output.line(&default)?;
    let command = format!("   matins question answer {} TEXT", question.id);
    Ok(app.output.line(&command)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn reason_of_every_state_fits_into_list() {
        let reasons = [
            (
                GoalStatus::Paused,
                GoalReason::ApprovePlan,
                "paused (approve plan)",
            ),
            (GoalStatus::Paused, GoalReason::Stuck, "paused (stuck)"),
            (
                GoalStatus::Failed,
                GoalReason::Cancelled,
                "failed (cancelled)",
            ),
            (GoalStatus::Failed, GoalReason::GivenUp, "failed (given up)"),
        ];
        for (state, reason, shown) in reasons {
            let goal = GoalSummary {
                state,
                reason: Some(reason),
                ..stuck_goal()
            };
            assert_eq!(format_short_state(&goal), shown);
        }
    }

    fn stuck_goal() -> GoalSummary {
        serde_json::from_value(serde_json::json!({
            "id": "ses_01970197019701970197019701970197", "title": null, "goal": "Write", "state": "paused",
            "reason": "stuck", "cause": "goal sent back", "team": "demo",
            "tasks": {
                "total": 9, "done": 7, "running": 0, "ready": 0, "pending": 1, "failed": 1, "cancelled": 0
            },
            "turns": 171, "turn_limit": 200,
            "usage": {
                "tokens": 200_000, "unreported_runs": 0,
                "cost": [
                    { "amount": "12.34", "currency": "USD" }, { "amount": "3.21", "currency": "EUR" }
                ]
            },
            "budget": { "tokens": 200_000, "cost": { "amount": "60", "currency": "USD" } },
            "created_at": "2026-11-20T06:00:00Z", "updated_at": "2026-11-20T08:04:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn head_has_lines_of_at_most_80_columns() {
        let head = |goal: &GoalSummary| format_head(goal, goal.updated_at);
        let costly = stuck_goal();
        assert_eq!(
            head(&costly),
            "paused (stuck: goal sent back) 2h04   7/9 done   12.34 USD + 3.21 EUR of 60 USD\n  \
             200000 of 200000 tokens   171/200 turns"
        );
        let mut short = stuck_goal();
        short.usage.cost.clear();
        short.budget = None;
        assert_eq!(
            head(&short),
            "paused (stuck: goal sent back) 2h04   7/9 done   200000 tokens   171/200 turns"
        );
        // Tokens are not compared with money.
        let mut silent = short.clone();
        silent.budget = Some(api_types::GoalBudget {
            tokens: None,
            cost: Some(costly.usage.cost[0].clone()),
        });
        assert_eq!(
            head(&silent),
            "paused (stuck: goal sent back) 2h04   7/9 done   - of 12.34 USD   200000 tokens\n  171/200 turns"
        );
        let mut long = stuck_goal();
        long.cause = Some("x".repeat(200));
        long.usage.cost = vec![costly.usage.cost[0].clone(); 20];
        let text = head(&long);
        for line in text.lines() {
            assert!(column_count(line) <= LINE_COLUMNS, "{line}");
        }
        assert!(text.ends_with("171/200 turns"), "{text}");
    }

    #[test]
    fn head_says_how_much_time_is_left() {
        let mut goal = stuck_goal();
        goal.until = Some(goal.updated_at + Duration::from_mins(312));
        let now = goal.updated_at;
        assert!(format_head(&goal, now).ends_with("   171/200 turns   5h12 left"));
        let end = now + Duration::from_hours(6);
        assert!(format_head(&goal, end).ends_with("   171/200 turns   no time left"));
        goal.ended_at = Some(now);
        assert!(format_head(&goal, end).ends_with("   171/200 turns"));
    }
}
