//! Agents in a folder: a server delivers runs as files, and a runtime takes the turns.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{
    processes::processes_with_marker,
    scripted::{PromptLog, Step},
};

use crate::test_installation::{CommandOutput, MATINS_PROGRAM, RunningCommand, TestInstallation};

/// A server, and an instance with a folder.
pub(crate) struct FolderInstance {
    pub(crate) world: TestInstallation,
    pub(crate) server: RunningCommand,
    pub(crate) folder: PathBuf,
    pub(crate) token_file: PathBuf,
    program: PathBuf,
}

impl FolderInstance {
    pub(crate) fn new() -> Self {
        Self::with_program(TestInstallation::new(), Path::new(MATINS_PROGRAM))
    }

    /// Starts server and runtime from a program that runs this one.
    pub(crate) fn with_program(world: TestInstallation, program: &Path) -> Self {
        let folder = world.path().join("triggers");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        // The sockets of killed runtimes go with the test.
        let temporary = world.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let world = world.with_env("TMPDIR", temporary.to_str().unwrap());
        let server = world.serve_with_program(program);
        let token_file = world.path().join("elsewhere.token");
        let added = world.json(&[
            "instance",
            "add",
            "elsewhere",
            "--kind",
            "directory",
            "--folder",
            folder.to_str().unwrap(),
        ]);
        assert_eq!(added["kind"], "directory", "{added:#}");
        let mode = fs::metadata(&token_file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Self {
            world,
            server,
            folder,
            token_file,
            program: program.to_owned(),
        }
    }

    fn runtime_args(&self, server: &str) -> [String; 7] {
        let folder = self.folder.to_str().unwrap().to_owned();
        let token = self.token_file.to_str().unwrap().to_owned();
        [
            "runtime",
            "--folder",
            &folder,
            "--server",
            server,
            "--token-file",
            &token,
        ]
        .map(str::to_owned)
    }

    /// Starts a runtime, and waits until it serves the instance.
    pub(crate) fn runtime(&self) -> RunningCommand {
        self.runtime_at(&self.world.address())
    }

    /// Starts a runtime that reaches the server at another address, and waits until it serves the instance.
    pub(crate) fn runtime_at(&self, server: &str) -> RunningCommand {
        let args = self.runtime_args(server);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        // The runtime has no data folder and no database.
        let elsewhere = self.world.with_data_folder("nowhere");
        let mut runtime = elsewhere.start_program(&self.program, &args);
        runtime.read_stdout_until("watches");
        self.world.wait_for("the runtime", |world| {
            world.json(&["instance", "show", "elsewhere"])["state"] == "online"
        });
        runtime
    }

    /// Runs a runtime that is refused, with other arguments at the end.
    fn refused_runtime(&self, more: &[&str]) -> CommandOutput {
        let args = self.runtime_args(&self.world.address());
        let args: Vec<_> = args
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        let refused = self.world.with_data_folder("nowhere").run(&args);
        assert_ne!(refused.code, 0, "{refused:#?}");
        refused
    }

    /// Adds an automation that is placed on the instance.
    pub(crate) fn automation(&self, name: &str, session: &str) -> Value {
        self.world.json(&[
            "automation",
            "add",
            "Look.",
            "--name",
            name,
            "--agent",
            "scripted",
            "--session",
            session,
            "--every",
            "24h",
            "--on",
            "elsewhere",
        ])
    }

    pub(crate) fn fire(&self, name: &str) -> Value {
        self.world.json(&["automation", "fire", name, "--queue"])["run"].clone()
    }

    pub(crate) fn show(&self, run: &Value) -> Value {
        self.world
            .json(&["run", "show", run["id"].as_str().unwrap()])
    }

    pub(crate) fn wait_for_status(&self, run: &Value, status: &str) -> Value {
        self.world.wait_for(&format!("{status}: {run}"), |_| {
            self.show(run)["status"] == status
        });
        self.show(run)
    }

    /// Returns the names of the files that wait.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| !name.starts_with('.') && name != "failed")
            .collect();
        names.sort();
        names
    }

