//! An agent that repeats the secret of its own run, whole and in pieces: nothing that Matins keeps or shows has it.

use std::fs;

use serde_json::{Value, json};
use testkit::scripted::Step;

use crate::{held_turn::run_files, test_installation::TestInstallation};

/// The number of characters of a secret.
const SECRET_CHARS: usize = 53;

/// Returns a step that sends characters of the secret as one piece of the answer.
fn piece(from: usize, to: usize) -> Step {
    let characters = (from..to).map(|at| format!("{{secret[{at}]}}"));
    let text = characters.collect::<Vec<_>>().concat();
    Step::with_secret(Step::Text(text))
}

fn update(update: Value) -> Step {
    Step::with_secret(Step::Update(update))
}

/// Joins the pieces of live text in the events of a trace.
fn live_text(events: &str) -> String {
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let deltas = events.filter(|event| event["event"] == "delta");
    deltas
        .map(|delta| delta["data"]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn secret_in_many_pieces_is_in_no_live_text_and_no_table() {
    let world = TestInstallation::new();
    let file = |name: &str| world.path().join(name);
    let (began, middle, goes_on) = (file("began"), file("middle"), file("go"));
    let mut steps = vec![Step::Touch(began.clone()), Step::text("marker-one ")];
    steps.push(piece(0, 30));
    steps.push(Step::WaitFor(middle.clone()));
    steps.extend((30..SECRET_CHARS).map(|at| piece(at, at + 1)));
    steps.push(Step::with_secret(Step::Thought("{secret}".into())));
    steps.push(Step::text(" marker-two"));
    steps.push(update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "{secret}", "title": "{secret}", "kind": "{secret}",
        "status": "in_progress", "rawInput": {"{secret}": "{secret}"}, "locations": [{"path": "/{secret}"}],
    })));
    steps.push(update(json!({
        "sessionUpdate": "plan",
        "entries": [{"content": "{secret}", "priority": "{secret}", "status": "{secret}"}],
    })));
    steps.push(update(json!({
        "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.0, "currency": "{secret}"},
    })));
    let remembered = json!({"key": "k", "value": "{secret}"});
    steps.push(Step::with_secret(Step::call_tool("remember", remembered)));
    let permission = Step::request_permission("{secret}", "{secret}", "{secret}");
    steps.push(Step::with_secret(permission));
    steps.push(Step::with_secret(Step::StderrText("{secret}\n".into())));
    steps.push(Step::WaitFor(goes_on.clone()));
    world.add_scripted_agent([steps]);
    let server = world.serve();
    let turn = world.start(&["session", "send", "--new", "--agent", "scripted", "hello"]);
    world.wait_for("the turn", |_| began.exists());
    let secret = fs::read(&run_files(&world.data_folder())[0]).unwrap();
    let secret: Value = serde_json::from_slice(&secret).unwrap();
    let secret = secret["secret"].as_str().unwrap();
    assert_eq!(secret.len(), SECRET_CHARS);
    let run = world.json(&["run", "list", "--limit", "1"])[0].clone();
    let session = run["session_id"].as_str().unwrap();
    let start_trace = || world.start(&["trace", session, "--after", "0", "--json"]);
    let mut trace = start_trace();
    // The first piece is flushed before the rest is sent, so that the secret is in two writes of live text.
    let mut events = trace.read_stdout_until("marker-one");
    fs::write(&middle, "").unwrap();
    events.push_str(&trace.read_stdout_until("marker-two"));
    // The second reader gets the live text so far in one piece.
    for events in [events, start_trace().read_stdout_until("marker-two")] {
        let live = live_text(&events);
        assert!(
            !live.contains(secret) && live.contains("mar_***") && !events.contains(secret),
            "{live}"
        );
    }
    fs::write(&goes_on, "").unwrap();
    let ended = turn.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    let shown = world
        .run(&["run", "show", run["id"].as_str().unwrap(), "--json"])
        .expect_success();
    assert!(
        !shown.contains(secret) && shown.contains("mar_***"),
        "{shown}"
    );
    let exported = world.run(&["session", "export", session]).expect_success();
    assert!(!exported.contains(secret), "{exported}");
    server.signal(rustix::process::Signal::TERM);
    let logs = server.end();
    assert!(!logs.stdout.contains(secret) && !logs.stderr.contains(secret));
    for entry in fs::read_dir(world.data_folder()).unwrap().flatten() {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!found, "{}", entry.path().display());
    }
}
