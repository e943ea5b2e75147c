//! `matins automation`, without turns.

use serde_json::Value;

use crate::test_installation::TestInstallation;

fn add(world: &TestInstallation, more: &[&str]) -> Value {
    let args: Vec<_> = ["automation", "add", "--agent", "demo"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    world.json(&args)
}

#[test]
fn new_automation_prints_next_five_runs_with_zone_and_offset() {
    let world = TestInstallation::new();
    let dir = world.path().join("project");
    std::fs::create_dir(&dir).unwrap();
    let told = world
        .run(&[
            "automation",
            "add",
            "0 9 * * 1-5",
            "--zone",
            "Europe/Prague",
            "--session",
            "continuous",
            "--agent",
            "demo",
            "--dir",
            "project",
            "Look at the new issues",
        ])
        .expect_success();
    assert!(
        told.starts_with("Added look-at-the-new-issues (aut_"),
        "{told}"
    );
    let fires: Vec<_> = told
        .lines()
        .filter(|line| line.contains(" 09:00:00 "))
        .collect();
    assert_eq!(fires.len(), 5, "{told}");
    assert!(fires.iter().all(|fire| fire.ends_with("Europe/Prague")));
    assert!(
        fires
            .iter()
            .all(|fire| fire.contains("+01:00") || fire.contains("+02:00"))
    );
    let shown = world.json(&["automation", "show", "look-at-the-new-issues"]);
    let real = dir.canonicalize().unwrap();
    assert_eq!(shown["cwd"], real.to_str().unwrap(), "it was made absolute");
    assert_eq!(shown["session_mode"], "continuous");
}

#[test]
fn single_argument_is_prompt_if_option_gives_schedule() {
    let world = TestInstallation::new();
    let every = add(&world, &["--every", "90s", "Work"]);
    assert_eq!(every["triggers"][1]["spec"]["period"], "1m30s");
    let at = add(
        &world,
        &[
            "--at",
            "2099-12-01T09:00",
            "--zone",
            "Europe/Prague",
            "Work",
        ],
    );
    assert_eq!(at["triggers"][1]["spec"]["at"], "2099-12-01T08:00:00Z");
    let on_demand = add(&world, &["--on-demand", "Work"]);
    assert_eq!(on_demand["triggers"].as_array().unwrap().len(), 1);
    assert_eq!(on_demand["upcoming_runs"], Value::Array(vec![]));
    for (made, name) in [(every, "work"), (at, "work-2"), (on_demand, "work-3")] {
        assert_eq!(made["name"], name);
    }
}

#[test]
fn every_policy_can_be_set_and_read() {
    let world = TestInstallation::new();
    let made = add(
        &world,
        &[
            "--every",
            "1h",
            "Work",
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
            "--quiet-hours",
            "12:00-13:00",
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
            "--budget",
            "50000 tokens/run",
            "--budget",
            "20.50 USD/month",
            "--budget",
            "24 turns/day",
            "--on-unmatched",
            "ask",
            "--ask-timeout",
            "5m",
            "--precheck",
            "test -e news",
            "--tools",
            "read",
            "--agent-cron",
            "ask",
            "--run-reports",
            "off",
            "--mode",
            "plan",
            "--set",
            "model=fast",
            "--allow",
            "read",
            "--deny",
            "execute:rm *",
        ],
    );
    let expected = serde_json::json!({
        "overlap": "skip",
        "queue_limit": 7,
        "catch_up": "all",
        "catch_up_window_seconds": 172_800,
        "jitter_seconds": 30,
        "quiet_hours": ["22:00-06:00", "12:00-13:00"],
        "timeout_seconds": 3600,
        "inactivity_seconds": 300,
        "retry": { "attempts": 2, "backoff_seconds": 10, "backoff_max_seconds": 600 },
        "on_crash": "fail",
        "pause_after_failures": 0,
        "budget": {
            "run": { "tokens": 50_000, "cost": null },
            "day": { "tokens": null, "cost": null, "turns": 24, "minutes": null },
            "month": {
                "tokens": null, "cost": { "amount": "20.5", "currency": "USD" }, "turns": null,
                "minutes": null,
            },
        },
        "on_unmatched": "ask",
        "ask_seconds": 300,
        "precheck": { "command": ["sh", "-c", "test -e news"], "timeout_seconds": 60 },
        "tools": "read",
        "agent_cron": "ask",
        "run_reports": "off",
    });
    assert_eq!(made["policies"], expected);
    assert_eq!(made["settings"]["mode"], "plan");
    assert_eq!(made["permissions"][1]["title"], "rm *");
}

#[test]
fn automation_of_a_team_is_refused() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--on-demand", "--team", "code", "Work"];
    let refused = world.run(&add);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("invalid `--team code`: an automation cannot run a team yet"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("matins goal start"),
        "{}",
        refused.stderr
    );
}