    pub(crate) fn wait_until_folder_is_empty(&self) {
        self.world
            .wait_for("an empty folder", |_| self.files().is_empty());
    }
}

#[test]
fn continuous_schedule_survives_runtime_that_is_killed() {
    let stage = FolderInstance::new();
    let (began, goes_on) = (
        stage.world.path().join("began"),
        stage.world.path().join("go"),
    );
    let held = vec![
        Step::text("I begin"),
        Step::Touch(began.clone()),
        Step::WaitFor(goes_on),
    ];
    let script = stage.world.add_scripted_agent([
        vec![Step::text("First.")],
        vec![Step::text("Second.")],
        held,
        vec![Step::text("It is done.")],
        vec![Step::text("Hello.")],
    ]);
    stage.automation("report", "continuous");
    let runtime = stage.runtime();
    // 1. A turn at the runtime.
    let first = stage.fire("report");
    let shown = stage.wait_for_status(&first, "succeeded");
    assert_eq!(
        (&shown["answer"], &shown["attempt"]),
        (&json!("First."), &json!(1))
    );
    assert_eq!(shown["instance_name"], "elsewhere", "{shown:#}");
    stage.wait_until_folder_is_empty();
    // 2. The runtime dies between two ticks. The next run waits as a file, and is no attempt.
    runtime.signal(Signal::KILL);
    assert_eq!(runtime.end().code, -1);
    let second = stage.fire("report");
    let shown = stage.wait_for_status(&second, "delivered");
    assert_eq!(shown["blocked_on"]["for"], "runtime", "{shown:#}");
    assert_eq!(stage.files(), [shown["delivery"]["file"].as_str().unwrap()]);
    let runtime = stage.runtime();
    let shown = stage.wait_for_status(&second, "succeeded");
    assert_eq!(
        (&shown["answer"], &shown["attempt"]),
        (&json!("Second."), &json!(1))
    );
    assert_eq!(shown["session_id"], first["session_id"]);
    // 3. The runtime dies in mid-turn. Its successor says so at once, and the next attempt names the interrupted one.
    let third = stage.fire("report");
    stage.world.wait_for("the turn", |_| began.exists());
    runtime.signal(Signal::KILL);
    assert_eq!(runtime.end().code, -1);
    let id = third["id"].as_str().unwrap();
    stage.world.wait_for("the end of its processes", |_| {
        processes_with_marker(id).unwrap().is_empty()
    });
    let runtime = stage.runtime();
    stage.wait_for_status(&third, "stalled");
    stage.world.wait_for("the next attempt", |_| {
        let attempts = stage.show(&third)["attempts"].clone();
        attempts[1]["status"] == "succeeded"
    });
    let attempts = stage.show(&third)["attempts"].clone();
    assert_eq!(attempts.as_array().unwrap().len(), 2, "{attempts:#}");
    stage.wait_until_folder_is_empty();
    // 4. A person talks to the same session.
    let session = first["session_id"].as_str().unwrap();
    let sent = stage.world.run(&["session", "send", session, "Hello?"]);
    assert_eq!(sent.expect_success().trim(), "Hello.");

    let prompts = PromptLog::read(&script.prompt_log_path()).unwrap();
    prompts.check_turns_disjoint().unwrap();
    let texts = prompts.prompts();
    assert_eq!(texts.len(), 5, "{texts:#?}");
    assert!(texts[3].contains(id), "{texts:#?}");
    runtime.signal(Signal::TERM);
    assert_eq!(runtime.end().code, 0);
    let shown = stage.world.json(&["instance", "show", "elsewhere"]);
    assert_eq!(shown["state"], "offline", "{shown:#}");
    stage.server.signal(Signal::TERM);
    assert_eq!(stage.server.end().code, 0);
}

