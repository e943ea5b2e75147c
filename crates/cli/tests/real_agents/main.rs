//! `agent check` and calls of tools with real agents that think with a model server of this machine.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

mod commands;
mod goal_calls;
mod goal_script;
mod goals;
mod tool_user;

use std::{fs, path::Path};

use model::{
    permission::{TASK_TOOL_NAMES, TEAM_TOOL_NAMES, TOOL_NAMES},
    tools::CALLS_PER_TURN,
};
use serde_json::{Value, json};
use testkit::{acp_lines::AgentCommand, model_server::ModelServer, real_agents};

use commands::{LaunchAgent, add_agent, matins, matins_json};
use goal_calls::assert_agent_calls_each_tool_of_goals;
use tool_user::{ToolOffer, ToolUser};

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
    fs::create_dir(&home).unwrap();
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

/// The calls of one turn: each tool of Matins, and each action of one that has several.
fn calls_of_each_tool(turn: &str) -> [(&'static str, Value); 12] {
    let (check, spare) = (format!("check-{turn}"), format!("spare-{turn}"));
    let name = format!("{turn}.md");
    [
        (
            "cron",
            json!({"action": "add", "name": check, "schedule": "0 9 * * 1-5", "message": "Check it."}),
        ),
        (
            "cron",
            json!({"action": "add", "name": spare, "schedule": "every:2h", "message": "Look."}),
        ),
        ("cron", json!({"action": "remove", "name": spare})),
        ("cron", json!({"action": "list"})),
        (
            "ask_person",
            json!({"question": format!("Deploy {turn}?"), "options": ["yes", "no"], "default": "no"}),
        ),
        (
            "remember",
            json!({"key": "build", "value": format!("green, {turn}"), "confidence": 0.9}),
        ),
        ("remember", json!({"key": spare, "value": "x"})),
        ("recall", json!({"key": "build"})),
        ("forget", json!({"key": spare})),
        (
            "save_artifact",
            json!({"name": name, "text": format!("# {turn}"), "media_type": "text/markdown"}),
        ),
        ("list_artifacts", json!({})),
        (
            "get_artifact",
            json!({"name": name, "path": format!("copy-{turn}.md")}),
        ),
    ]
}

/// Returns the names of the tools that an agent without other seats and without a goal in its session gets.
fn tools() -> impl Iterator<Item = &'static str> {
    let names = TOOL_NAMES.into_iter();
    names.filter(|tool| !TEAM_TOOL_NAMES.contains(tool) && !TASK_TOOL_NAMES.contains(tool))
}

/// Returns a message for which the model makes the calls of one turn.
fn calling_message(offer: ToolOffer, turn: &str) -> String {
    let calls = offer.model_calls(&calls_of_each_tool(turn));
    let lines: Vec<_> = calls.iter().map(|call| format!("call {call}")).collect();
    lines.join("\n")
}

/// Checks the effects of [`calls_of_each_tool`] in the newest session.
fn assert_effects_of_each_tool(data: &Path, work: &Path, turn: &str) {
    let run = matins_json(data, &["run", "list", "--limit", "1"])[0].clone();
    let session = run["session_id"].as_str().unwrap();
    let shown = matins(data, &["session", "show", session, "--all"]);
    let shown = String::from_utf8_lossy(&shown);
    assert_eq!(run["status"], "succeeded", "{shown}");
    assert_eq!(run["flags"]["permissions_denied"], 0, "{shown}");
    let texts = |args: &[&str], field: &str| {
        let listed = matins_json(data, args);
        let listed = listed.as_array().unwrap().iter();
        let texts = listed.map(|item| item[field].as_str().unwrap().to_owned());
        texts.collect::<Vec<_>>()
    };
    let names = texts(&["automation", "list"], "name");
    assert!(
        names.contains(&format!("check-{turn}")),
        "{names:?}: {shown}"
    );
    assert!(!names.contains(&format!("spare-{turn}")), "{names:?}");
    let questions = texts(&["question", "list"], "text");
    assert!(
        questions.contains(&format!("Deploy {turn}?")),
        "{questions:?}"
    );
    let memory = ["memory", "list", "--session", session];
    assert_eq!(texts(&memory, "key"), ["build"]);
    assert_eq!(texts(&memory, "value"), [format!("green, {turn}")]);
    let artifacts = texts(&["artifact", "list", session], "name");
    assert_eq!(artifacts, [format!("{turn}.md")]);
    let copy = fs::read_to_string(work.join(format!("copy-{turn}.md"))).unwrap();
    assert_eq!(copy, format!("# {turn}"));
}

/// Checks that the model got the answer of each tool, and that none of them is an error.
fn assert_model_got_answers(server: &ModelServer, calls: usize) {
    let left = usize::try_from(CALLS_PER_TURN).unwrap() - calls;
    let left = format!("calls_left:{left}");
    let bodies = server.seen_requests().into_iter().map(|request| {
        // The answers are JSON in texts of JSON, with the spaces and the escapes of the agent.
        let body = request.body.to_string();
        body.replace(['\\', '"', ' '], "")
    });
    let bodies: Vec<_> = bodies.collect();
    let last = bodies.iter().rfind(|body| body.contains(&left)).unwrap();
    assert!(!last.contains("ok:false"), "{last}");
    // Only the answers of `recall` and of `list_artifacts` have these fields.
    for field in ["of_session:true", "artifacts:[{artifact:art_"] {
        assert!(last.contains(field), "{field}: {last}");
    }
}

