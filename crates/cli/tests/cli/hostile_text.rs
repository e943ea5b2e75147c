//! Text of agents that would command a terminal, hide itself, or forge a line of the log. Each test reads the bytes
//! that the program has written.

use std::{fs, path::Path, process::Stdio};

use serde_json::{Value, json};
use testkit::scripted::{Script, Setting, Step};

use crate::test_installation::TestInstallation;

/// Each class of characters that must not be written raw, and a line that looks like one of the log.
const HOSTILE: &str = concat!(
    "begin\u{1b}[31mred\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]52;c;QQ==\u{7}",
    "\u{8}back\u{7f}del\u{80}\u{85}\u{9b}2J\u{9d}0;title\u{9c}",
    "\u{202e}over\u{202a}\u{2066}iso\u{2069}\u{200e}\u{200f}\u{61c}",
    "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{2028}\u{2029}\u{e0001}\u{e0041}\u{e007f}",
    "\rreturn\r\n2001-01-01T00:00:00.000000Z ERROR matins: forged\nend",
);

/// The beginning of the forged line.
const FORGED: &str = "2001-01-01T00:00:00.000000Z";

/// The styles that the program itself writes when it is told that it writes to a terminal.
const OWN_STYLES: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[35m",
    "\u{1b}[36m",
];

/// `true` if the character must not be written raw. This list is independent of the program's.
fn is_hostile(letter: char) -> bool {
    let code = u32::from(letter);
    let ranges = [
        (0x00, 0x08),
        (0x0b, 0x1f),
        (0x7f, 0x9f),
        (0x61c, 0x61c),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x2060),
        (0x2066, 0x2069),
        (0xfeff, 0xfeff),
        (0xe0000, 0xe007f),
    ];
    ranges
        .iter()
        .any(|(from, to)| (*from..=*to).contains(&code))
}

/// Checks that an output has no raw character of the hostile text and none of its styles.
fn assert_harmless(what: &str, written: &str) {
    assert!(
        !written.contains("\u{1b}[31mred"),
        "{what} has a style of the agent: {written:?}"
    );
    let mut plain = written.to_owned();
    for style in OWN_STYLES {
        plain = plain.replace(style, "");
    }
    let raw: Vec<char> = plain.chars().filter(|letter| is_hostile(*letter)).collect();
    assert!(raw.is_empty(), "{what} has {raw:?}: {written:?}");
}

/// Adds the agent of a script under a name.
fn add_agent(world: &TestInstallation, name: &str, script: &Script) {
    let command = script.command().unwrap();
    let command = command.iter().map(String::as_str);
    let add = ["agent", "add", name, "--"].into_iter();
    world
        .run(&add.chain(command).collect::<Vec<_>>())
        .expect_success();
}

/// Returns steps that send the hostile text in every place of a turn.
fn hostile_steps() -> Vec<Step> {
    let tool_call = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": HOSTILE,
        "title": HOSTILE,
        "kind": "execute",
        "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": HOSTILE}}],
    });
    let plan = json!({
        "sessionUpdate": "plan",
        "entries": [{"content": HOSTILE, "priority": "high", "status": "pending"}],
    });
    vec![
        Step::StderrText(format!("{HOSTILE}\n")),
        Step::raw_line(HOSTILE),
        Step::raw_line(&format!("{{\"jsonrpc\":\"2.0\",\"method\":{HOSTILE}")),
        Step::raw_line(&json!({"jsonrpc": "2.0", "id": HOSTILE, "result": {}}).to_string()),
        Step::Notify(HOSTILE.into()),
        Step::Request(HOSTILE.into()),
        Step::Update(json!({"sessionUpdate": "session_info_update", "title": HOSTILE})),
        Step::Update(json!({"sessionUpdate": HOSTILE})),
        Step::Update(json!({"sessionUpdate": "current_mode_update", "currentModeId": HOSTILE})),
        Step::Update(tool_call),
        Step::Update(plan),
        Step::Thought(HOSTILE.into()),
        Step::request_permission(HOSTILE, HOSTILE, "execute"),
        Step::Text(HOSTILE.into()),
    ]
}

/// Returns an agent whose every text is hostile. Its first turn succeeds, its second one ends with an error, and its
/// third one with an unknown stop reason.
fn hostile_script(home: &Path) -> Script {
    let refusal = Step::ReplyError {
        code: -32000,
        message: HOSTILE.into(),
    };
    let mut script = Script::new(home)
        .prompt(hostile_steps())
        .prompt([refusal])
        .prompt([Step::Stop(HOSTILE.into())]);
    script.name_and_version = (HOSTILE.into(), HOSTILE.into());
    script.modes = vec![HOSTILE.into(), "other".into()];
    script.settings = vec![Setting {
        id: HOSTILE.into(),
        values: vec![HOSTILE.into()],
        resets: None,
    }];
    script
}

