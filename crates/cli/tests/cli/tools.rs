//! The tools of agents: real processes, from the agent through its pipe to the process that takes its turn.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::scripted::{Event, PromptLog, Step};

use crate::{
    held_turn::{HeldTurn, connect_to, run_files},
    test_installation::{MATINS_PROGRAM, TestInstallation},
};

fn add_cron() -> Step {
    let arguments = json!({
        "action": "add", "name": "build", "schedule": "0 9 * * 1-5", "zone": "Europe/Prague",
        "message": "Check the build.",
    });
    Step::call_tool("cron", arguments)
}

/// Returns the answer of the newest run, as the scripted agent repeats the answers of its tools.
pub(crate) fn newest_answer(world: &TestInstallation) -> Value {
    let run = world.json(&["run", "list", "--limit", "1"])[0]["id"].clone();
    let shown = world.json(&["run", "show", run.as_str().unwrap()]);
    serde_json::from_str(shown["answer"].as_str().unwrap()).unwrap()
}

fn send_new(world: &TestInstallation, words: &str) {
    let send = ["session", "send", "--new", "--agent", "scripted", words];
    world.run(&send).expect_success();
}

#[test]
fn agent_schedules_its_own_check_with_and_without_server() {
    let world = TestInstallation::new();
    let script = world.add_scripted_agent([vec![add_cron()]]);
    // 1. Without a server: the command that takes the turn serves the tools.
    send_new(&world, "check the build each morning");
    let made = newest_answer(&world);
    assert_eq!(made["ok"], true, "{made}");
    assert_eq!(made["calls_left"], 199);
    let automation = &made["automations"][0];
    assert_eq!(
        automation["schedule"],
        json!(["cron 0 9 * * 1-5 (Europe/Prague)"])
    );
    assert_eq!(automation["next_runs"].as_array().unwrap().len(), 3);
    let listed = world.json(&["automation", "show", "build"]);
    assert_eq!(listed["made_by"]["name"], "build");
    let shown = world.run(&["automation", "show", "build"]).expect_success();
    assert!(shown.contains("the agent of session"), "{shown}");
    // 2. With a server, in the same session: a repetition changes nothing.
    let server = world.serve();
    let session = listed["made_by"]["session_id"].as_str().unwrap().to_owned();
    world
        .run(&["session", "send", &session, "once more"])
        .expect_success();
    assert_eq!(newest_answer(&world), made);
    assert_eq!(
        world
            .json(&["automation", "list"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // 3. Each session of the agent got the same server.
    let log = PromptLog::read(&script.prompt_log_path()).unwrap();
    let servers = log.events().filter_map(|event| match event {
        Event::New(_, servers) | Event::Resume(_, servers) | Event::Load(_, servers) => {
            Some(servers)
        }
        _ => None,
    });
    let servers: Vec<_> = servers.collect();
    assert!(
        servers.len() >= 2 && servers.iter().all(|names| *names == &["matins"]),
        "{servers:?}"
    );
    // 4. Nothing is left of the secrets.
    assert_eq!(run_files(&world.data_folder()), Vec::<PathBuf>::new());
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
    let left = fs::read_dir(world.data_folder()).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert!(
        !left.iter().any(|name| name.starts_with("tools-")),
        "{left:?}"
    );
}

#[test]
fn secret_of_running_turn_is_in_its_file_alone_and_dies_with_it() {
    let world = TestInstallation::new();
    let (began, goes_on) = (world.path().join("began"), world.path().join("go"));
    let steps = vec![
        Step::Touch(began.clone()),
        Step::WaitFor(goes_on.clone()),
        Step::Environment,
    ];
    let script = world.add_scripted_agent([steps]);
    let server = world.serve();
    let turn = world.start(&["session", "send", "--new", "--agent", "scripted", "hello"]);
    world.wait_for("the turn", |_| began.exists());
    let [file] = &run_files(&world.data_folder())[..] else {
        panic!("one run has one file")
    };
    let content: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let secret = content["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("mar_"));
    // 1. No command line and no environment of the agent has it.
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for part in ["cmdline", "environ"] {
            let text = fs::read(entry.path().join(part)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(&secret), "{}", entry.path().display());
        }
    }
    // 2. A program of the same user that is not this one is refused, and so is a wrong secret.
    let mut pipe = connect(&world, file);
    assert_eq!(
        initialize(&mut pipe)["result"]["serverInfo"]["name"],
        "matins"
    );
    let socket = content["socket"].as_str().unwrap();
    let mut foreign = connect_to(Path::new(socket));
    let hello = format!("{}\n", json!({"run": content["run"], "secret": secret}));
    foreign.write_all(hello.as_bytes()).ok();
    let mut line = String::new();
    BufReader::new(&foreign).read_line(&mut line).ok();
    assert!(
        line.starts_with("403"),
        "the socket serves this program alone: {line}"
    );
    let wrong = world.path().join("wrong");
    let mut other = content.clone();
    other["secret"] = json!(format!("{}x", &secret[..secret.len() - 1]));
    fs::write(&wrong, other.to_string()).unwrap();
    let refused = connect(&world, &wrong).wait();
    assert!(refused.contains("401"), "{refused}");
    // 3. The end closes an open connection, a new one is refused, and nothing is changed.
    let copy = world.path().join("copy");
    fs::copy(file, &copy).unwrap();
    fs::write(&goes_on, "").unwrap();
    assert_eq!(turn.end().code, 0);
    assert!(
        pipe.lines.next().is_none(),
        "the pipe ends, although the agent keeps it open"
    );
    pipe.wait();
    let refused = connect(&world, &copy).wait();
    assert!(refused.contains("401 run_over"), "{refused}");
    assert_eq!(world.json(&["automation", "list"]), json!([]));
    // 4. Nothing that is kept has the secret.
    server.signal(Signal::TERM);
    let logs = server.end();
    assert!(!logs.stdout.contains(&secret) && !logs.stderr.contains(&secret));
    let log = fs::read_to_string(script.prompt_log_path()).unwrap();
    assert!(!log.contains(&secret));
    for entry in fs::read_dir(world.data_folder()).unwrap().flatten() {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{}", entry.path().display());
    }
}

#[test]
fn ninth_connection_of_turn_is_refused_until_another_is_closed() {
    let world = TestInstallation::new();
    let turn = HeldTurn::begin(&world);
    let mut pipes: Vec<_> = (0..8).map(|_| connect(&world, &turn.file)).collect();
    for pipe in &mut pipes {
        initialize(pipe);
    }
    let refused = connect(&world, &turn.file).wait();
    assert!(
        refused.contains("429 too_many_connections: the turn has 8 connections"),
        "{refused}"
    );
    pipes.pop().unwrap().wait();
    // The server counts a connection until it has noticed the end.
    let next = std::cell::RefCell::new(None);
    world.wait_for("room for a connection", |_| {
        let mut pipe = connect(&world, &turn.file);
        pipe.send(&initialize_request(1));
        let replied = pipe.lines.next().is_some();
        next.replace(Some(pipe));
        replied
    });
    pipes.extend(next.take());
    // The end of the turn ends them all.
    let _server = turn.end();
    for mut pipe in pipes {
        assert!(pipe.lines.next().is_none());
        pipe.wait();
    }
}

#[test]
fn killed_server_leaves_secrets_that_the_next_one_removes() {
    let world = TestInstallation::new();
    let began = world.path().join("began");
    world.add_scripted_agent([
        vec![Step::Touch(began.clone()), Step::Stall],
        vec![Step::Echo],
    ]);
    let server = world.serve();
    let _turn = world.start(&["session", "send", "--new", "--agent", "scripted", "hello"]);
    world.wait_for("the turn", |_| began.exists());
    assert_eq!(run_files(&world.data_folder()).len(), 1);
    server.signal(Signal::KILL);
    server.end();
    let left = run_files(&world.data_folder());
    assert_eq!(left.len(), 1);
    let _server = world.serve();
    world.wait_for("the removal", |_| left.iter().all(|file| !file.exists()));
}

#[test]
fn agent_without_tools_gets_no_server() {
    let world = TestInstallation::new();
    let script = world.add_scripted_agent([vec![add_cron()]]);
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "tidy",
        "--agent",
        "scripted",
        "--tools",
        "none",
        "Tidy up.",
    ];
    world.run(&add).expect_success();
    world.run(&["automation", "run", "tidy"]).expect_success();
    let answer = newest_answer(&world);
    assert_eq!(answer["error"], "the session has no MCP server", "{answer}");
    let log = PromptLog::read(&script.prompt_log_path()).unwrap();
    assert!(
        log.events()
            .any(|event| matches!(event, Event::New(_, servers) if servers.is_empty()))
    );
}

#[test]
fn scheduled_turn_makes_automations_by_the_rule_of_its_automation() {
    let world = TestInstallation::new();
    world.add_scripted_agent([vec![add_cron()]]);
    for (rule, name) in [("deny", "denies"), ("ask", "asks")] {
        let add = [
            "automation",
            "add",
            "--on-demand",
            "--name",
            name,
            "--agent",
            "scripted",
            "--agent-cron",
            rule,
            "Tidy up.",
        ];
        world.run(&add).expect_success();
    }
    world.run(&["automation", "run", "denies"]).expect_success();
    let refused = newest_answer(&world);
    assert_eq!(refused["error"], "not_allowed", "{refused}");
    world.run(&["automation", "run", "asks"]).expect_success();
    let proposed = newest_answer(&world);
    assert_eq!(
        (&proposed["ok"], &proposed["pending"]),
        (&json!(true), &json!(true)),
        "{proposed}"
    );
    let status = world.run(&["status"]).expect_success();
    assert!(status.contains("build"), "{status}");
    world
        .run(&["automation", "resume", "build"])
        .expect_success();
    let accepted = world.json(&["automation", "show", "build"]);
    assert_eq!(accepted["state"], "enabled");
}

/// A pipe of an agent to its tools.
pub(crate) struct Pipe {
    process: std::process::Child,
    pub(crate) lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Pipe {
    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.process.stdin.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    /// Waits for the end of the process, and returns its standard error.
    pub(crate) fn wait(mut self) -> String {
        drop(self.process.stdin.take());
        let mut stderr = self.process.stderr.take().unwrap();
        let reading = thread::spawn(move || {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
            text
        });
        self.process.wait().unwrap();
        reading.join().unwrap()
    }
}

pub(crate) fn connect(world: &TestInstallation, run_file: &Path) -> Pipe {
    let mut process = world
        .command(&["mcp"])
        .env("MATINS_RUN_FILE", run_file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    Pipe { process, lines }
}

fn initialize_request(id: u32) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params})
}

pub(crate) fn initialize(pipe: &mut Pipe) -> Value {
    pipe.send(&initialize_request(1));
    let began = serde_json::from_str(&pipe.lines.next().unwrap().unwrap()).unwrap();
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    began
}

/// Returns the names of the tools that an agent without other seats and without a goal in its session gets.
fn tools_without_team() -> Vec<&'static str> {
    use model::permission::{TASK_TOOL_NAMES, TEAM_TOOL_NAMES, TOOL_NAMES};
    let mut names = TOOL_NAMES.to_vec();
    names.retain(|name| !TEAM_TOOL_NAMES.contains(name) && !TASK_TOOL_NAMES.contains(name));
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_client_lists_and_calls_tools() {
    use rmcp::{ServiceExt as _, model::CallToolRequestParams};
    let world = TestInstallation::new();
    let turn = HeldTurn::begin(&world);
    let mut command = tokio::process::Command::from(world.command(&["mcp"]));
    let mut pipe = command
        .env("MATINS_RUN_FILE", &turn.file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let streams = (pipe.stdout.take().unwrap(), pipe.stdin.take().unwrap());
    let client = ().serve(streams).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, tools_without_team());
    let call = async |name: &'static str, arguments: Value| {
        let request =
            CallToolRequestParams::new(name).with_arguments(arguments.as_object().unwrap().clone());
        client.call_tool(request).await.unwrap()
    };
    let made = call(
        "cron",
        json!({"action": "add", "schedule": "every:1h", "message": "Look."}),
    )
    .await;
    assert_eq!(made.is_error, Some(false), "{made:?}");
    let listed = call("cron", json!({"action": "list"})).await;
    let listed = listed.structured_content.unwrap();
    assert_eq!(listed["automations"][0]["message"], "Look.", "{listed}");
    let unknown = call("rm", json!({})).await;
    assert_eq!(unknown.is_error, Some(true));
    client.cancel().await.unwrap();
    let _server = turn.end();
}

