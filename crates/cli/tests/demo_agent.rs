//! The demonstration agent, spoken to in raw lines.

use std::{fs, path::Path};

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::acp_lines::{AgentCommand, RawAgent, Reply, prompt_params};

/// A pause so long that a turn never ends by itself within a test.
const ENDLESS_PACE_MILLIS: &str = "3600000";

struct AgentFolders {
    home: TempDir,
    cwd: TempDir,
}

impl AgentFolders {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            home: tempfile::tempdir()?,
            cwd: tempfile::tempdir()?,
        })
    }

    /// Starts a process of the agent and greets it.
    async fn start_agent(&self, pace: &str) -> anyhow::Result<RawAgent> {
        let home = self.home.path().to_str().context("home is not UTF-8")?;
        let launch = AgentCommand {
            command: env!("CARGO_BIN_EXE_matins").into(),
            args: ["demo-agent", "--home", home, "--pace", pace]
                .map(str::to_owned)
                .into(),
            env: Vec::new(),
        };
        let (agent, _) = RawAgent::start_initialized(&launch, self.cwd.path()).await?;
        Ok(agent)
    }

    async fn new_session(&self, agent: &mut RawAgent) -> anyhow::Result<String> {
        let params = json!({"cwd": self.cwd.path(), "mcpServers": []});
        let made = agent.request("session/new", params).await?;
        let id = made.ok()?["sessionId"].as_str().context("no session id")?;
        Ok(id.to_owned())
    }

    async fn restore(&self, agent: &mut RawAgent, how: &str, id: &str) -> anyhow::Result<Reply> {
        restore_in(agent, how, id, self.cwd.path()).await
    }
}

async fn restore_in(
    agent: &mut RawAgent,
    how: &str,
    id: &str,
    cwd: &Path,
) -> anyhow::Result<Reply> {
    let params = json!({"sessionId": id, "cwd": cwd, "mcpServers": []});
    agent.request(how, params).await
}

fn answer_text(reply: &Reply) -> String {
    reply.text("agent_message_chunk")
}

