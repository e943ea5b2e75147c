//! `matins goal show --follow`: a line for each change of a goal, until it is over or paused.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api_types::{Goal, GoalQuestion, GoalStatus, Task};
use client::{Trace, TraceItem, TraceSubject};
use model::{Clock as _, QuestionId, TaskId, Timestamp};
use serde_json::json;
use server::SystemClock;
use tokio::time::{sleep, timeout};

use super::{
    format::{format_state, print_goal, print_question},
    limit_lines::{is_paused_by_limit, print_limits},
    printed_task::PrintedTask,
    task_line::{Widths, cause_line},
};
use crate::{
    app::App,
    error::{CliError, Exit},
    output::{LINE_COLUMNS, LocalTime, excerpt},
    signals::Signals,
};

/// The time after which the goal is read again although no event has come, because the trace may have begun after the last
/// change.
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// The time for which a server may be away, because it restarts: it waits for the ends of turns and agents, and after a crash
/// the next server waits until the claim of the old one is over.
const MAX_ABSENCE: Duration = Duration::from_mins(3);

/// The pause after an error of the trace, until the goal is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The width of the time before a change, with the blank after it.
const TIME_COLUMNS: usize = 9;

/// The state of a goal that was printed last.
#[derive(Default)]
struct Printed {
    state: String,
    tasks: BTreeMap<TaskId, PrintedTask>,
    /// The questions that were printed. An answered one stays, because a repeated read may still return it.
    questions: BTreeSet<QuestionId>,
}

impl Printed {
    /// Notes the tasks, and returns those that have changed, each with its line.
    fn changed_tasks<'a>(&mut self, tasks: &'a [Task]) -> Vec<(&'a Task, String)> {
        let widths = Widths::of(tasks).after(TIME_COLUMNS);
        let mut changed = Vec::new();
        for task in tasks {
            let present = PrintedTask::new(task);
            let before = self.tasks.insert(task.id, present.clone());
            if before != Some(present) {
                changed.push((task, widths.line(task)));
            }
        }
        changed
    }

    /// Notes the open questions, and returns those that were not printed yet.
    fn new_questions<'a>(&mut self, open: &'a [GoalQuestion]) -> Vec<&'a GoalQuestion> {
        let is_new = |question: &&GoalQuestion| self.questions.insert(question.id);
        open.iter().filter(is_new).collect()
    }
}

pub(super) async fn run(app: &App, given: &str) -> Result<Exit, CliError> {
    let goal = app.client.goal(given).await?.summary.id.to_string();
    let mut signals = Signals::listen()?;
    let trace = app.client.trace(TraceSubject::Session(goal.clone()), None);
    tokio::select! {
        () = signals.next() => Ok(Exit::Interrupted),
        ended = Box::pin(follow(app, &goal, trace)) => ended,
    }
}

async fn follow(app: &App, given: &str, mut trace: Trace) -> Result<Exit, CliError> {
    let mut printed = Printed::default();
    let mut is_first = true;
    let mut away_since = None;
    loop {
        match read(app, given).await {
            Ok((goal, tasks)) => {
                if is_first && !app.output.json {
                    print_goal(app, &goal, &tasks)?;
                }
                print_changes(app, &mut printed, &goal, &tasks, is_first)?;
                is_first = false;
                if let Some(exit) = outcome(&goal) {
                    return Ok(exit);
                }
                if away_since.take().is_some() {
                    // The old trace would pause for longer and longer before it connects.
                    trace = app
                        .client
                        .trace(TraceSubject::Session(given.to_owned()), None);
                }
            }
            Err(error) if is_first || !error.is_transient() => return Err(error.into()),
            Err(error) => {
                let now = SystemClock.now();
                if away_since.is_none() {
                    app.output.aside(&format!(
                        "The connection broke; reconnecting for up to {} minutes.",
                        MAX_ABSENCE.as_secs() / 60
                    ));
                }
                if now.since(*away_since.get_or_insert(now)) > MAX_ABSENCE {
                    return Err(error.into());
                }
            }
        }
        next_change(&mut trace).await?;
    }
}

