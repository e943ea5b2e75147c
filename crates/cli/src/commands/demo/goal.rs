//! `matins demo --goal`: a team of the demonstration agent works on a goal, and the command prints each step.

use std::{collections::HashMap, path::PathBuf, time::Duration};

use anstyle::Style;
use api_types::{Goal, GoalQuestion, GoalReason, GoalRequest, Task};
use model::{
    Clock as _, QuestionId, SessionId, TaskId,
    goal::{GoalStatus, Step, TaskKind, TaskStatus},
};
use server::SystemClock;
use service::DEMO_AGENT;
use tokio::time::sleep;

use super::{page::format_page, program_name::program_name};
use crate::{
    app::App,
    commands::goal::{PrintedTask, round_text},
    error::{CliError, Exit},
    output::{
        ATTENTION, BAD, BOLD, DIM, GOOD, LINE_COLUMNS, clean, column_count, excerpt, one_line,
        padded, paint,
    },
};

/// The goal of a command line that names none.
pub(super) const DEFAULT_GOAL: &str = "Write a short guide to tea: green, black and herbal.";
/// The team, whose seats all have the demonstration agent.
const TEAM: &str = "demo";
/// The interval at which the goal is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The columns before the key of a task: the time and the status.
const KEY_INDENT: usize = 20;
/// The widths of the columns of keys and of seats. A longer key has a line of its own, because commands accept only whole keys.
const KEY_COLUMNS: usize = 14;
const SEAT_COLUMNS: usize = 9;
/// The column of the seat of a task.
const SEAT_INDENT: usize = KEY_INDENT + KEY_COLUMNS + 1;
/// The column of the note about a task.
const NOTE_INDENT: usize = SEAT_INDENT + SEAT_COLUMNS + 1;
/// The column of the title of a task in a plan.
const TITLE_INDENT: usize = 2 + KEY_COLUMNS + 1;

/// The printer of a goal.
pub(super) struct GoalPrinter<'a> {
    app: &'a App,
    /// The path of the data folder.
    folder: PathBuf,
    text: String,
    goal: Option<Goal>,
    /// The last printed state of each task.
    printed: HashMap<TaskId, PrintedTask>,
    /// The seat that worked on each task.
    workers: HashMap<TaskId, String>,
    /// The version of the plan that was printed last.
    plan_version: u32,
    questions: Vec<QuestionId>,
    has_ended: bool,
}

impl<'a> GoalPrinter<'a> {
    pub(super) fn new(app: &'a App, folder: PathBuf, text: String) -> Self {
        Self {
            app,
            folder,
            text,
            goal: None,
            printed: HashMap::new(),
            workers: HashMap::new(),
            plan_version: 0,
            questions: Vec::new(),
            has_ended: false,
        }
    }

    /// Starts the goal, and prints its steps until it ends or cannot go on by itself.
    pub(super) async fn run(&mut self, address: Option<&str>) -> Result<(), CliError> {
        let request = GoalRequest {
            goal: self.text.clone(),
            team: Some(TEAM.to_owned()),
            agent: Some(DEMO_AGENT.to_owned()),
            own_folder: true,
            ..GoalRequest::default()
        };
        let goal = self.app.client.start_goal(&request).await?;
        let id = goal.summary.id.to_string();
        self.print_introduction(&goal, address).await?;
        self.goal = Some(goal);
        loop {
            // Read the goal before its tasks, so that a finished goal has no task that moves later.
            let goal = self.app.client.goal(&id).await?;
            let tasks = self.app.client.tasks(&id).await?;
            self.print_plan(tasks.plan_version, &tasks.tasks)?;
            for task in &tasks.tasks {
                self.print_task(task).await?;
            }
            for question in &goal.questions {
                self.print_question(question)?;
            }
            let state = goal.summary.state;
            self.goal = Some(goal);
            match state {
                GoalStatus::Done | GoalStatus::Failed => {
                    self.has_ended = true;
                    return Ok(());
                }
                GoalStatus::Paused => return Ok(()),
                GoalStatus::Draft | GoalStatus::Active => sleep(POLL_INTERVAL).await,
            }
        }
    }

    async fn print_introduction(&self, goal: &Goal, address: Option<&str>) -> Result<(), CliError> {
        let app = self.app;
        if app.output.json {
            return Ok(app.output.document_line(goal)?);
        }
        let folder = clean(&self.folder.display().to_string()).into_owned();
        let page = format_page(app, &folder, address).await?;
        let seats: Vec<_> = goal.seats.iter().map(|seat| seat.name.as_str()).collect();
        Ok(app.output.line(&format!(
            "{title}\n\nThe goal: {text}\nThe team: {seats}.\nEach turn runs in a new process of the demonstration \
             agent, without a model.\n{page}Ctrl-C stops.\n",
            title = paint(BOLD, "Matins: several agents, one result."),
            text = clean(&self.text),
            seats = clean(&seats.join(", ")),
        ))?)
    }

