//! The directories of sessions on several servers over one PostgreSQL, each with a data folder of its own.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    shared_database::{
        NEW_SESSION_ARGS, TwoServers, queue_message, run_id, run_status, stop_server,
        wait_for_status,
    },
    test_installation::TestInstallation,
};

/// A directory that exists only for processes which run in the folder of a server that has it.
const DIRECTORY: &str = "/proc/self/cwd/project";

/// The arguments of a message to a new session in the directory.
const IN_DIRECTORY_ARGS: [&str; 5] = ["--new", "--agent", "demo", "--dir", DIRECTORY];

fn show(world: &TestInstallation, run: &Value) -> Value {
    world.json(&["run", "show", run_id(run)])
}

fn has_folder(world: &TestInstallation, session: &str) -> bool {
    world.data_folder().join("sessions").join(session).is_dir()
}

#[test]
fn own_folder_is_in_data_folder_of_server_that_takes_turn() {
    let fleet = TwoServers::new();
    // The first data folder creates the sessions and has no server.
    let server = fleet.other.serve();
    for number in 0..4 {
        let run = queue_message(&fleet.one, &NEW_SESSION_ARGS, &format!("Message {number}"));
        wait_for_status(&fleet.other, &run, "succeeded");
        let session = run["session_id"].as_str().unwrap();
        assert!(has_folder(&fleet.other, session), "{session}");
        assert!(!has_folder(&fleet.one, session), "{session}");
        // Each server shows the path only if it has the folder.
        let view = fleet.other.json(&["session", "show", session]);
        assert_eq!(view["cwd"], Value::Null, "{view:#}");
        let path = fleet.other.data_folder().join("sessions").join(session);
        assert_eq!(view["own_folder"], path.to_str().unwrap());
        let shown = fleet.one.run(&["session", "show", session]);
        let shown = shown.expect_success();
        assert!(shown.contains("its own folder\n"), "{shown}");
    }
    stop_server(server);
}

#[test]
fn run_waits_for_server_that_has_its_directory() {
    let fleet = TwoServers::new();
    let place = fleet.one.path().join("place");
    fs::create_dir_all(place.join("project")).unwrap();
    let with_directory = fleet.one.serve_in(&place);
    let without_directory = fleet.other.serve();
    // The server that has the directory is online and does not claim.
    with_directory.freeze();
    let run = queue_message(&fleet.other, &IN_DIRECTORY_ARGS, "Hello");
    fleet.other.wait_for("a refusal", |world| {
        show(world, &run)["reason"] == "directory not here"
    });
    let shown = show(&fleet.other, &run);
    assert_eq!(shown["status"], "queued", "{shown:#}");
    assert_eq!(shown["blocked_on"]["for"], "directory", "{shown:#}");
    let runs = fleet.other.run(&["run", "list"]).expect_success();
    let listed = format!("directory not here: `{DIRECTORY}`");
    assert!(runs.contains(&listed), "{runs}");
    let status = fleet.other.run(&["status"]).expect_success();
    assert!(status.contains("1 wait: directory not here"), "{status}");
    // The other work of the server goes on.
    let free = queue_message(&fleet.other, &NEW_SESSION_ARGS, "Hello");
    wait_for_status(&fleet.other, &free, "succeeded");
    assert_eq!(run_status(&fleet.other, &run), "queued");

    with_directory.signal(Signal::CONT);
    wait_for_status(&fleet.other, &run, "succeeded");
    let shown = show(&fleet.other, &run);
    assert_eq!(shown["attempt"], 1, "{shown:#}");
    assert_eq!(shown["reason"], Value::Null, "{shown:#}");
    stop_server(without_directory);
}

#[test]
fn server_takes_refused_run_once_it_has_directory() {
    let mut fleet = TwoServers::new();
    fleet.other = fleet.other.with_env("MATINS_TICK_SECONDS", "1");
    let other_online = fleet.one.serve();
    let place = fleet.one.path().join("place");
    fs::create_dir(&place).unwrap();
    let server = fleet.other.serve_in(&place);
    // Another server is online, so that the run waits.
    other_online.freeze();
    let run = queue_message(&fleet.other, &IN_DIRECTORY_ARGS, "Hello");
    fleet.other.wait_for("a refusal", |world| {
        show(world, &run)["reason"] == "directory not here"
    });
    fs::create_dir(place.join("project")).unwrap();
    wait_for_status(&fleet.other, &run, "succeeded");
    assert_eq!(show(&fleet.other, &run)["attempt"], 1);
    stop_server(server);
}

#[test]
fn run_without_directory_on_only_server_fails_at_once() {
    let fleet = TwoServers::new();
    let place = fleet.one.path().join("place");
    fs::create_dir_all(place.join("project")).unwrap();
    let _one = fleet.one.serve_in(&place);
    let run = queue_message(&fleet.one, &IN_DIRECTORY_ARGS, "Hello");
    wait_for_status(&fleet.one, &run, "succeeded");
    fs::remove_dir_all(place.join("project")).unwrap();
    let session = run["session_id"].as_str().unwrap();
    let again = queue_message(&fleet.one, &[session], "Hello again");
    wait_for_status(&fleet.one, &again, "failed");
    let shown = show(&fleet.one, &again);
    assert_eq!(shown["reason"], "directory", "{shown:#}");
    let message = shown["message"].as_str().unwrap();
    assert!(message.contains(DIRECTORY), "{message}");
    assert!(message.contains("create it"), "{message}");
    // A directory that no server has is refused when the session is created.
    let refused = fleet.one.run(
        &[
            &["session", "send", "--queue"],
            &IN_DIRECTORY_ARGS[..],
            &["Hello"],
        ]
        .concat(),
    );
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("it does not exist"), "{refused:#?}");
}

#[test]
fn goal_in_shared_directory_fails_on_server_that_does_not_share_it() {
    let mut fleet = TwoServers::new();
    let shared = fleet.one.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let shared = shared.to_str().unwrap().to_owned();
    fleet.one = fleet.one.with_env("MATINS_SHARED_DIRECTORIES", &shared);
    // Only one of the two data folders has the setting. The other one has the only server.
    let server = fleet.other.serve();
    let start = ["goal", "start", "Draft it.", "--agent", "demo"];
    let start = [&start[..], &["--dir", &shared]].concat();
    fleet.one.run(&start).expect_success();
    let message = format!("the directory `{shared}` is not in `shared_directories` of this server");
    fleet.other.wait_for("a refusal", |world| {
        let runs = world.json(&["run", "list"]);
        let mut runs = runs.as_array().unwrap().iter();
        runs.any(|run| {
            let shown = show(world, run);
            let found = shown["message"].as_str().unwrap_or_default();
            shown["reason"] == "directory" && found.contains(&message)
        })
    });
    stop_server(server);
}
