//! Goals and tasks as text, at most 80 columns wide.

use api_types::{
    Goal, GoalQuestion, GoalReason, GoalStatus, GoalSummary, Task, TaskKind, TaskStatus,
};
use model::{
    Clock as _, Timestamp,
    goal::{DoneBy, short_time},
};
use server::SystemClock;

use super::{
    limit_lines::print_limits,
    missing_server::note_missing_server,
    next_step::next_step,
    usage::{format_time_left, format_usage_of_limits},
};
use crate::{
    app::App,
    error::CliError,
    output::{BAD, GOOD, LINE_COLUMNS, clean, excerpt, one_line, paint, wrapped},
};

/// The width of a status with its padding.
const STATUS_COLUMNS: usize = 11;
/// The highest number of lines of a remark.
const MAX_REMARK_LINES: usize = 3;
/// The end of the line of a task whose result the judge accepted.
const ACCEPTED_BY_JUDGE: &str = "  accepted by the judge";
/// The highest widths of keys and of seats.
const MAX_KEY_COLUMNS: usize = 20;
const MAX_SEAT_COLUMNS: usize = 12;

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
            Some(line) if line.chars().count() + 3 + part.chars().count() <= LINE_COLUMNS => {
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

/// The widths of the columns of tasks.
pub(in crate::commands) struct Widths {
    key: usize,
    seat: usize,
    line: usize,
}

impl Widths {
    /// Returns the widths for tasks.
    pub(in crate::commands) fn of(tasks: &[Task]) -> Self {
        let width =
            |texts: &mut dyn Iterator<Item = usize>, most| texts.max().unwrap_or(1).min(most);
        let length = |text: &str| one_line(text).chars().count();
        Self {
            key: width(
                &mut tasks.iter().map(|task| length(&task.key)),
                MAX_KEY_COLUMNS,
            ),
            seat: width(
                &mut tasks
                    .iter()
                    .filter_map(|task| Some(length(task.seat.as_deref()?))),
                MAX_SEAT_COLUMNS,
            ),
            line: LINE_COLUMNS,
        }
    }

    /// Returns the widths for lines that stand after a prefix of this width.
    pub(super) const fn after(self, prefix: usize) -> Self {
        Self {
            line: self.line.saturating_sub(prefix),
            ..self
        }
    }

    /// Formats a task as a line. A remark that has no room on it continues below itself.
    pub(in crate::commands) fn line(&self, task: &Task) -> String {
        let (key, seat) = (self.key, self.seat);
        let status = format!("{:STATUS_COLUMNS$}", task.status.as_str());
        let status = match task.status {
            TaskStatus::Done => paint(GOOD, &status),
            TaskStatus::Failed => paint(BAD, &status),
            _ => status,
        };
        let named = format!(
            "{:key$}  {:seat$}  ",
            excerpt(&task.key, key),
            excerpt(task.seat.as_deref().unwrap_or(""), seat),
        );
        let used = STATUS_COLUMNS + named.chars().count();
        let room = self.line.saturating_sub(used);
        let remark = remark(task, room).join(&format!("\n{:1$}", "", LINE_COLUMNS - room));
        format!("{status}{named}{remark}").trim_end().to_owned()
    }
}

/// Returns the round of the work on a task as people count it, such as `2 of 3` after one that was sent back. Returns `None` in
/// the first round.
pub(in crate::commands) fn round_text(task: &Task) -> Option<String> {
    let limit = task.round_limit;
    // A task that has failed in its last round gets no further one.
    (task.round > 0).then(|| format!("{} of {limit}", (task.round + 1).min(limit)))
}

/// Returns the remark on a task: its round, the thing for which it waits, or the reason of its end. A task that needs no
/// remark has its title, which is cut. A remark has lines of at most this many columns. A line with enough room also names
/// the judge that accepted the result.
fn remark(task: &Task, columns: usize) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(round_text(task).map(|round| format!("round {round}")));
    if let Some(step) = task.step.filter(|step| *step != api_types::Step::Work) {
        parts.push(step.to_string());
    }
    if let Some(waits_for) = &task.waits_for {
        parts.push(format!("waits for {}", one_line(waits_for)));
    }
    parts.extend(end_text(task));
    let mut lines = if parts.is_empty() {
        vec![excerpt(&task.title, columns)]
    } else {
        wrapped(&parts.join("  "), columns)
    };
    if lines.len() > MAX_REMARK_LINES {
        let rest = lines.split_off(MAX_REMARK_LINES - 1).join(" ");
        lines.push(excerpt(&rest, columns));
    }
    if let [line] = &mut lines[..]
        && done_by(task) == Some(DoneBy::Judge)
        && line.chars().count() + ACCEPTED_BY_JUDGE.len() <= columns
    {
        line.push_str(ACCEPTED_BY_JUDGE);
    }
    lines
}

/// Returns the reason for which a task has failed or was cancelled, or the origin of a result that is not the usual one.
fn end_text(task: &Task) -> Option<String> {
    if matches!(task.status, TaskStatus::Failed | TaskStatus::Cancelled) {
        return task.reason.as_deref().map(one_line);
    }
    match done_by(task)? {
        DoneBy::Person => Some("accepted by a person".to_owned()),
        DoneBy::Answer => Some("answer without a report".to_owned()),
        DoneBy::Result | DoneBy::Judge => None,
    }
}