fn refusal(reply: &Reply) -> (i64, &str) {
    let Err(error) = &reply.outcome else {
        panic!("not refused: {reply:?}");
    };
    let code = error["code"].as_i64().unwrap_or_default();
    (code, error["message"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn missing_session_is_refused_and_not_created() {
    let world = AgentFolders::new().unwrap();
    let mut agent = world.start_agent("0").await.unwrap();
    let absent = format!("demo_{}", "0".repeat(32));
    for id in [absent.as_str(), "../../etc/passwd", ""] {
        for how in ["session/load", "session/resume"] {
            let reply = world.restore(&mut agent, how, id).await.unwrap();
            let (code, message) = refusal(&reply);
            assert_eq!(code, -32_002);
            assert_eq!(message, format!("unknown session `{id}`"));
        }
        let reply = agent.prompt(id, "Hello?").await.unwrap();
        assert!(refusal(&reply).1.contains("is not open here"), "{reply:?}");
    }
    assert_eq!(fs::read_dir(world.home.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn session_restore_in_another_working_directory_is_refused() {
    let world = AgentFolders::new().unwrap();
    let mut first = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut first).await.unwrap();
    first.kill().await.unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let mut second = world.start_agent("0").await.unwrap();
    for (cwd, expected) in [
        (elsewhere.path(), "belongs to the working directory"),
        (Path::new("here"), "`cwd` here is not absolute"),
    ] {
        let reply = restore_in(&mut second, "session/resume", &id, cwd).await;
        let reply = reply.unwrap();
        let (code, message) = refusal(&reply);
        assert_eq!(code, -32_602);
        assert!(message.contains(expected), "{message}");
    }
    let right = world.restore(&mut second, "session/resume", &id).await;
    right.unwrap().ok().unwrap();
}

#[tokio::test]
async fn session_open_in_another_process_is_busy_until_closed() {
    let world = AgentFolders::new().unwrap();
    let mut first = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut first).await.unwrap();

    let mut second = world.start_agent("0").await.unwrap();
    let reply = world.restore(&mut second, "session/resume", &id).await;
    let reply = reply.unwrap();
    let (code, message) = refusal(&reply);
    assert_eq!(code, -32_003);
    assert!(message.contains("is busy"), "{message}");

    let close = json!({"sessionId": id});
    let closed = first.request("session/close", close).await.unwrap();
    closed.ok().unwrap();
    let reply = world.restore(&mut second, "session/resume", &id).await;
    reply.unwrap().ok().unwrap();
}

#[tokio::test]
async fn corrupt_session_file_is_an_error_and_unchanged() {
    let world = AgentFolders::new().unwrap();
    let mut first = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut first).await.unwrap();
    first.kill().await.unwrap();
    let file = world.home.path().join(format!("{id}.json"));
    fs::write(&file, "{\"cwd\": ").unwrap();

    let mut second = world.start_agent("0").await.unwrap();
    for how in ["session/load", "session/resume", "session/list"] {
        let reply = world.restore(&mut second, how, &id).await.unwrap();
        let (code, message) = refusal(&reply);
        assert_eq!(code, -32_603, "{how}");
        assert!(
            message.contains("is not a valid session file") && message.contains("EOF"),
            "{message}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"cwd\": ");
}

#[tokio::test]
async fn second_prompt_during_turn_is_refused() {
    let world = AgentFolders::new().unwrap();
    let mut agent = world.start_agent(ENDLESS_PACE_MILLIS).await.unwrap();
    let id = world.new_session(&mut agent).await.unwrap();
    let first = agent
        .send("session/prompt", prompt_params(&id, "One"))
        .await;
    agent.update("session_info_update").await.unwrap();

    let reply = agent.prompt(&id, "Two").await.unwrap();
    assert!(
        refusal(&reply).1.contains("has a turn already"),
        "{reply:?}"
    );

    let cancel = json!({"sessionId": id});
    agent.notify("session/cancel", cancel).await.unwrap();
    let reply = agent.reply(first.unwrap()).await.unwrap();
    assert_eq!(reply.ok().unwrap()["stopReason"], "cancelled");
}

#[tokio::test]
async fn cancelled_turn_is_remembered_as_cancelled() {
    let world = AgentFolders::new().unwrap();
    let mut slow = world.start_agent(ENDLESS_PACE_MILLIS).await.unwrap();
    let id = world.new_session(&mut slow).await.unwrap();
    let turn = slow
        .send("session/prompt", prompt_params(&id, "Count the bells"))
        .await;
    slow.update("session_info_update").await.unwrap();
    let cancel = json!({"sessionId": id});
    slow.notify("session/cancel", cancel).await.unwrap();
    let reply = slow.reply(turn.unwrap()).await.unwrap();
    assert_eq!(reply.ok().unwrap()["stopReason"], "cancelled");
    slow.kill().await.unwrap();

    let mut second = world.start_agent("0").await.unwrap();
    let resumed = world.restore(&mut second, "session/resume", &id).await;
    resumed.unwrap().ok().unwrap();
    let reply = second.prompt(&id, "Go on").await.unwrap();
    let said = answer_text(&reply);
    assert!(said.contains("\"Count the bells\" (cancelled)"), "{said}");
}

#[tokio::test]
async fn demo_agent_exits_at_once_when_stdin_closes_during_turn() {
    let world = AgentFolders::new().unwrap();
    let mut slow = world.start_agent(ENDLESS_PACE_MILLIS).await.unwrap();
    let id = world.new_session(&mut slow).await.unwrap();
    slow.send("session/prompt", prompt_params(&id, "Ring"))
        .await
        .unwrap();
    slow.update("session_info_update").await.unwrap();
    assert!(slow.close_input_and_wait().await.unwrap().success());
}

#[tokio::test]
async fn turn_of_killed_process_is_remembered_as_interrupted() {
    let world = AgentFolders::new().unwrap();
    let mut slow = world.start_agent(ENDLESS_PACE_MILLIS).await.unwrap();
    let id = world.new_session(&mut slow).await.unwrap();
    slow.send("session/prompt", prompt_params(&id, "Ring"))
        .await
        .unwrap();
    slow.update("session_info_update").await.unwrap();
    slow.kill().await.unwrap();

    let mut second = world.start_agent("0").await.unwrap();
    let resumed = world.restore(&mut second, "session/resume", &id).await;
    resumed.unwrap().ok().unwrap();
    let said = answer_text(&second.prompt(&id, "Again").await.unwrap());
    assert!(said.contains("This is turn 2"), "{said}");
    assert!(said.contains("\"Ring\" (interrupted)"), "{said}");
}

#[tokio::test]
async fn second_process_remembers_prompts_of_first() {
    let world = AgentFolders::new().unwrap();
    let mut first = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut first).await.unwrap();
    for text in ["Remember the heron", "And the kite"] {
        let reply = first.prompt(&id, text).await.unwrap();
        assert_eq!(reply.ok().unwrap()["stopReason"], "end_turn");
    }
    assert!(first.close_input_and_wait().await.unwrap().success());

    let mut second = world.start_agent("0").await.unwrap();
    let resumed = world.restore(&mut second, "session/resume", &id).await;
    let resumed = resumed.unwrap();
    resumed.ok().unwrap();
    assert_eq!(
        resumed.updates,
        Vec::<Value>::new(),
        "resume replays nothing"
    );
    let said = answer_text(&second.prompt(&id, "What was it?").await.unwrap());
    let expected = "This is turn 3 of this session. Before, you asked: \
                    \"Remember the heron\"; \"And the kite\". Now you ask: \"What was it?\".";
    assert!(said.starts_with(expected), "{said}");
}

#[tokio::test]
async fn session_load_replays_conversation_before_reply() {
    let world = AgentFolders::new().unwrap();
    let mut first = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut first).await.unwrap();
    let answer = answer_text(&first.prompt(&id, "Remember the heron").await.unwrap());
    first.kill().await.unwrap();

    let mut second = world.start_agent("0").await.unwrap();
    let loaded = world.restore(&mut second, "session/load", &id).await;
    let loaded = loaded.unwrap();
    loaded.ok().unwrap();
    assert_eq!(loaded.text("user_message_chunk"), "Remember the heron");
    assert_eq!(answer_text(&loaded), answer);
}

#[tokio::test]
async fn turn_reports_title_plan_tool_call_and_usage() {
    let world = AgentFolders::new().unwrap();
    let mut agent = world.start_agent("0").await.unwrap();
    let id = world.new_session(&mut agent).await.unwrap();
    let kinds = |reply: &Reply| {
        let kind = |update: &Value| update["sessionUpdate"].as_str().map(str::to_owned);
        let mut kinds: Vec<_> = reply.updates.iter().filter_map(kind).collect();
        kinds.dedup();
        kinds
    };
    let first = agent.prompt(&id, "Remember the heron").await.unwrap();
    assert_eq!(
        kinds(&first),
        [
            "session_info_update",
            "plan",
            "agent_message_chunk",
            "plan",
            "usage_update"
        ]
    );
    let second = agent.prompt(&id, "And now?").await.unwrap();
    assert_eq!(
        kinds(&second),
        [
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "usage_update"
        ]
    );
    let used = |reply: &Reply| reply.updates.last().and_then(|last| last["used"].as_u64());
    assert!(used(&second) > used(&first));

    let listed = agent.request("session/list", json!({})).await.unwrap();
    let sessions = &listed.ok().unwrap()["sessions"];
    assert_eq!(sessions[0]["sessionId"], id);
    assert_eq!(sessions[0]["title"], "Remember the heron");
}
