//! Sessions: showing, exporting and deleting them.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};
use testkit::processes::processes_with_marker;

use crate::test_installation::TestInstallation;

/// Creates a session with these messages, and returns its ID.
fn session_with_messages(world: &TestInstallation, words: &[&str]) -> String {
    let new = ["session", "send", "--new", "--agent", "demo", words[0]];
    let begun = world.json(&new);
    let session = begun["run"]["session_id"].as_str().unwrap().to_owned();
    for words in &words[1..] {
        world
            .run(&["session", "send", &session, words])
            .expect_success();
    }
    session
}

#[test]
fn session_show_prints_last_rows_and_counts_earlier_ones() {
    let world = TestInstallation::new();
    let session = session_with_messages(&world, &["One", "Two", "Three"]);
    let shown = world
        .run(&["session", "show", &session, "--last", "1"])
        .expect_success();
    assert!(shown.contains("This is turn 3"), "{shown}");
    assert!(!shown.contains("This is turn 2"), "{shown}");
    assert!(shown.contains("earlier rows; --all"), "{shown}");
    let all = world
        .run(&["session", "show", &session, "--all"])
        .expect_success();
    for text in ["This is turn 1", "This is turn 2", "This is turn 3"] {
        assert!(all.contains(text), "{all}");
    }
    assert!(!all.contains("earlier rows"), "{all}");
    let json = world.json(&["session", "show", &session, "--last", "2"]);
    let whole = world.json(&["session", "show", &session, "--all"]);
    let rows = whole["messages"].as_array().unwrap();
    assert_eq!(
        json["messages"].as_array().unwrap(),
        &rows[rows.len() - 2..]
    );
    assert_eq!(json["messages_before"], rows.len() - 2);
    assert_eq!(json["oldest_event"], 1);
    let both = world.run(&["session", "show", &session, "--all", "--last", "1"]);
    assert_eq!(both.code, 2, "{both:#?}");
    // Following a message prints none of the earlier messages.
    let said = world.run(&["session", "send", &session, "Four"]);
    let lines = said.stdout.lines().count();
    assert!(lines == 1 && said.stdout.contains("turn 4"), "{said:#?}");
}

#[test]
fn session_export_writes_jsonl_and_markdown() {
    let world = TestInstallation::new();
    let session = session_with_messages(&world, &["My **name** is Ada", "Who am I?"]);
    let bound = format!("bound:{session}");
    let add = ["automation", "add", "--on-demand", "--name", "talk"];
    let add = add.into_iter().chain(["--session", &bound, "Speak up"]);
    world.run(&add.collect::<Vec<_>>()).expect_success();
    world.run(&["automation", "fire", "talk"]).expect_success();

    let written = world.run(&["session", "export", &session]).expect_success();
    let lines: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["format"], "matins.session");
    assert_eq!(lines[0]["version"], 2);
    assert_eq!(lines[0]["session"]["id"], session.as_str());
    let whole = world.json(&["session", "show", &session, "--all"]);
    assert_eq!(Value::Array(lines[1..].to_vec()), whole["messages"]);
    assert!(
        !written.contains("unattended run"),
        "no prompt as it was sent"
    );

    let read = world
        .run(&["session", "export", &session, "--format", "markdown"])
        .expect_success();
    for text in [
        "- Agent: demo",
        "## You, 20",
        "My **name** is Ada",
        "## Agent, 20",
        "This is turn 2",
        "## Schedule, talk, 20",
        "- Tool at ",
        "> *Plan (",
    ] {
        assert!(read.contains(text), "{text:?} is not in {read}");
    }
    assert!(!read.contains("unattended run"), "{read}");
}

#[test]
fn session_export_replaces_existing_file_only_with_force() {
    let world = TestInstallation::new();
    let session = session_with_messages(&world, &["Hello"]);
    let file = world.path().join("talk.jsonl");
    let export = ["session", "export", &session, "--out", "talk.jsonl"];
    let told = world.run(&export);
    assert!(told.stderr.contains("Wrote"), "{told:#?}");
    assert_eq!(told.expect_success(), "");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner alone");
    fs::write(&file, "mine").unwrap();
    let refused = world.run(&export);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("--force"), "{refused:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let forced: Vec<_> = export.into_iter().chain(["--force"]).collect();
    world.run(&forced).expect_success();
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.lines().count() > 2 && written.ends_with('\n'));
    let nowhere = world.run(&["session", "export", &session, "--out", "no/where"]);
    assert_eq!(nowhere.code, 6, "{nowhere:#?}");
    let left: Vec<_> = fs::read_dir(world.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn deleting_session_with_bound_automations_requires_flag() {
    let world = TestInstallation::new();
    let session = session_with_messages(&world, &["Hello"]);
    let bound = format!("bound:{session}");
    let made = world.json(&[
        "automation",
        "add",
        "--on-demand",
        "--name",
        "talk",
        "--session",
        &bound,
        "Speak up",
    ]);
    let blocked = world.run(&["session", "delete", &session, "--json"]);
    assert_eq!(blocked.code, 7, "{blocked:#?}");
    let answer: Value = serde_json::from_str(&blocked.stdout).unwrap();
    assert_eq!(
        answer,
        json!({
            "deleted": false,
            "blocked_by_automations": true,
            "automations": [{ "id": made["id"], "name": "talk", "enabled": true }],
        })
    );
    let told = world.run(&["session", "delete", &session]);
    assert_eq!(told.code, 7, "{told:#?}");
    assert!(told.stdout.contains("--with-automations"), "{told:#?}");
    let shown = world.run(&["session", "show", &session]).expect_success();
    assert!(shown.contains("bound to it talk"), "{shown}");

    let deleted = world.json(&["session", "delete", &session, "--with-automations"]);
    assert_eq!(deleted["deleted"], true);
    assert_eq!(deleted["automations"][0]["name"], "talk");
    assert_eq!(world.run(&["session", "show", &session]).code, 3);
    assert_eq!(world.run(&["automation", "show", "talk"]).code, 3);
    assert_eq!(world.run(&["session", "delete", &session]).code, 3);
}

#[test]
fn deleting_session_ends_its_running_agent() {
    let world = TestInstallation::new();
    world.slow_agent();
    let mut server = world.serve();
    let run = world.json(&[
        "session", "send", "--new", "--agent", "slow", "--queue", "Work",
    ]);
    let run = run["run"].clone();
    let id = run["id"].as_str().unwrap();
    world.wait_for("the turn begins", |world| {
        world.json(&["run", "show", id])["status"] == "running"
    });
    world.wait_for("its agent works", |_| {
        !processes_with_marker(id).unwrap().is_empty()
    });
    let session = run["session_id"].as_str().unwrap();
    let told = world.run(&["session", "delete", session]).expect_success();
    assert!(told.contains("A turn was running"), "{told}");
    world.wait_for("its agent is ended", |_| {
        processes_with_marker(id).unwrap().is_empty()
    });
    assert_eq!(world.run(&["run", "show", id]).code, 3);
    server.signal(rustix::process::Signal::TERM);
    server.read_stdout_until("Stopped: 0 turns finished, 0 were requeued");
}
