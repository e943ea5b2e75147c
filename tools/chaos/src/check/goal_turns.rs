//! The turns of the tasks of goals, in the order of the agents' own logs of prompts: tasks wait for their dependencies, no
//! prompt is repeated without a reason, and a task is done only after the turns that it needs.

use std::collections::{HashMap, HashSet};

use super::{
    super::{
        goal_history::{GoalHistory, GoalTask},
        goal_plan::PlannedTask,
        history::{Event, History, PromptLogKind, Run},
    },
    verdict::Check,
};

/// The turns of each task, by its ID, in the order of the logs.
pub(super) type TurnsByTask<'a> = HashMap<&'a str, Vec<Turn<'a>>>;

/// A turn of a task, from the log of its agent.
pub(super) struct Turn<'a> {
    run: &'a Run,
    text: &'a str,
    /// The place of the prompt in the logs.
    start: usize,
    /// The place of its answer, or of the last entry of its process if it has none.
    end: usize,
    is_answered: bool,
}

fn turns_of<'a, 'b>(turns: &'b TurnsByTask<'a>, task: &GoalTask) -> &'b [Turn<'a>] {
    turns.get(task.id.as_str()).map_or(&[], Vec::as_slice)
}

/// Returns the turns of each task, by its ID, in the order of the logs.
pub(super) fn turns_by_task(history: &History) -> TurnsByTask<'_> {
    let runs = history.runs_by_id();
    let mut turns = TurnsByTask::new();
    for (place, entry) in history.prompt_log.iter().enumerate() {
        let run = entry.run.as_deref().and_then(|run| runs.get(run));
        let Some((run, task)) = run.and_then(|run| Some((*run, run.task.as_deref()?))) else {
            continue;
        };
        let of_task = turns.entry(task).or_default();
        if entry.kind == PromptLogKind::Prompted {
            of_task.push(Turn {
                run,
                text: &entry.text,
                start: place,
                end: place,
                is_answered: false,
            });
        } else if let Some(turn) = of_task.iter_mut().rfind(|turn| turn.run.id == run.id)
            && !turn.is_answered
        {
            // A process that has answered may note the end of its input while the next turn runs.
            turn.end = place;
            turn.is_answered = matches!(entry.kind, PromptLogKind::Finished(_));
        }
    }
    turns
}

/// Checks that tasks began after their dependencies, and that tasks with a common path did not overlap.
pub(super) fn check_order(
    check: &mut Check,
    goal: &str,
    plan: &[PlannedTask],
    tasks: &[&GoalTask],
    turns: &TurnsByTask<'_>,
) {
    let planned: HashMap<&str, &PlannedTask> =
        plan.iter().map(|task| (task.key.as_str(), task)).collect();
    // The place of the first prompt and of the last entry of each planned task.
    let mut spans: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut writers: HashMap<&str, Vec<(&str, usize, usize)>> = HashMap::new();
    for task in tasks.iter().filter(|task| task.kind == "work") {
        for turn in turns_of(turns, task) {
            let span = spans
                .entry(task.planned_key())
                .or_insert((turn.start, turn.end));
            *span = (span.0.min(turn.start), span.1.max(turn.end));
            // The judge writes nothing. The tasks for items write different paths.
            if turn.run.is_review || task.key.contains('/') {
                continue;
            }
            let paths = planned.get(task.planned_key()).map(|task| &task.writes);
            for path in paths.into_iter().flatten() {
                let of_path = writers.entry(path).or_default();
                of_path.push((task.key.as_str(), turn.start, turn.end));
            }
        }
    }
    for task in plan {
        let Some((start, _)) = spans.get(task.key.as_str()) else {
            continue;
        };
        for before in &task.depends_on {
            if spans
                .get(before.as_str())
                .is_none_or(|(_, end)| end > start)
            {
                check.add_violation(format!(
                    "{goal}: `{}` began before the end of `{before}`",
                    task.key
                ));
            }
        }
    }
    for (path, mut turns) in writers {
        turns.sort_by_key(|(_, start, _)| *start);
        for pair in turns.windows(2) {
            if let [(first, _, end), (second, start, _)] = pair
                && end > start
            {
                check.add_violation(format!(
                    "{goal}: `{first}` and `{second}` wrote {path} at the same time"
                ));
            }
        }
    }
}

