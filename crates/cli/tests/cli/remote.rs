//! The same commands beside a server, against a remote server, and without a server: one path, one answer.

use crate::test_installation::{CommandOutput, TestInstallation};

/// Commands that change nothing, and commands that are refused; each in three ways.
const COMPARED_COMMANDS: &[&[&str]] = &[
    &["agent", "list"],
    &["automation", "list"],
    &["automation", "show", "news"],
    &["automation", "show", "nothing"],
    &[
        "automation",
        "preview",
        "--at",
        "2199-05-04T09:00",
        "--zone",
        "Europe/Prague",
    ],
    &["automation", "preview", "--cron", "61 * * * *"],
    &["automation", "preview", "--every", "soon"],
    &["automation", "add", "61 * * * *", "x", "--agent", "demo"],
    &["automation", "add", "--every", "1h", "x", "--agent", "no"],
    &["automation", "edit", "news", "--overlap", "allow"],
    &["automation", "fire", "nothing"],
    &["automation", "delete", "nothing"],
    &["session", "list"],
    &["session", "list", "--all"],
    &["session", "show", "SESSION"],
    &["session", "show", "SESSION", "--all"],
    &["session", "show", "SESSION", "--last", "1"],
    &["session", "show", ".."],
    &["session", "send", "nothing", "Hello"],
    &["session", "send", "SESSION", " "],
    &["session", "resume", "SESSION"],
    &["session", "archive", "SESSION"],
    &["session", "delete", "nothing"],
    &["run", "list"],
    &["run", "list", "--status", "failed"],
    &["run", "show", "RUN"],
    &["run", "retry", "RUN"],
    &["run", "cancel", "RUN"],
    &["tenant", "list"],
    &["tenant", "show", "default"],
    &["tenant", "edit", "nothing", "--budget", "1 turn/day"],
    &["token", "create", "x", "--scope", "everything"],
    &["token", "revoke", "nothing"],
];

fn outcome(done: &CommandOutput) -> (i32, &str, &str) {
    (done.code, &done.stdout, &done.stderr)
}

fn run_compared(
    world: &TestInstallation,
    command: &[&str],
    json: bool,
    names: [&str; 2],
) -> CommandOutput {
    let [session, run] = names;
    let args = command.iter().map(|&part| match part {
        "SESSION" => session,
        "RUN" => run,
        part => part,
    });
    let args: Vec<_> = args.chain(json.then_some("--json")).collect();
    world.run(&args)
}

#[test]
fn commands_answer_alike_remote_local_and_in_process() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--at", "2199-01-01T00:00", "--agent"];
    let add: Vec<_> = add
        .into_iter()
        .chain(["demo", "--session", "continuous", "--name", "news", "Work"])
        .collect();
    world.run(&add).expect_success();
    world.run(&["automation", "fire", "news"]).expect_success();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let (session, run) = (&said["run"]["session_id"], &said["run"]["id"]);
    let names = [session.as_str().unwrap(), run.as_str().unwrap()];

    let alone: Vec<_> = [false, true]
        .into_iter()
        .flat_map(|json| COMPARED_COMMANDS.iter().map(move |command| (command, json)))
        .map(|(command, json)| (command, json, run_compared(&world, command, json, names)))
        .collect();
    let _server = world.serve();
    let elsewhere = world.remote(&world.token());
    for (command, json, alone) in alone {
        let beside = run_compared(&world, command, json, names);
        assert_eq!(
            outcome(&beside),
            outcome(&alone),
            "beside a server: {command:?}"
        );
        let remote = run_compared(&elsewhere, command, json, names);
        assert_eq!(outcome(&remote), outcome(&alone), "elsewhere: {command:?}");
    }
    assert!(
        !elsewhere.data_folder().exists(),
        "nothing is made on this machine"
    );
}

#[test]
fn remote_commands_take_effect_on_remote_server() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let elsewhere = world.remote(&world.token());
    let said = elsewhere.run(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    assert!(said.stdout.contains("This is turn 1"), "{said:#?}");
    assert!(!said.stderr.contains("this process takes"), "{said:#?}");
    let add = ["automation", "add", "--every", "1h", "--agent", "demo"];
    let add: Vec<_> = add.into_iter().chain(["--name", "news", "Work"]).collect();
    elsewhere.run(&add).expect_success();
    let fired = elsewhere
        .run(&["automation", "fire", "news"])
        .expect_success();
    assert!(fired.contains("This is turn 1"), "{fired}");
    let edit = ["automation", "edit", "news", "--every", "2h"];
    elsewhere.run(&edit).expect_success();
    elsewhere
        .run(&["automation", "pause", "news"])
        .expect_success();
    let shown = world.json(&["automation", "show", "news"]);
    assert_eq!(shown["state"], "paused");
    let sessions = world.json(&["session", "list", "--all"]);
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    let session = sessions[0]["id"].as_str().unwrap();
    let export = elsewhere
        .run(&["session", "export", session])
        .expect_success();
    assert!(export.lines().count() > 2, "{export}");
    elsewhere
        .run(&["session", "delete", session])
        .expect_success();
    assert_eq!(world.run(&["session", "show", session]).code, 3);
    assert!(!elsewhere.data_folder().exists());
}

#[test]
fn session_is_paused_resumed_completed_and_archived() {
    let world = TestInstallation::new();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let go = |how: &str| world.run(&["session", how, session]);
    let state = || world.json(&["session", "show", session])["state"].clone();
    let why = ["session", "pause", session, "--reason", "lunch"];
    let paused = world.run(&why).expect_success();
    assert_eq!(paused, format!("{session} is paused.\n"));
    let shown = world.run(&["session", "show", session]).expect_success();
    assert!(shown.contains("lunch"), "{shown}");
    let waits = world.run(&["session", "send", session, "And?", "--queue"]);
    assert!(waits.stderr.contains("session is paused"), "{waits:#?}");
    assert_eq!(go("pause").code, 4);
    go("resume").expect_success();
    assert_eq!(state(), "active");
    go("complete").expect_success();
    assert_eq!(state(), "done");
    assert_eq!(world.run(&["session", "send", session, "x"]).code, 4);
    go("archive").expect_success();
    assert_eq!(go("enable").code, 4);
}