/// Returns an installation whose commands write as if to a terminal.
fn installation() -> TestInstallation {
    TestInstallation::new().with_env("CLICOLOR_FORCE", "1")
}

/// Runs a command with and without `--json`, and checks both outputs. Returns the text.
fn run_and_check(world: &TestInstallation, args: &[&str]) -> String {
    let what = args.join(" ");
    let text = world.run(args);
    assert_harmless(&what, &text.stdout);
    assert_harmless(&what, &text.stderr);
    let json_args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let json = world.run(&json_args);
    for written in [&json.stdout, &json.stderr] {
        assert_harmless(&format!("{what} --json"), written);
    }
    text.stdout + &text.stderr
}

#[test]
fn agent_check_prints_no_raw_text_of_agent() {
    let world = installation();
    let mut script = hostile_script(&world.path().join("hostile"));
    add_agent(&world, "hostile", &script);
    let shown = run_and_check(&world, &["agent", "check", "hostile"]);
    assert!(shown.contains("begin\\u{1b}[31mred"), "{shown}");
    assert!(
        !shown.lines().any(|line| line.starts_with(FORGED)),
        "{shown}"
    );
    let checked = world.json(&["agent", "check", "hostile"]);
    assert_eq!(checked["offers"]["name"], HOSTILE, "JSON has the same text");
    run_and_check(&world, &["agent", "list"]);

    script.sign_in = Some(HOSTILE.into());
    add_agent(&world, "sign-in", &script);
    run_and_check(&world, &["agent", "check", "sign-in"]);
    script.sign_in = None;
    script.before_open = vec![
        Step::StderrText(HOSTILE.into()),
        Step::raw_line(HOSTILE),
        Step::Crash(testkit::scripted::Crash::Exit(3)),
    ];
    add_agent(&world, "exits", &script);
    run_and_check(&world, &["agent", "check", "exits"]);
    script.before_initialize = script.before_open.clone();
    add_agent(&world, "never-starts", &script);
    run_and_check(&world, &["agent", "check", "never-starts"]);
}

#[test]
fn turn_and_its_session_are_printed_and_exported_without_raw_text() {
    let world = installation();
    let script = hostile_script(&world.path().join("hostile"));
    add_agent(&world, "hostile", &script);
    let send = |args: &[&str]| {
        let all: Vec<&str> = ["session", "send"].iter().chain(args).copied().collect();
        let sent = world.run(&all);
        assert_harmless("session send", &sent.stdout);
        assert_harmless("session send", &sent.stderr);
        let is_forged = |line: &str| line.starts_with(FORGED);
        assert!(!sent.stderr.lines().any(is_forged), "{sent:#?}");
        sent
    };
    // Control characters in titles are refused.
    let title = "title\u{202e}\u{2066}\u{200b}\u{200f}\u{2028}\u{e0041}\u{feff}";
    send(&["--new", "--agent", "hostile", "--title", HOSTILE, "refused"]);
    let title = ["--new", "--agent", "hostile", "--title", title];
    let sent = send(&[&title[..], &[HOSTILE]].concat());
    assert_eq!(sent.code, 0, "{sent:#?}");
    assert!(sent.stdout.contains("begin\\u{1b}[31mred"), "{sent:#?}");
    assert!(
        sent.stdout.contains("\nend"),
        "an answer keeps its line breaks: {sent:#?}"
    );
    let session = world.json(&["session", "list"])[0]["id"].clone();
    let session = session.as_str().unwrap();
    for _ in 0..2 {
        let failed = send(&[session, "again"]);
        assert_ne!(failed.code, 0, "{failed:#?}");
    }
    let runs = world.json(&["run", "list"]);
    for run in runs.as_array().unwrap() {
        run_and_check(&world, &["run", "show", run["id"].as_str().unwrap()]);
    }
    for args in [
        &["run", "list"][..],
        &["session", "list"],
        &["session", "show", session],
        &["session", "show", session, "--all"],
        &["session", "export", session],
        &["session", "export", session, "--format", "markdown"],
        &["agent", "list"],
    ] {
        run_and_check(&world, args);
    }

    let shown = world.json(&["session", "show", session, "--all"]);
    let answer = |row: &Value| row["content"] == HOSTILE && row["role"] == "assistant";
    let rows = shown["messages"].as_array().unwrap();
    assert!(rows.iter().any(answer), "JSON has the same text: {shown:#}");
    let exported = world.run(&["session", "export", session]).expect_success();
    let rows: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.iter().any(answer), "an export has the same text");
    for format in ["jsonl", "markdown"] {
        let out = world.path().join(format);
        let file = ["--format", format, "--out", out.to_str().unwrap()];
        let args = [&["session", "export", session], &file[..]].concat();
        world.run(&args).expect_success();
        assert_harmless(format, &fs::read_to_string(out).unwrap());
    }
}

