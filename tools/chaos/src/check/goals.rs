//! Goals: each goal is done, each of its tasks is done once, no finished work is prompted again, and its report is complete.
//! The order of the turns is that of the agents' own logs of prompts, and the plan is that of the test.

use std::collections::{HashMap, HashSet};

use super::{
    super::{
        goal_history::{GoalHistory, GoalTask},
        goal_plan::PlannedTask,
        history::{History, PromptLogKind, Run},
    },
    verdict::Check,
};

/// A turn of a task, from the log of its agent.
struct Turn<'a> {
    run: &'a Run,
    text: &'a str,
    /// The place of the prompt in the logs.
    start: usize,
    /// The place of its answer, or of the last entry of its process if it has none.
    end: usize,
    is_answered: bool,
}

/// Checks the tasks, the turns and the reports of all goals.
pub(super) fn check(history: &History, goals: &GoalHistory) -> Check {
    let mut check = Check::new(
        "goals",
        "each goal is done, each of its tasks once, and no finished task is prompted again",
    );
    let turns = turns_by_task(history);
    let mut tasks: HashMap<&str, Vec<&GoalTask>> = HashMap::new();
    for task in &goals.tasks {
        tasks.entry(&task.goal).or_default().push(task);
    }
    for goal in &goals.ends {
        if goal.state != "done" {
            let reason = goal.reason.as_deref().unwrap_or("none");
            let (id, state) = (&goal.id, &goal.state);
            check.add_violation(format!("{id} is {state} (reason {reason})"));
        }
        let tasks = tasks.get(goal.id.as_str()).map_or(&[][..], Vec::as_slice);
        check_plan(&mut check, &goal.id, &goals.plan, tasks);
        for task in tasks.iter().filter(|task| task.kind == "work") {
            if !goal.report.contains(&task.key) {
                let (id, key) = (&goal.id, &task.key);
                check.add_violation(format!("{id}: its report does not name `{key}`"));
            }
        }
        check_order(&mut check, &goal.id, &goals.plan, tasks, &turns);
    }
    check_done_once(&mut check, history, goals);
    for task in &goals.tasks {
        check_repetitions(&mut check, history, task, turns_of(&turns, task));
    }
    check.record_inspected("goals", goals.ends.len());
    check.record_inspected("tasks", goals.tasks.len());
    check.record_inspected("turns of tasks", turns.values().map(Vec::len).sum());
    check
}

fn turns_of<'a, 'b>(turns: &'b HashMap<&str, Vec<Turn<'a>>>, task: &GoalTask) -> &'b [Turn<'a>] {
    turns.get(task.id.as_str()).map_or(&[], Vec::as_slice)
}

/// Returns the turns of each task, by its ID, in the order of the logs.
fn turns_by_task(history: &History) -> HashMap<&str, Vec<Turn<'_>>> {
    let runs = history.runs_by_id();
    let mut turns: HashMap<&str, Vec<Turn<'_>>> = HashMap::new();
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

/// Checks that the tasks of the plan were published once, all by one plan.
fn check_plan(check: &mut Check, goal: &str, plan: &[PlannedTask], tasks: &[&GoalTask]) {
    let work = || tasks.iter().filter(|task| task.kind == "work");
    for planned in plan {
        // The task that stands for all items has no turn of its own.
        let count = work()
            .filter(|task| task.planned_key() == planned.key)
            .filter(|task| planned.count == 1 || task.key.contains('/'))
            .count();
        if count != planned.count {
            check.add_violation(format!(
                "{goal}: the plan has {} tasks `{}`, but {count} were published",
                planned.count, planned.key
            ));
        }
    }
    for task in work() {
        if !plan.iter().any(|planned| planned.key == task.planned_key()) {
            check.add_violation(format!("{goal}: `{}` is in no plan", task.key));
        }
    }
    let versions: HashSet<i64> = work().map(|task| task.plan_version).collect();
    if versions.len() > 1 {
        check.add_violation(format!(
            "{goal}: {} plans have published tasks",
            versions.len()
        ));
    }
}

