//! The tools of agents in a folder: from the agent through its pipe to the runtime, and from there to the server.

use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::scripted::{Event, PromptLog, Step};

use crate::{
    held_turn::{connect_to, run_files},
    runtime::FolderInstance,
    test_installation::{MATINS_PROGRAM, TestInstallation},
    tools::{connect, initialize},
};

/// The logs of everything between an agent's pipe and its tools.
const LOGS: &str = "info,api=trace,client=trace,hyper=trace,hyper_util=trace,reqwest=trace,rmcp=trace,runtime=trace,\
                    server=trace,service=trace,store=trace,tools=trace,tower=trace";

/// Sends a message to a new session of the agent `scripted` on the instance. Returns the run.
pub(crate) fn send_new(stage: &FolderInstance, options: &[&str]) -> Value {
    let send = [
        "session",
        "send",
        "--new",
        "--agent",
        "scripted",
        "--on",
        "elsewhere",
        "go",
        "--queue",
    ];
    stage.world.json(&[&send[..], options].concat())["run"].clone()
}

/// Returns the answers of the tools, as the scripted agent repeats them one after the other.
pub(crate) fn answers(run: &Value) -> Vec<Value> {
    let text = run["answer"].as_str().unwrap();
    let answers = serde_json::Deserializer::from_str(text).into_iter();
    answers.map(Result::unwrap).collect()
}

/// Returns the file of the running turn, in the private folder of the runtime's socket.
fn run_file(world: &TestInstallation) -> PathBuf {
    let folders = fs::read_dir(world.path().join("tmp")).unwrap();
    let sockets = folders.map(|folder| folder.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("matins-tools-")
    });
    let files: Vec<_> = sockets.flat_map(|folder| run_files(&folder)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.into_iter().next().unwrap()
}

