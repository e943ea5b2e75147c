//! Teams that would go on without end: each ends by its limit, with a reason that a person understands.

use serde_json::json;
use testkit::scripted::Step;

use super::{
    CHECK, GoalTest, PLAN, REPLAN, REVIEW, REWORK, accept, create, done, judged, on_work,
    plan_once, report, send_back, workers,
};
use crate::test_installation::TestInstallation;

#[test]
fn worker_that_only_escalates_ends_after_five_replans() {
    let escalate = || {
        report(json!({
            "status": "failed", "result": "I may not decide this.", "follow_up": "Ask another one.",
        }))
    };
    let prompts: [Vec<Step>; 8] = std::array::from_fn(|no| {
        let plan = || [create(&format!("t{no}"), &[])];
        vec![
            Step::when(PLAN, plan()),
            Step::when(REPLAN, plan()),
            Step::when("Work on the task", [escalate()]),
        ]
    });
    let test = GoalTest::start(&workers(1), &[], prompts);
    test.assert_stuck("nothing can run");
    assert_eq!(test.prompts_with(PLAN).len(), 1);
    assert_eq!(test.prompts_with(REPLAN).len(), 5, "{:#?}", test.prompts());
    let first = test.task("t0");
    assert_eq!(
        (&first["reason"], &first["result"]),
        (&json!("attempts used up"), &json!("I may not decide this."))
    );
    let refused = test.world.run(&["goal", "replan", "own"]);
    let says = "the goal has had 5 plans after the first; `limits.replans` accepts 5";
    assert!(refused.stderr.contains(says), "{refused:#?}");
}

/// Starts a goal whose judge has these findings in its rounds.
fn goal_with_findings(rounds: [&[&str]; 3], regression: bool) -> GoalTest {
    let prompts = rounds.map(|ids| {
        let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
        steps.push(on_work("a", [done("Result.")]));
        steps.push(Step::when(REWORK, [done("Better result.")]));
        steps.push(Step::when(REVIEW, [send_back(ids, regression)]));
        steps.push(Step::when(CHECK, [accept()]));
        steps
    });
    GoalTest::start(&judged(), &[], prompts)
}

