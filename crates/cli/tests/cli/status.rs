//! `matins status`: what ran, what failed, what waits, what comes next and what it cost.

use std::fs;

use crate::test_installation::TestInstallation;

fn fire(world: &TestInstallation, name: &str) {
    world.run(&["automation", "fire", name]);
}

/// A world with an automation that succeeds, and one whose agent ends before it is ready.
fn with_automations() -> TestInstallation {
    let world = TestInstallation::new();
    let added = ["agent", "add", "broken", "--", "/bin/false"];
    world.run(&added).expect_success();
    for (name, agent, cron) in [
        ("standup", "demo", "0 9 * * 1-5"),
        ("nightly", "broken", "0 2 * * *"),
    ] {
        let args = ["automation", "add", "--name", name, "--agent", agent];
        let more = ["--zone", "UTC", "--attempts", "1", cron, "Look"];
        let args: Vec<_> = args.into_iter().chain(more).collect();
        world.run(&args).expect_success();
    }
    world
}

#[test]
fn status_answers_five_questions() {
    let world = with_automations();
    fire(&world, "standup");
    fire(&world, "nightly");
    let status = world.run(&["status"]).expect_success();
    for part in [
        "2 runs since ",
        "1 succeeded, 1 failed",
        "No server runs: nothing fires until you start `matins serve`.",
        "x nightly failed, last at ",
        "matins run show run_",
        "02:00:00 +00:00 UTC  nightly",
        "09:00:00 +00:00 UTC  standup",
        "today: ",
        "2 of 2 runs of today reported no cost",
        "2 of 2 runs of this month reported no cost",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let widest = status.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 80, "{status}");

    // The next look begins where this one ended.
    let next = world.run(&["status"]).expect_success();
    assert!(next.starts_with("0 runs since "), "{next}");
    // What failed needs a person still.
    assert!(next.contains("nightly failed"), "{next}");
    let whole = world.json(&["status", "--since", "1h"]);
    assert_eq!(whole["counts"]["failed"], 1);
    assert_eq!(whole["needs"]["failures"][0]["automation_name"], "nightly");
    assert_eq!(whole["has_server"], false);
}

#[test]
fn status_without_its_memory_shows_last_day() {
    let world = with_automations();
    fire(&world, "standup");
    world.run(&["status"]).expect_success();
    let memory = world.path().join(".local/state/matins/looks.json");
    let known = fs::read_to_string(&memory).unwrap();
    assert!(known.contains(r#""format":1"#), "{known}");
    for text in ["", "{", r#"{"format":9,"looks":{}}"#] {
        fs::write(&memory, text).unwrap();
        let status = world.run(&["status"]).expect_success();
        assert!(status.contains("1 run since "), "{text}: {status}");
    }
}

#[test]
fn watched_status_follows_what_happens() {
    let world = with_automations();
    let _server = world.serve();
    let mut watching = world.start(&["status", "--since", "1h", "--watch"]);
    watching.read_stdout_until("0 runs since ");
    fire(&world, "standup");
    watching.read_stdout_until("1 run since ");
    watching.signal(rustix::process::Signal::INT);
    assert_eq!(watching.end().code, 0);
}

#[test]
fn status_refuses_period_out_of_range() {
    let world = TestInstallation::new();
    let refused = world.run(&["status", "--since", "60d"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("invalid since"), "{refused:#?}");
    assert!(
        refused.stderr.contains("accepted are instants from"),
        "{refused:#?}"
    );
}