/// Returns calls of every tool. `work` of [`agent_at_runtime_uses_every_tool`] has the files.
fn calls() -> [(&'static str, Value); 12] {
    let cron = json!({
        "action": "add", "name": "build", "schedule": "0 9 * * 1-5", "zone": "Europe/Prague",
        "message": "Check the build.",
    });
    let ask = json!({"question": "Which colour?", "options": ["red", "blue"], "default": "red"});
    let get = |path: &str| json!({"name": "report", "path": path});
    [
        ("cron", cron),
        ("remember", json!({"key": "build", "value": "green"})),
        ("recall", json!({"key": "build"})),
        ("forget", json!({"key": "nothing"})),
        (
            "save_artifact",
            json!({"name": "report", "path": "report.md"}),
        ),
        (
            "save_artifact",
            json!({"name": "report", "path": "report.md"}),
        ),
        ("save_artifact", json!({"name": "stolen", "path": "link"})),
        (
            "save_artifact",
            json!({"name": "stolen", "path": "../secret"}),
        ),
        ("list_artifacts", json!({})),
        ("get_artifact", get("copy.md")),
        ("get_artifact", get("mine.md")),
        ("ask_person", ask),
    ]
}

#[test]
fn agent_at_runtime_uses_every_tool() {
    let stage = FolderInstance::new();
    let work = stage.world.path().join("work");
    fs::create_dir(&work).unwrap();
    let report = "# Report\n".repeat(50_000);
    fs::write(work.join("report.md"), &report).unwrap();
    fs::write(work.join("mine.md"), "mine").unwrap();
    fs::write(stage.world.path().join("secret"), "secret").unwrap();
    symlink("../secret", work.join("link")).unwrap();
    let calls = calls();
    let steps = calls
        .iter()
        .map(|(tool, arguments)| Step::call_tool(tool, arguments.clone()));
    let script = stage
        .world
        .add_scripted_agent([steps.collect(), vec![Step::Echo]]);
    let runtime = stage.runtime();
    let run = send_new(&stage, &["--dir", work.to_str().unwrap()]);
    let shown = stage.wait_for_status(&run, "succeeded");
    let answers = answers(&shown);
    let summary: Vec<_> = answers
        .iter()
        .map(|answer| (answer["ok"].as_bool().unwrap(), answer["error"].as_str()))
        .collect();
    let (done, invalid) = ((true, None), (false, Some("invalid")));
    let expected = [
        done,
        done,
        done,
        done,
        done,
        done,
        invalid,
        invalid,
        done,
        done,
        (false, Some("conflict")),
        done,
    ];
    assert_eq!(summary, expected, "{answers:#?}");
    // 1. The server has counted each call once.
    let left: Vec<_> = answers
        .iter()
        .map(|answer| answer["calls_left"].as_u64().unwrap())
        .collect();
    assert_eq!(left, (188..200).rev().collect::<Vec<_>>());
    // 2. The automation and the memory are on the server.
    let session = shown["session_id"].as_str().unwrap();
    let made = stage.world.json(&["automation", "show", "build"]);
    assert_eq!(made["made_by"]["session_id"], session, "{made:#}");
    assert_eq!(answers[2]["entries"][0]["value"], "green");
    let kept = stage.world.json(&["memory", "list", "--session", session]);
    assert_eq!(kept[0]["value"], "green", "{kept:#}");
    // 3. The file of the folder is an artifact of the server, and files beyond the folder are not.
    let (saved, again) = (&answers[4], &answers[5]);
    assert_eq!(
        (&saved["version"], &saved["artifact"]),
        (&json!(1), &again["artifact"])
    );
    let get = ["artifact", "get", saved["artifact"].as_str().unwrap()];
    assert_eq!(stage.world.run(&get).expect_success(), report);
    let link = answers[6]["message"].as_str().unwrap();
    assert!(
        link.starts_with("invalid path `link`") && link.contains("symbolic link"),
        "{link}"
    );
    assert!(answers[7]["message"].as_str().unwrap().contains("`..`"));
    assert_eq!(answers[8]["artifacts"].as_array().unwrap().len(), 1);
    // 4. The agent gets it back into its folder, and never over another file.
    assert_eq!(fs::read_to_string(work.join("copy.md")).unwrap(), report);
    assert_eq!(fs::read_to_string(work.join("mine.md")).unwrap(), "mine");
    // 5. A person answers, and the answer is the next input of the agent in the folder.
    let question = answers[11]["question"].as_str().unwrap();
    let answer = ["question", "answer", question, "blue"];
    stage.world.run(&answer).expect_success();
    let next = stage.world.json(&["run", "list", "--limit", "1"])[0].clone();
    assert_ne!(next["id"], run["id"]);
    assert_eq!(
        (&next["session_id"], &next["instance_name"]),
        (&shown["session_id"], &shown["instance_name"])
    );
    stage.world.wait_for("the turn with the answer", |_| {
        let log = PromptLog::read(&script.prompt_log_path()).unwrap();
        log.prompts()
            .get(1)
            .is_some_and(|prompt| prompt.contains("Answer: blue"))
    });
    // 6. Nothing is left of the secrets.
    stage.wait_until_folder_is_empty();
    runtime.signal(Signal::TERM);
    assert_eq!(runtime.end().code, 0);
    let left: Vec<_> = fs::read_dir(stage.world.path().join("tmp"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn access_of_automation_holds_at_runtime() {
    let stage = FolderInstance::new();
    let remember = Step::call_tool("remember", json!({"key": "build", "value": "green"}));
    let recall = Step::call_tool("recall", json!({}));
    let script = stage.world.add_scripted_agent([vec![remember, recall]]);
    let _runtime = stage.runtime();
    for access in ["read", "none"] {
        let mut add = vec![
            "automation",
            "add",
            "Look.",
            "--name",
            access,
            "--agent",
            "scripted",
        ];
        add.extend(["--on-demand", "--on", "elsewhere", "--tools", access]);
        stage.world.run(&add).expect_success();
        let run = stage.fire(access);
        let answers = answers(&stage.wait_for_status(&run, "succeeded"));
        if access == "read" {
            assert_eq!(answers[0]["error"], "unknown", "{answers:#?}");
            assert_eq!(answers[1]["ok"], true, "{answers:#?}");
        } else {
            assert_eq!(answers[0]["error"], "the session has no MCP server");
        }
    }
    let log = PromptLog::read(&script.prompt_log_path()).unwrap();
    let servers = log.events().filter_map(|event| match event {
        Event::New(_, servers) => Some(servers.len()),
        _ => None,
    });
    assert_eq!(servers.collect::<Vec<_>>(), [1, 0]);
}

/// Sends a message to the tools of a run as a runtime does, with the token of the instance.
fn send_raw(stage: &FolderInstance, run: &Value, secret: &str, message: &Value) -> String {
    let token = fs::read_to_string(&stage.token_file).unwrap();
    let address = stage.world.address();
    let host = address.strip_prefix("http://").unwrap();
    let body = json!({ "message": message, "call": 1 }).to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "POST /api/v1/runtime/runs/{}/tools HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         authorization: Bearer {}\r\nmatins-runtime-protocol: 1\r\nmatins-runtime-worker: {}\r\n\
         matins-run-secret: {secret}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        run["id"].as_str().unwrap(),
        token.trim(),
        run["worker_id"].as_str().unwrap(),
        body.len(),
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

/// Returns a program that runs this one with all its logs in a file.
fn logged_program(world: &TestInstallation, log: &Path) -> PathBuf {
    let program = world.path().join("matins-logged");
    let script = format!(
        "#!/bin/sh\nexec {MATINS_PROGRAM} \"$@\" 2>>{}\n",
        log.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program
}

/// Returns the paths of the files below a folder that contain a text, the file of the run aside.
fn files_with(text: &str, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            files_with(text, &path, found);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                found.push(path);
            }
        }
    }
}

#[test]
fn secret_of_run_at_runtime_is_in_its_file_alone_and_dies_with_it() {
    let world = TestInstallation::new().with_env("MATINS_LOG", LOGS);
    let log = world.path().join("log");
    let program = logged_program(&world, &log);
    let stage = FolderInstance::with_program(world, &program);
    let file = |name: &str| stage.world.path().join(name);
    let (began, goes_on) = (file("began"), file("go"));
    let remembered = json!({"key": "k", "value": "{secret}"});
    let saved = json!({"name": "{secret}", "text": "a {secret}"});
    stage.world.add_scripted_agent([vec![
        Step::with_secret(Step::text("I read {secret}.")),
        Step::with_secret(Step::call_tool("remember", remembered)),
        Step::with_secret(Step::call_tool("save_artifact", saved)),
        Step::Touch(began.clone()),
        Step::WaitFor(goes_on.clone()),
    ]]);
    let runtime = stage.runtime();
    let run = send_new(&stage, &[]);
    stage.world.wait_for("the turn", |_| began.exists());
    let path = run_file(&stage.world);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let content: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let secret = content["secret"].as_str().unwrap();
    // 1. The folder of the socket is open to its owner alone.
    let socket = Path::new(content["socket"].as_str().unwrap());
    assert_eq!(
        (mode(socket), mode(socket.parent().unwrap())),
        (0o600, 0o700)
    );
    // 2. No command line and no environment has the secret.
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for part in ["cmdline", "environ"] {
            let text = fs::read(entry.path().join(part)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(secret), "{}", entry.path().display());
        }
    }
    // 3. Another program of the same user is refused, and so is a wrong secret.
    let mut pipe = connect(&stage.world, &path);
    assert_eq!(
        initialize(&mut pipe)["result"]["serverInfo"]["name"],
        "matins"
    );
    let mut foreign = connect_to(socket);
    let hello = format!("{}\n", json!({"run": content["run"], "secret": secret}));
    foreign.write_all(hello.as_bytes()).ok();
    let mut line = String::new();
    BufReader::new(&foreign).read_line(&mut line).ok();
    assert!(line.starts_with("403"), "{line}");
    let mut other = content.clone();
    let last = if secret.ends_with('x') { "y" } else { "x" };
    other["secret"] = json!(format!("{}{last}", &secret[..secret.len() - 1]));
    fs::write(file("wrong"), other.to_string()).unwrap();
    let refused = connect(&stage.world, &file("wrong")).wait();
    assert!(refused.contains("401"), "{refused}");
    // 4. The end closes the connection, and the secret is worthless at the socket and at the server.
    let copy = content.to_string();
    fs::write(&goes_on, "").unwrap();
    let shown = stage.wait_for_status(&run, "succeeded");
    assert!(pipe.lines.next().is_none(), "the pipe ends");
    pipe.wait();
    fs::write(file("copy"), &copy).unwrap();
    let refused = connect(&stage.world, &file("copy")).wait();
    assert!(refused.contains("401 run_over"), "{refused}");
    fs::remove_file(file("copy")).unwrap();
    fs::remove_file(file("wrong")).unwrap();
    let arguments = json!({"key": "late", "value": "x"});
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "remember", "arguments": arguments},
    });
    let response = send_raw(&stage, &shown, secret, &call);
    assert!(
        response.starts_with("HTTP/1.1 200") && response.contains(r#""error":"closed""#),
        "{response}"
    );
    let session = shown["session_id"].as_str().unwrap();
    let kept = stage.world.json(&["memory", "list", "--session", session]);
    assert_eq!(kept.as_array().unwrap().len(), 1, "{kept:#}");
    let masked = kept[0]["value"].as_str().unwrap();
    assert!(masked.starts_with("mar_***"), "{masked}");
    // 5. Nothing that is kept or logged has the secret: data folder, trigger folder, logs, transcript.
    let shown = shown.to_string();
    assert!(
        !shown.contains(secret) && shown.contains("mar_***"),
        "{shown}"
    );
    runtime.signal(Signal::TERM);
    assert_eq!(runtime.end().code, 0);
    stage.server.signal(Signal::TERM);
    assert_eq!(stage.server.end().code, 0);
    let logged = fs::read_to_string(&log).unwrap();
    assert!(
        logged.contains("remember") && logged.contains("TRACE"),
        "{}",
        logged.len()
    );
    let mut found = Vec::new();
    files_with(secret, stage.world.path(), &mut found);
    assert_eq!(found, Vec::<PathBuf>::new());
}

#[test]
fn killed_runtime_leaves_secrets_that_the_next_one_removes() {
    let stage = FolderInstance::new();
    let began = stage.world.path().join("began");
    let steps = vec![Step::Touch(began.clone()), Step::Stall];
    stage
        .world
        .add_scripted_agent([steps, vec![Step::text("Done.")]]);
    let runtime = stage.runtime();
    let run = send_new(&stage, &[]);
    stage.world.wait_for("the turn", |_| began.exists());
    let left = run_file(&stage.world);
    runtime.signal(Signal::KILL);
    runtime.end();
    assert!(left.exists());
    let _runtime = stage.runtime();
    stage
        .world
        .wait_for("the removal", |_| !left.parent().unwrap().exists());
    stage.wait_for_status(&run, "stalled");
}
