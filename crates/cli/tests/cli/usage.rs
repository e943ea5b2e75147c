//! The help of the command line, and the errors about invalid input.

use std::{fs, os::unix::fs::PermissionsExt, process::Stdio, thread};

use serde_json::Value;

use crate::test_installation::TestInstallation;

#[test]
fn every_command_has_help() {
    let world = TestInstallation::new();
    let commands = [
        "",
        "demo",
        "serve",
        "agent",
        "agent list",
        "agent check",
        "agent add",
        "automation",
        "automation add",
        "automation edit",
        "automation list",
        "automation show",
        "automation fire",
        "automation pause",
        "automation resume",
        "automation reset",
        "automation delete",
        "session",
        "session list",
        "session show",
        "session send",
        "session cancel",
        "session export",
        "session delete",
        "run",
        "run list",
        "run show",
        "config",
        "config show",
        "config path",
        "config check",
        "config reference",
        "doctor",
        "completions",
        "man",
        "run retry",
        "run cancel",
        "automation preview",
        "session enable",
        "session pause",
        "session resume",
        "session complete",
        "session archive",
        "trace",
        "login",
        "logout",
        "token",
        "token create",
        "token list",
        "token revoke",
        "tenant",
        "tenant create",
        "tenant list",
        "tenant show",
        "tenant edit",
        "sign-in",
    ];
    for command in commands {
        let args: Vec<_> = command.split_whitespace().chain(["--help"]).collect();
        let help = world.run(&args).expect_success();
        assert!(
            help.contains(&format!("Usage: matins {command}").trim_end().to_owned()),
            "{command}: {help}"
        );
        assert!(help.contains("--json"), "{command}: {help}");
    }
    let help = world.run(&["--help"]).expect_success();
    let (_, exit_codes) = help.split_once("Exit codes:").unwrap();
    assert!(exit_codes.lines().all(|line| line.len() <= 78), "{help}");
    assert!(!world.data_folder().exists(), "help touches nothing");
}

/// The arguments that replace `"ADD"` below.
const ADD_ARGS: [&str; 4] = ["automation", "add", "--agent", "demo"];