#[test]
fn fresh_schedule_lists_its_sessions_and_reset_begins_anew() {
    let stage = FolderInstance::new();
    stage
        .world
        .add_scripted_agent((0..4).map(|_| vec![Step::text("Done.")]));
    stage.automation("each", "fresh");
    stage.automation("same", "continuous");
    let _runtime = stage.runtime();
    let mut sessions = Vec::new();
    for name in ["each", "each", "same"] {
        let run = stage.fire(name);
        sessions.push(stage.wait_for_status(&run, "succeeded")["session_id"].clone());
    }
    assert_ne!(sessions[0], sessions[1]);
    let listed = stage
        .world
        .json(&["session", "list", "--automation", "each"]);
    let listed: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].clone())
        .collect();
    assert_eq!(listed, [sessions[1].clone(), sessions[0].clone()]);
    stage
        .world
        .run(&["automation", "reset", "same"])
        .expect_success();
    let run = stage.fire("same");
    let again = stage.wait_for_status(&run, "succeeded")["session_id"].clone();
    assert_ne!(again, sessions[2]);
}

#[test]
fn file_of_other_program_fires_placed_automation_once() {
    let stage = FolderInstance::new();
    let script = stage.world.add_scripted_agent([vec![Step::text("Done.")]]);
    stage.automation("report", "continuous");
    stage.world.json(&[
        "automation",
        "add",
        "Look.",
        "--name",
        "local",
        "--agent",
        "scripted",
        "--every",
        "24h",
    ]);
    let _runtime = stage.runtime();
    let write = |name: &str, content: &Value| {
        let draft = stage.folder.join(format!(".{name}"));
        fs::write(&draft, content.to_string()).unwrap();
        fs::rename(&draft, stage.folder.join(name)).unwrap();
    };
    write(
        "a.json",
        &json!({"schedule": "report", "timestamp": "2026-04-30T09:00:00Z", "params": {"ticket": "T-17"},
            "mcpServers": {"evil": {"command": "touch", "args": ["/tmp/started"]}}}),
    );
    write(
        "b.json",
        &json!({"scheduleName": "local", "timestamp": "2026-04-30T09:00:00Z"}),
    );
    fs::write(stage.folder.join("c.json"), "[1, 2]").unwrap();
    stage.world.wait_for("a run", |world| {
        let runs = world.json(&["run", "list"]);
        runs.as_array()
            .unwrap()
            .iter()
            .any(|run| run["status"] == "succeeded")
    });
    stage.wait_until_folder_is_empty();
    let prompts = PromptLog::read(&script.prompt_log_path()).unwrap();
    let prompts = prompts.prompts();
    assert_eq!(prompts.len(), 1, "{prompts:#?}");
    assert!(prompts[0].contains("T-17"), "{prompts:#?}");
    let reason = |name: &str| {
        let path = stage.folder.join("failed").join(format!("{name}.reason"));
        fs::read_to_string(path).unwrap()
    };
    assert!(reason("b.json").contains("local"), "{}", reason("b.json"));
    assert!(reason("c.json").contains("object"), "{}", reason("c.json"));
    let runs = stage.world.json(&["run", "list"]);
    assert_eq!(runs.as_array().unwrap().len(), 1, "{runs:#}");
}

#[test]
fn cancellation_reaches_turn_at_runtime() {
    let stage = FolderInstance::new();
    stage.world.slow_agent();
    let args = [
        "session",
        "send",
        "--new",
        "--agent",
        "slow",
        "--on",
        "elsewhere",
        "Hello",
        "--queue",
    ];
    let _runtime = stage.runtime();
    let run = stage.world.json(&args)["run"].clone();
    stage.wait_for_status(&run, "running");
    let id = run["id"].as_str().unwrap();
    stage.world.run(&["run", "cancel", id]).expect_success();
    stage.wait_for_status(&run, "cancelled");
    assert!(processes_with_marker(id).unwrap().is_empty());
    stage.wait_until_folder_is_empty();
}

