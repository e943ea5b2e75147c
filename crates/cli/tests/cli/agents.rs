//! `matins agent`.

use serde_json::json;
use testkit::scripted::{Event, OnRestore, PromptLog, Script};

use crate::test_installation::TestInstallation;

/// Adds the agent `scripted`, which plays a script.
fn add_scripted_agent(world: &TestInstallation, script: &Script, more: &[&str]) {
    let command = script.command().unwrap();
    let command = command.iter().map(String::as_str);
    let add = ["agent", "add", "scripted"].into_iter();
    let args: Vec<_> = add
        .chain(more.iter().copied())
        .chain(["--"])
        .chain(command)
        .collect();
    world.run(&args).expect_success();
}

#[test]
fn agent_check_fails_and_prints_required_sign_in() {
    let world = TestInstallation::new();
    let mut script = Script::new(world.path().join("agent"));
    script.sign_in = Some("browser".into());
    add_scripted_agent(&world, &script, &[]);
    let failed = world.run(&["agent", "check", "scripted"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    let page = &failed.stdout;
    assert!(
        page.contains("required before the agent creates a session"),
        "{page}"
    );
    assert!(page.contains("--authenticate browser"), "{page}");

    add_scripted_agent(&world, &script, &["--authenticate", "browser"]);
    let page = world.run(&["agent", "check", "scripted"]).expect_success();
    assert!(page.contains("done by browser"), "{page}");
}

#[test]
fn agent_check_restores_only_with_restore_flag() {
    let world = TestInstallation::new();
    let mut script = Script::new(world.path().join("agent"));
    script.modes = vec!["ask".into(), "code".into()];
    add_scripted_agent(&world, &script, &[]);
    let checked = world.json(&["agent", "check", "scripted"]);
    assert_eq!(checked["session"]["modes"], json!(["ask", "code"]));
    assert_eq!(checked["restore"], json!(null));
    let prompt_log = || PromptLog::read(&script.prompt_log_path()).unwrap();
    assert!(
        prompt_log().prompts().is_empty(),
        "a check without --restore sends no prompt"
    );

    let checked = world.json(&["agent", "check", "scripted", "--restore"]);
    assert_eq!(checked["restore"]["outcome"], "restored", "{checked:#}");
    assert_eq!(prompt_log().prompts().len(), 1);
    let resumed = |event: &Event| matches!(event, Event::Resume(..));
    assert!(prompt_log().events().any(resumed));

    script.on_restore = OnRestore::AnotherSession;
    script.command().unwrap();
    let failed = world.run(&["agent", "check", "scripted", "--restore"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    assert!(failed.stdout.contains("scripted-other"), "{failed:#?}");
}

#[test]
fn demo_agent_is_preinstalled_and_passes_check() {
    let world = TestInstallation::new();
    let list = world.run(&["agent", "list"]).expect_success();
    for name in ["claude", "codex", "demo", "goose", "not started yet"] {
        assert!(list.contains(name), "{list}");
    }
    let checked = world.json(&["agent", "check", "demo"]);
    assert_eq!(checked["can_restore"], true);
    assert_eq!(checked["offers"]["name"], "matins-demo-agent");
    assert_eq!(checked["sign_in"], json!([]));
    assert_eq!(checked["protocol_version"], 1);
    assert_eq!(checked["session"]["outcome"], "opened");
    assert!(checked["start_ms"].is_number());
    assert!(checked["memory_bytes"].as_u64().unwrap() > 1 << 20);
    let by = checked["limits_enforced_by"]["by"].as_str().unwrap();
    assert!(["kernel", "guard"].contains(&by), "{by}");
    let page = world.run(&["agent", "check", "demo"]).expect_success();
    for says in [
        "protocol version 1",
        "can be restored by resume",
        "MCP servers by stdio",
        "4096 processes and threads; enforced by",
    ] {
        assert!(page.contains(says), "{page}");
    }
    // The folder of the check was removed.
    let left = std::fs::read_dir(world.data_folder()).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|name| name.starts_with("probe-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(checked["took_ms"].is_number());
    let list = world.run(&["agent", "list"]).expect_success();
    assert!(list.contains("by resume"), "{list}");
}

#[test]
fn agent_add_stores_every_option() {
    let world = TestInstallation::new();
    let add = [
        "agent",
        "add",
        "mine",
        "--env",
        "A=b=c",
        "--pass-env",
        "TOKEN",
        "--authenticate",
        "key",
        "--restore",
        "load",
        "--allow",
        "execute:cargo *",
        "--deny",
        "*:*secret*",
        "--mode",
        "code",
        "--set",
        "model=fast",
        "--restore-after",
        "60",
        "--start-limit",
        "90",
        "--restore-limit",
        "30",
        "--memory-limit",
        "2G",
        "--processes-limit",
        "none",
        "--cpu-seconds",
        "600",
        "--open-files",
        "1024",
        "--file-size",
        "512M",
        "--tools",
        "read",
        "--own-tools",
        "mine: {tool}",
        "--json",
        "--",
        "my-agent",
        "--acp",
    ];
    world.run(&add).expect_success();
    let all = world.json(&["agent", "list"]);
    let mine = all
        .as_array()
        .unwrap()
        .iter()
        .find(|agent| agent["name"] == "mine")
        .unwrap();
    assert_eq!(
        mine["config"],
        json!({
            "command": ["my-agent", "--acp"],
            "env": { "A": "b=c" },
            "pass_env": ["TOKEN"],
            "authenticate": "key",
            "restore": "load",
            "permissions": [
                { "tool": "execute", "title": "cargo *", "verdict": "allow" },
                { "tool": "*", "title": "*secret*", "verdict": "deny" },
            ],
            "mode": "code",
            "settings": { "model": "fast" },
            "restore_after_seconds": 60,
            "start_seconds": 90,
            "restore_seconds": 30,
            "limits": {
                "memory_bytes": 2_147_483_648_u64,
                "processes": null,
                "cpu_seconds": 600,
                "open_files": 1024,
                "file_bytes": 536_870_912,
            },
            "tools": "read",
            "own_tools": ["mine: {tool}"],
        })
    );
}

#[test]
fn agent_check_of_unstartable_agent_fails_with_reason() {
    let world = TestInstallation::new();
    world
        .run(&["agent", "add", "gone", "--", "/no/such/agent"])
        .expect_success();
    let failed = world.run(&["agent", "check", "gone"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    assert!(failed.stderr.contains("/no/such/agent"), "{failed:#?}");
    world
        .run(&["agent", "add", "liar", "--", "sh", "-c", "echo no; exit 3"])
        .expect_success();
    let failed = world.run(&["agent", "check", "liar"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    let known = world.run(&["agent", "check", "vibe"]);
    if known.code != 0 {
        assert!(known.stderr.contains("uv tool install"), "{known:#?}");
    }
}

#[test]
fn continuous_automation_with_unstartable_agent_is_refused() {
    let world = TestInstallation::new();
    world
        .run(&["agent", "add", "gone", "--", "/no/such/agent"])
        .expect_success();
    let add = |session| {
        world.run(&[
            "automation",
            "add",
            "--every",
            "1h",
            "--agent",
            "gone",
            "--session",
            session,
            "x",
        ])
    };
    let refused = add("continuous");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(
        refused.stderr.contains("matins agent check gone"),
        "{refused:#?}"
    );
    add("fresh").expect_success();
}

#[test]
fn agent_remove_is_refused_while_agent_is_used() {
    let world = TestInstallation::new();
    let sent = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = sent["run"]["session_id"].as_str().unwrap();
    let refused = world.run(&["agent", "remove", "demo"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains(session), "{refused:#?}");
    world
        .run(&["session", "complete", session])
        .expect_success();
    let removed = world.run(&["agent", "remove", "demo"]).expect_success();
    assert_eq!(removed, "Removed demo.\n");
    // Each command adds the known agents that are missing, but not a removed one.
    let names = world.run(&["agent", "list"]).expect_success();
    assert!(
        names.contains("claude") && !names.contains("demo"),
        "{names}"
    );
    assert_eq!(world.run(&["agent", "rm", "demo"]).code, 3);
    let shown = world.run(&["session", "show", session]).expect_success();
    assert!(shown.contains("This is turn 1"), "{shown}");
}

#[test]
fn agent_and_run_show_built_in_rule_for_tools_of_matins() {
    let world = TestInstallation::new();
    let script = Script::new(world.path().join("agent"));
    let more = [
        "--own-tools",
        "mcp__matins__{tool}",
        "--deny",
        "execute:rm *",
    ];
    add_scripted_agent(&world, &script, &more);
    let rule =
        "all; requests with the title `mcp__matins__{tool}` are allowed, unless a rule denies them";
    let shown = world.run(&["agent", "show", "scripted"]).expect_success();
    assert!(shown.contains(rule), "{shown}");
    assert!(shown.contains("--deny \"execute:rm *\""), "{shown}");
    let shown = world.json(&["agent", "show", "scripted"]);
    assert_eq!(shown["config"]["own_tools"], json!(["mcp__matins__{tool}"]));
    let checked = world.run(&["agent", "check", "scripted"]).expect_success();
    assert!(checked.contains(rule), "{checked}");
    // 1. A turn of a message has the tools of the agent.
    world
        .run(&["session", "send", "--new", "--agent", "scripted", "hello"])
        .expect_success();
    let newest = || world.json(&["run", "list", "--limit", "1"])[0]["id"].clone();
    let run = newest();
    let run = run.as_str().unwrap();
    let text = world.run(&["run", "show", run]).expect_success();
    assert!(text.contains(rule), "{text}");
    // 2. A turn of an automation has at most those of the automation.
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "tidy",
        "--agent",
        "scripted",
        "--tools",
        "none",
        "Tidy up.",
    ];
    world.run(&add).expect_success();
    world.run(&["automation", "run", "tidy"]).expect_success();
    let run = newest();
    let shown = world.json(&["run", "show", run.as_str().unwrap()]);
    assert_eq!(shown["own_tools"], json!({ "tools": "none", "titles": [] }));
}
