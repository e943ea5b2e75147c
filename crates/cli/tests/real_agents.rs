//! `agent check` with real agents that think with a model server of this machine.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{path::Path, process::Command};

use serde_json::Value;
use testkit::{acp_lines::AgentCommand, model_server::ModelServer, real_agents};

/// Returns the command of one kind of agent, for a model server and a folder.
type LaunchAgent = fn(&ModelServer, &Path) -> anyhow::Result<AgentCommand>;

/// Returns the findings of `agent check --restore` about an agent that is added with these options.
fn check_agent(data: &Path, launch: &AgentCommand, options: &[&str]) -> Value {
    let matins = |args: &[String]| {
        let output = Command::new(env!("CARGO_BIN_EXE_matins"))
            .args(args)
            .env_clear()
            .env("MATINS_DATA", data)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {told}\n{output:?}");
        output.stdout
    };
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let mut add = words(&["agent", "add", "real"]);
    add.extend(words(options));
    for (name, value) in &launch.env {
        add.extend(["--env".to_owned(), format!("{name}={value}")]);
    }
    add.push("--".to_owned());
    add.push(launch.command.to_str().unwrap().to_owned());
    add.extend(launch.args.clone());
    matins(&add);
    let checked = matins(&words(&["agent", "check", "real", "--restore", "--json"]));
    serde_json::from_slice(&checked).unwrap()
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