    /// Prints the tasks of a new plan.
    fn print_plan(&mut self, version: u32, tasks: &[Task]) -> Result<(), CliError> {
        if version <= self.plan_version {
            return Ok(());
        }
        let is_new =
            |task: &&Task| task.kind == TaskKind::Work && task.plan_version > self.plan_version;
        let lines: Vec<_> = tasks.iter().filter(is_new).map(plan_line).collect();
        self.plan_version = version;
        if self.app.output.json || lines.is_empty() {
            return Ok(());
        }
        Ok(self.app.output.line(&format!(
            "\n{}\n{}\n",
            paint(BOLD, "The plan:"),
            lines.join("\n")
        ))?)
    }

    /// Prints a task that has moved, and the findings if it was sent back.
    async fn print_task(&mut self, task: &Task) -> Result<(), CliError> {
        let state = PrintedTask {
            // The note does not name it, so that a change of it would repeat a line.
            waits_for: None,
            ..PrintedTask::new(task)
        };
        let before = self.printed.get(&task.id);
        if state.is_waiting() || before == Some(&state) {
            return Ok(());
        }
        let rounds_before = before.map_or(0, |before| before.round);
        let was_in_review = before.is_some_and(|before| before.step == Some(Step::Review));
        if let (Some(seat), Some(Step::Work)) = (&state.seat, state.step) {
            self.workers.insert(task.id, seat.clone());
        }
        // A task that has ended has no seat any more.
        let seat = state.seat.as_ref().or_else(|| self.workers.get(&task.id));
        let note = match state.status {
            TaskStatus::Done if was_in_review => "accepted".to_owned(),
            _ => note_of(task),
        };
        let line = task_line(task, seat.map(String::as_str), &note);
        let has_findings = state.round > rounds_before;
        self.printed.insert(task.id, state);
        if self.app.output.json {
            return Ok(self.app.output.document_line(task)?);
        }
        if has_findings {
            self.print_findings(task).await?;
        }
        let time = self.app.time.time(SystemClock.now());
        Ok(self
            .app
            .output
            .line(&format!("{}  {line}", paint(DIM, &time)))?)
    }

    async fn print_findings(&self, task: &Task) -> Result<(), CliError> {
        let details = self.app.client.task(&task.id.to_string()).await?;
        for finding in &details.findings {
            let text = format!("sent back by {}: {}", finding.from, finding.text);
            let lines = wrapped(&clean(&text), KEY_INDENT);
            self.app.output.line(&paint_lines(ATTENTION, &lines))?;
        }
        Ok(())
    }

    fn print_question(&mut self, question: &GoalQuestion) -> Result<(), CliError> {
        if self.questions.contains(&question.id) {
            return Ok(());
        }
        self.questions.push(question.id);
        if self.app.output.json {
            return Ok(self.app.output.document_line(question)?);
        }
        let default = question.default.as_deref().unwrap_or_default();
        let text = format!("{}: {} Default: {default}.", question.seat, question.text);
        Ok(self.app.output.line(&format!(
            "{}\n{:KEY_INDENT$}In another terminal:\n  {} question answer \\\n    {} \"{}\"",
            paint_lines(ATTENTION, &wrapped(&clean(&text), KEY_INDENT)),
            "",
            self.command(),
            question.id,
            clean(default),
        ))?)
    }

    /// Prints the end of the goal, and the next steps.
    pub(super) async fn finish(mut self) -> Result<Exit, CliError> {
        let app = self.app;
        let Some(goal) = self.goal.take() else {
            return Ok(Exit::Done);
        };
        let id = goal.summary.id;
        if !self.has_ended {
            return self.finish_open(&goal);
        }
        let report = app.client.goal_report(&id.to_string()).await?;
        if app.output.json {
            app.output.document_line(&report)?;
        } else {
            let counts = goal.summary.tasks;
            let style = match goal.summary.state {
                GoalStatus::Done => GOOD,
                _ => BAD,
            };
            let title = format!(
                "The goal is {}: {} of {} tasks are done, in {} turns.",
                goal.summary.state, counts.done, counts.total, goal.summary.turns
            );
            app.output.line(&format!(
                "\n{}\n\n{}\n",
                paint(style, &title),
                clean(report.text.trim_end())
            ))?;
            self.print_next_steps(id)?;
        }
        Ok(match goal.summary.state {
            GoalStatus::Done => Exit::Done,
            _ => Exit::TurnFailed,
        })
    }

    /// Prints that the goal has not ended: a person has stopped the command, or the goal has paused.
    fn finish_open(&self, goal: &Goal) -> Result<Exit, CliError> {
        let id = goal.summary.id;
        if goal.summary.state == GoalStatus::Paused {
            let reason = goal.summary.reason.map_or("", GoalReason::as_str);
            let cause = goal.summary.cause.as_deref().unwrap_or_default();
            let message = format!("the goal is paused ({reason}) {}", clean(cause));
            let hint = format!("`{} goal show {id}` shows its tasks", self.command());
            // The same code as that of `goal show --follow`.
            return Err(CliError::message(Exit::Refused, message.trim_end()).with_hint(hint));
        }
        if !self.app.output.json {
            self.app.output.line(&format!(
                "\n{}\n  continue    {matins} serve\n  show        {matins} goal show {id}",
                paint(BOLD, "Stopped. The goal remains, with its tasks and files."),
                matins = self.command(),
            ))?;
        }
        Ok(Exit::Done)
    }