/// Checks that tasks began after their dependencies, and that tasks with a common path did not overlap.
fn check_order(
    check: &mut Check,
    goal: &str,
    plan: &[PlannedTask],
    tasks: &[&GoalTask],
    turns: &HashMap<&str, Vec<Turn<'_>>>,
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
            if is_review(turn) || task.key.contains('/') {
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

fn is_review(turn: &Turn<'_>) -> bool {
    turn.run.task_prompt.as_deref() == Some("review")
}

/// Checks that the log of each goal shows one move of each task to DONE, and no run of the task that begins later.
fn check_done_once(check: &mut Check, history: &History, goals: &GoalHistory) {
    let runs = history.runs_by_id();
    let ids: HashSet<&str> = goals.ends.iter().map(|goal| goal.id.as_str()).collect();
    let mut done: HashMap<&str, usize> = HashMap::new();
    for event in history
        .events
        .iter()
        .filter(|event| ids.contains(event.log.as_str()))
    {
        let status = event.body["status"].as_str().unwrap_or_default();
        match event.kind.as_str() {
            "task" if status == "DONE" => *done.entry(&event.reference).or_default() += 1,
            "run" if status == "running" => {
                let run = runs.get(event.reference.as_str());
                let task = run.and_then(|run| run.task.as_deref());
                if let Some(task) = task.filter(|task| done.contains_key(task)) {
                    check.add_violation(format!(
                        "{}: {} of the task {task} began after the task was DONE",
                        event.log, event.reference
                    ));
                }
            }
            _ => {}
        }
    }
    let ended = |task: &&GoalTask| ids.contains(task.goal.as_str());
    for task in goals.tasks.iter().filter(ended) {
        let count = done.get(task.id.as_str()).copied().unwrap_or(0);
        let GoalTask {
            goal, key, status, ..
        } = task;
        if count != usize::from(status == "DONE") {
            check.add_violation(format!(
                "{goal}: `{key}` is {status}, and moved to DONE {count} times"
            ));
        } else if task.kind == "work" && status != "DONE" {
            check.add_violation(format!("{goal}: `{key}` is {status}"));
        }
    }
    check.record_inspected("tasks that were done", done.len());
}

/// Checks that each run had one prompt at most, and that no prompt was repeated after its turn had succeeded. Another attempt at a
/// failed task may have the same prompt.
fn check_repetitions(check: &mut Check, history: &History, task: &GoalTask, turns: &[Turn<'_>]) {
    let has_failed = || {
        history.events.iter().any(|event| {
            event.kind == "task" && event.reference == task.id && event.body["status"] == "FAILED"
        })
    };
    for (index, turn) in turns.iter().enumerate() {
        let before = turns.iter().take(index);
        let same: Vec<_> = before.filter(|other| other.text == turn.text).collect();
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
        } else if let Some(other) = same.iter().find(|other| other.run.status == "succeeded")
            && !has_failed()
        {
            check.add_violation(format!(
                "{}: it repeats the prompt of {}",
                about(),
                other.run.format_attempt()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::super::{
            goal_history::GoalEnd,
            history::{Event, PromptLogEntry},
        },
        *,
    };

    /// A change that violates the invariant.
    type Mutation = fn(&mut History, &mut GoalHistory);

    fn run(number: u32, task: &str, status: &str) -> Run {
        Run {
            id: format!("run_{number}"),
            input: format!("input of {task}"),
            status: status.into(),
            task: Some(task.into()),
            task_prompt: Some("work".into()),
            ..Run::default()
        }
    }

    fn entry(number: u32, kind: PromptLogKind, text: &str) -> PromptLogEntry {
        PromptLogEntry {
            pid: number,
            run: Some(format!("run_{number}")),
            kind,
            text: text.into(),
            ..PromptLogEntry::default()
        }
    }

    fn event(seq: i64, kind: &str, reference: &str, status: &str) -> Event {
        Event {
            log: "ses".into(),
            seq,
            kind: kind.into(),
            reference: reference.into(),
            body: json!({ "status": status }),
            ..Event::default()
        }
    }

    fn task(id: &str) -> GoalTask {
        GoalTask {
            id: id.into(),
            goal: "ses".into(),
            key: format!("{id}-key"),
            kind: "work".into(),
            status: "DONE".into(),
            plan_version: 1,
        }
    }

    fn planned(id: &str, depends_on: &[&str]) -> PlannedTask {
        PlannedTask {
            key: format!("{id}-key"),
            depends_on: depends_on.iter().map(|it| (*it).to_owned()).collect(),
            writes: vec!["file".into()],
            count: 1,
        }
    }

    /// Returns a goal with two tasks one after the other. The first attempt at the first one was lost.
    fn history() -> (History, GoalHistory) {
        let end = || PromptLogKind::Finished("end_turn".into());
        let history = History {
            runs: vec![
                run(1, "a", "stalled"),
                run(2, "a", "succeeded"),
                run(3, "b", "succeeded"),
            ],
            prompt_log: vec![
                entry(1, PromptLogKind::Prompted, "Do a."),
                entry(2, PromptLogKind::Prompted, "Do a."),
                entry(2, end(), ""),
                entry(3, PromptLogKind::Prompted, "Do b."),
                entry(3, end(), ""),
            ],
            events: vec![
                event(1, "run", "run_1", "running"),
                event(2, "run", "run_2", "running"),
                event(3, "task", "a", "DONE"),
                event(4, "run", "run_3", "running"),
                event(5, "task", "b", "DONE"),
            ],
            ..History::default()
        };
        let goals = GoalHistory {
            plan: vec![planned("a", &[]), planned("b", &["a-key"])],
            ends: vec![GoalEnd {
                id: "ses".into(),
                state: "done".into(),
                reason: None,
                report: "a-key is done, b-key is done".into(),
            }],
            tasks: vec![task("a"), task("b")],
        };
        (history, goals)
    }

    #[test]
    fn goal_check_accepts_valid_history() {
        let (history, goals) = history();
        let found = check(&history, &goals);
        assert!(found.holds(), "{found:?}");
    }

    #[test]
    fn goal_check_without_goals_fails() {
        assert!(!check(&History::default(), &GoalHistory::default()).holds());
    }

    #[test]
    fn goal_check_reports_each_violation() {
        let spoils: [(&str, Mutation); 12] = [
            ("ses is failed (reason given_up)", |_, goals| {
                goals.ends[0].state = "failed".into();
                goals.ends[0].reason = Some("given_up".into());
            }),
            ("does not name `b-key`", |_, goals| {
                goals.ends[0].report = "a-key is done".into();
            }),
            ("moved to DONE 2 times", |history, _| {
                history.events.push(event(6, "task", "a", "DONE"));
            }),
            ("`a-key` is FAILED", |history, goals| {
                history.events.remove(2);
                goals.tasks[0].status = "FAILED".into();
            }),
            ("began after the task was DONE", |history, _| {
                history.runs.push(run(4, "a", "stalled"));
                history.events.push(event(6, "run", "run_4", "running"));
            }),
            ("it repeats the prompt of run_2", |history, _| {
                history.runs.push(run(4, "a", "stalled"));
                let again = entry(4, PromptLogKind::Prompted, "Do a.");
                history.prompt_log.insert(3, again);
            }),
            ("its agent received the prompt twice", |history, _| {
                let again = entry(1, PromptLogKind::Prompted, "Do a.");
                history.prompt_log.insert(1, again);
            }),
            ("`b-key` began before the end of `a-key`", |history, _| {
                history.prompt_log.swap(2, 3);
            }),
            ("wrote file at the same time", |history, _| {
                history.prompt_log.swap(2, 3);
            }),
            ("but 2 were published", |history, goals| {
                let mut again = task("c");
                again.key = "a-key".into();
                goals.tasks.push(again);
                history.events.push(event(6, "task", "c", "DONE"));
            }),
            ("2 plans have published tasks", |_, goals| {
                goals.tasks[1].plan_version = 2;
            }),
            ("`c-key` is in no plan", |history, goals| {
                goals.tasks.push(task("c"));
                goals.ends[0].report.push_str(", c-key is done");
                history.events.push(event(6, "task", "c", "DONE"));
            }),
        ];
        for (expected, spoil) in spoils {
            let (mut history, mut goals) = history();
            spoil(&mut history, &mut goals);
            let found = check(&history, &goals).violations.join("\n");
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }
}
