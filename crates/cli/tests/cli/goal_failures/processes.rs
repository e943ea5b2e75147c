//! Processes of goals: those that die, those that a cancelled goal leaves, and the secrets in them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use testkit::{
    processes::{is_alive, processes_with_marker},
    scripted::{Crash, Step},
};

use super::{GoalTest, PLAN, create, done, on_work, plan_once, wait_for_files, workers};
use crate::{
    held_turn::run_files,
    test_installation::TestInstallation,
    tools::{connect, initialize},
};

#[test]
fn restart_gives_no_finished_task() {
    let world = TestInstallation::new();
    let (began, goes_on) = (world.path().join("began"), world.path().join("go"));
    let mut steps: Vec<Step> = plan_once([create("a", &[]), create("b", &["a"])]).into();
    steps.push(on_work("a", [done("Result of a.")]));
    let second = [
        Step::Touch(began),
        Step::WaitFor(goes_on.clone()),
        done("Result of b."),
    ];
    steps.push(on_work("b", second));
    let GoalTest {
        world,
        script,
        server,
    } = GoalTest::start_in(world, &workers(1), &[], vec![steps]);
    wait_for_files(&world, ["began"]);
    server.signal(Signal::KILL);
    server.end();
    let server = world.serve();
    fs::write(&goes_on, "").unwrap();
    let test = GoalTest {
        world,
        script,
        server,
    };
    test.assert_done();
    let count = |text: &str| test.prompts_with(text).len();
    assert_eq!(count("Work on the task `a`:"), 1, "{:#?}", test.prompts());
    assert_eq!(count("Work on the task `b`:"), 2, "{:#?}", test.prompts());
    assert_eq!(count(PLAN), 1, "{:#?}", test.prompts());
}

#[test]
fn crashed_plan_turn_publishes_one_graph() {
    let crashing = vec![Step::when(
        PLAN,
        [
            create("a", &[]),
            create("b", &["a"]),
            Step::Crash(Crash::Abort),
        ],
    )];
    let mut test = GoalTest::start(&workers(1), &[], [crashing]);
    test.world.wait_for("the crash", |world| {
        let runs = world.json(&["run", "list", "--all-attempts"]);
        runs.as_array().is_some_and(|runs| runs.len() == 2)
    });
    assert!(test.work().is_empty(), "{:?}", test.work());
    // The next attempt makes one of the tasks again, and one more.
    let mut steps: Vec<Step> = plan_once([create("a", &[]), create("c", &["b"])]).into();
    steps.extend(["a", "b", "c"].map(|key| on_work(key, [done("Result.")])));
    test.script.prompts = vec![steps];
    test.script.command().unwrap();
    test.assert_done();
    let done = |key: &str| (key.to_owned(), "DONE".to_owned());
    let mut work = test.work();
    work.sort();
    assert_eq!(work, [done("a"), done("b"), done("c")]);
    let goal = test.world.json(&["goal", "show", "own"]);
    assert_eq!(goal["plan_version"], 1, "{goal:#}");
    assert_eq!(test.prompts_with("Work on the task `a`:").len(), 1);
}

/// Panics if a file below a folder contains a text, except the files of `except`.
fn assert_in_no_file(folder: &Path, text: &str, except: &[PathBuf]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_in_no_file(&path, text, except);
        } else if !except.contains(&path) {
            // A socket cannot be read.
            let bytes = fs::read(&path).unwrap_or_default();
            let found = bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

#[test]
fn run_token_is_in_no_cmdline_or_agent_file() {
    let world = TestInstallation::new();
    let (began, goes_on) = (world.path().join("began"), world.path().join("go"));
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    let work = [
        Step::ListTools,
        Step::Touch(began),
        Step::WaitFor(goes_on.clone()),
        done("Result."),
    ];
    steps.push(on_work("a", work));
    let test = GoalTest::start_in(world, &workers(1), &[], vec![steps]);
    wait_for_files(&test.world, ["began"]);
    // The file of the planner's turn may vanish a moment after the turn.
    test.world.wait_for("one file of one turn", |world| {
        run_files(&world.data_folder()).len() == 1
    });
    let files = run_files(&test.world.data_folder());
    let file = &files[0];
    let content: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let secret = content["secret"].as_str().unwrap();
    // The pipe of the tools runs beside the agent.
    let mut pipe = connect(&test.world, file);
    initialize(&mut pipe);
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for part in ["cmdline", "environ"] {
            let text = fs::read(entry.path().join(part)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(secret), "{}", entry.path().display());
        }
    }
    assert_in_no_file(test.world.path(), secret, &files);
    pipe.wait();
    fs::write(&goes_on, "").unwrap();
    test.assert_done();
    assert_in_no_file(test.world.path(), secret, &[]);
}

#[test]
fn cancelled_goal_leaves_no_process() {
    let world = TestInstallation::new().with_env("MATINS_WORKERS", "8");
    let keys = ["a", "b"];
    let mut steps: Vec<Step> = plan_once(keys.map(|key| create(key, &[]))).into();
    steps.extend(keys.map(|key| {
        let grandchild = Step::Grandchild {
            pid_file: world.path().join(format!("pid-{key}")),
            clear_environment: true,
        };
        let began = world.path().join(format!("began-{key}"));
        on_work(key, [grandchild, Step::Touch(began), Step::Stall])
    }));
    let test = GoalTest::start_in(world, &workers(2), &[], vec![steps]);
    wait_for_files(&test.world, ["began-a", "began-b"]);
    let runs = keys.map(|key| test.task(key)["runs"][0]["id"].as_str().unwrap().to_owned());
    let cancel = ["goal", "cancel", "own"];
    test.world.run(&cancel).expect_success();
    test.world.wait_for("the end of all processes", |world| {
        let is_gone = |key: &str| {
            let pid = fs::read_to_string(world.path().join(format!("pid-{key}"))).unwrap();
            !is_alive(Pid::from_raw(pid.trim().parse().unwrap()).unwrap())
        };
        let is_over = |run: &String| processes_with_marker(run).unwrap().is_empty();
        keys.iter().all(|key| is_gone(key)) && runs.iter().all(is_over)
    });
    assert_eq!(test.follow().code, 5);
    let cancelled = |key: &str| (key.to_owned(), "CANCELLED".to_owned());
    assert_eq!(test.work(), [cancelled("a"), cancelled("b")]);
    test.server.signal(Signal::TERM);
    assert_eq!(test.server.end().code, 0);
}