#[test]
fn approval_and_automation_are_printed_without_raw_text() {
    let world = installation();
    let script = hostile_script(&world.path().join("hostile"));
    add_agent(&world, "hostile", &script);
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "tidy",
        "--agent",
        "hostile",
        "--on-unmatched",
        "ask",
        HOSTILE,
    ];
    let added = world.run(&add);
    assert_eq!(added.code, 0, "{added:#?}");
    let _server = world.serve();
    let mut trace = world.start(&["trace", "--all"]);
    let mut json_trace = world.start(&["trace", "--all", "--json"]);
    world
        .run(&["automation", "fire", "tidy", "--queue"])
        .expect_success();
    world.wait_for("a request", |world| {
        world.json(&["approval", "list"])[0]["state"] == "pending"
    });
    let approval = world.json(&["approval", "list"])[0]["id"].clone();
    let approval = approval.as_str().unwrap();
    run_and_check(&world, &["approval", "list"]);
    let shown = run_and_check(&world, &["approval", "show", approval]);
    assert!(
        !shown.lines().any(|line| line.starts_with(FORGED)),
        "a title forges no row: {shown}"
    );
    run_and_check(&world, &["run", "list", "--automation", "tidy"]);
    let allowed = world.run(&["approval", "allow", approval]);
    assert_harmless("approval allow", &allowed.stdout);
    for (trace, format) in [(&mut trace, "text"), (&mut json_trace, "JSON")] {
        let printed = trace.read_stdout_until("succeeded");
        assert_harmless(&format!("trace as {format}"), &printed);
    }
    run_and_check(&world, &["automation", "show", "tidy"]);
    run_and_check(&world, &["automation", "list"]);
}

/// Takes turns of the hostile agent in a server that logs everything, and returns the log.
fn log_of_server(format: &str) -> String {
    let world = TestInstallation::new()
        .with_env("MATINS_LOG", "trace")
        .with_env("MATINS_LOG_FORMAT", format);
    let quiet = world.with_data_folder("data").with_env("MATINS_LOG", "off");
    let mut script = hostile_script(&world.path().join("hostile"));
    script.prompts[0].insert(0, Step::raw_line(&"x".repeat(1 << 20)));
    let long = json!({"jsonrpc": "2.0", "method": "m".repeat(1 << 20), "params": {}});
    script.prompts[0].insert(1, Step::raw_line(&long.to_string()));
    add_agent(&quiet, "hostile", &script);
    let (log, out) = (world.path().join("log"), world.path().join("out"));
    let mut server = world
        .command(&["serve"])
        .stdout(Stdio::from(fs::File::create(&out).unwrap()))
        .stderr(Stdio::from(fs::File::create(&log).unwrap()))
        .spawn()
        .unwrap();
    quiet.wait_for("the server", |_| {
        fs::read_to_string(&out).unwrap().contains("next run")
    });
    let sent = quiet.run(&["session", "send", "--new", "--agent", "hostile", HOSTILE]);
    assert_eq!(sent.code, 0, "{sent:#?}");
    let session = quiet.json(&["session", "list"])[0]["id"].clone();
    quiet.run(&["session", "send", session.as_str().unwrap(), "again"]);
    quiet.run(&["agent", "check", "hostile"]);
    let id = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    server.wait().unwrap();
    String::from_utf8(fs::read(&log).unwrap()).unwrap()
}

/// The maximum size of a line of the log, escapes included, in bytes.
const MAX_LINE_BYTES: usize = 100_000;

#[test]
fn text_log_has_no_raw_text_of_agent_and_no_forged_line() {
    let log = log_of_server("text");
    assert_harmless("the log", &log);
    assert!(
        log.contains("agent_client_protocol"),
        "the SDK logs as well"
    );
    for line in log.lines() {
        let time = line.get(..27).unwrap_or_default();
        let is_time = time.starts_with("20") && time.as_bytes().get(10) == Some(&b'T');
        assert!(is_time && time.ends_with('Z'), "no time: {line:?}");
        assert_ne!(time, FORGED, "a forged line: {line:?}");
        assert!(line.len() < MAX_LINE_BYTES, "{} bytes", line.len());
    }
}

#[test]
fn json_log_has_no_raw_text_of_agent_and_parses_line_by_line() {
    let log = log_of_server("json");
    assert_harmless("the log", &log);
    assert!(
        log.contains("agent_client_protocol"),
        "the SDK logs as well"
    );
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["timestamp"].is_string(), "{line}");
        assert_ne!(entry["timestamp"], FORGED, "{line}");
        assert!(line.len() < MAX_LINE_BYTES, "{} bytes", line.len());
    }
    assert!(log.contains(r"\u202e"), "escaped, not removed");
}
