//! The tool `cron`, as agents use it in sessions of people and of automations.

use std::time::Duration;

use model::Clock as _;
use serde_json::{Value, json};
use server::SystemClock;
use testkit::scripted::Step;

use crate::{test_installation::TestInstallation, tools::newest_answer};

#[test]
fn continuous_automation_lists_itself_until_it_is_reset() {
    let world = TestInstallation::new();
    let list = || Step::call_tool("cron", json!({"action": "list"}));
    world.add_scripted_agent([vec![list()]]);
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "watch",
        "--agent",
        "scripted",
        "--session",
        "continuous",
        "Look around.",
    ];
    world.run(&add).expect_success();
    world.run(&["automation", "run", "watch"]).expect_success();
    let listed = newest_answer(&world);
    let automations = listed["automations"].as_array().unwrap();
    assert_eq!(automations.len(), 1, "{listed}");
    assert_eq!(automations[0]["name"], "watch");
    assert_eq!(automations[0]["message"], "Look around.");
    assert_eq!(automations[0]["made_by"], "person");
    // After a reset, the automation continues in another session, and no longer in this one.
    let session = world.json(&["run", "list", "--limit", "1"])[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    world
        .run(&["automation", "reset", "watch"])
        .expect_success();
    world
        .run(&["session", "send", session, "And now?"])
        .expect_success();
    assert_eq!(newest_answer(&world)["automations"], json!([]));
}

#[test]
fn repeated_add_keeps_lifetime_and_says_so() {
    let world = TestInstallation::new();
    let in_days = |days: u64| (SystemClock.now() + Duration::from_hours(24 * days)).to_string();
    let (soon, later) = (in_days(3), in_days(9));
    let add = |expires: Option<&str>| {
        let mut arguments = json!({
            "action": "add", "name": "build", "schedule": "0 9 * * *", "message": "Check the build.",
        });
        if let Some(expires) = expires {
            arguments["expires"] = expires.into();
        }
        vec![Step::call_tool("cron", arguments)]
    };
    let prompts = [
        Some(soon.as_str()),
        Some(&later),
        Some(&soon),
        None,
        Some(&soon),
    ];
    world.add_scripted_agent(prompts.map(add));
    let answer = |session: Option<&str>| -> Value {
        let send = match session {
            Some(session) => vec!["session", "send", session, "go on"],
            None => vec!["session", "send", "--new", "--agent", "scripted", "go"],
        };
        world.run(&send).expect_success();
        newest_answer(&world)
    };
    let made = answer(None);
    let end = made["automations"][0]["expires_at"].clone();
    assert!(made["note"].is_null(), "{made}");
    let session = world.json(&["run", "list", "--limit", "1"])[0]["session_id"].clone();
    let session = session.as_str();
    // 1. Another end.
    let kept = answer(session);
    assert_eq!(kept["ok"], true, "{kept}");
    assert_eq!(kept["automations"][0]["expires_at"], end);
    let note = kept["note"].as_str().unwrap();
    assert!(
        note.contains("it existed already and still expires at"),
        "{note}"
    );
    assert!(note.contains("remove it and add it again"), "{note}");
    // 2. The same end, and none.
    for _ in 0..2 {
        let same = answer(session);
        assert!(same["note"].is_null(), "{same}");
        assert_eq!(same["automations"][0]["expires_at"], end);
    }
}
