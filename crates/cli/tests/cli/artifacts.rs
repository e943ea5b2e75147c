//! Artifacts, from the tool of an agent to the file of a person.

use std::{fs, process::Command};

use serde_json::{Value, json};
use testkit::scripted::{Script, Step};

use crate::test_installation::{MATINS_PROGRAM, TestInstallation};

fn save(name: &str, text: &str) -> Step {
    let arguments = json!({ "name": name, "text": text, "media_type": "text/markdown" });
    Step::call_tool("save_artifact", arguments)
}

/// Takes a turn in which the agent makes one call of a tool. Returns the answer of the tool and the session.
fn turn_with(world: &TestInstallation, number: usize, step: Step) -> (Value, String) {
    turn_in(world, number, &[], step)
}

/// Takes a turn as [`turn_with`], with further options of `session send`.
fn turn_in(
    world: &TestInstallation,
    number: usize,
    options: &[&str],
    step: Step,
) -> (Value, String) {
    let mut script = Script::new(world.path().join(format!("agent-{number}")));
    script.prompts = vec![vec![step]];
    let command = script.command().unwrap();
    let agent = format!("agent-{number}");
    let add = ["agent", "add", &agent, "--"].into_iter();
    let command = command.iter().map(String::as_str);
    world
        .run(&add.chain(command).collect::<Vec<_>>())
        .expect_success();
    let send = ["session", "send", "--new", "--agent", &agent, "hello"];
    world.run(&[&send[..], options].concat()).expect_success();
    let run = world.json(&["run", "list", "--limit", "1"])[0].clone();
    let shown = world.json(&["run", "show", run["id"].as_str().unwrap()]);
    let answer = serde_json::from_str(shown["answer"].as_str().unwrap()).unwrap();
    (answer, shown["session_id"].as_str().unwrap().to_owned())
}

#[test]
fn artifact_of_agent_is_listed_and_downloaded_without_overwriting() {
    let world = TestInstallation::new();
    let (saved, session) = turn_with(&world, 1, save("notes/a.md", "# Notes\n"));
    assert_eq!((&saved["ok"], &saved["version"]), (&json!(true), &json!(1)));
    let list = ["artifact", "list", &session, "--name", "notes/"];
    let listed = world.json(&list);
    assert_eq!(listed[0]["id"], saved["artifact"]);
    assert_eq!(listed[0]["size"], 8);
    let table = world.run(&list).expect_success();
    assert!(
        table.contains("notes/a.md") && table.contains("8 bytes"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    let none = world.run(&["artifact", "list", &session, "--name", "other"]);
    assert_eq!(none.expect_success().trim(), "No artifacts.");
    // By the ID, and by the session and the name.
    let id = saved["artifact"].as_str().unwrap();
    let named = format!("{session}/notes/a.md");
    for given in [id, named.as_str()] {
        let content = world.run(&["artifact", "get", given]).expect_success();
        assert_eq!(content, "# Notes\n");
    }
    let file = world.path().join("a.md");
    let path = file.to_str().unwrap();
    world
        .run(&["artifact", "get", id, "--output", path])
        .expect_success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "# Notes\n");
    fs::write(&file, "mine").unwrap();
    let refused = world.run(&["artifact", "get", id, "--output", path]);
    assert_eq!(refused.code, 4);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    world
        .run(&["artifact", "get", id, "--output", path, "--force"])
        .expect_success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "# Notes\n");
    let missing = format!("{session}/notes/b.md");
    for given in [missing.as_str(), "art_ffff"] {
        let refused = world.run(&["artifact", "get", given]);
        assert_eq!(refused.code, 3, "{given}");
    }
}

#[test]
fn damaged_content_is_never_downloaded() {
    let world = TestInstallation::new();
    let (saved, _) = turn_with(&world, 1, save("notes", "# Notes\n"));
    let folder = world.data_folder().join("artifacts");
    let tenants = fs::read_dir(&folder).unwrap().flatten();
    let tenant = tenants.map(|entry| entry.path()).find(|path| path.is_dir());
    let content = tenant.unwrap().join(saved["sha256"].as_str().unwrap());
    fs::write(&content, "# Voted\n").unwrap();
    let file = world.path().join("notes");
    let get = ["artifact", "get", saved["artifact"].as_str().unwrap()];
    let refused = world.run(&[&get[..], &["--output", file.to_str().unwrap()]].concat());
    assert_eq!(refused.code, 4);
    assert!(!file.exists());
    fs::remove_file(&content).unwrap();
    assert_eq!(world.run(&get).code, 4);
}

#[test]
fn file_outside_of_working_directory_is_not_handed_in() {
    let world = TestInstallation::new();
    let token = world.data_folder().join("matins.db");
    for (number, path) in [token.to_str().unwrap(), "../../matins.db"]
        .iter()
        .enumerate()
    {
        let arguments = json!({ "name": "stolen", "path": path });
        let step = Step::call_tool("save_artifact", arguments);
        let (refused, session) = turn_with(&world, number, step);
        assert_eq!(
            (&refused["ok"], &refused["error"]),
            (&json!(false), &json!("invalid")),
            "{refused}"
        );
        assert_eq!(world.json(&["artifact", "list", &session]), json!([]));
    }
}

/// Runs a command on a pseudo-terminal, which `script` of util-linux makes. Returns its exit code and the text on the
/// terminal.
fn run_on_terminal(world: &TestInstallation, args: &[&str]) -> (Option<i32>, String) {
    let command = format!("exec {MATINS_PROGRAM} {}", args.join(" "));
    let prepared = world.command(args);
    let mut script = Command::new("script");
    script
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env_clear()
        .envs(
            prepared
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(world.path())
        .stdin(std::process::Stdio::null());
    let output = script.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), text)
}

#[test]
fn binary_artifact_is_not_printed_to_terminal() {
    let world = TestInstallation::new();
    // A terminal would obey the control sequence, which an agent may hide in a file that it calls text.
    let contents = [
        (&b"\x1b]0;owned\x07\0"[..], 4),
        (&[0xff, 0xfe, b'a'][..], 4),
        (b"\x1b]0;owned\x07plain\n", 0),
    ];
    for (number, (content, code)) in contents.into_iter().enumerate() {
        fs::write(world.path().join("content"), content).unwrap();
        let arguments = json!({ "name": "notes", "path": "content", "media_type": "text/plain" });
        let step = Step::call_tool("save_artifact", arguments);
        let directory = ["--dir", world.path().to_str().unwrap()];
        let (saved, _) = turn_in(&world, number, &directory, step);
        let id = saved["artifact"].as_str().unwrap();
        let (ended, shown) = run_on_terminal(&world, &["artifact", "get", id]);
        assert_eq!(ended, Some(code), "{shown}");
        assert!(!shown.contains("\x1b]0;owned"), "{shown:?}");
        let refused = shown.contains("is not text, and standard output is a terminal");
        assert_eq!(refused, code != 0, "{shown}");
        assert_eq!(shown.contains("plain"), code == 0, "{shown}");
        // Into a pipe and into a file, every byte is written.
        let piped = world.command(&["artifact", "get", id]).output().unwrap();
        assert_eq!(piped.stdout, content);
    }
}