    fn print_next_steps(&self, id: SessionId) -> Result<(), CliError> {
        let files = self.folder.join("sessions").join(id.to_string());
        Ok(self.app.output.line(&format!(
            "{title}\n  {files}\n\n{more}\n  {matins} goal show {id}\n  {matins} task list {id}\n  {matins} artifact list \
             {id}\n  {matins} trace {id}\n\n{real}\n  {program} goal start \"Your goal\" --agent claude --budget \"6 USD\"",
            title = paint(BOLD, "The files:"),
            files = clean(&files.display().to_string()),
            more = paint(BOLD, "See more:"),
            matins = self.command(),
            real = paint(BOLD, "With a real agent:"),
            program = clean(&program_name()),
        ))?)
    }

    /// Returns the beginning of commands for the data folder.
    fn command(&self) -> String {
        let folder = self.folder.display().to_string();
        format!("{} --data {}", clean(&program_name()), clean(&folder))
    }
}

/// Returns the note after the seat of a task.
fn note_of(task: &Task) -> String {
    match (task.status, task.step) {
        (TaskStatus::Running, Some(Step::Review)) => "review".to_owned(),
        (TaskStatus::Running, Some(Step::Question)) => "waits for an answer".to_owned(),
        (TaskStatus::Running, Some(Step::Checks)) => "checks".to_owned(),
        (TaskStatus::Running, _) => {
            round_text(task).map_or_else(String::new, |round| format!("round {round}"))
        }
        (TaskStatus::Failed | TaskStatus::Cancelled, _) => task.reason.clone().unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the lines of a task in a plan.
fn plan_line(task: &Task) -> String {
    let after = match &task.depends_on[..] {
        [] => String::new(),
        keys => format!(", after {}", keys.join(", ")),
    };
    let review = if task.review { ", reviewed" } else { "" };
    let text = one_line(&format!("{}{after}{review}", task.title));
    let text = wrapped(&text, TITLE_INDENT).join("\n");
    format!(
        "  {}{}",
        key_cell(&task.key, TITLE_INDENT),
        text.trim_start()
    )
}

/// Returns the lines of a task that has moved, without the time of the first one.
fn task_line(task: &Task, seat: Option<&str>, note: &str) -> String {
    let status = paint(
        style_of(task.status),
        &format!("{:9}", task.status.as_str()),
    );
    let key = key_cell(&task.key, SEAT_INDENT);
    let seat = excerpt(seat.unwrap_or_default(), SEAT_COLUMNS);
    let seat = padded(&seat, SEAT_COLUMNS);
    let note = excerpt(note, LINE_COLUMNS - NOTE_INDENT);
    let line = format!("{status} {key}{seat} {note}");
    line.trim_end().to_owned()
}

/// Returns a key with the blanks to the next column, or with a line break and these blanks if it is wider than its column.
fn key_cell(key: &str, next: usize) -> String {
    let key = one_line(key);
    if column_count(&key) > KEY_COLUMNS {
        format!("{key}\n{:next$}", "")
    } else {
        format!("{} ", padded(&key, KEY_COLUMNS))
    }
}

const fn style_of(status: TaskStatus) -> Style {
    match status {
        TaskStatus::Done => GOOD,
        TaskStatus::Failed => BAD,
        TaskStatus::Cancelled => ATTENTION,
        TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running => DIM,
    }
}

/// Wraps a text in the columns after an indent.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let lines = textwrap::wrap(text, LINE_COLUMNS - indent);
    lines
        .iter()
        .map(|line| format!("{:indent$}{line}", ""))
        .collect()
}

fn paint_lines(style: Style, lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| paint(style, line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(key: &str) -> Task {
        serde_json::from_value(serde_json::json!({
            "id": "task_01970197019701970197019701970197", "goal_id": "ses_01970197019701970197019701970197",
            "key": key, "title": "Draft: oolong", "kind": "work", "role": "worker", "status": "RUNNING",
            "step": "work", "round": 0, "round_limit": 3, "attempts": 0, "optional": false, "review": true,
            "priority": 5, "plan_version": 1, "depends_on": ["outline", "the-history-of-all-teas"],
            "created_at": "2026-11-20T06:00:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn key_that_is_wider_than_its_column_is_whole() {
        let line = |key| task_line(&task(key), Some("worker-1"), "round 2 of 3");
        assert_eq!(
            line("oolong"),
            format!(
                "{} oolong         worker-1  round 2 of 3",
                paint(DIM, "RUNNING  ")
            )
        );
        assert_eq!(
            line("the-history-of-oolong"),
            format!(
                "{} the-history-of-oolong\n{:35}worker-1  round 2 of 3",
                paint(DIM, "RUNNING  "),
                ""
            )
        );
        assert_eq!(
            plan_line(&task("the-history-of-oolong")),
            "  the-history-of-oolong\n                 Draft: oolong, after outline, the-history-of-all-teas, reviewed"
        );
    }
}