async fn read(app: &App, given: &str) -> Result<(Goal, Vec<Task>), client::Error> {
    let goal = app.client.goal(given).await?;
    let tasks = app.client.tasks(given).await?.tasks;
    Ok((goal, tasks))
}

/// Waits until something may have changed.
async fn next_change(trace: &mut Trace) -> Result<(), CliError> {
    loop {
        match timeout(READ_INTERVAL, trace.next()).await {
            // Parts of answers change no task.
            Ok(Ok(TraceItem::Event(event))) if event.frame.event == "delta" => {}
            // The next read shows whether the server is still there. The trace reconnects by itself.
            Ok(Ok(TraceItem::Disconnected { cause, .. })) => {
                tracing::debug!(error = %cause, "the trace was disconnected");
                return Ok(());
            }
            Ok(Ok(TraceItem::Event(_))) | Err(_) => return Ok(()),
            // The first connection of a trace is not repeated by itself.
            Ok(Err(error)) if error.is_transient() => {
                sleep(RETRY_PAUSE).await;
                return Ok(());
            }
            Ok(Err(error)) => return Err(error.into()),
        }
    }
}

/// Prints the tasks, the questions and the state that have changed. The first time, people have already got all of them but the
/// outcome of a goal that waits for nothing.
fn print_changes(
    app: &App,
    printed: &mut Printed,
    goal: &Goal,
    tasks: &[Task],
    is_first: bool,
) -> Result<(), CliError> {
    let now = SystemClock.now();
    for (task, line) in printed.changed_tasks(tasks) {
        if app.output.json {
            app.output.document_line(&json!({ "task": task }))?;
        } else if !is_first {
            app.output.line(&timed_line(&app.time, now, &line))?;
            if let Some(cause) = cause_line(task) {
                app.output.line(&cause)?;
            }
        }
    }
    for question in printed.new_questions(&goal.questions) {
        if app.output.json {
            app.output.document_line(&json!({ "question": question }))?;
        } else if !is_first {
            print_question(app, question)?;
        }
    }
    let state = format_state(&goal.summary);
    if state != printed.state {
        if app.output.json {
            app.output.document_line(&json!({ "goal": goal }))?;
        } else if !is_first || outcome(goal).is_some() {
            let line = format!("The goal is {state}.");
            let line = excerpt(&line, LINE_COLUMNS - TIME_COLUMNS);
            app.output.line(&timed_line(&app.time, now, &line))?;
            if !is_first && is_paused_by_limit(&goal.summary) {
                print_limits(app, goal)?;
            }
        }
        printed.state = state;
    }
    Ok(())
}

/// Formats a change with its time. The change has at most the columns that the time leaves.
fn timed_line(time: &LocalTime, at: Timestamp, change: &str) -> String {
    format!("{} {change}", time.time(at))
}

