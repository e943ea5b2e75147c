//! `session send` and `automation fire` without a server: the command takes the turn itself.

use rustix::process::Signal;
use serde_json::Value;

use crate::test_installation::TestInstallation;

const NEW_SESSION_ARGS: [&str; 5] = ["session", "send", "--new", "--agent", "demo"];

/// Creates a session and returns its ID.
fn begin_session(world: &TestInstallation, words: &str) -> String {
    let args: Vec<_> = NEW_SESSION_ARGS.into_iter().chain([words]).collect();
    let answered = world.json(&args);
    answered["run"]["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn standalone_turn_prints_only_answer_to_stdout() {
    let world = TestInstallation::new();
    let args: Vec<_> = NEW_SESSION_ARGS.into_iter().chain(["Hello"]).collect();
    let said = world.run(&args);
    assert!(
        said.stderr.contains("this process takes the turn"),
        "{said:#?}"
    );
    let answer = said.expect_success();
    assert!(
        answer.starts_with("This is turn 1 of this session."),
        "{answer}"
    );
    assert_eq!(answer.lines().count(), 1, "{answer}");
}

#[test]
fn session_memory_survives_process_restart() {
    let world = TestInstallation::new();
    let session = begin_session(&world, "My name is Ada");
    let answer = world
        .run(&["session", "send", &session, "Who am I?"])
        .expect_success();
    assert!(answer.contains("This is turn 2"), "{answer}");
    assert!(answer.contains("\"My name is Ada\""), "{answer}");
    let shown = world
        .run(&["session", "show", &session[..24]])
        .expect_success();
    for text in [
        "you       My name is Ada",
        "agent     This is turn 2",
        "turns       2",
    ] {
        assert!(shown.contains(text), "{shown}");
    }
    let list = world.json(&["session", "list"]);
    assert_eq!(list[0]["id"], session.as_str());
    let runs = world.json(&["run", "list", "--session", &session]);
    assert_eq!(runs.as_array().unwrap().len(), 2);
    let record = world
        .run(&["run", "show", runs[0]["id"].as_str().unwrap()])
        .expect_success();
    assert!(
        record.contains("succeeded") && record.contains("Who am I?"),
        "{record}"
    );
}

#[test]
fn fired_automation_answers_and_its_session_is_listed_with_all() {
    let world = TestInstallation::new();
    world
        .run(&[
            "automation",
            "add",
            "--on-demand",
            "--agent",
            "demo",
            "--session",
            "continuous",
            "--name",
            "news",
            "Read the news",
        ])
        .expect_success();
    for turn in ["turn 1", "turn 2"] {
        let answer = world.run(&["automation", "fire", "news"]).expect_success();
        assert!(answer.contains(turn), "{answer}");
    }
    assert_eq!(world.json(&["session", "list"]), Value::Array(vec![]));
    let all = world.json(&["session", "list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    let of_it = world.json(&["session", "list", "--automation", "news"]);
    assert_eq!(of_it, all);
    let shown = world.json(&["session", "show", all[0]["id"].as_str().unwrap()]);
    assert_eq!(shown["messages"][0]["metadata"]["_automation_turn"], true);
}

#[test]
fn queued_message_is_taken_before_later_message() {
    let world = TestInstallation::new();
    let session = begin_session(&world, "One");
    let queued = world
        .run(&["session", "send", &session, "Two", "--queue"])
        .expect_success();
    assert!(queued.contains("has no server"), "{queued}");
    let last = world.run(&["session", "send", &session, "Three"]);
    assert!(last.stderr.contains("It waits for run_"), "{last:#?}");
    let answer = last.expect_success();
    assert!(answer.contains("This is turn 3"), "{answer}");
    assert!(answer.contains("\"One\"; \"Two\""), "{answer}");
}

#[test]
fn failed_turn_prints_error_and_run_show_hint() {
    let world = TestInstallation::new();
    world
        .run(&["agent", "add", "gone", "--", "/no/such/agent"])
        .expect_success();
    world
        .run(&[
            "automation",
            "add",
            "--on-demand",
            "--agent",
            "gone",
            "--attempts",
            "1",
            "--name",
            "a",
            "x",
        ])
        .expect_success();
    let failed = world.run(&["automation", "fire", "a"]);
    assert_eq!(failed.code, 5, "{failed:#?}");
    assert!(
        failed.stderr.contains("error: the turn did not succeed"),
        "{failed:#?}"
    );
    assert!(
        failed.stderr.contains("matins run show run_"),
        "{failed:#?}"
    );
    let failed_runs = world.json(&["run", "list", "--status", "failed"]);
    assert_eq!(failed_runs.as_array().unwrap().len(), 1);
}

#[test]
fn ctrl_c_cancels_standalone_turn() {
    let world = TestInstallation::new();
    world.slow_agent();
    let said = world.start(&["session", "send", "--new", "--agent", "slow", "Hello"]);
    let running = |world: &TestInstallation| world.json(&["run", "list", "--status", "running"]);
    world.wait_for("the turn begins", |world| running(world)[0].is_object());
    said.signal(Signal::INT);
    let ended = said.end();
    assert_eq!(ended.code, 130, "{ended:#?}");
    let runs = world.json(&["run", "list"]);
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs:#}");
    assert_eq!(runs[0]["status"], "cancelled", "{runs:#}");
    let session = runs[0]["session_id"].as_str().unwrap();
    let shown = world.run(&["session", "show", session]).expect_success();
    assert!(shown.contains("cancelled by a person"), "{shown}");
}

#[test]
fn turn_continues_after_stdout_reader_closes() {
    let world = TestInstallation::new();
    let mut said = world.command(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let mut child = said
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let runs = world.json(&["run", "list"]);
    assert_eq!(runs[0]["status"], "succeeded", "{runs:#}");
}

#[test]
fn command_of_agent_is_refused_and_opens_no_data_folder() {
    let world = TestInstallation::new().with_env("MATINS_RUN", "run_1\x1b[2J");
    for command in [
        &["agent", "list"][..],
        &["serve", "--listen", "none"],
        &["demo"],
        &["doctor"],
        &["config", "show"],
        &["token", "create", "mine", "--server", "http://127.0.0.1:9"],
    ] {
        let told = world.run(command);
        assert_eq!(told.code, 8, "{command:?} {told:#?}");
        let refusal = r"error: a process of the turn run_1\u{1b}[2J cannot use this command";
        assert!(told.stderr.contains(refusal), "{command:?} {told:#?}");
    }
    assert!(!world.data_folder().exists());
}
