//! `matins goal` and `matins task`, with real processes.

use std::fs;

use serde_json::{Value, json};
use testkit::scripted::Step;

use crate::test_installation::TestInstallation;

const TEAM: &str = "name = \"own\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n\n[[seats]]\nrole = \"worker\"\n";

/// Creates a draft with the demonstration agent, and returns its ID.
fn draft(world: &TestInstallation, text: &str) -> String {
    let draft = world.json(&["goal", "start", text, "--agent", "demo", "--draft"]);
    draft["id"].as_str().unwrap().to_owned()
}

fn assert_fits(shown: &str) {
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn goal_start_refuses_bad_input_and_makes_nothing() {
    let world = TestInstallation::new();
    let team = |name: &str, text: &str| {
        let path = world.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let zero = team("zero.toml", &format!("{TEAM}count = 0\n"));
    let headless = team(
        "headless.toml",
        "name = \"own\"\n\n[[seats]]\nrole = \"worker\"\n",
    );
    let empty = team("empty.toml", "name = \"own\"\nseats = []\n");
    let broken = team("broken.toml", "name = own\n");
    let unknown_agent = team("agent.toml", &format!("{TEAM}agent = \"nobody\"\n"));
    let misspelt_agent = team("misspelt.toml", &format!("{TEAM}agent = \"dmo\"\n"));
    let outside = world.path().join("outside");
    let outside = outside.to_str().unwrap();
    let added = [
        "instance",
        "add",
        "box",
        "--kind",
        "directory",
        "--folder",
        outside,
    ];
    world.run(&added).expect_success();
    let cases: [(&[&str], i32, &str); 26] = [
        (
            &["--team", &zero],
            2,
            "zero.toml:9:1: invalid `seats[1].count = 0`: accepted are 1 to 8",
        ),
        (&["--team", &headless], 2, "planner"),
        (&["--team", &empty], 2, "empty.toml:2:1: invalid `seats`"),
        (&["--team", &broken], 2, "broken.toml:1:"),
        (&["--team", "absent.toml"], 3, "absent.toml"),
        (&["--team", "reserach"], 2, "did you mean `research`?"),
        (&["--team", "x"], 2, "a file, such as ./team.toml"),
        (
            &["--team", &unknown_agent],
            2,
            "agent.toml:9:1: invalid `seats[1].agent = \"nobody\"`: there is no such agent; accepted are claude, codex",
        ),
        (
            &["--agent", "nobody"],
            2,
            "invalid agent `nobody`: there is no such agent; accepted are claude, codex",
        ),
        (&["--agent", "dmo"], 2, "did you mean `demo`?"),
        (&["--team", &misspelt_agent], 2, "did you mean `demo`?"),
        (
            &["--team", "demo", "--agent", "codex"],
            2,
            "invalid agent `codex`: each seat of the team names its agent; leave `agent` out (`--agent`)",
        ),
        (&["--limit", "turn=5"], 2, "did you mean `turns`?"),
        (&["--limit", "turns=0"], 2, "accepted are 1 to 100000"),
        (&["--limit", "turns"], 2, "NAME=NUMBER"),
        (&["--budget", "6"], 2, "6 USD"),
        (
            &["--limit", "turns=5", "--limit", "turns=6"],
            2,
            "invalid `--limit turns=6`",
        ),
        (
            &["--budget", "6 USD", "--budget", "9 USD"],
            2,
            "invalid `--budget 9 USD`",
        ),
        (&["--until", "9999-12-31T23:59"], 2, "`--until 9999-"),
        (&["--budget", "6 XYZ"], 2, "ISO 4217"),
        (&["--budget", "0 USD"], 2, "above 0"),
        (&["--until", "2001-01-01T00:00:00Z"], 2, "it is past"),
        (&["--until", "soon"], 2, "a time of day (07:00)"),
        (&["--verify", " "], 2, "a command on one line"),
        (&["--dir", "absent"], 2, "does not exist"),
        (&["--on", "box"], 2, "goals run on hosts"),
    ];
    for (more, code, says) in cases {
        let mut args = vec!["goal", "start", "Draft it."];
        if !more.contains(&"--agent") {
            args.extend(["--agent", "demo"]);
        }
        args.extend(more);
        let refused = world.run(&args);
        assert_eq!(refused.code, code, "{more:?}: {refused:#?}");
        assert!(refused.stderr.contains(says), "{says}: {}", refused.stderr);
    }
    let refused = world.run(&["goal", "start", " ", "--agent", "demo"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("invalid goal ` `: it is empty"),
        "{}",
        refused.stderr
    );
    assert_eq!(world.json(&["goal", "list"]), json!([]));
    assert_eq!(world.json(&["session", "list"]), json!([]));
}

#[test]
fn goal_is_started_with_limits_and_listed() {
    let world = TestInstallation::new();
    let start = [
        "goal",
        "start",
        "Draft the spring campaign.",
        "--agent",
        "demo",
        "--budget",
        "6 USD",
        "--until",
        "8h",
        "--verify",
        "test -f brand.md",
        "--limit",
        "turns=70",
        "--key",
        "spring",
    ];
    let started = world.run(&start);
    assert_eq!(started.code, 0, "{started:#?}");
    assert!(started.stdout.contains("(planning)"), "{}", started.stdout);
    assert!(
        started.stdout.contains("Limits: 6 USD, 70 turns, until "),
        "{}",
        started.stdout
    );
    assert!(started.stderr.contains("--follow"), "{}", started.stderr);
    assert!(
        started.stderr.contains("matins serve"),
        "{}",
        started.stderr
    );
    assert_fits(&started.stdout);

    let again = world.run(&start);
    assert_eq!(again.code, 4, "{again:#?}");
    for says in [
        "the key `spring` is that of another goal or session",
        "choose another `--key`",
    ] {
        assert!(again.stderr.contains(says), "{says}: {again:#?}");
    }
    let goal = world.json(&["goal", "show", "spring"]);
    assert_eq!(goal["state"], "active");
    assert_eq!(goal["team"], "research");
    assert_eq!(goal["turn_limit"], 70);
    assert_eq!(goal["checks"], json!({ "verify": "test -f brand.md" }));
    assert_eq!(
        goal["budget"]["cost"],
        json!({ "amount": "6", "currency": "USD" })
    );
    let seats: Vec<_> = goal["seats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seat| &seat["name"])
        .collect();
    assert_eq!(
        seats,
        ["planner", "worker-1", "worker-2", "worker-3", "judge"]
    );
    let listed = world.run(&["goal", "list"]).expect_success();
    assert!(
        listed.contains("planning") && listed.contains("0/0"),
        "{listed}"
    );
    assert_fits(&listed);
    let shown = world.run(&["goal", "show", "spring"]).expect_success();
    assert!(shown.contains("   0/0 done   - of 6 USD   "), "{shown}");
    assert!(shown.contains("RUNNING    plan#1"), "{shown}");
    assert_fits(&shown);
}

#[test]
fn goal_is_paused_changed_and_cancelled() {
    let world = TestInstallation::new();
    let start = [
        "goal",
        "start",
        "Draft it.",
        "--agent",
        "demo",
        "--key",
        "spring",
    ];
    world.run(&start).expect_success();
    world.run(&["goal", "pause", "spring"]).expect_success();
    let paused = world.run(&["goal", "show", "spring"]);
    assert!(
        paused.stdout.contains("paused (person)"),
        "{}",
        paused.stdout
    );
    assert!(
        paused.stderr.contains("matins goal resume"),
        "{}",
        paused.stderr
    );
    let again = world.run(&["goal", "pause", "spring"]);
    assert_eq!(again.code, 4, "{again:#?}");
    let edit = [
        "goal", "edit", "spring", "--budget", "9 USD", "--limit", "turns=90",
    ];
    world.run(&edit).expect_success();
    let goal = world.json(&["goal", "show", "spring"]);
    assert_eq!(goal["budget"]["cost"]["amount"], "9");
    assert_eq!(goal["limits"]["turns"], 90);
    // Each limit of the budget stays until an option names it.
    let budget = |options: &[&str]| {
        let edit = [&["goal", "edit", "spring"][..], options].concat();
        world.run(&edit).expect_success();
        world.json(&["goal", "show", "spring"])["budget"].clone()
    };
    let cost = json!({ "amount": "9", "currency": "USD" });
    assert_eq!(
        budget(&["--budget", "5000 tokens"]),
        json!({ "tokens": 5000, "cost": cost })
    );
    assert_eq!(
        budget(&["--budget", "9 USD", "--no-budget"]),
        json!({ "tokens": null, "cost": cost })
    );
    assert_eq!(budget(&["--no-budget"]), Value::Null);
    assert_eq!(world.run(&["goal", "edit", "spring"]).code, 2);
    let fixed = world.run(&["goal", "edit", "spring", "--limit", "hours=2"]);
    assert!(fixed.stderr.contains("`until`"), "{}", fixed.stderr);
    world.run(&["goal", "resume", "spring"]).expect_success();

    let cancelled = world.run(&["goal", "cancel", "spring"]).expect_success();
    assert!(cancelled.contains("failed (cancelled)"), "{cancelled}");
    let listed = world.run(&["goal", "list"]).expect_success();
    assert!(listed.contains("  failed (cancelled)  "), "{listed}");
    assert_fits(&listed);
    let report = world.json(&["goal", "report", "spring"]);
    assert_eq!(report["complete"], true);
    let text = report["text"].as_str().unwrap();
    assert!(
        text.contains("failed (cancelled)") && text.contains("## Usage"),
        "{text}"
    );
    let followed = world.run(&["goal", "show", "spring", "--follow"]);
    assert_eq!(followed.code, 5, "{followed:#?}");
    let message = world.run(&["goal", "message", "spring", "Use plain words."]);
    assert_eq!(message.code, 4, "{message:#?}");
    assert!(
        message.stderr.contains(
            "the goal `spring` has ended and accepts no more messages; it is failed (cancelled)"
        ) && !message.stderr.contains("session list"),
        "{}",
        message.stderr
    );
    assert_eq!(world.run(&["goal", "resume", "spring"]).code, 4);
    assert_eq!(
        world.json(&["goal", "list", "--state", "active"]),
        json!([])
    );
}

#[test]
fn lowered_number_of_turns_at_a_time_is_printed_with_its_reason() {
    let world = TestInstallation::new();
    let start = [
        "goal",
        "start",
        "Draft it.",
        "--agent",
        "demo",
        "--key",
        "spring",
        "--limit",
    ];
    let started = world.run(&[&start[..], &["parallel=8"]].concat());
    assert_eq!(started.code, 0, "{started:#?}");
    let note = "It takes 3 turns at a time and not 8, so that the messages of people need not\nwait: a goal takes at most \
                one fewer than the server has workers\n(MATINS_WORKERS), and at least one.\n";
    assert!(started.stderr.contains(note), "{}", started.stderr);
    assert_fits(&started.stderr);
    let edit = ["goal", "edit", "spring", "--limit"];
    let edited = world.run(&[&edit[..], &["parallel=16"]].concat());
    assert!(
        edited.stderr.contains("3 turns at a time and not 16"),
        "{edited:#?}"
    );
    let edited = world.run(&[&edit[..], &["parallel=2"]].concat());
    assert!(!edited.stderr.contains("at a time"), "{edited:#?}");

    let world = TestInstallation::new().with_env("MATINS_WORKERS", "2");
    let of_team = ["goal", "start", "Draft it.", "--agent", "demo"];
    let started = world.run(&of_team);
    assert!(
        started
            .stderr
            .contains("It takes 1 turn at a time and not 3"),
        "{started:#?}"
    );
    let started = world.run(&[&of_team[..], &["--limit", "parallel=1"]].concat());
    assert!(!started.stderr.contains("at a time"), "{started:#?}");
}

#[test]
fn goal_from_stdin_has_no_line_break_at_its_end() {
    let world = TestInstallation::new();
    let start = ["goal", "start", "-", "--agent", "demo", "--draft", "--json"];
    for (text, expected) in [
        (
            "Draft it.\n\nPublish nothing.\n",
            "Draft it.\n\nPublish nothing.",
        ),
        ("Draft it.\r\n", "Draft it."),
        ("Draft it.\n\n", "Draft it.\n"),
        ("Draft it.", "Draft it."),
    ] {
        let started = world.run_with_stdin(&start, text);
        let made: Value = serde_json::from_str(&started.stdout).unwrap();
        assert_eq!(made["goal"], expected);
    }
    let long = world.run_with_stdin(&start, &"é".repeat(1 << 20));
    assert_eq!(long.code, 2, "{long:#?}");
    let says = "the text from standard input has more than 32768 bytes; accepted are up to 32768";
    assert!(long.stderr.contains(says), "{}", long.stderr);
}

#[test]
fn draft_starts_by_resume() {
    let world = TestInstallation::new();
    let start = ["goal", "start", "Draft it.", "--agent", "demo", "--draft"];
    let started = world.run(&start);
    assert!(
        started.stdout.starts_with("Made the draft ses_"),
        "{started:#?}"
    );
    assert!(
        started
            .stderr
            .contains("To start it: matins goal resume ses_"),
        "{started:#?}"
    );
    let id = draft(&world, "Draft it.");
    assert_eq!(world.json(&["task", "list", &id])["tasks"], json!([]));
    let followed = world.run(&["goal", "show", &id, "--follow"]);
    assert_eq!(followed.code, 4, "{followed:#?}");
    let refused = world.run(&["goal", "replan", &id]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("goal resume"), "{refused:#?}");
    let sent = world.run(&["goal", "message", &id, "hello"]);
    let printed = format!("{}{}", sent.stdout, sent.stderr);
    assert!(printed.contains("its session is draft"), "{sent:#?}");
    let says = "A message changes no plan: matins goal edit --text and matins goal replan do.";
    assert!(sent.stderr.contains(says), "{sent:#?}");
    let help = world.run(&["goal", "message", "--help"]).expect_success();
    assert!(help.contains("It changes no plan"), "{help}");
    world.run(&["goal", "resume", &id]).expect_success();
    let tasks = world.json(&["task", "list", &id]);
    assert_eq!(tasks["tasks"][0]["kind"], "plan");
}

#[test]
fn unknown_goal_and_task_are_refused() {
    let world = TestInstallation::new();
    let missing = world.run(&["goal", "show", "spring"]);
    assert_eq!(missing.code, 3);
    assert!(
        missing.stderr.contains("goal `spring` not found"),
        "{}",
        missing.stderr
    );
    for empty in ["", " "] {
        let missing = world.run(&["goal", "show", empty]);
        assert_eq!(missing.code, 2, "{missing:#?}");
        assert!(
            missing.stderr.contains("a key or an ID is needed")
                && missing.stderr.contains("matins goal list"),
            "{}",
            missing.stderr
        );
    }
    // A session without a goal is none.
    let session = world.json(&["session", "new", "--seat", "planner=demo"]);
    let missing = world.run(&["goal", "show", session["id"].as_str().unwrap()]);
    assert_eq!(missing.code, 3, "{missing:#?}");
    let id = draft(&world, "Draft it.");
    world.run(&["goal", "resume", &id]).expect_success();
    let missing = world.run(&["goal", "message", &id, "Hi", "--to", "nobody"]);
    assert_eq!(missing.code, 3);
    let says = "seat `nobody` not found, accepted are planner, worker-1, worker-2, worker-3, judge";
    assert!(missing.stderr.contains(says), "{}", missing.stderr);
    let missing = world.run(&["task", "show", &id, "plan#2"]);
    assert_eq!(missing.code, 3);
    assert!(
        missing.stderr.contains("the goal has no task `plan#2`"),
        "{}",
        missing.stderr
    );
    let shown = world.run(&["task", "show", &id, "plan#1"]).expect_success();
    assert!(
        shown.contains("RUNNING (work)") && shown.contains("queued"),
        "{shown}"
    );
    // The turn of the plan waits, so that it can be cancelled, and not edited, retried or accepted.
    let refused = world.run(&["task", "edit", &id, "plan#1", "--title", "Plan"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    let refused = world.run(&["task", "retry", &id, "plan#1"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    let refused = world.run(&["task", "accept", &id, "plan#1"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
}

#[test]
fn goal_whose_planner_makes_no_tasks_is_stuck() {
    let world = TestInstallation::new();
    let said = || vec![Step::Text("I have no plan.".into())];
    world.add_scripted_agent([said(), said(), said(), said()]);
    let file = world.path().join("own.toml");
    fs::write(&file, TEAM).unwrap();
    let _server = world.serve();
    let start = [
        "goal",
        "start",
        "Draft \u{202e}it.\u{1b}[31m",
        "--team",
        file.to_str().unwrap(),
        "--agent",
        "scripted",
        "--key",
        "own",
    ];
    world.run(&start).expect_success();
    let followed = world.run(&["goal", "show", "own", "--follow"]);
    assert_eq!(followed.code, 4, "{followed:#?}");
    assert!(
        followed.stdout.contains("The goal is paused (stuck: "),
        "{}",
        followed.stdout
    );
    // The title keeps characters that change the order of letters, and the report the whole text.
    assert!(
        followed.stdout.contains("Draft \\u{202e}it.") && !followed.stdout.contains('\u{202e}'),
        "{:?}",
        followed.stdout
    );
    let goal: Value = world.json(&["goal", "show", "own"]);
    assert_eq!(
        (&goal["state"], &goal["reason"]),
        (&json!("paused"), &json!("stuck"))
    );
    let status = world.run(&["status"]).expect_success();
    assert!(
        status.contains("is stuck: no plan") && status.contains("matins goal show ses_"),
        "{status}"
    );
    let report = world.run(&["goal", "report", "own"]).expect_success();
    assert!(
        report.contains("stuck") && report.contains("> Draft \\u{202e}it.\\u{1b}\\[31m"),
        "{report:?}"
    );
    assert!(
        !report.contains('\u{1b}') && !report.contains('\u{202e}'),
        "{report:?}"
    );
}
