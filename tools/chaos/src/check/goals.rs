//! Goals: each goal is done, each of its tasks is done once, no finished work is prompted again, and its report is complete.
//! The plan is that of the test.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    super::{
        goal_history::{GoalEnd, GoalHistory, GoalTask},
        goal_plan::PlannedTask,
        history::History,
    },
    goal_turns::{check_order, check_repetitions, check_successes, turns_by_task},
    verdict::Check,
};

/// The heading of the table of tasks in a report.
const TASKS_HEADING: &str = "## Tasks";

/// Checks the tasks, the turns and the reports of all goals.
pub(super) fn check(history: &History, goals: &GoalHistory) -> Check {
    let mut check = Check::new(
        "goals",
        "each goal is done, each of its tasks once, and no finished task is prompted again",
    );
    check_people(&mut check, goals);
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
        check_report(&mut check, goal, tasks);
        check_order(&mut check, &goal.id, &goals.plan, tasks, &turns);
    }
    check_done_once(&mut check, history, goals);
    check_successes(&mut check, history, goals);
    for task in &goals.tasks {
        check_repetitions(&mut check, history, task, &turns);
    }
    check.record_inspected("goals", goals.ends.len());
    check.record_inspected("tasks", goals.tasks.len());
    check.record_inspected("turns of tasks", turns.values().map(Vec::len).sum());
    check
}

/// Checks that people have ended all goals that have tasks, each once. A repeated start must not make a second goal.
fn check_people(check: &mut Check, goals: &GoalHistory) {
    let mut ended = BTreeSet::new();
    for goal in &goals.ends {
        if !ended.insert(goal.id.as_str()) {
            check.add_violation(format!("{} was ended by two people", goal.id));
        }
    }
    let tasks = goals.tasks.iter();
    let with_tasks: BTreeSet<&str> = tasks.map(|task| task.goal.as_str()).collect();
    for id in ended.difference(&with_tasks) {
        check.add_violation(format!("{id} has no tasks"));
    }
    for id in with_tasks.difference(&ended) {
        check.add_violation(format!("{id} has tasks, but no person has ended it"));
    }
}

/// Checks that the report of a goal has a row for each task. The text of the planner, which precedes the table, does not count.
fn check_report(check: &mut Check, goal: &GoalEnd, tasks: &[&GoalTask]) {
    let lines = goal.report.lines();
    let table = lines.skip_while(|line| *line != TASKS_HEADING).skip(1);
    let table = table.take_while(|line| !line.starts_with('#'));
    // The keys of the plan have no letter that the report escapes.
    let keys: HashSet<&str> = table
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .collect();
    for task in tasks.iter().filter(|task| task.kind == "work") {
        if !keys.contains(task.key.as_str()) {
            let (id, key) = (&goal.id, &task.key);
            check.add_violation(format!("{id}: its report does not name `{key}`"));
        }
    }
}