/// Invalid arguments, the exit code, and parts of the error.
const BAD_INPUT: &[(&[&str], i32, &[&str])] = &[
    (&["sing"], 2, &["sing"]),
    (
        &["ADD", "61 * * * *", "x"],
        2,
        &["minute field", "`61`", "expected 0-59"],
    ),
    (
        &["ADD", "0 0 31 2 *", "x"],
        2,
        &["`0 0 31 2 *`", "never fires"],
    ),
    (
        &["ADD", "0 9 * * *", "x", "--zone", "Prague"],
        2,
        &["`Prague`", "did you mean Europe/Prague?"],
    ),
    (
        &["ADD", "--every", "10 minutes", "x"],
        2,
        &["`10 minutes`", "1s to 366d"],
    ),
    (
        &["ADD", "--at", "2020-01-01T00:00", "x"],
        2,
        &["2020-01-01T00:00:00Z", "not after the present"],
    ),
    (
        &["ADD", "x"],
        2,
        &["--every, --at, --webhook or --on-demand"],
    ),
    (&["ADD", "0 9 * * *"], 2, &["no prompt"]),
    (
        &["ADD", "0 9 * * *", "x", "--every", "1h"],
        2,
        &["cannot be used with `--every`"],
    ),
    (
        &["ADD", "--every", "1h", "--at", "2099-01-01T00:00", "x"],
        2,
        &["--every", "--at"],
    ),
    (
        &["ADD", "--every", "1h", " "],
        2,
        &["prompt", "it is empty"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--overlap", "never"],
        2,
        &["`never`", "queue, skip, cancel_running, allow"],
    ),
    (
        &[
            "ADD",
            "--every",
            "1h",
            "x",
            "--overlap",
            "allow",
            "--session",
            "continuous",
        ],
        2,
        &["`overlap` cannot be `allow`", "fresh sessions"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--queue-limit", "0"],
        2,
        &["`queue_limit` cannot be `0`", "at least 1"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--quiet-hours", "22-6"],
        2,
        &["`22-6`", "22:00-07:00"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--timeout", "30"],
        2,
        &["`30`", "90s, 10m"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--session", "mine"],
        2,
        &["`mine`", "fresh, continuous, or bound:"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--session", "bound:web:7"],
        3,
        &["session `web:7`", "matins session list --all"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--dir", "no/such"],
        2,
        &["working directory", "no/such", "does not exist"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--set", "fast"],
        2,
        &["'fast'", "expected ID=VALUE"],
    ),
    (
        &["ADD", "--every", "1h", "x", "--allow", ":all"],
        2,
        &["':all'", "a tool kind"],
    ),
    (
        &["automation", "add", "--every", "1h", "x"],
        2,
        &["`--agent` is missing", "matins agent list"],
    ),
    (
        &[
            "automation",
            "add",
            "--every",
            "1h",
            "x",
            "--agent",
            "cluade",
        ],
        3,
        &["`cluade`", "did you mean `claude`?", "matins agent list"],
    ),
    (
        &["token", "create", "phone", "--role", "foo"],
        2,
        &["'foo'", "expected one of admin, member, viewer\n"],
    ),
    (&["trace"], 2, &["<SESSION|--automation <NAME>|--all>"]),
    (
        &["tenant", "edit", "default"],
        2,
        &["--budget <LIMIT>|--clear <PART>"],
    ),
    (
        &["agent", "check", "demp"],
        3,
        &["`demp`", "did you mean `demo`?"],
    ),
    (
        &["automation", "show", "news"],
        3,
        &["automation `news`", "matins automation list"],
    ),
    (&["run", "show", "run_0199"], 3, &["run `run_0199`"]),
    (
        &["run", "list", "--status", "gone"],
        2,
        &["gone", "succeeded"],
    ),
    (&["session", "send", "hello"], 2, &["--new"]),
    (
        &["session", "send", "--new", "--agent", "demo", "a", "b"],
        2,
        &["`a`", "--new"],
    ),
    (&["session", "send", "ses_0199", "hello"], 3, &["ses_0199"]),
    (
        &["agent", "list", "--heartbeat-seconds", "100"],
        2,
        &[
            "--heartbeat-seconds 100",
            "`heartbeat.stale_seconds = 180` (default)",
        ],
    ),
    (
        &["agent", "list", "--workers", "0"],
        2,
        &["--workers 0", "from 1 to 1000"],
    ),
    (
        &["agent", "list", "--database", "mysql://x"],
        2,
        &["--database", "`mysql`", "sqlite:"],
    ),
    (&["demo", "--turns", "0"], 2, &["--turns", "from 1"]),
];

#[test]
fn invalid_argument_error_names_field_value_and_accepted_values() {
    let world = TestInstallation::new();
    for (args, code, says) in BAD_INPUT {
        let args: Vec<_> = match args {
            ["ADD", more @ ..] => ADD_ARGS.iter().chain(more).copied().collect(),
            args => args.to_vec(),
        };
        let refused = world.run(&args);
        assert_eq!(refused.code, *code, "{args:?}: {refused:#?}");
        for text in *says {
            assert!(refused.stderr.contains(text), "{args:?}: {refused:#?}");
        }
        assert!(
            refused.stderr.starts_with("error: "),
            "{args:?}: {refused:#?}"
        );
        assert_eq!(refused.stdout, "", "{args:?}");
    }
    assert_eq!(world.json(&["automation", "list"]), Value::Array(vec![]));
}

#[test]
fn invalid_environment_value_error_names_variable() {
    let world = TestInstallation::new();
    for (name, value) in [
        ("MATINS_WORKERS", "many"),
        ("MATINS_TICK_SECONDS", "0"),
        ("MATINS_LOG", "loud=very"),
    ] {
        let mut command = world.command(&["agent", "list"]);
        let output = command.env(name, value).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(&format!("{name}={value}")), "{told}");
    }
}

#[test]
fn invalid_command_line_with_json_prints_json_error() {
    let world = TestInstallation::new();
    for (args, says) in [
        (&["sing", "--json"][..], "'sing'"),
        (&["--json", "agent", "list", "--loud"], "'--loud'"),
        (&["agent", "list", "--log-format", "xml", "--json"], "'xml'"),
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, 2, "{refused:#?}");
        assert_eq!(refused.stdout, "");
        let told: Value = serde_json::from_str(&refused.stderr).unwrap();
        assert_eq!(told["error"]["kind"], "invalid");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("invalid command line: "), "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn failed_command_with_json_prints_json_error() {
    let world = TestInstallation::new();
    let refused = world.run(&["automation", "show", "news", "--json"]);
    assert_eq!(refused.code, 3);
    let told: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!(told["error"]["kind"], "not_found");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("automation `news` not found"),
        "{message}"
    );
    assert!(told["error"]["hint"].is_string());
}

#[test]
fn closed_stdout_is_success() {
    let world = TestInstallation::new();
    world.run(&["agent", "list"]).expect_success();
    for args in [
        &["agent", "list"][..],
        &["agent", "list", "--json"],
        &["--help"],
    ] {
        let mut child = world
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(told, "", "{args:?}");
        assert_eq!(ended.status.code(), Some(0), "{args:?}");
    }
}

#[test]
fn output_to_pipe_has_no_colours() {
    let world = TestInstallation::new();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "Work",
    ];
    let told = world.run(&add).expect_success();
    assert!(!told.contains('\u{1b}'), "{told:?}");
}

#[test]
fn data_folder_is_accessible_by_owner_only() {
    let world = TestInstallation::new();
    world.run(&["agent", "list"]).expect_success();
    let mode = |name: &str| {
        let found = fs::metadata(world.data_folder().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(""), 0o700);
    assert_eq!(mode("instance.id"), 0o600);
}

#[test]
fn concurrent_first_commands_agree_on_data_folder() {
    let world = TestInstallation::new();
    let lists = thread::scope(|scope| {
        let started: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| world.json(&["agent", "list"])))
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:#?}");
}

#[test]
fn command_with_non_database_file_fails_and_keeps_file() {
    let world = TestInstallation::new();
    let file = world.path().join("notes.txt");
    fs::write(&file, "not a database, but a person's notes").unwrap();
    let file_name = file.to_str().unwrap();
    let refused = world.run(&["agent", "list", "--database", file_name]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    assert!(refused.stderr.contains("not a database"), "{refused:#?}");
    assert!(refused.stderr.contains("hint: "), "{refused:#?}");
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "not a database, but a person's notes");
}