/// The official inspector, which starts the pipe as agents do (`scripts/check-mcp`).
#[test]
fn official_inspector_lists_and_calls_tools() {
    let world = TestInstallation::new();
    let turn = HeldTurn::begin(&world);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = json!({"key": "build", "value": "green"}).to_string();
    let inspected = Command::new(root.join("scripts/check-mcp"))
        .args([MATINS_PROGRAM.as_ref(), turn.file.as_os_str()])
        .args(["remember", &arguments])
        .output()
        .unwrap();
    let failed = String::from_utf8_lossy(&inspected.stderr);
    assert!(inspected.status.success(), "{failed}");
    let answers = serde_json::Deserializer::from_slice(&inspected.stdout).into_iter();
    let answers: Vec<Value> = answers.map(Result::unwrap).collect();
    let [listed, called] = &answers[..] else {
        panic!("{answers:#?}")
    };
    let tools = listed["tools"].as_array().unwrap().iter();
    let names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, tools_without_team());
    assert_eq!(called["structuredContent"]["ok"], true, "{called:#}");
    let _server = turn.end();
    let session = world.json(&["run", "list", "--limit", "1"])[0]["session_id"].clone();
    let kept = world.json(&["memory", "list", "--session", session.as_str().unwrap()]);
    assert_eq!(
        (&kept[0]["key"], &kept[0]["value"]),
        (&json!("build"), &json!("green"))
    );
}

