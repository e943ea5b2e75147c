//! `agent check` with real agents that think with a model server of this machine.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{path::Path, process::Command};

use serde_json::Value;
use testkit::{acp_lines::AgentCommand, model_server::ModelServer, real_agents};

/// Returns the command of one kind of agent, for a model server and a folder.
type LaunchAgent = fn(&ModelServer, &Path) -> anyhow::Result<AgentCommand>;

/// Runs a command, and returns its output.
fn matins(data: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_matins"))
        .args(args)
        .env_clear()
        .env("MATINS_DATA", data)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {told}\n{output:?}");
    output.stdout
}

fn matins_json(data: &Path, args: &[&str]) -> Value {
    let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&matins(data, &args)).unwrap()
}

/// Adds the agent `real` with these options.
fn add_agent(data: &Path, launch: &AgentCommand, options: &[&str]) {
    let mut add = vec!["agent", "add", "real"];
    add.extend(options);
    let variables = launch.env.iter();
    let variables: Vec<_> = variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    for variable in &variables {
        add.extend(["--env", variable]);
    }
    add.extend(["--", launch.command.to_str().unwrap()]);
    add.extend(launch.args.iter().map(String::as_str));
    matins(data, &add);
}

/// Returns the findings of `agent check --restore` about an agent that is added with these options.
fn check_agent(data: &Path, launch: &AgentCommand, options: &[&str]) -> Value {
    add_agent(data, launch, options);
    matins_json(data, &["agent", "check", "real", "--restore"])
}

/// The way in which an agent restores sessions.
enum RestoreOffer {
    Load,
    Resume,
}

/// Checks that `agent check` finds an agent usable, proves its restore, and deletes its session if the agent can.
async fn assert_agent_is_usable(
    start: LaunchAgent,
    options: &'static [&str],
    offer: RestoreOffer,
    deletes_sessions: bool,
) {
    let server = ModelServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let launch = start(&server, &home).unwrap();
    let data = folder.path().join("data");
    let checked = tokio::task::spawn_blocking(move || check_agent(&data, &launch, options));
    let checked = checked.await.unwrap();
    assert_eq!(checked["protocol_version"], 1, "{checked:#}");
    let offer = match offer {
        RestoreOffer::Load => "load",
        RestoreOffer::Resume => "resume",
    };
    assert_eq!(checked["offers"][offer], true, "{checked:#}");
    assert_eq!(checked["can_restore"], true);
    assert_eq!(checked["session"]["outcome"], "opened", "{checked:#}");
    assert_eq!(
        checked["session"]["deleted"], deletes_sessions,
        "{checked:#}"
    );
    assert_eq!(checked["restore"]["outcome"], "restored", "{checked:#}");
    assert!(checked["memory_bytes"].as_u64().unwrap() > 10 << 20);
    assert!(!server.seen_requests().is_empty(), "it took a turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_passes_agent_check() {
    assert_agent_is_usable(real_agents::goose, &[], RestoreOffer::Load, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_passes_agent_check() {
    assert_agent_is_usable(real_agents::codex, &[], RestoreOffer::Resume, true).await;
}

/// Checks that an agent calls a tool of Matins from its schema alone, and that no request for permission to do so is denied.
/// The agent gets the tools in the middle of a session, which goes on. If it offers them `in_restored_sessions`, it calls
/// them there, in two turns; otherwise in a new session.
async fn assert_agent_calls_tools(start: LaunchAgent, in_restored_sessions: bool) {
    const ADD: &str = r#"call cron {"action":"add","name":"build","schedule":"0 9 * * 1-5","message":"Check it."}"#;
    const REMOVE: &str = r#"call cron {"action":"remove","name":"build"}"#;
    let server = ModelServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let launch = start(&server, &home).unwrap();
    let data = folder.path().join("data");
    let called = tokio::task::spawn_blocking(move || {
        let send_new = |words| {
            matins(
                &data,
                &["session", "send", "--new", "--agent", "real", words],
            )
        };
        let automations = || matins_json(&data, &["automation", "list"]);
        add_agent(&data, &launch, &["--tools", "none"]);
        send_new("Remember the heron.");
        let session = matins_json(&data, &["run", "list"])[0]["session_id"].clone();
        let session = session.as_str().unwrap();
        add_agent(&data, &launch, &[]);
        let made;
        if in_restored_sessions {
            matins(&data, &["session", "send", session, ADD]);
            made = automations();
            matins(&data, &["session", "send", session, REMOVE]);
            assert_eq!(automations(), serde_json::json!([]));
        } else {
            matins(&data, &["session", "send", session, "And now?"]);
            send_new(ADD);
            made = automations();
        }
        (made, matins_json(&data, &["run", "list"]))
    });
    let (made, runs) = called.await.unwrap();
    assert_eq!(made[0]["name"], "build", "{:#?}", server.seen_requests());
    for run in runs.as_array().unwrap() {
        assert_eq!(run["status"], "succeeded", "{run:#}");
        assert_eq!(run["flags"]["permissions_denied"], 0, "{run:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_calls_tools() {
    assert_agent_calls_tools(real_agents::goose, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_calls_tools() {
    assert_agent_calls_tools(real_agents::codex, true).await;
}

/// The agents that ordinary test runs leave out. `scripts/test-long agents` runs these tests.
mod more_agents {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn claude_passes_agent_check() {
        assert_agent_is_usable(real_agents::claude, &[], RestoreOffer::Resume, true).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn gemini_passes_agent_check() {
        assert_agent_is_usable(
            real_agents::gemini,
            &["--restore-after", "60"],
            RestoreOffer::Load,
            false,
        )
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn kimi_passes_agent_check() {
        assert_agent_is_usable(real_agents::kimi, &[], RestoreOffer::Resume, true).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn opencode_passes_agent_check() {
        assert_agent_is_usable(real_agents::opencode, &[], RestoreOffer::Resume, false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn qwen_passes_agent_check() {
        assert_agent_is_usable(real_agents::qwen, &[], RestoreOffer::Resume, false).await;
    }
}