/// Checks that the tasks of the plan were published once, all by one plan.
fn check_plan(check: &mut Check, goal: &str, plan: &[PlannedTask], tasks: &[&GoalTask]) {
    let work = || tasks.iter().filter(|task| task.kind == "work");
    for planned in plan {
        let count = work()
            .filter(|task| task.planned_key() == planned.key)
            .filter(|task| planned.takes_turns(&task.key))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{
            super::history::{PromptLogEntry, PromptLogKind, Run},
            tests_support::event,
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
            ..PlannedTask::default()
        }
    }

    fn end() -> PromptLogKind {
        PromptLogKind::Finished("end_turn".into())
    }

    /// Returns a report whose planner names all tasks, and whose table has these.
    fn report(keys: &[&str]) -> String {
        let rows = keys.iter().map(|key| format!("| {key} | A title |\n"));
        let rows = rows.collect::<Vec<_>>().concat();
        let head = "## Summary of the planner\n\na-key, b-key and c-key\n\n| b-key |\n\n";
        format!("{head}{TASKS_HEADING}\n\n| task | title |\n| --- | --- |\n{rows}\n## Usage\n")
    }

    /// Returns a goal with two tasks one after the other. The first attempt at the first one was lost.
    fn history() -> (History, GoalHistory) {
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
                event(1, "run", "run_1", Some("running")),
                event(2, "run", "run_2", Some("running")),
                event(3, "task", "a", Some("DONE")),
                event(4, "run", "run_3", Some("running")),
                event(5, "task", "b", Some("DONE")),
            ],
            ..History::default()
        };
        let goals = GoalHistory {
            plan: vec![planned("a", &[]), planned("b", &["a-key"])],
            ends: vec![GoalEnd {
                id: "ses".into(),
                state: "done".into(),
                reason: None,
                report: report(&["a-key", "b-key"]),
            }],
            tasks: vec![task("a"), task("b")],
        };
        (history, goals)
    }

    /// Returns the same goal with a third task, whose checks ran and whose first version the judge sent back.
    fn reviewed_history() -> (History, GoalHistory) {
        let (mut history, mut goals) = history();
        let turns = [(11, "work"), (12, "review"), (13, "rework"), (14, "review")];
        for (number, prompt) in turns {
            let id = format!("run_{number}");
            history.runs.push(Run {
                task_prompt: Some(prompt.into()),
                is_review: prompt == "review",
                ..run(number, "c", "succeeded")
            });
            let text = format!("Turn {number} of c.");
            let prompted = entry(number, PromptLogKind::Prompted, &text);
            history
                .prompt_log
                .extend([prompted, entry(number, end(), "")]);
            let began = event(number.into(), "run", &id, Some("running"));
            history.events.push(began);
        }
        let mut checks = event(15, "task", "c", Some("RUNNING"));
        checks.body["step"] = json!("checks");
        let done = event(16, "task", "c", Some("DONE"));
        history.events.extend([checks, done]);
        goals.plan.push(PlannedTask {
            is_sent_back: true,
            has_checks: true,
            ..planned("c", &["b-key"])
        });
        goals.tasks.push(task("c"));
        goals.ends[0].report = report(&["a-key", "b-key", "c-key"]);
        (history, goals)
    }

    /// Checks that the check reports each violation.
    fn assert_violations(valid: fn() -> (History, GoalHistory), spoils: &[(&str, Mutation)]) {
        for (expected, spoil) in spoils {
            let (mut history, mut goals) = valid();
            spoil(&mut history, &mut goals);
            let found = check(&history, &goals).violations.join("\n");
            assert!(found.contains(*expected), "{expected}: {found}");
        }
    }

    #[test]
    fn goal_check_accepts_valid_history() {
        for (history, goals) in [history(), reviewed_history()] {
            let found = check(&history, &goals);
            assert!(found.holds(), "{found:?}");
        }
    }

    #[test]
    fn goal_check_accepts_same_prompt_after_failure() {
        let (mut history, goals) = history();
        history.runs.push(run(4, "a", "succeeded"));
        let prompted = entry(4, PromptLogKind::Prompted, "Do a.");
        let again = [prompted, entry(4, end(), "")];
        history.prompt_log.splice(3..3, again);
        let failed = event(3, "task", "a", Some("FAILED"));
        let began = event(3, "run", "run_4", Some("running"));
        history.events.splice(2..2, [failed, began]);
        let found = check(&history, &goals);
        assert!(found.holds(), "{found:?}");
    }

    /// Adds a turn of `c` that reminds of a call, after the turn `before`.
    fn remind(history: &mut History, number: u32, before: u32) {
        history.runs.push(Run {
            task_prompt: Some("reminder".into()),
            ..run(number, "c", "succeeded")
        });
        let prompted = entry(number, PromptLogKind::Prompted, "Call it.");
        let log = &mut history.prompt_log;
        let place = log.iter().rposition(|it| it.pid == before).unwrap() + 1;
        log.splice(place..place, [prompted, entry(number, end(), "")]);
    }

    #[test]
    fn goal_check_accepts_same_reminder_in_each_round() {
        let (mut history, goals) = reviewed_history();
        remind(&mut history, 21, 11);
        remind(&mut history, 22, 13);
        let found = check(&history, &goals);
        assert!(found.holds(), "{found:?}");
        remind(&mut history, 23, 22);
        let found = check(&history, &goals);
        assert!(!found.holds(), "{found:?}");
    }

    /// Adds a turn that reviews `c` after the turn `before`.
    fn review(history: &mut History, number: u32, before: u32, text: &str) {
        history.runs.push(Run {
            task_prompt: Some("review".into()),
            is_review: true,
            ..run(number, "c", "succeeded")
        });
        let prompted = entry(number, PromptLogKind::Prompted, text);
        let log = &mut history.prompt_log;
        let place = log.iter().rposition(|it| it.pid == before).unwrap() + 1;
        log.splice(place..place, [prompted, entry(number, end(), "")]);
    }

    #[test]
    fn goal_check_accepts_second_review_after_one_without_verdict() {
        let (mut history, goals) = reviewed_history();
        review(&mut history, 21, 12, "Turn 12 of c.");
        let found = check(&history, &goals);
        assert!(found.holds(), "{found:?}");
        // Another turn has followed the verdict.
        review(&mut history, 22, 13, "Turn 12 of c.");
        let found = check(&history, &goals);
        assert!(!found.holds(), "{found:?}");
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
                goals.ends[0].report = report(&["a-key"]);
            }),
            ("moved to DONE 2 times", |history, _| {
                history.events.push(event(6, "task", "a", Some("DONE")));
            }),
            ("`a-key` is FAILED", |history, goals| {
                history.events.remove(2);
                goals.tasks[0].status = "FAILED".into();
            }),
            ("began after the task was DONE", |history, _| {
                history.runs.push(run(4, "a", "stalled"));
                history
                    .events
                    .push(event(6, "run", "run_4", Some("running")));
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
                history.events.push(event(6, "task", "c", Some("DONE")));
            }),
            ("2 plans have published tasks", |_, goals| {
                goals.tasks[1].plan_version = 2;
            }),
            ("`c-key` is in no plan", |history, goals| {
                goals.tasks.push(task("c"));
                goals.ends[0].report = report(&["a-key", "b-key", "c-key"]);
                history.events.push(event(6, "task", "c", Some("DONE")));
            }),
        ];
        assert_violations(history, &spoils);
    }

    #[test]
    fn goal_check_reports_other_goals() {
        let spoils: [(&str, Mutation); 3] = [
            ("other has tasks, but no person has ended it", |_, goals| {
                let mut plan = task("plan");
                (plan.goal, plan.kind) = ("other".into(), "plan".into());
                goals.tasks.push(plan);
            }),
            ("other has no tasks", |_, goals| {
                let mut other = goals.ends[0].clone();
                other.id = "other".into();
                goals.ends.push(other);
            }),
            ("ses was ended by two people", |_, goals| {
                let again = goals.ends[0].clone();
                goals.ends.push(again);
            }),
        ];
        assert_violations(history, &spoils);
    }

    #[test]
    fn goal_check_reports_missing_turns_of_finished_task() {
        let spoils: [(&str, Mutation); 6] = [
            (
                "`b-key` is DONE without a successful turn of work",
                |history, _| history.runs[2].status = "failed".into(),
            ),
            (
                "`b-key` is DONE without a successful turn of work",
                |history, _| history.runs[2].task_prompt = Some("answer".into()),
            ),
            (
                "`c-key` is DONE without a successful review",
                |history, _| {
                    history.runs[4].status = "failed".into();
                    history.runs[6].status = "failed".into();
                },
            ),
            (
                "`c-key` is DONE without a successful turn of work after the first one",
                |history, _| history.runs[5].status = "failed".into(),
            ),
            ("`c-key` is DONE without its checks", |history, _| {
                history.events.retain(|event| event.body["step"].is_null());
            }),
            // A failure before the success does not explain a repeated prompt.
            ("it repeats the prompt of run_2", |history, _| {
                history.runs.push(run(4, "a", "stalled"));
                let again = entry(4, PromptLogKind::Prompted, "Do a.");
                history.prompt_log.insert(3, again);
                let failed = event(1, "task", "a", Some("FAILED"));
                let began = event(3, "run", "run_4", Some("running"));
                history.events.insert(3, began);
                history.events.insert(1, failed);
            }),
        ];
        assert_violations(reviewed_history, &spoils);
    }
}
