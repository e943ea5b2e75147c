//! The lines of tasks, at most 80 columns wide.

use api_types::{Task, TaskStatus};
use model::goal::DoneBy;

use crate::output::{
    BAD, GOOD, LINE_COLUMNS, column_count, excerpt, one_line, padded, paint, wrapped,
};

/// The width of a status with its padding.
const STATUS_COLUMNS: usize = 11;
/// The highest number of lines of a remark.
const MAX_REMARK_LINES: usize = 3;
/// The end of the line of a task whose result the judge accepted.
const ACCEPTED_BY_JUDGE: &str = "  accepted by the judge";
/// The highest widths of the columns of keys and of seats. A longer key has a line of its own, because commands accept only
/// whole keys.
const MAX_KEY_COLUMNS: usize = 24;
const MAX_SEAT_COLUMNS: usize = 12;

/// The widths of the columns of tasks.
pub(in crate::commands) struct Widths {
    key: usize,
    seat: usize,
    line: usize,
}

impl Widths {
    /// Returns the widths for tasks.
    pub(in crate::commands) fn of(tasks: &[Task]) -> Self {
        let length = |text: &str| column_count(&one_line(text));
        let keys = tasks.iter().map(|task| length(&task.key));
        let seats = tasks
            .iter()
            .filter_map(|task| Some(length(task.seat.as_deref()?)));
        Self {
            key: keys
                .filter(|key| *key <= MAX_KEY_COLUMNS)
                .max()
                .unwrap_or(1),
            seat: seats.max().unwrap_or(1).min(MAX_SEAT_COLUMNS),
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

    /// Formats a task as a line. A remark that has no room on it continues below itself, and the rest of a line below a key
    /// that is wider than its column.
    pub(in crate::commands) fn line(&self, task: &Task) -> String {
        let status = format!("{:STATUS_COLUMNS$}", task.status.as_str());
        let status = match task.status {
            TaskStatus::Done => paint(GOOD, &status),
            TaskStatus::Failed => paint(BAD, &status),
            _ => status,
        };
        let key = one_line(&task.key);
        let seat = excerpt(task.seat.as_deref().unwrap_or(""), self.seat);
        let used = STATUS_COLUMNS + self.key + 2 + self.seat + 2;
        let room = self.line.saturating_sub(used);
        let remark = remark(task, room).join(&line_break(LINE_COLUMNS - room));
        let gap = if column_count(&key) > self.key {
            line_break(LINE_COLUMNS - room - 2 - self.seat)
        } else {
            "  ".to_owned()
        };
        let (key, seat) = (padded(&key, self.key), padded(&seat, self.seat));
        let line = format!("{status}{key}{gap}{seat}  {remark}");
        line.trim_end().to_owned()
    }
}

/// Returns a line break with the indent of the next line.
fn line_break(indent: usize) -> String {
    format!("\n{:indent$}", "")
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
        && column_count(line) + ACCEPTED_BY_JUDGE.len() <= columns
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
            // A line of the key may precede those of the remark.
            assert!(lines.lines().count() <= 1 + MAX_REMARK_LINES, "{lines}");
            for line in lines.lines() {
                assert!(column_count(line) <= LINE_COLUMNS, "{line}");
            }
        }
        let widths = Widths::of(&[task()]);
        assert_eq!(
            widths.line(&task()),
            "RUNNING    mail-2  worker-2  round 3 of 3"
        );
    }

    #[test]
    fn long_key_is_whole_on_line_of_its_own() {
        let long = |number: u32| Task {
            key: format!("label-tickets-of-the-first-quarter/{number}"),
            ..task()
        };
        let bare = Task {
            seat: None,
            round: 0,
            title: String::new(),
            ..long(2)
        };
        let tasks = [task(), long(12), bare];
        let widths = Widths::of(&tasks);
        let lines: Vec<_> = tasks.iter().map(|task| widths.line(task)).collect();
        assert_eq!(
            lines,
            [
                "RUNNING    mail-2  worker-2  round 3 of 3",
                "RUNNING    label-tickets-of-the-first-quarter/12\n                   worker-2  round 3 of 3",
                "RUNNING    label-tickets-of-the-first-quarter/2",
            ]
        );
        let after = Widths::of(&tasks).after(9).line(&tasks[1]);
        let rest = after.lines().nth(1).unwrap();
        assert_eq!(rest, format!("{:28}worker-2  round 3 of 3", ""));
    }

    #[test]
    fn wide_letters_count_two_columns() {
        let wide = Task {
            seat: Some("作業員".into()),
            title: "東京の天気を調べて、短い報告を書いてください。".repeat(3),
            round: 0,
            ..task()
        };
        let tasks = [wide, task()];
        let widths = Widths::of(&tasks);
        let line = widths.line(&tasks[0]);
        assert!(line.contains("mail-2  作業員    東京"), "{line}");
        assert!(column_count(&line) <= LINE_COLUMNS, "{line}");
        assert!(line.ends_with('…'), "{line}");
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
        assert_eq!(column_count(&cause(&"x".repeat(200))), LINE_COLUMNS);
        assert_eq!(cause_line(&task()), None);
    }

    #[test]
    fn remark_continues_below_itself() {
        let broken = Task {
            key: "a-key-of-twenty-columns-".into(),
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
            "RUNNING    a-key-of-twenty-columns-  worker-2  checks  waits for a person,\n\
             \u{20}                                              because the check handbook cannot\n\
             \u{20}                                              run"
        );
        let lines = widths.line(&tasks[1]);
        assert_eq!(lines.lines().count(), MAX_REMARK_LINES, "{lines}");
        assert!(lines.ends_with('…'), "{lines}");
        let narrow = Widths::of(&tasks).after(9).line(&tasks[0]);
        let further = narrow.lines().nth(1).unwrap();
        // The first line follows the time of nine columns.
        assert!(further.starts_with(&" ".repeat(56)), "{further}");
        assert!(!further.starts_with(&" ".repeat(57)), "{further}");
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
    fn round_counts_from_one_up_to_its_limit() {
        let round = |round| round_text(&Task { round, ..task() });
        assert_eq!(round(0), None);
        assert_eq!(round(1).as_deref(), Some("2 of 3"));
        assert_eq!(round(2).as_deref(), Some("3 of 3"));
        // The last round was sent back, too, so the task has failed.
        assert_eq!(round(3).as_deref(), Some("3 of 3"));
    }
}
