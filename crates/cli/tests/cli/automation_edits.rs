//! `matins automation edit`, and lists that contain a corrupt automation.

use serde_json::{Value, json};

use crate::test_installation::TestInstallation;

fn add_standup(world: &TestInstallation) -> Value {
    world.json(&[
        "automation",
        "add",
        "0 9 * * 1-5",
        "--zone",
        "Europe/Prague",
        "--agent",
        "demo",
        "--session",
        "continuous",
        "--name",
        "standup",
        "Look at the issues",
    ])
}

fn edit_standup(world: &TestInstallation, more: &[&str]) -> Value {
    let args: Vec<_> = ["automation", "edit", "standup"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    world.json(&args)
}

fn edit_named(world: &TestInstallation, name: &str, more: &[&str]) -> Value {
    let args = ["automation", "edit", name];
    world.json(&[&args[..], more].concat())
}

/// Returns the schedules of an automation, without the manual trigger.
fn schedules(view: &Value) -> Vec<String> {
    let triggers = view["triggers"].as_array().unwrap().iter();
    let timed = triggers.filter(|trigger| trigger["spec"]["kind"] != "manual");
    let shown = |spec: &Value| {
        let mut names = ["expression", "period", "at"].into_iter();
        let time = names.find_map(|name| spec[name].as_str()).unwrap();
        format!("{time} {}", spec["zone"].as_str().unwrap())
    };
    let mut shown: Vec<_> = timed.map(|trigger| shown(&trigger["spec"])).collect();
    shown.sort();
    shown
}

#[test]
fn every_add_option_can_be_edited_and_cleared() {
    let world = TestInstallation::new();
    let before = add_standup(&world);
    let edited = edit_standup(
        &world,
        &[
            "--name",
            "standup",
            "--prompt",
            "Look again",
            "--dir",
            ".",
            "--overlap",
            "skip",
            "--queue-limit",
            "7",
            "--catch-up",
            "all",
            "--catch-up-window",
            "2d",
            "--jitter",
            "30s",
            "--quiet-hours",
            "22:00-06:00",
            "--timeout",
            "1h",
            "--inactivity",
            "5m",
            "--attempts",
            "2",
            "--on-crash",
            "fail",
            "--pause-after-failures",
            "0",
            "--precheck",
            "test -e news",
            "--precheck-timeout",
            "5s",
            "--mode",
            "plan",
            "--set",
            "model=fast",
            "--allow",
            "read",
        ],
    );
    assert_eq!(edited["prompt"], "Look again");
    assert_eq!(edited["policies"]["jitter_seconds"], 30);
    assert_eq!(edited["policies"]["quiet_hours"][0], "22:00-06:00");
    assert_eq!(
        edited["policies"]["precheck"],
        json!({ "command": ["sh", "-c", "test -e news"], "timeout_seconds": 5 })
    );
    assert_eq!(edited["settings"]["values"]["model"], "fast");
    assert_eq!(edited["permissions"][0]["tool"], "read");
    assert!(edited["cwd"].is_string());
    // The schedule was not named, so it is as it was, but for its spread.
    assert_eq!(schedules(&edited), schedules(&before));
    assert_eq!(edited["upcoming_runs"], before["upcoming_runs"]);
    let shown = world
        .run(&["automation", "show", "standup"])
        .expect_success();
    assert!(shown.contains("quiet hours 22:00-06:00"), "{shown}");
    let precheck = "precheck    test -e news (within 5s)";
    assert!(shown.contains(precheck), "{shown}");

    let clears = [
        "dir",
        "overlap",
        "queue-limit",
        "catch-up",
        "catch-up-window",
        "jitter",
        "quiet-hours",
        "timeout",
        "inactivity",
        "attempts",
        "on-crash",
        "pause-after-failures",
        "precheck",
        "mode",
        "set",
        "rules",
    ];
    let clears: Vec<_> = clears.iter().flat_map(|part| ["--clear", part]).collect();
    let cleared = edit_standup(&world, &clears);
    for field in ["cwd", "policies", "settings", "permissions"] {
        assert_eq!(cleared[field], before[field], "{field}");
    }
    assert_eq!(cleared["prompt"], "Look again");
}

#[test]
fn automation_edit_replaces_adds_and_removes_triggers() {
    let world = TestInstallation::new();
    add_standup(&world);
    let replaced = edit_standup(&world, &["--cron", "30 8 * * *", "--every", "2h"]);
    assert_eq!(
        schedules(&replaced),
        ["2h Europe/Prague", "30 8 * * * Europe/Prague"]
    );
    let added = edit_standup(&world, &["--add", "--at", "2099-01-01T09:00"]);
    assert_eq!(schedules(&added).len(), 3);
    let zone = edit_standup(&world, &["--zone", "UTC"]);
    let at = "2099-01-01T08:00:00Z UTC";
    assert_eq!(schedules(&zone), [at, "2h UTC", "30 8 * * * UTC"]);
    let id_of = |view: &Value, kind: &str| {
        let triggers = view["triggers"].as_array().unwrap();
        let one = triggers.iter().find(|it| it["spec"]["kind"] == kind);
        one.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let removed = edit_standup(&world, &["--remove-trigger", &id_of(&zone, "every")]);
    assert_eq!(schedules(&removed), [at, "30 8 * * * UTC"]);
    assert_eq!(id_of(&removed, "at"), id_of(&zone, "at"), "it stayed");
    let none = edit_standup(&world, &["--on-demand"]);
    assert_eq!(none["upcoming_runs"], Value::Array(vec![]));
    let told = world
        .run(&["automation", "edit", "standup", "--every", "1h"])
        .expect_success();
    assert!(told.starts_with("Changed standup (aut_"), "{told}");
    assert_eq!(told.matches(" +00:00 UTC").count(), 5, "{told}");
    let zone = "\nTime zone UTC, from the variable `TZ`\n";
    assert!(told.contains(zone), "{told}");
    let again = world
        .run(&["automation", "edit", "standup", "--every", "1h"])
        .expect_success();
    assert!(again.starts_with("Nothing to change in standup"), "{again}");
}

#[test]
fn trigger_is_removed_by_its_schedule_if_unambiguous() {
    let world = TestInstallation::new();
    add_standup(&world);
    edit_standup(&world, &["--add", "--every", "2h", "--every", "3h"]);
    let left = edit_standup(&world, &["--remove-trigger", "2h", "--name", "later"]);
    assert_eq!(
        schedules(&left),
        ["0 9 * * 1-5 Europe/Prague", "3h Europe/Prague"]
    );
    let args = ["automation", "edit", "later", "--remove-trigger"];
    let removing = |given: &str| world.run(&[&args[..], &[given]].concat());
    removing("cron 0 9 * * 1-5 (Europe/Prague)").expect_success();
    // Two triggers with the same schedule differ only in their IDs.
    edit_named(&world, "later", &["--add", "--every", "3h"]);
    let shown = world.json(&["automation", "show", "later"]);
    let ids: Vec<_> = shown["triggers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|trigger| trigger["spec"]["kind"] == "every")
        .map(|trigger| trigger["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "{shown}");
    let ambiguous = removing("every 3h");
    assert_eq!(ambiguous.code, 3, "{ambiguous:#?}");
    for id in &ids {
        assert!(ambiguous.stderr.contains(id), "{ambiguous:#?}");
    }
    // The second trigger is removed, not the first.
    removing(&ids[1]).expect_success();
    let shown = world.json(&["automation", "show", "later"]);
    let left = shown["triggers"].to_string();
    assert!(left.contains(&ids[0]) && !left.contains(&ids[1]), "{left}");
}

#[test]
fn invalid_automation_edit_changes_nothing() {
    let world = TestInstallation::new();
    add_standup(&world);
    let before = world.json(&["automation", "show", "standup"]);
    let id = before["triggers"][1]["id"].as_str().unwrap();
    for (args, code, words) in [
        (&["--every", "1x"][..], 2, "`1x`"),
        (&["--prompt", "x", "--cron", "61 * * * *"], 2, "61"),
        (&["--zone", "Mars"], 2, "Mars"),
        (&["--overlap", "allow"], 2, "fresh sessions"),
        (&["--agent", "dmo"], 3, "did you mean `demo`?"),
        (&["--dir", "nowhere"], 2, "does not exist"),
        (&["--session", "bound:nobody"], 3, "nobody"),
        (&["--remove-trigger", "ffff"], 3, "ffff"),
        (&["--precheck-timeout", "5s"], 2, "there is no precheck"),
        (&["--precheck", " "], 2, "the command is empty"),
        (&["--clear", "prompt"], 2, "possible values"),
        (&["--add"], 2, "requires a new trigger"),
        (&["--on-demand", "--every", "1h"], 2, "--every"),
        (&["--every", "1h", "--remove-trigger", id], 2, "--add"),
    ] {
        let args: Vec<_> = ["automation", "edit", "standup"]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let refused = world.run(&args);
        assert_eq!(refused.code, code, "{args:?}: {refused:#?}");
        assert!(refused.stderr.contains(words), "{args:?}: {refused:#?}");
    }
    assert_eq!(world.json(&["automation", "show", "standup"]), before);
    let nobody = world.run(&["automation", "edit", "stand", "--every", "1h"]);
    assert_eq!(nobody.code, 3, "{nobody:#?}");
}

#[test]
fn continuous_session_keeps_its_agent_until_reset() {
    let world = TestInstallation::new();
    add_standup(&world);
    let other = ["agent", "add", "other", "--"];
    let demo = world.json(&["agent", "list"]);
    let demo = demo.as_array().unwrap().iter();
    let demo = demo.into_iter().find(|one| one["name"] == "demo").unwrap();
    let command = demo["config"]["command"].as_array().unwrap().iter();
    let command = command.map(|part| part.as_str().unwrap());
    let args: Vec<_> = other.into_iter().chain(command).collect();
    world.run(&args).expect_success();
    world
        .run(&["automation", "fire", "standup"])
        .expect_success();
    let refused = world.run(&["automation", "edit", "standup", "--agent", "other"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(
        refused.stderr.contains("its current session `ses_"),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("--reset"), "{refused:#?}");
    let edited = edit_standup(&world, &["--agent", "other", "--reset"]);
    assert_eq!(edited["agent"], "other");
    assert_eq!(edited["session"], Value::Null);
    let fired = world
        .run(&["automation", "fire", "standup"])
        .expect_success();
    assert!(fired.contains("This is turn 1"), "{fired}");
}

#[tokio::test]
async fn corrupt_automation_is_listed_with_the_readable_ones() {
    let world = TestInstallation::new();
    add_standup(&world);
    world.json(&[
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
        "sound",
        "Work",
    ]);
    world
        .execute_sql("update automations set policies = '{\"overlap\":1}' where name = 'standup'")
        .await;
    let listed = world.run(&["automation", "list"]).expect_success();
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("sound").contains("on demand"), "{listed}");
    assert!(line("standup").contains("unreadable"), "{listed}");
    assert!(line("standup").contains("policies"), "{listed}");
    let json = world.json(&["automation", "list"]);
    assert_eq!(json[0]["name"], "sound");
    assert_eq!(json[1]["name"], "standup");
    assert!(json[1]["unreadable"].is_string());
    world.run(&["automation", "fire", "sound"]).expect_success();
    let shown = world.run(&["automation", "show", "standup"]);
    assert_eq!(shown.code, 6, "{shown:#?}");
    assert!(shown.stderr.contains("policies"), "{shown:#?}");
    // It can be deleted although it cannot be read.
    let deleted = world.json(&["automation", "delete", "standup"]);
    assert_eq!(deleted["automation"]["name"], "standup");
    assert_eq!(deleted["automation"]["id"], json[1]["id"]);
    let left = world.json(&["automation", "list"]);
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    let twice = world.run(&["automation", "delete", "standup"]);
    assert_eq!(twice.code, 3, "{twice:#?}");
}

#[tokio::test]
async fn policy_of_later_version_is_ignored_unless_marked_as_needed() {
    let world = TestInstallation::new();
    add_standup(&world);
    world
        .execute_sql("update automations set policies = json_set(policies, '$.later_policy', 1)")
        .await;
    world
        .run(&["automation", "fire", "standup"])
        .expect_success();
    let listed = world.run(&["automation", "list"]).expect_success();
    assert!(listed.contains("enabled"), "{listed}");

    world
        .execute_sql("update automations set format = 9, needs_format = 9")
        .await;
    let told = "needs document format 9, but this server supports formats up to 8";
    let listed = world.run(&["automation", "list"]).expect_success();
    assert!(
        listed.contains("enabled") && listed.contains(told),
        "{listed}"
    );
    let shown = world
        .run(&["automation", "show", "standup"])
        .expect_success();
    assert!(shown.contains(told), "{shown}");
    for command in ["fire", "reset"] {
        let refused = world.run(&["automation", command, "standup"]);
        assert_eq!(refused.code, 4, "{refused:#?}");
        assert!(
            refused.stderr.contains("needs document format 9"),
            "{refused:#?}"
        );
        assert!(refused.stderr.contains("formats up to 8"), "{refused:#?}");
    }
    let examined = world.run(&["doctor"]);
    assert!(
        examined.stdout.contains("needs document format 9"),
        "{examined:#?}"
    );
    world
        .run(&["automation", "pause", "standup"])
        .expect_success();
    world
        .run(&["automation", "delete", "standup"])
        .expect_success();
}