#[test]
fn judge_with_new_findings_stops_after_three() {
    let rounds: [&[&str]; 3] = [&["f1", "f2"], &["f2", "f3"], &["f3", "f4"]];
    let test = goal_with_findings(rounds, false);
    test.assert_done();
    assert_eq!(test.prompts_with(REVIEW).len(), 3);
    assert_eq!(test.prompts_with(REWORK).len(), 2);
    let task = test.task("a");
    assert_eq!(task["status"], "DONE");
    // No finding of the last round counts.
    let verdicts = task["runs"].as_array().unwrap().iter();
    let verdicts: Vec<_> = verdicts.filter_map(|run| run["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["send_back", "send_back", "accept"], "{task:#}");
    let check = &test.task("check#1")["runs"][0];
    assert_eq!(
        (&check["verdict"], &check["evidence"]),
        (&json!("accept"), &json!(["read it"]))
    );
}

#[test]
fn judge_that_always_sends_back_fails_the_task_as_not_accepted() {
    let test = goal_with_findings([&["f1"], &["f2"], &["f3"]], true);
    test.assert_stuck("nothing can run");
    assert_eq!(test.prompts_with(REVIEW).len(), 3);
    let task = test.task("a");
    assert_eq!(
        (&task["status"], &task["reason"]),
        (&json!("FAILED"), &json!("not accepted: f3"))
    );
    let shown = test.world.run(&["task", "show", "own", "a"]);
    let shown = shown.expect_success();
    for id in ["f1", "f2", "f3"] {
        let round = format!("  sent back\n  {id} (judge, blocker): A source is missing.");
        assert!(shown.contains(&round), "{shown}");
    }
    let is_last_round = |line: &str| line.split_whitespace().eq(["round", "3", "of", "3"]);
    assert!(shown.lines().any(is_last_round), "{shown}");
    let report = test.world.run(&["goal", "report", "own"]).expect_success();
    let heading = "| task | title | status | seat | sent back | result or reason |";
    assert!(report.contains(heading), "{report}");
    assert!(report.contains("| 3 | not accepted: f3 |"), "{report}");
}

#[test]
fn planner_without_plan_is_stuck_with_that_cause() {
    let steps = vec![Step::ListTools, Step::text("There is nothing to plan.")];
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("no plan");
    assert_eq!(test.prompts_with("This is the only reminder.").len(), 1);
    assert_eq!(test.task("plan#1")["reason"], "no plan");
}

#[test]
fn seats_that_only_talk_stop_at_limit_of_team_with_a_notice() {
    let send = |to: &str| Step::call_tool("send_message", json!({ "to": to, "text": "And you?" }));
    let ask = json!({ "question": "Which logo?", "default": "the old one" });
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    steps.push(on_work(
        "a",
        [send("worker-2"), Step::call_tool("ask_person", ask)],
    ));
    steps.push(Step::when("from the seat `worker-1`", [send("worker-1")]));
    steps.push(Step::when("from the seat `worker-2`", [send("worker-2")]));
    let answered = "Your question was answered.";
    steps.push(Step::when(answered, [done("Result.")]));
    let test = GoalTest::start(&workers(2), &["alternating_turns=4"], [steps]);
    let goal = test.world.json(&["goal", "show", "own"]);
    let session = goal["id"].as_str().unwrap().to_owned();
    let says = "Two seats have only written to each other in 4 turns, which is the limit `alternating_turns` of the goal";
    test.world.wait_for("the notice", |world| {
        let shown = world.run(&["session", "export", &session]);
        shown.stdout.contains(says)
    });
    let sent = test.world.json(&["session", "messages", &session]);
    let sent = sent.as_array().unwrap();
    assert_eq!(sent.len(), 5, "{sent:#?}");
    assert_eq!(sent[4]["state"], "blocked", "{sent:#?}");
    let shown = test.world.run(&["goal", "show", "own"]);
    let says = "5/200 messages   4/40 message turns   4/4 alternating";
    assert!(shown.stdout.contains(says), "{shown:#?}");
    // The task goes on, and the goal ends.
    let goal = test.world.json(&["goal", "show", "own"]);
    let question = goal["questions"][0]["id"].as_str().unwrap().to_owned();
    let answer = ["question", "answer", &question, "the new one"];
    test.world.run(&answer).expect_success();
    test.assert_done();
}

#[test]
fn check_that_hangs_is_broken_after_time_of_team() {
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    steps.push(on_work("a", [done("Result.")]));
    let check = "\n[checks]\nverify = { command = \"echo begun; sleep 1000\", timeout = 1 }\n";
    let team = format!("{}{check}", workers(1));
    // The goal goes on at the end of its checks, and not only when the server polls.
    let world = TestInstallation::new().with_env("MATINS_TICK_SECONDS", "3600");
    let test = GoalTest::start_in(world, &team, &[], vec![steps]);
    test.assert_stuck("nothing can run");
    let task = test.task("a");
    let waits = "a person, because the check verify cannot run";
    assert_eq!(
        (&task["status"], &task["waits_for"]),
        (&json!("RUNNING"), &json!(waits))
    );
    let shown = test.world.run(&["task", "show", "own", "a"]);
    let shown = shown.expect_success();
    assert!(shown.contains("verify: not over after 1 s"), "{shown}");
    assert!(shown.contains("begun"), "{shown}");
}

#[test]
fn goal_paused_by_its_turns_says_what_is_used_up_and_what_is_left() {
    // The agents report tokens, but no cost.
    let used = |tokens: u64| {
        Step::Update(json!({ "sessionUpdate": "usage_update", "used": tokens, "size": 1000 }))
    };
    let tasks = [used(100), create("a", &[]), create("b", &["a"])];
    let mut steps: Vec<Step> = plan_once(tasks).into();
    steps.push(on_work("a", [used(50), done("Result of a.")]));
    steps.push(on_work("b", [done("Result of b.")]));
    let test = GoalTest::start(&workers(1), &["turns=2"], [steps]);
    let followed = test.follow();
    assert_eq!(followed.code, 4, "{followed:#?}");
    for says in [
        "The goal is paused (budget).\n",
        "  turns: 2 of 2, used up\n  time: 23h",
    ] {
        assert!(followed.stdout.contains(says), "{followed:#?}");
    }
    // A budget of money cannot count these turns, and the turns are still used up.
    let run = |args: &[&str]| test.world.run(args);
    let limits = "  cost: 0 of 6 USD, 6 USD left\n    2 turns reported no cost, so this limit does not count them\n  \
                  turns: 2 of 2, used up\n  time: 23h";
    let edited = run(&["goal", "edit", "own", "--budget", "6 USD"]).expect_success();
    assert!(edited.contains(limits), "{edited}");
    let shown = run(&["goal", "show", "own"]);
    let head = "   1/2 done   - of 6 USD   150 tokens   2/2 turns";
    assert!(shown.stdout.contains(head), "{shown:#?}");
    assert!(shown.stdout.contains(limits), "{shown:#?}");
    let resumed = run(&["goal", "resume", "own"]);
    assert_eq!(resumed.code, 4, "{resumed:#?}");
    let says = format!(" is paused (budget).\n{limits}");
    assert!(resumed.stdout.contains(&says), "{resumed:#?}");
    let next = "with more --budget, --until or --limit turns=NUMBER";
    assert!(resumed.stderr.contains(next), "{resumed:#?}");
    let report = run(&["goal", "report", "own"]);
    let says = "## Usage\n\n\
        - Cost: 0 of 6 USD, 6 USD left; 2 turns reported no cost, so this limit does not count them\n\
        - Turns: 2 of 2, used up\n- Time: 23h";
    assert!(report.stdout.contains(says), "{report:#?}");
    assert!(report.stdout.contains("\n- Tokens: 150\n"), "{report:#?}");
    let raised = ["goal", "edit", "own", "--limit", "turns=20"];
    run(&raised).expect_success();
    test.assert_done();
}