#[test]
fn automation_prompt_is_read_from_stdin() {
    let world = TestInstallation::new();
    let prompt = world.path().join("prompt.txt");
    std::fs::write(&prompt, "Work\nhard\n").unwrap();
    let mut command = world.command(&[
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--json",
        "-",
    ]);
    let output = command
        .stdin(std::fs::File::open(prompt).unwrap())
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["prompt"], "Work\nhard\n");
    assert_eq!(made["name"], "work-hard");
}

#[test]
fn automation_is_paused_resumed_reset_and_deleted() {
    let world = TestInstallation::new();
    add(
        &world,
        &[
            "--every",
            "1h",
            "--session",
            "continuous",
            "--name",
            "news",
            "Work",
        ],
    );
    let told = world.run(&["automation", "pause", "news"]).expect_success();
    assert!(told.contains("It is paused"), "{told}");
    let again = world.run(&["automation", "pause", "news"]);
    assert_eq!(again.code, 4, "{again:#?}");
    assert!(
        again
            .stderr
            .contains("the automation `news` is paused, so it cannot be paused"),
        "{again:#?}"
    );
    let list = world.run(&["automation", "list"]).expect_success();
    assert!(
        list.contains("paused") && list.contains("every 1h"),
        "{list}"
    );
    let told = world
        .run(&["automation", "resume", "news"])
        .expect_success();
    assert_eq!(
        told.lines().count(),
        7,
        "the name, a heading and five runs: {told}"
    );

    world
        .run(&["automation", "fire", "news", "--queue"])
        .expect_success();
    let shown = world.json(&["automation", "show", "news"]);
    let session = shown["current_session_id"].as_str().unwrap().to_owned();
    let reset = world.json(&["automation", "reset", "news"]);
    assert_eq!(reset["current_session_id"], Value::Null);

    let id = shown["id"].as_str().unwrap();
    let deleted = world.json(&["automation", "delete", id, "--with-sessions"]);
    assert_eq!(deleted["sessions_deleted"], 1);
    assert_eq!(world.run(&["session", "show", &session]).code, 3);
    assert_eq!(world.run(&["automation", "show", "news"]).code, 3);
    let twice = world.run(&["automation", "delete", "news"]);
    assert_eq!(twice.code, 3, "{twice:#?}");
}

#[test]
fn automation_with_duplicate_name_is_refused() {
    let world = TestInstallation::new();
    let args = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
        "a",
        "x",
    ];
    world.run(&args).expect_success();
    let refused = world.run(&args);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(
        refused.stderr.contains("automation `a` already exists"),
        "{refused:#?}"
    );
}

#[test]
fn preview_of_automation_shows_what_next_run_would_be() {
    let world = TestInstallation::new();
    let args = ["automation", "add", "--name", "standup", "--agent", "demo"];
    let more = [
        "--allow",
        "read",
        "--budget",
        "3 turns/day",
        "--zone",
        "UTC",
    ];
    let rest = ["0 9 * * *", "Look at the issues"];
    let args: Vec<_> = args.into_iter().chain(more).chain(rest).collect();
    world.run(&args).expect_success();
    let shown = world
        .run(&["automation", "preview", "standup"])
        .expect_success();
    for part in [
        "agent       demo",
        "session     a new one",
        "directory   a folder of the session",
        "allow read",
        "everything else is denied",
        "3 turns/day",
        "09:00:00 +00:00 UTC",
        "Look at the issues",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let runs = world.json(&["run", "list"]);
    assert_eq!(runs.as_array().unwrap().len(), 0);
    let unknown = world.run(&["automation", "preview", "nothing"]);
    assert_eq!(unknown.code, 3, "{unknown:#?}");
}
