//! Questions of agents, which people answer by commands.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::scripted::{PromptLog, Script, Step};

use crate::test_installation::TestInstallation;

/// Adds an agent that asks a question for its first prompt, and echoes the others.
fn add_agent_with_questions(world: &TestInstallation) -> Script {
    let ask = json!({
        "question": "Which colour?", "options": ["red", "blue"], "default": "red", "hours": 2,
    });
    world.add_scripted_agent([vec![Step::call_tool("ask_person", ask)], vec![Step::Echo]])
}

fn send_new(world: &TestInstallation, text: &str) {
    world
        .run(&["session", "send", "--new", "--agent", "scripted", text])
        .expect_success();
}

fn newest_run(world: &TestInstallation) -> Value {
    let id = world.json(&["run", "list", "--limit", "1"])[0]["id"].clone();
    world.json(&["run", "show", id.as_str().unwrap()])
}

#[test]
fn question_survives_kill_of_its_server_and_its_answer_reaches_agent_once() {
    let world = TestInstallation::new();
    let script = add_agent_with_questions(&world);
    let server = world.serve();
    send_new(&world, "Paint the door.");
    let listed = world.json(&["question", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    let status = world.run(&["status"]).expect_success();
    assert!(status.contains("Which colour?"), "{status}");
    server.signal(Signal::KILL);
    server.end();

    // Another server takes the answer, and the agent gets it as its next input.
    let server = world.serve();
    let shown = world.run(&["question", "show", &id]).expect_success();
    assert!(shown.contains("2. blue"), "{shown}");
    let refused = world.run(&["question", "answer", &id, "--option", "3"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let answered = world
        .run(&["question", "answer", &id, "--option", "2"])
        .expect_success();
    assert!(answered.contains("blue"), "{answered}");
    world.wait_for("the turn with the answer", |world| {
        let run = newest_run(world);
        run["status"] == "succeeded" && run["answer"].as_str().unwrap().contains("Answer: blue")
    });
    let again = world.run(&["question", "answer", &id, "green"]);
    assert_ne!(again.code, 0);
    assert!(again.stderr.contains("is answered"), "{again:?}");
    let log = PromptLog::read(&script.prompt_log_path()).unwrap();
    let prompts = log.prompts();
    let answers = prompts
        .iter()
        .filter(|prompt| prompt.contains("Answer: blue"));
    assert_eq!(answers.count(), 1);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}

#[test]
fn waiting_form_is_listed_as_such_and_can_be_declined() {
    let world = TestInstallation::new();
    let form = json!({ "colour": { "type": "string", "default": "red" } });
    world.add_scripted_agent([vec![Step::elicit("Which colour?", &form)]]);
    let _server = world.serve();
    let turn = world.start(&["session", "send", "--new", "--agent", "scripted", "Paint."]);
    world.wait_for("the question", |world| {
        world.json(&["question", "list"]) != json!([])
    });
    let id = world.json(&["question", "list"])[0]["id"].clone();
    let id = id.as_str().unwrap();
    // 1. The lists name the wait, and the run its question.
    let runs = world.run(&["run", "list"]).expect_success();
    assert!(runs.contains("waits for an answer"), "{runs}");
    let status = world.run(&["status"]).expect_success();
    assert!(
        status.contains("waits for an answer; its defaults count in"),
        "{status}"
    );
    assert!(status.contains(", waits for an answer\n"), "{status}");
    let run = newest_run(&world);
    assert_eq!(
        run["blocked_on"],
        json!({ "for": "answer", "question": id, "text": "Which colour?" })
    );
    let shown = world
        .run(&["run", "show", run["id"].as_str().unwrap()])
        .expect_success();
    assert!(
        shown.contains(&format!("matins question decline {id}")),
        "{shown}"
    );
    // 2. Declining ends the wait, once, without the default.
    let declined = world.run(&["question", "decline", id]).expect_success();
    assert_eq!(declined.trim(), format!("Declined {id}."));
    assert_eq!(turn.end().code, 0);
    let run = newest_run(&world);
    assert_eq!(run["answer"], "{\"action\":\"decline\"}");
    assert_eq!(run["blocked_on"], Value::Null);
    let shown = world.json(&["question", "show", id]);
    assert_eq!(
        (&shown["state"], &shown["declined"], &shown["answer"]),
        (&json!("answered"), &json!(true), &Value::Null)
    );
    let shown = world.run(&["question", "show", id]).expect_success();
    assert!(shown.contains("declined"), "{shown}");
    let late = world.run(&["question", "answer", id, "--form", "{\"colour\": \"blue\"}"]);
    assert!(late.stderr.contains("is answered"), "{late:?}");
}