/// Returns the origin of the result of a task that is done. Returns `None` for one that a later version has named.
fn done_by(task: &Task) -> Option<DoneBy> {
    let is_done = task.status == TaskStatus::Done;
    let reason = task.reason.as_deref().filter(|_| is_done);
    reason?.parse().ok()
}

/// Formats the beginning of the text behind the reason of a failed task, indented on one line. Returns `None` if there is none.
pub(super) fn cause_line(task: &Task) -> Option<String> {
    let cause = task.cause.as_deref()?;
    Some(format!("  {}", excerpt(cause, LINE_COLUMNS - 2)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn task() -> Task {
        serde_json::from_value(serde_json::json!({
            "id": "task_01970197019701970197019701970197", "goal_id": "ses_01970197019701970197019701970197",
            "key": "mail-2", "title": "Second mail", "kind": "work", "role": "worker", "status": "RUNNING",
            "step": "work", "seat": "worker-2", "round": 2, "round_limit": 3, "attempts": 0, "optional": false,
            "review": true, "priority": 5, "plan_version": 1, "depends_on": [],
            "created_at": "2026-11-20T06:00:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn task_has_few_lines_of_at_most_80_columns() {
        let long = Task {
            key: "k".repeat(40),
            seat: Some("s".repeat(40)),
            round: 0,
            waits_for: Some("x".repeat(200)),
            ..task()
        };
        let hostile = Task {
            key: "a\nb".into(),
            title: "\u{1b}[2J".into(),
            seat: None,
            status: TaskStatus::Ready,
            step: None,
            round: 0,
            ..task()
        };
        let tasks = [task(), long, hostile];
        let widths = Widths::of(&tasks);
        for task in &tasks {
            let lines = widths.line(task);
            assert!(!lines.contains('\u{1b}'), "{lines:?}");
            assert!(lines.lines().count() <= MAX_REMARK_LINES, "{lines}");
            for line in lines.lines() {
                assert!(line.chars().count() <= LINE_COLUMNS, "{line}");
            }
        }
        let widths = Widths::of(&[task()]);
        assert_eq!(
            widths.line(&task()),
            "RUNNING    mail-2  worker-2  round 3 of 3"
        );
    }

    #[test]
    fn cause_is_one_line_of_80_columns() {
        let cause = |text: &str| {
            let task = Task {
                cause: Some(text.into()),
                ..task()
            };
            cause_line(&task).unwrap()
        };
        assert_eq!(cause("I may\nnot.\u{1b}[2J"), "  I may not.\\u{1b}[2J");
        assert_eq!(cause(&"x".repeat(200)).chars().count(), LINE_COLUMNS);
        assert_eq!(cause_line(&task()), None);
    }

    #[test]
    fn remark_continues_below_itself() {
        let broken = Task {
            key: "a-key-of-20-columns-".into(),
            step: Some(api_types::Step::Checks),
            round: 0,
            waits_for: Some("a person, because the check handbook cannot run".into()),
            ..task()
        };
        let long = Task {
            waits_for: Some("one, two, three, four, five, ".repeat(10)),
            ..broken.clone()
        };
        let tasks = [broken, long];
        let widths = Widths::of(&tasks);
        assert_eq!(
            widths.line(&tasks[0]),
            "RUNNING    a-key-of-20-columns-  worker-2  checks  waits for a person, because\n\
             \u{20}                                          the check handbook cannot run"
        );
        let lines = widths.line(&tasks[1]);
        assert_eq!(lines.lines().count(), MAX_REMARK_LINES, "{lines}");
        assert!(lines.ends_with('…'), "{lines}");
        let narrow = Widths::of(&tasks).after(9).line(&tasks[0]);
        let further = narrow.lines().nth(1).unwrap();
        // The first line follows the time of nine columns.
        assert!(further.starts_with(&" ".repeat(52)), "{further}");
        assert!(!further.starts_with(&" ".repeat(53)), "{further}");
    }

    #[test]
    fn task_that_is_done_says_how_unless_by_its_report() {
        let long = "Second mail to all";
        for (title, reason, round, shown) in [
            ("Mail", "result", 0, "Mail"),
            ("Mail", "named by a later version", 0, "Mail"),
            ("Mail", "person", 0, "accepted by a person"),
            ("Mail", "person", 2, "round 3 of 3  accepted by a person"),
            ("Mail", "unreported", 0, "answer without a report"),
            ("Mail", "judge", 0, "Mail  accepted by the judge"),
            ("Mail", "judge", 1, "round 2 of 3  accepted by the judge"),
            (long, "judge", 0, long),
        ] {
            let done = Task {
                title: title.into(),
                status: TaskStatus::Done,
                step: None,
                round,
                reason: Some(reason.into()),
                ..task()
            };
            assert_eq!(remark(&done, 40), [shown], "{reason}");
        }
    }

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

    #[test]
    fn round_counts_from_one_up_to_its_limit() {
        let round = |round| round_text(&Task { round, ..task() });
        assert_eq!(round(0), None);
        assert_eq!(round(1).as_deref(), Some("2 of 3"));
        assert_eq!(round(2).as_deref(), Some("3 of 3"));
        // The last round was sent back, too, so the task has failed.
        assert_eq!(round(3).as_deref(), Some("3 of 3"));
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
            assert!(line.chars().count() <= LINE_COLUMNS, "{line}");
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