/// Checks that an agent calls each tool of Matins from its schema alone, and that no request for permission to do so is
/// denied: in a new session, in a session that began without them, in another process, and in the turns of a goal.
async fn assert_agent_calls_each_tool(agent: ToolUser) {
    for tool in tools() {
        let mut calls = calls_of_each_tool("new").into_iter();
        assert!(calls.any(|(called, _)| called == tool), "{tool}");
    }
    let server = ModelServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (home, work) = (folder.path().join("home"), folder.path().join("work"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&work).unwrap();
    let launch = (agent.start)(&server, &home).unwrap();
    let data = folder.path().join("data");
    let called = tokio::task::spawn_blocking(move || {
        let send_new = |message: &str| {
            let work = work.to_str().unwrap();
            let new = ["session", "send", "--new", "--agent", "real", "--dir", work];
            matins(&data, &[&new[..], &[message]].concat());
        };
        add_agent(
            &data,
            &launch,
            &[agent.options, &["--tools", "none"]].concat(),
        );
        send_new("Remember the heron.");
        let run = matins_json(&data, &["run", "list"])[0].clone();
        let session = run["session_id"].as_str().unwrap();
        // The agent gets the tools in the middle of a session, which goes on.
        add_agent(&data, &launch, agent.options);
        let message = calling_message(agent.offer, "restored");
        matins(&data, &["session", "send", session, &message]);
        assert_effects_of_each_tool(&data, &work, "restored");
        send_new(&calling_message(agent.offer, "new"));
        assert_effects_of_each_tool(&data, &work, "new");
    });
    if let Err(error) = called.await {
        panic!("{error}: {:?}", server.seen_requests().last());
    }
    assert_model_got_answers(&server, calls_of_each_tool("new").len());
    drop(server);
    assert_agent_calls_each_tool_of_goals(agent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_calls_each_tool() {
    assert_agent_calls_each_tool(ToolUser {
        start: real_agents::goose,
        options: &[],
        offer: ToolOffer::Direct,
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_calls_each_tool() {
    assert_agent_calls_each_tool(ToolUser {
        start: real_agents::codex,
        options: &[],
        offer: ToolOffer::Direct,
    })
    .await;
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
    async fn claude_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::claude,
            options: &["--own-tools", "mcp__matins__{tool}"],
            offer: ToolOffer::AfterSearch,
        })
        .await;
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
    async fn gemini_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::gemini,
            options: &[
                "--restore-after",
                "60",
                "--own-tools",
                "{tool} (matins MCP Server)",
            ],
            offer: ToolOffer::Direct,
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn kimi_passes_agent_check() {
        assert_agent_is_usable(real_agents::kimi, &[], RestoreOffer::Resume, true).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn kimi_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::kimi,
            options: &["--own-tools", "mcp__matins__{tool}"],
            offer: ToolOffer::Direct,
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn opencode_passes_agent_check() {
        assert_agent_is_usable(real_agents::opencode, &[], RestoreOffer::Resume, false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn opencode_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::opencode,
            options: &[],
            offer: ToolOffer::Direct,
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn qwen_passes_agent_check() {
        assert_agent_is_usable(real_agents::qwen, &[], RestoreOffer::Resume, false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "its packages take a gigabyte: `scripts/test-long agents` runs it"]
    async fn qwen_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::qwen,
            options: &["--allow", "other", "--allow", "read"],
            offer: ToolOffer::ThroughCall,
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "it needs a newer Python than Debian 12 has: `scripts/test-long agents` runs it"]
    async fn vibe_passes_agent_check() {
        assert_agent_is_usable(real_agents::vibe, &[], RestoreOffer::Load, false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "it needs a newer Python than Debian 12 has: `scripts/test-long agents` runs it"]
    async fn vibe_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::vibe,
            options: &["--own-tools", "mcp_matins.{tool}"],
            offer: ToolOffer::ThroughProgram,
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "it needs a newer Python than Debian 12 has: `scripts/test-long agents` runs it"]
    async fn fast_agent_passes_agent_check() {
        assert_agent_is_usable(real_agents::fast_agent, &[], RestoreOffer::Resume, false).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "it needs a newer Python than Debian 12 has: `scripts/test-long agents` runs it"]
    async fn fast_agent_calls_each_tool() {
        assert_agent_calls_each_tool(ToolUser {
            start: real_agents::fast_agent,
            options: &[
                "--own-tools",
                "matins/{tool}",
                "--allow",
                "edit:matins/create_task",
                "--allow",
                "edit:matins/update_task",
            ],
            offer: ToolOffer::Direct,
        })
        .await;
    }
}
