//! `matins harness`.

use serde_json::json;

use crate::world::World;

#[test]
fn the_demonstration_agent_is_there_from_the_start_and_can_be_checked() {
    let world = World::new();
    let list = world.run(&["harness", "list"]).done();
    for name in ["claude", "codex", "demo", "goose", "not started yet"] {
        assert!(list.contains(name), "{list}");
    }
    let checked = world.json(&["harness", "check", "demo"]);
    assert_eq!(checked["can_restore"], true);
    assert_eq!(checked["offers"]["name"], "matins-demo-agent");
    assert_eq!(checked["sign_in"], json!([]));
    assert!(checked["took_ms"].is_number());
    let list = world.run(&["harness", "list"]).done();
    assert!(list.contains("by resume"), "{list}");
}

#[test]
fn any_command_line_is_a_harness() {
    let world = World::new();
    let add = [
        "harness",
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
        "--json",
        "--",
        "my-agent",
        "--acp",
    ];
    world.run(&add).done();
    let all = world.json(&["harness", "list"]);
    let mine = all
        .as_array()
        .unwrap()
        .iter()
        .find(|harness| harness["name"] == "mine")
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
            "start_seconds": 60,
            "restore_seconds": 120,
        })
    );
}

#[test]
fn an_agent_that_cannot_be_started_fails_the_check_with_its_reason() {
    let world = World::new();
    world
        .run(&["harness", "add", "gone", "--", "/no/such/agent"])
        .done();
    let failed = world.run(&["harness", "check", "gone"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    assert!(failed.stderr.contains("/no/such/agent"), "{failed:#?}");
    world
        .run(&[
            "harness",
            "add",
            "liar",
            "--",
            "sh",
            "-c",
            "echo no; exit 3",
        ])
        .done();
    let failed = world.run(&["harness", "check", "liar"]);
    assert_eq!(failed.code, 1, "{failed:#?}");
    let known = world.run(&["harness", "check", "vibe"]);
    if known.code != 0 {
        assert!(known.stderr.contains("uv tool install"), "{known:#?}");
    }
}

#[test]
fn an_agent_that_cannot_be_started_gets_no_automation_that_goes_on() {
    let world = World::new();
    world
        .run(&["harness", "add", "gone", "--", "/no/such/agent"])
        .done();
    let add = |session| {
        world.run(&[
            "automation",
            "add",
            "--every",
            "1h",
            "--harness",
            "gone",
            "--session",
            session,
            "x",
        ])
    };
    let refused = add("continuous");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(
        refused.stderr.contains("matins harness check gone"),
        "{refused:#?}"
    );
    add("fresh").done();
}