/// Checks that each run had one prompt at most, and that no prompt was repeated after its turn had succeeded. A retry of a
/// failed task may have the same prompt, so that a repetition is valid if the task failed between the two runs. A reminder
/// names nothing but the missing call, so that each round of a task may have the same one: it is about the turn before. A judge
/// whose turn ended without a verdict gets the same review once more.
pub(super) fn check_repetitions(
    check: &mut Check,
    history: &History,
    task: &GoalTask,
    turns: &TurnsByTask<'_>,
) {
    let turns = turns_of(turns, task);
    for (index, turn) in turns.iter().enumerate() {
        let before = turns.iter().take(index);
        let has_same_text = |other: &&Turn<'_>| other.text == turn.text;
        let same: Vec<_> = if turn.run.task_prompt.as_deref() == Some("reminder") {
            before.rev().take_while(has_same_text).collect()
        } else if turn.run.is_review {
            // A judge without a verdict judges again. After a verdict, another turn or the end of the task follows.
            let earlier = before.rev().skip_while(|other| {
                has_same_text(other)
                    && other.run.id != turn.run.id
                    && other.run.status == "succeeded"
            });
            earlier.filter(has_same_text).collect()
        } else {
            before.filter(has_same_text).collect()
        };
        let about = || {
            format!(
                "{}: `{}`: {}",
                task.goal,
                task.key,
                turn.run.format_attempt()
            )
        };
        if let Some(other) = same.iter().find(|other| other.run.id == turn.run.id) {
            let places = (other.start, turn.start);
            check.add_violation(format!(
                "{}: its agent received the prompt twice, at {places:?}",
                about()
            ));
            continue;
        }
        let mut succeeded = same.iter().filter(|other| other.run.status == "succeeded");
        let repeated = succeeded.find(|other| !failed_between(history, task, other.run, turn.run));
        if let Some(other) = repeated {
            check.add_violation(format!(
                "{}: it repeats the prompt of {}",
                about(),
                other.run.format_attempt()
            ));
        }
    }
}

/// `true` if the log of the goal shows that a task failed after the last event of `before` and before the first event of `after`.
fn failed_between(history: &History, task: &GoalTask, before: &Run, after: &Run) -> bool {
    let events = &history.events;
    let is_about = |event: &Event, run: &Run| event.kind == "run" && event.reference == run.id;
    let end = events.iter().rposition(|event| is_about(event, before));
    let start = events.iter().position(|event| is_about(event, after));
    let between = end
        .zip(start)
        .and_then(|(end, start)| events.get(end..start));
    between.into_iter().flatten().any(|event| {
        event.kind == "task" && event.reference == task.id && event.body["status"] == "FAILED"
    })
}

/// Checks that each finished task has the turns that it needs: a successful turn of work, and for a task that the judge sends
/// back a successful review and another turn of work. The checks of a task must have begun.
pub(super) fn check_successes(check: &mut Check, history: &History, goals: &GoalHistory) {
    let mut succeeded: HashMap<&str, Vec<&Run>> = HashMap::new();
    for run in history.runs.iter().filter(|run| run.status == "succeeded") {
        if let Some(task) = run.task.as_deref() {
            succeeded.entry(task).or_default().push(run);
        }
    }
    let checks_began = history.events.iter();
    let checks_began = checks_began.filter(|it| it.kind == "task" && it.body["step"] == "checks");
    let checks_began: HashSet<&str> = checks_began.map(|it| it.reference.as_str()).collect();
    let planned: HashMap<&str, &PlannedTask> = goals
        .plan
        .iter()
        .map(|planned| (planned.key.as_str(), planned))
        .collect();
    let is_done = |task: &&GoalTask| task.kind == "work" && task.status == "DONE";
    let mut inspected = 0;
    for task in goals.tasks.iter().filter(is_done) {
        let planned = planned.get(task.planned_key());
        if planned.is_some_and(|planned| !planned.takes_turns(&task.key)) {
            continue;
        }
        inspected += 1;
        let mut add = |missing: &str| {
            let (goal, key) = (&task.goal, &task.key);
            check.add_violation(format!("{goal}: `{key}` is DONE without {missing}"));
        };
        let runs = succeeded.get(task.id.as_str());
        let runs = runs.map_or(&[][..], Vec::as_slice);
        let is_work = |run: &&Run| matches!(run.task_prompt.as_deref(), Some("work" | "rework"));
        if !runs.iter().any(is_work) {
            add("a successful turn of work");
        }
        if planned.is_some_and(|planned| planned.is_sent_back) {
            if !runs.iter().any(|run| run.is_review) {
                add("a successful review");
            }
            // A worker that was reminded of its report gives its second version in that turn.
            if runs.iter().filter(|run| !run.is_review).count() < 2 {
                add("a successful turn of work after the first one");
            }
        }
        if planned.is_some_and(|planned| planned.has_checks)
            && !checks_began.contains(task.id.as_str())
        {
            add("its checks");
        }
    }
    check.record_inspected("tasks with turns", inspected);
}