#[test]
fn invalid_calls_get_errors_that_name_field_and_remedy() {
    let world = TestInstallation::new();
    let calls = [
        json!({"action": "add"}),
        json!({"action": "stop"}),
        json!({"action": "add", "schedule": "0 9 * * *", "message": "x", "when": "now"}),
        json!({"action": "add", "schedule": "* * * * *", "message": "x"}),
        json!({"action": "add", "schedule": "every:5m", "message": "x"}),
        json!({"action": "add", "schedule": "at:2001-01-01T00:00", "message": "x"}),
        json!({"action": "add", "schedule": "0 9 * * *", "zone": "Mars", "message": "x"}),
        json!({"action": "add", "schedule": "0 9 * * *", "message": "x", "expires": "2999-01-01T00:00"}),
        json!({"action": "remove", "name": "nothing"}),
    ];
    let prompts = calls
        .iter()
        .map(|call| vec![Step::call_tool("cron", call.clone())]);
    world.add_scripted_agent(prompts);
    send_new(&world, "go");
    let session = world.json(&["run", "list", "--limit", "1"])[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    let mut answers = vec![newest_answer(&world)];
    for _ in 1..calls.len() {
        world
            .run(&["session", "send", session, "go on"])
            .expect_success();
        answers.push(newest_answer(&world));
    }
    let expected = [
        ("invalid", "`schedule` is missing"),
        ("invalid", "action"),
        ("invalid", "when"),
        ("invalid", "15 minutes"),
        ("invalid", "15 minutes"),
        ("invalid", "2001-01-01"),
        ("invalid", "Mars"),
        ("invalid", "30 days"),
        ("unknown", "nothing"),
    ];
    for (answer, (kind, words)) in answers.iter().zip(expected) {
        assert_eq!(answer["ok"], false, "{answer}");
        assert_eq!(answer["error"], kind, "{answer}");
        assert!(
            answer["message"].as_str().unwrap().contains(words),
            "{answer}"
        );
        assert!(answer["advice"].is_string(), "{answer}");
    }
    assert_eq!(world.json(&["automation", "list"]), json!([]));
}

#[test]
fn log_has_texts_of_calls_only_if_it_names_the_sdk() {
    let world = TestInstallation::new();
    let arguments = json!({"key": "colour", "value": "ultramarine"});
    let call = || vec![Step::call_tool("remember", arguments.clone())];
    world.add_scripted_agent([call(), call()]);
    for (directives, is_logged) in [("debug", false), ("debug,rmcp=debug", true)] {
        let world = world
            .with_data_folder("data")
            .with_env("MATINS_LOG", directives);
        let sent = world.run(&["session", "send", "--new", "--agent", "scripted", "go"]);
        assert_eq!(sent.code, 0, "{sent:#?}");
        assert_eq!(newest_answer(&world)["ok"], true, "{sent:#?}");
        assert!(sent.stderr.contains("DEBUG"), "{sent:#?}");
        assert_eq!(sent.stderr.contains("ultramarine"), is_logged, "{sent:#?}");
    }
}
