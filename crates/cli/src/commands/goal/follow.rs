//! `matins goal show --follow`: a line for each change of a goal, until it is over or paused.

use std::{collections::BTreeMap, time::Duration};

use api_types::{Goal, GoalStatus, Task, TaskStatus};
use client::{Trace, TraceItem, TraceSubject};
use model::{Clock as _, TaskId};
use serde_json::json;
use server::SystemClock;
use tokio::time::timeout;

use super::format::{Widths, format_state, is_shown, print_goal};
use crate::{
    app::App,
    error::{CliError, Exit},
    signals::Signals,
};

/// The time after which the goal is read again although no event has come, because the trace may have begun after the last
/// change.
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// The part of a task whose change is a line.
type PrintedTask = (TaskStatus, Option<String>, Option<String>, u32);

/// The state of a goal that was printed last.
#[derive(Default)]
struct Printed {
    state: String,
    tasks: BTreeMap<TaskId, PrintedTask>,
    questions: usize,
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
    loop {
        let goal = app.client.goal(given).await?;
        let tasks = app.client.tasks(given).await?.tasks;
        if is_first && !app.output.json {
            print_goal(app, &goal, &tasks)?;
        }
        print_changes(app, &mut printed, &goal, &tasks, is_first)?;
        is_first = false;
        if let Some(exit) = outcome(&goal) {
            return Ok(exit);
        }
        next_change(&mut trace).await?;
    }
}

/// Waits until something may have changed.
async fn next_change(trace: &mut Trace) -> Result<(), CliError> {
    loop {
        match timeout(READ_INTERVAL, trace.next()).await {
            // Parts of answers change no task.
            Ok(Ok(TraceItem::Event(event))) if event.frame.event == "delta" => {}
            Ok(Ok(TraceItem::Disconnected { cause, .. })) => {
                tracing::debug!(error = %cause, "the trace was disconnected");
            }
            Ok(Ok(TraceItem::Event(_))) | Err(_) => return Ok(()),
            Ok(Err(error)) => return Err(error.into()),
        }
    }
}

/// Prints the tasks and the state that have changed. The first time, only the outcome of a goal that waits for nothing.
fn print_changes(
    app: &App,
    printed: &mut Printed,
    goal: &Goal,
    tasks: &[Task],
    is_first: bool,
) -> Result<(), CliError> {
    let now = SystemClock.now();
    let shown: Vec<_> = tasks.iter().filter(|task| is_shown(task)).collect();
    let widths = Widths::of(&shown);
    for task in tasks {
        let step = task.step.map(|step| step.to_string());
        let present = (task.status, step, task.seat.clone(), task.round);
        let before = printed.tasks.insert(task.id, present.clone());
        if before.as_ref() == Some(&present) {
            continue;
        }
        if app.output.json {
            app.output.document_line(&json!({ "task": task }))?;
        } else if !is_first {
            app.output
                .line(&format!("{} {}", app.time.time(now), widths.line(task)))?;
        }
    }
    if goal.questions.len() > printed.questions && !app.output.json && !is_first {
        for question in goal.questions.iter().skip(printed.questions) {
            super::format::print_question(app, question)?;
        }
    }
    printed.questions = goal.questions.len();
    let state = format_state(&goal.summary);
    if state != printed.state {
        if app.output.json {
            app.output.document_line(&json!({ "goal": goal }))?;
        } else if !is_first || outcome(goal).is_some() {
            let at = app.time.time(now);
            app.output.line(&format!("{at} The goal is {state}."))?;
        }
        printed.state = state;
    }
    Ok(())
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