#[test]
fn runtime_is_refused_with_reason() {
    let stage = FolderInstance::new();
    let runtime = stage.runtime();
    let second = stage.refused_runtime(&[]);
    let holder = runtime.process_id().to_string();
    assert!(second.stderr.contains(&holder), "{second:#?}");
    drop(runtime);

    let insecure = stage.world.with_data_folder("nowhere").run(&[
        "runtime",
        "--folder",
        stage.folder.to_str().unwrap(),
        "--server",
        "http://matins.example.org",
        "--token-file",
        stage.token_file.to_str().unwrap(),
    ]);
    assert_eq!(insecure.code, 2, "{insecure:#?}");
    assert!(insecure.stderr.contains("--allow-http"), "{insecure:#?}");

    // The token of the instance permits nothing else, and a rotated one is refused.
    let token = fs::read_to_string(&stage.token_file).unwrap();
    let listed = stage.world.remote(token.trim()).run(&["session", "list"]);
    assert!(listed.stderr.contains("no permission"), "{listed:#?}");
    let other = stage.world.path().join("new.token");
    let rotate = [
        "instance",
        "rotate-token",
        "elsewhere",
        "--token-file",
        other.to_str().unwrap(),
    ];
    stage.world.run(&rotate).expect_success();
    let refused = stage.refused_runtime(&[]);
    assert!(refused.stderr.contains("rotate-token"), "{refused:#?}");
}

#[test]
fn runtime_with_replaced_token_ends_and_names_the_remedy() {
    let stage = FolderInstance::new();
    stage.world.slow_agent();
    let runtime = stage.runtime();
    let send = |text: &str| {
        let args = [
            "session",
            "send",
            "--new",
            "--agent",
            "slow",
            "--on",
            "elsewhere",
            text,
            "--queue",
        ];
        stage.world.json(&args)["run"].clone()
    };
    let run = send("Hello");
    stage.wait_for_status(&run, "running");
    let token = stage.token_file.to_str().unwrap();
    fs::remove_file(token).unwrap();
    let rotate = [
        "instance",
        "rotate-token",
        "elsewhere",
        "--token-file",
        token,
    ];
    stage.world.run(&rotate).expect_success();
    let next = send("Next");
    let ended = runtime.end();
    assert_eq!(ended.code, 8, "{ended:#?}");
    assert!(ended.stderr.contains("--token-file"), "{ended:#?}");
    let id = run["id"].as_str().unwrap();
    assert!(processes_with_marker(id).unwrap().is_empty());
    // The folder is free, and the file waits in it for the runtime with the new token.
    let _runtime = stage.runtime();
    stage.wait_for_status(&next, "running");
    stage.wait_for_status(&run, "stalled");
}

#[test]
fn check_says_what_to_mend() {
    let stage = FolderInstance::new();
    let checked = stage.world.run(&["instance", "check", "elsewhere"]);
    assert_eq!(checked.code, 1, "{checked:#?}");
    assert!(checked.stdout.contains("ok    folder"), "{checked:#?}");
    assert!(checked.stdout.contains("fail  runtime"), "{checked:#?}");
    assert!(
        checked.stdout.contains("matins runtime --folder"),
        "{checked:#?}"
    );
    let runtime = stage.runtime();
    let checked = stage.world.run(&["instance", "check", "elsewhere"]);
    assert_eq!(checked.code, 0, "{checked:#?}");
    drop(runtime);
    fs::set_permissions(&stage.folder, Permissions::from_mode(0o777)).unwrap();
    let checked = stage
        .world
        .run(&["instance", "check", "elsewhere", "--json"]);
    assert_eq!(checked.code, 1, "{checked:#?}");
    let checked: Value = serde_json::from_str(&checked.stdout).unwrap();
    let folder = &checked["findings"][0];
    assert_eq!(
        (&folder["check"], &folder["ok"]),
        (&json!("folder"), &json!(false))
    );
    assert!(
        folder["message"].as_str().unwrap().contains("chmod go-w"),
        "{checked:#}"
    );
}
