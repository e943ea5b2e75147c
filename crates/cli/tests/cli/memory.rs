//! The memory of agents, and the commands by which people read and edit it.

use serde_json::json;
use testkit::scripted::Step;

use crate::{test_installation::TestInstallation, tools::newest_answer};

#[test]
fn agent_remembers_fact_that_people_read_and_edit() {
    let world = TestInstallation::new();
    let call = |tool, arguments| vec![Step::call_tool(tool, arguments)];
    world.add_scripted_agent([
        call(
            "remember",
            json!({ "key": "build", "value": "green", "confidence": 0.9 }),
        ),
        call("recall", json!({ "text": "GREEN" })),
        call("recall", json!({ "key": "build" })),
        call("forget", json!({ "key": "build" })),
        call("remember", json!({ "key": "a\u{0}b", "value": "x" })),
    ]);
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--session",
        "continuous",
        "--name",
        "daily",
        "--agent",
        "scripted",
        "Check the build.",
    ];
    world.run(&add).expect_success();
    let fire = || {
        world.run(&["automation", "fire", "daily"]).expect_success();
        newest_answer(&world)
    };
    // 1. The memory of an automation's run is the automation's.
    let kept = fire();
    assert_eq!(
        (&kept["ok"], &kept["version"], &kept["replaced"]),
        (&json!(true), &json!(1), &json!(false))
    );
    let recalled = fire();
    assert_eq!(recalled["entries"][0]["value"], "green", "{recalled}");
    assert_eq!(recalled["entries"][0]["automation"], "daily");
    // 2. A person reads and edits it, and the agent reads the person's value.
    let owner = ["--automation", "daily"];
    let listed = world
        .run(&[&["memory", "list"], &owner[..]].concat())
        .expect_success();
    assert!(
        listed.contains("build") && listed.contains("green") && listed.contains("0.9"),
        "{listed}"
    );
    let set = world.run(
        &[
            &["memory", "set"],
            &owner[..],
            &["build", "red", "--ttl", "2h"],
        ]
        .concat(),
    );
    assert_eq!(set.expect_success(), "Set build (version 2)\n");
    let listed = world
        .run(&[&["memory", "list"], &owner[..]].concat())
        .expect_success();
    assert!(
        listed.contains("  a person at the server\n  red") && !listed.contains("socket"),
        "{listed}"
    );
    assert_eq!(fire()["entries"][0]["value"], "red");
    assert_eq!(fire()["removed"], true);
    assert_eq!(
        world
            .run(&[&["memory", "list"], &owner[..]].concat())
            .expect_success(),
        "No memory entries.\n"
    );
    let refused = fire();
    assert_eq!(refused["error"], "invalid");
    assert!(
        refused["message"].as_str().unwrap().contains("U+0000"),
        "{refused}"
    );
    // 3. The command names the flag that is missing.
    let failed = world.run(&["memory", "list"]);
    assert_eq!(failed.code, 2);
    assert!(
        failed.stderr.contains("--automation") && failed.stderr.contains("--session"),
        "{}",
        failed.stderr
    );
}
