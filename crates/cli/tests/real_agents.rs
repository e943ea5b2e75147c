//! `agent check` with real agents that think with a model server of this machine.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{path::Path, process::Command};

use serde_json::Value;
use testkit::{acp_lines::AgentCommand, model_server::ModelServer, real_agents};

/// What `agent check --restore` finds of an agent.
fn check_agent(data: &Path, launch: &AgentCommand) -> Value {
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

/// A check of an agent finds it usable, proves its restore, and leaves no session behind.
async fn assert_agent_is_usable(
    start: fn(&ModelServer, &Path) -> anyhow::Result<AgentCommand>,
    offers: &str,
) {
    let server = ModelServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let launch = start(&server, &home).unwrap();
    let data = folder.path().join("data");
    let checked = tokio::task::spawn_blocking(move || check_agent(&data, &launch));
    let checked = checked.await.unwrap();
    assert_eq!(checked["protocol_version"], 1, "{checked:#}");
    assert_eq!(checked["offers"][offers], true, "{checked:#}");
    assert_eq!(checked["can_restore"], true);
    assert_eq!(checked["session"]["outcome"], "opened", "{checked:#}");
    assert_eq!(checked["session"]["deleted"], true, "{checked:#}");
    assert_eq!(checked["restore"]["outcome"], "restored", "{checked:#}");
    assert!(checked["memory_bytes"].as_u64().unwrap() > 10 << 20);
    assert!(!server.seen_requests().is_empty(), "it took a turn");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_passes_agent_check() {
    assert_agent_is_usable(real_agents::goose, "load").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_passes_agent_check() {
    assert_agent_is_usable(real_agents::codex, "resume").await;
}
