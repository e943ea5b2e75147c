//! Calls of the tools of goals and of the messages between seats, by real agents in the turns of a goal.

use std::{fs, path::Path};

use model::permission::{TASK_TOOL_NAMES, TEAM_TOOL_NAMES};
use serde_json::{Value, json};
use testkit::model_server::{ModelServer, ScriptRule, ScriptStep};

use super::{
    commands::{RunningCommand, add_agent, matins, matins_json, wait_for},
    goal_script::{
        ANSWER, CHECK, PLAN, REPORT, accept, create, done, list, review, rule, team, work,
    },
    tool_user::ToolUser,
};

const MESSAGE: &str = "The plan follows.";
const QUESTION: &str = "Which words?";

/// Returns the script of a goal with one task. Each part calls each tool that it gets for goals and messages.
fn script(agent: ToolUser) -> Vec<ScriptRule> {
    let cancel = json!({"task": "spare", "status": "cancelled"});
    let send = json!({"to": "worker", "text": MESSAGE});
    let ask = json!({"question": QUESTION, "options": ["short", "long"], "default": "short"});
    let read = || ("read_messages", json!({}));
    let plan = [
        list(),
        create("a", &[]),
        create("spare", &["a"]),
        ("update_task", cancel),
        ("send_message", send),
        read(),
    ];
    let worked = [list(), read(), ("ask_person", ask)];
    let rule = |text: &str, calls: &[(&str, Value)]| rule(&[text], agent.offer, calls);
    vec![
        rule(PLAN, &plan),
        rule(&work("a"), &worked),
        rule(ANSWER, &[done("It is done in short words.")]),
        rule(&review("a"), &[list(), read(), accept()]),
        rule(CHECK, &[list(), accept()]),
        rule(REPORT, &[list()]),
    ]
}

/// Plays a goal with one task, whose worker asks a person.
fn play_goal(data: &Path, folder: &Path) {
    let file = folder.join("own.toml");
    fs::write(&file, team(1)).unwrap();
    let file = file.to_str().unwrap();
    let _server = RunningCommand::serve(data);
    let start = ["goal", "start", "Draft it.", "--team", file];
    let start = [&start[..], &["--agent", "real", "--key", "own"]].concat();
    matins(data, &start);
    let question = || {
        let listed = matins_json(data, &["question", "list"]);
        let mut questions = listed.as_array().unwrap().iter();
        let pending = questions.find(|question| question["text"] == QUESTION)?;
        Some(pending["id"].as_str().unwrap().to_owned())
    };
    wait_for("the question", || {
        let goal = matins_json(data, &["goal", "show", "own"]);
        assert_eq!(goal["state"], "active", "{goal:#}");
        question().is_some()
    });
    matins(data, &["question", "answer", &question().unwrap(), "short"]);
    matins(data, &["goal", "show", "own", "--follow"]);

    let tasks = matins_json(data, &["task", "list", "own"]);
    let tasks = tasks["tasks"].as_array().unwrap();
    let work = tasks.iter().filter(|task| task["kind"] == "work");
    let work: Vec<_> = work.map(|task| (&task["key"], &task["status"])).collect();
    assert_eq!(work, [(&json!("a"), &json!("DONE"))]);
    let goal = matins_json(data, &["goal", "show", "own"]);
    let session = goal["id"].as_str().unwrap();
    let messages = matins_json(data, &["session", "messages", session]);
    let mut messages = messages.as_array().unwrap().iter();
    assert!(
        messages.any(|message| message["text"] == MESSAGE),
        "{messages:?}"
    );
    let runs = matins_json(data, &["run", "list", "--session", session]);
    for run in runs.as_array().unwrap() {
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert_eq!(run["flags"]["permissions_denied"], 0, "{run:#}");
    }
}

/// Checks that the model got the answer of each call, and that none of them is an error.
fn assert_model_got_all_answers(server: &ModelServer, script: &[ScriptRule]) {
    let seen = server.seen_requests();
    for (position, rule) in script.iter().enumerate() {
        let complete = ScriptStep {
            rule: position,
            answered: rule.calls.len(),
        };
        let last = seen.iter().find(|request| request.step == Some(complete));
        let Some(last) = last else {
            panic!("not all calls of {:?} were made", rule.texts)
        };
        // The answers are JSON in texts of JSON, with the spaces and the escapes of the agent.
        let body = last.body.to_string().replace(['\\', '"', ' '], "");
        assert!(body.contains("ok:true"), "{body}");
        assert!(!body.contains("ok:false"), "{body}");
    }
}

/// Checks that an agent calls each tool of goals and of messages from its schema alone, in the turns of a goal that get
/// it, new sessions and restored ones among them, and that no request for permission to do so is denied.
pub(crate) async fn assert_agent_calls_each_tool_of_goals(agent: ToolUser) {
    let script = script(agent);
    for tool in TASK_TOOL_NAMES.iter().chain(&TEAM_TOOL_NAMES) {
        let mut calls = script.iter().flat_map(|rule| &rule.calls);
        assert!(calls.any(|call| call.contains(tool)), "{tool}");
    }
    let server = ModelServer::start_with_script(script.clone())
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let launch = (agent.start)(&server, &home).unwrap();
    let path = folder.path().to_owned();
    let played = tokio::task::spawn_blocking(move || {
        let data = path.join("data");
        add_agent(&data, &launch, agent.options);
        play_goal(&data, &path);
    });
    if let Err(error) = played.await {
        panic!("{error}: {:?}", server.seen_requests().last());
    }
    assert_model_got_all_answers(&server, &script);
}
