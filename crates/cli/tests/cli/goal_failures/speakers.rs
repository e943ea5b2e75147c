//! Goals whose transcript must tell Matins, the seats and people apart.

use std::collections::BTreeSet;

use rustix::process::Signal;
use serde_json::Value;
use testkit::scripted::Step;

use super::{CHECK, GoalTest, REVIEW, accept, create, done, judged, on_work, plan_once};

/// Returns the labels of the rows of a transcript: the word after the time.
fn speakers(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().filter(|line| {
        let first = line.chars().next();
        first.is_some_and(|it| it.is_ascii_digit())
    });
    rows.filter_map(|row| row.split("  ").nth(1))
        .map(str::trim)
        .collect()
}

#[test]
fn transcript_of_goal_tells_matins_and_seats_apart() {
    let mut steps: Vec<Step> = plan_once([create("a", &[]), create("b", &[])]).into();
    for key in ["a", "b"] {
        steps.push(on_work(key, [done("Result."), Step::text("I wrote it.")]));
    }
    steps.push(Step::when(REVIEW, [accept()]));
    steps.push(Step::when(CHECK, [accept()]));
    let test = GoalTest::start(&judged(), &[], [steps]);
    test.assert_done();
    let goal = test.world.json(&["goal", "show", "own"]);
    let session = goal["id"].as_str().unwrap();
    // 1. The transcript names the receiver of each prompt, and the seat of each answer.
    let print = |args: &[&str]| test.world.run(args).expect_success();
    let shown = print(&["session", "show", session, "--all"]);
    let mut trace = test.world.start(&["trace", session, "--after", "0"]);
    let traced = trace.read_stdout_until("This is the report.");
    trace.signal(Signal::INT);
    assert_eq!(trace.end().code, 0);
    for text in [&shown, &traced] {
        for part in [
            "  matins    to planner, task plan#1: Plan the work on the goal below.",
            "  matins    to worker, task a: Work on the task `a`:",
            "  matins    to judge, task a: Judge the result of the task `a`:",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let speakers = speakers(text);
        for label in ["planner", "worker", "judge"] {
            assert!(speakers.contains(label), "{label}: {text}");
        }
        for label in ["you", "agent"] {
            assert!(!speakers.contains(label), "{label}: {text}");
        }
    }
    let exported = print(&["session", "export", session, "--format", "markdown"]);
    let headings: Vec<&str> = exported
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    for heading in [
        "## Matins to planner, task plan#1, ",
        "## Matins to worker, task b, ",
        "## planner, ",
        "## worker, ",
        "## judge, ",
    ] {
        let has = headings.iter().any(|line| line.starts_with(heading));
        assert!(has, "{heading}: {headings:#?}");
    }
    for heading in ["## You, ", "## Agent, "] {
        let has = headings.iter().any(|line| line.starts_with(heading));
        assert!(!has, "{heading}: {headings:#?}");
    }
    // 2. Each seat has the number of its turns, also of those in memories of tasks.
    let view = test.world.json(&["session", "show", session]);
    let turns = |name: &str| -> Value {
        let seats = view["seats"].as_array().unwrap();
        let seat = seats.iter().find(|seat| seat["name"] == name);
        seat.unwrap()["turns"].clone()
    };
    assert_eq!(
        [turns("planner"), turns("worker"), turns("judge")],
        [2, 2, 3]
    );
}
