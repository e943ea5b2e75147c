//! Goals that get stuck: `goal show`, `task show` and the report name the cause.

use serde_json::json;
use testkit::scripted::Step;

use super::{GoalTest, PLAN, REPORT, create, done, on_work, plan_once, report, workers};
use crate::test_installation::TestInstallation;

impl GoalTest {
    /// Checks that `goal show`, `task show` and the report have the cause of a failed task.
    fn assert_cause(&self, key: &str, reason: &str, cause: &str) {
        let task = self.task(key);
        assert_eq!(task["reason"], reason, "{task:#}");
        let printed = task["cause"].as_str().unwrap();
        assert!(printed.contains(cause), "{printed}");
        let beginning: String = cause.chars().take(40).collect();
        let print = |args: &[&str]| self.world.run(args).expect_success();
        let shown = print(&["goal", "show", "own"]);
        assert!(shown.contains(&format!("\n  {beginning}")), "{shown}");
        let shown = print(&["task", "show", "own", key]);
        let part = format!("\nWhy it failed:\n  {cause}");
        assert!(shown.contains(&part), "{shown}");
        let shown = print(&["goal", "report", "own"]);
        let escaped = |text: &str| {
            text.replace('#', "\\#")
                .replace('`', "\\`")
                .replace('_', "\\_")
        };
        let part = format!("\n{}: {reason}\n\n> {}", escaped(key), escaped(cause));
        assert!(shown.contains(&part), "{shown}");
    }
}

#[test]
fn goal_without_plan_shows_answer_of_planner() {
    let steps = vec![
        Step::when(PLAN, [Step::ListTools, Step::text("Let me think.")]),
        Step::when(
            "This is the only reminder.",
            [Step::ListTools, Step::text("There is nothing to plan.")],
        ),
        Step::when(REPORT, [Step::text("This is the report.")]),
    ];
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("no plan");
    test.assert_cause("plan#1", "no plan", "There is nothing to plan.");
    // A plan has no title.
    let shown = test.world.run(&["task", "show", "own", "plan#1"]);
    let shown = shown.expect_success();
    assert!(shown.starts_with("plan#1\n"), "{shown}");
}

#[test]
fn goal_with_refused_plan_shows_faults() {
    let mut steps: Vec<Step> = plan_once([create("a", &["b"]), create("b", &["a"])]).into();
    steps.push(Step::when("The plan was refused.", [Step::ListTools]));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("no plan");
    let fault = "`depends_on` makes the cycle ";
    test.assert_cause("plan#1", "plan refused", fault);
}

#[test]
fn goal_with_failed_work_shows_last_words() {
    let mut steps: Vec<Step> = plan_once([create("a", &[]), create("b", &[])]).into();
    let fails = report(json!({ "status": "failed", "result": "I may not decide this." }));
    steps.push(on_work("a", [fails]));
    steps.push(on_work("b", [done("Result.")]));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("nothing can run");
    test.assert_cause("a", "attempts used up", "I may not decide this.");
    assert_edits_of_failed_task(&test.world, &["task", "edit", "own", "a"]);
    let done = ["task", "edit", "own", "b", "--priority", "1"];
    let refused = test.world.run(&done);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("the task `b` is DONE;"));
}

/// Edits a task that has failed, by a command with other options each time.
fn assert_edits_of_failed_task(world: &TestInstallation, command: &[&str]) {
    let edit = |options: &[&str]| world.run(&[command, options].concat());
    let show = || world.json(&["task", "show", "own", "a"]);
    let cases: [(&[&str], &str); 4] = [
        (&[], "give `--title`, `--description`, `--accept`"),
        (&["--title", " "], "invalid title ` `: it is empty"),
        (&["--priority", "10"], "0..=9"),
        (&["--accept", "x", "--no-accept"], "cannot be used with"),
    ];
    for (options, says) in cases {
        let refused = edit(options);
        assert_eq!(refused.code, 2, "{refused:#?}");
        assert!(refused.stderr.contains(says), "{refused:#?}");
    }
    let lines = ["--accept", "It has a source.", "--accept", "It is short."];
    let others = ["--title", "Ask the editor", "--priority", "0"];
    let changed = edit(&[lines, others].concat());
    assert_eq!(changed.stdout, "Changed a, which is FAILED.\n");
    let next = "To start it again: matins task retry own a";
    assert!(changed.stderr.contains(next), "{changed:#?}");
    let task = show();
    assert_eq!(
        (&task["title"], &task["description"], &task["priority"]),
        (&json!("Ask the editor"), &json!("Do a well."), &json!(0))
    );
    let lines = json!(["It has a source.", "It is short."]);
    assert_eq!(task["acceptance"], lines);
    edit(&["--no-accept"]).expect_success();
    let describe = [command, &["--description", "-"][..]].concat();
    let changed = world.run_with_stdin(&describe, "Ask first.\n");
    assert_eq!(changed.code, 0, "{changed:#?}");
    let task = show();
    assert_eq!(
        (&task["description"], &task["acceptance"]),
        (&json!("Ask first."), &json!([]))
    );
}

#[test]
fn goal_whose_seat_has_unknown_mode_names_it() {
    let steps = plan_once([create("a", &[])]).into();
    let team = format!("{}mode = \"nosuchmode\"\n", workers(1));
    let test = GoalTest::start(&team, &[], [steps]);
    test.assert_stuck("nothing can run");
    let error = "The turn failed: unknown mode `nosuchmode`; the agent offers none.";
    test.assert_cause("a", "attempts used up", error);
    // A resume starts nothing: the goal is stuck again at once.
    let resumed = test.world.run(&["goal", "resume", "own"]);
    assert_eq!(resumed.code, 4, "{resumed:#?}");
    let says = "is paused (stuck: nothing can run).";
    assert!(resumed.stdout.contains(says), "{resumed:#?}");
    let next = "Edit, retry, accept or cancel a task, or replan the goal.";
    assert!(resumed.stderr.contains(next), "{resumed:#?}");
    assert_eq!(test.world.run(&["goal", "resume", "own", "--json"]).code, 4);
}