/// Returns the exit code of a goal that does not go on by itself.
fn outcome(goal: &Goal) -> Option<Exit> {
    match goal.summary.state {
        GoalStatus::Active => None,
        GoalStatus::Done => Some(Exit::Done),
        GoalStatus::Draft | GoalStatus::Paused => Some(Exit::Refused),
        GoalStatus::Failed => Some(Exit::TurnFailed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::column_count;

    fn question(number: u32) -> GoalQuestion {
        serde_json::from_value(json!({
            "id": format!("que_0197019701970197019701970197{number:04}"), "seat": "worker-1", "text": "Which?",
            "deadline": "2026-11-20T06:00:00Z"
        }))
        .unwrap()
    }

    fn task(number: u32, key: &str, status: &str) -> Task {
        serde_json::from_value(json!({
            "id": format!("task_0197019701970197019701970197{number:04}"),
            "goal_id": "ses_01970197019701970197019701970197", "key": key, "title": "Title", "kind": "work",
            "role": "worker", "status": status, "round": 0, "round_limit": 3, "attempts": 0, "optional": false,
            "review": false, "priority": 5, "plan_version": 1, "depends_on": [], "created_at": "2026-11-20T06:00:00Z"
        }))
        .unwrap()
    }

    #[test]
    fn question_is_new_once() {
        let mut printed = Printed::default();
        let mut new = |open: &[u32]| {
            let open: Vec<_> = open.iter().map(|number| question(*number)).collect();
            let new = printed.new_questions(&open);
            new.iter().map(|question| question.id).collect::<Vec<_>>()
        };
        assert_eq!(new(&[1]), [question(1).id]);
        assert!(new(&[1]).is_empty());
        // Another question takes the place of the answered one.
        assert_eq!(new(&[2]), [question(2).id]);
        assert_eq!(new(&[2, 3]), [question(3).id]);
        // The first of several is answered.
        assert!(new(&[3]).is_empty());
        assert!(new(&[1, 3]).is_empty());
    }

    #[test]
    fn line_of_changed_task_has_its_whole_key() {
        let mut printed = Printed::default();
        let tone = task(1, "tone", "DONE");
        let report = |status| Task {
            kind: api_types::TaskKind::Report,
            ..task(2, "report#1", status)
        };
        printed.changed_tasks(&[tone.clone(), report("READY")]);
        // A report that is done is not shown with the goal, but its change is a line.
        let tasks = [tone, report("DONE")];
        let changed = printed.changed_tasks(&tasks);
        let [(_, line)] = &changed[..] else {
            panic!("{changed:?}");
        };
        assert!(line.contains("report#1 "), "{line}");
    }

    #[test]
    fn edited_task_is_a_change() {
        let mut printed = Printed::default();
        printed.changed_tasks(&[task(1, "tone", "READY")]);
        let edited = [Task {
            title: "Describe the tone".into(),
            plan_version: 2,
            ..task(1, "tone", "READY")
        }];
        let changed = printed.changed_tasks(&edited);
        let [(_, line)] = &changed[..] else {
            panic!("{changed:?}");
        };
        assert!(line.contains("Describe the tone"), "{line}");
        assert!(printed.changed_tasks(&edited).is_empty());
    }

    #[test]
    fn line_of_change_has_at_most_80_columns() {
        let long = Task {
            key: "k".repeat(40),
            seat: Some("s".repeat(40)),
            waits_for: Some("x".repeat(200)),
            ..task(1, "", "RUNNING")
        };
        let tasks = [long];
        let mut printed = Printed::default();
        let changed = printed.changed_tasks(&tasks);
        let [(task, line)] = &changed[..] else {
            panic!("{changed:?}");
        };
        let line = timed_line(&LocalTime::of_zone("Europe/Prague"), task.created_at, line);
        assert!(line.starts_with("07:00:00 RUNNING "), "{line}");
        assert!(line.lines().count() > 1, "{line}");
        for line in line.lines() {
            assert!(column_count(line) <= LINE_COLUMNS, "{line}");
        }
    }

    #[test]
    fn running_task_that_begins_to_wait_for_a_person_is_a_change() {
        let waiting = |status, waits_for: &str| Task {
            step: Some(api_types::Step::Checks),
            waits_for: Some(waits_for.into()),
            ..task(1, "tone", status)
        };
        let checked = Task {
            waits_for: None,
            ..waiting("RUNNING", "")
        };
        let broken = waiting("RUNNING", "a person, because the check tests cannot run");
        let mut printed = Printed::default();
        printed.changed_tasks(&[checked]);
        let tasks = [broken];
        let changed = printed.changed_tasks(&tasks);
        let [(_, line)] = &changed[..] else {
            panic!("{changed:?}");
        };
        assert!(line.contains("waits for a person"), "{line}");
        assert!(printed.changed_tasks(&tasks).is_empty());
        // A task that is not running waits for fewer and fewer tasks, and none of these changes is a line.
        printed.changed_tasks(&[waiting("PENDING", "green, black")]);
        let fewer = [waiting("PENDING", "black")];
        assert!(printed.changed_tasks(&fewer).is_empty());
    }
}
