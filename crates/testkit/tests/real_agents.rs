//! Real agents restore a session in a new process, each with the method that it supports.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use testkit::{
    acp_lines::{AgentCommand, RawAgent, Reply},
    model_server::ModelServer,
    real_agents,
};

/// The responses of two processes of one agent that share a session.
struct RestoredTurn {
    capabilities: Value,
    restored: Reply,
    answer: Reply,
}

/// Runs a turn, kills the agent, restores the session in a new process and prompts again.
async fn prompt_kill_and_restore(
    launch: &AgentCommand,
    cwd: &Path,
    restore: &str,
) -> anyhow::Result<RestoredTurn> {
    let (mut first, offer) = RawAgent::start_initialized(launch, cwd).await?;
    let new = json!({"cwd": cwd, "mcpServers": []});
    let created = first.request("session/new", new).await?;
    let session = created.ok()?["sessionId"]
        .as_str()
        .context("the agent returned no session ID")?;
    let reply = first.prompt(session, "Remember the heron.").await?;
    assert_eq!(reply.ok()?["stopReason"], "end_turn");
    first.kill().await?;

    let (mut second, _) = RawAgent::start_initialized(launch, cwd).await?;
    let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    let restored = second.request(restore, params).await?;
    restored.ok()?;
    let answer = second.prompt(session, "What was it?").await?;
    assert_eq!(answer.ok()?["stopReason"], "end_turn");
    Ok(RestoredTurn {
        capabilities: offer["agentCapabilities"].clone(),
        restored,
        answer,
    })
}

const EXPECTED_ANSWER: &str = "I was shown 2 requests: [1] Remember the heron. [2] What was it?";

#[tokio::test]
async fn killed_goose_loads_session_with_memory() {
    let server = ModelServer::start().await.unwrap();
    let (home, cwd) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let launch = real_agents::goose(&server, home.path()).unwrap();

    let turn = prompt_kill_and_restore(&launch, cwd.path(), "session/load")
        .await
        .unwrap();

    assert_eq!(turn.capabilities["loadSession"], true);
    let replayed = turn.restored.text("user_message_chunk");
    assert!(replayed.contains("Remember the heron."), "{replayed}");
    assert_eq!(turn.answer.text("agent_message_chunk"), EXPECTED_ANSWER);
}

#[tokio::test]
async fn killed_codex_resumes_session_with_memory() {
    let server = ModelServer::start().await.unwrap();
    let (home, cwd) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let launch = real_agents::codex(&server, home.path()).unwrap();

    let turn = prompt_kill_and_restore(&launch, cwd.path(), "session/resume")
        .await
        .unwrap();

    assert!(turn.capabilities["sessionCapabilities"]["resume"].is_object());
    assert_eq!(turn.restored.text("user_message_chunk"), "");
    // codex begins its answer with a warning about the unknown model.
    let answer = turn.answer.text("agent_message_chunk");
    assert!(answer.ends_with(EXPECTED_ANSWER), "{answer}");
}
