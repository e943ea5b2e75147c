//! Single runs: cancelling and retrying them, and showing one without its record.

use std::{path::PathBuf, sync::Arc};

use serde_json::Value;
use store::{Location, Store};
use testkit::clock::SeededEntropy;

use crate::test_installation::TestInstallation;

const AFTER_RETENTION: &str = "2199-01-01T00:00:00Z";

/// Queues a message in a new session, and returns the ID of the run.
fn queue_run(world: &TestInstallation, agent: &str) -> String {
    let args = ["session", "send", "--new", "--agent", agent];
    let args: Vec<_> = args.into_iter().chain(["--queue", "Hello"]).collect();
    let queued = world.json(&args);
    queued["run"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn queued_run_is_cancelled_and_retried() {
    let world = TestInstallation::new();
    let run = queue_run(&world, "demo");
    let refused = world.run(&["run", "retry", &run]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("` is queued"), "{refused:#?}");
    let told = world.run(&["run", "cancel", &run[..24]]).expect_success();
    assert_eq!(told, format!("Cancelled {run}.\n"));
    let again = world.run(&["run", "cancel", &run]);
    assert_eq!(again.code, 4, "{again:#?}");
    assert!(again.stderr.contains("` is cancelled, so"), "{again:#?}");

    let answer = world.run(&["run", "retry", &run]).expect_success();
    assert!(answer.contains("Now you ask: \"Hello\""), "{answer}");
    let shown = world.json(&["run", "show", &run]);
    assert_eq!(shown["attempts"][1]["attempt"], 2);
    assert_eq!(shown["attempts"][1]["status"], "succeeded");
    let refused = world.run(&["run", "retry", &run]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("followed by run_"), "{refused:#?}");
    let last = shown["attempts"][1]["id"].as_str().unwrap();
    let refused = world.run(&["run", "retry", last]);
    assert!(refused.stderr.contains("` has succeeded"), "{refused:#?}");
    for command in ["retry", "cancel"] {
        assert_eq!(world.run(&["run", command, "run_ffff"]).code, 3);
    }
}

#[test]
fn many_runs_are_retried_and_cancelled_after_confirmation() {
    let world = TestInstallation::new();
    let runs = [queue_run(&world, "demo"), queue_run(&world, "demo")];
    let named = ["run", "cancel", runs[0].as_str(), "--status", "queued"];
    assert_eq!(world.run(&named).code, 2);
    assert_eq!(world.run(&["run", "cancel", "--yes"]).code, 2);

    let cancel = ["run", "cancel", "--status", "queued,deferred"];
    let with = |more: &[&str]| world.run(&[&cancel[..], more].concat());
    let unconfirmed = with(&[]);
    assert_eq!(unconfirmed.code, 7, "{unconfirmed:#?}");
    for part in ["Nothing was cancelled", "2 can be", "--expect 2", "--yes"] {
        assert!(
            unconfirmed.stdout.contains(part),
            "{part}: {unconfirmed:#?}"
        );
    }
    let other = with(&["--expect", "3"]);
    assert_eq!(other.code, 4, "{other:#?}");
    assert!(
        other.stderr.contains("expected 3 runs, but 2"),
        "{other:#?}"
    );
    let told = with(&["--expect", "2"]).expect_success();
    assert_eq!(told, "Cancelled 2 runs.\n");
    let told = with(&["--yes"]).expect_success();
    assert_eq!(told, "Cancelled 0 runs.\n");

    let retry = ["run", "retry", "--status", "cancelled", "--since", "1h"];
    let unconfirmed = world.run(&[&retry[..], &["--json"]].concat());
    assert_eq!(unconfirmed.code, 7, "{unconfirmed:#?}");
    let counts: Value = serde_json::from_str(&unconfirmed.stdout).unwrap();
    assert_eq!(counts["retryable"]["count"], 2);
    let result = world.json(&[&retry[..], &["--yes"]].concat());
    for (run, retried) in runs.iter().zip(result["retried"].as_array().unwrap()) {
        assert_eq!(retried["run_id"], run.as_str());
        let shown = world.json(&["run", "show", run]);
        assert_eq!(shown["attempts"][1]["id"], retried["attempt_id"]);
        assert_eq!(shown["attempts"][1]["status"], "queued");
    }
}

#[test]
fn waiting_message_is_edited_before_its_turn() {
    let world = TestInstallation::new();
    let run = queue_run(&world, "demo");
    let told = world.run(&["run", "edit", &run, "Good morning"]);
    assert_eq!(told.expect_success(), format!("Changed {run}.\n"));
    world.run(&["run", "cancel", &run]).expect_success();
    let refused = world.run(&["run", "edit", &run, "Good evening"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("cannot be edited"), "{refused:#?}");
    let answer = world.run(&["run", "retry", &run]).expect_success();
    assert!(answer.contains("Now you ask: \"Good morning\""), "{answer}");
}

#[test]
fn run_list_shows_outcome_of_each_input() {
    let world = TestInstallation::new();
    let run = queue_run(&world, "demo");
    world.run(&["run", "cancel", &run]).expect_success();
    let listed = |more: &[&str]| {
        let args: Vec<_> = ["run", "list"].iter().chain(more).copied().collect();
        let runs = world.json(&args);
        let runs = runs.as_array().unwrap().clone();
        let status = |run: &Value| run["status"].as_str().unwrap().to_owned();
        runs.iter().map(status).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["--status", "failed,cancelled"]), ["cancelled"]);
    world.run(&["run", "retry", &run]).expect_success();
    assert_eq!(listed(&[]), ["succeeded"]);
    assert_eq!(listed(&["--status", "failed,cancelled"]).len(), 0);
    assert_eq!(listed(&["--all-attempts"]), ["succeeded", "cancelled"]);
    assert_eq!(listed(&["--since", "1h"]).len(), 1);
    assert_eq!(listed(&["--until", "1h"]).len(), 0);
    assert_eq!(listed(&["--since", "2199-01-01"]).len(), 0);
    let reason = ["--all-attempts", "--reason", "cancelled by a person"];
    assert_eq!(listed(&reason), ["cancelled"]);
    let newest = &world.json(&["run", "list"])[0];
    assert_eq!(newest["agent_name"], "demo");
    let answer = newest["answer"].as_str().unwrap();
    assert!(answer.contains("Now you ask"), "{answer}");

    let refused = world.run(&["run", "list", "--since", "yesterday"]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    for part in ["yesterday", "--since", "12h", "2026-11-19T22:41"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:#?}");
    }
}

#[test]
fn cancelling_running_run_keeps_other_runs_of_session() {
    let world = TestInstallation::new();
    world.slow_agent();
    let _server = world.serve();
    let run = queue_run(&world, "slow");
    let status =
        |world: &TestInstallation, run: &str| world.json(&["run", "show", run])["status"].clone();
    world.wait_for("the turn begins", |world| status(world, &run) == "running");
    let session = world.json(&["run", "show", &run])["session_id"].clone();
    let session = session.as_str().unwrap();
    let waits = world.json(&["session", "send", session, "And?", "--queue"]);
    let waits = waits["run"]["id"].as_str().unwrap();
    let told = world.json(&["run", "cancel", &run]);
    assert_eq!(told["run_id"], run.as_str());
    world.wait_for("the agent stops", |world| {
        status(world, &run) == "cancelled"
    });
    world.wait_for("the next one begins", |world| {
        status(world, waits) == "running"
    });
    // The retry continues after the interrupted run, because its prompt may have reached the agent.
    let again = world.json(&["run", "retry", &run, "--queue"]);
    assert_eq!(again["run"]["interrupted_run_id"], run.as_str());
    assert_eq!(again["run"]["status"], "deferred");
    world.run(&["session", "cancel", session]).expect_success();
}

#[test]
fn run_show_has_answer_and_names() {
    let world = TestInstallation::new();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "standup",
        "--agent",
        "demo",
        "--session",
        "continuous",
        "What changed?",
    ];
    world.run(&add).expect_success();
    let fired = world.json(&["automation", "fire", "standup"]);
    let run = fired["run"]["id"].as_str().unwrap();
    let json = world.json(&["run", "show", run]);
    let answer = json["answer"].as_str().unwrap();
    assert!(answer.contains("This is turn 1"), "{json:#}");
    assert_eq!(json["automation_name"], "standup");
    assert_eq!(json["agent_name"], "demo");
    let shown = world.run(&["run", "show", run]).expect_success();
    let instance = json["instance_name"].as_str().unwrap();
    let named = format!("standup ({})", json["automation_id"].as_str().unwrap());
    assert_eq!(json["source"], "on_demand");
    let table = world.run(&["run", "list"]).expect_success();
    assert!(table.contains("standup (on demand)"), "{table}");
    assert!(shown.contains("on demand"), "{shown}");
    for part in [&named, "demo", instance, "\nAnswer\n", answer.trim_end()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A run that has not begun has neither.
    let waits = queue_run(&world, "demo");
    let json = world.json(&["run", "show", &waits]);
    assert_eq!(
        (&json["answer"], &json["instance_name"]),
        (&Value::Null, &Value::Null)
    );
    let shown = world.run(&["run", "show", &waits]).expect_success();
    assert!(!shown.contains("\nAnswer\n"), "{shown}");
}

#[tokio::test]
async fn run_show_reports_record_removed_by_retention() {
    let world = TestInstallation::new();
    let run = queue_run(&world, "demo");
    world.run(&["run", "cancel", &run]).expect_success();
    let shown = world.run(&["run", "show", &run]).expect_success();
    assert!(!shown.contains("Retention"), "{shown}");
    let file = Location::SqliteFile(world.data_folder().join("matins.db"));
    let database = store::open(&file).await.unwrap();
    let entropy = Arc::new(SeededEntropy::new(1));
    let store = Store::new(database.clone(), entropy, PathBuf::from("/nowhere"));
    let trimmed = store.trim_records(AFTER_RETENTION.parse().unwrap()).await;
    assert_eq!(trimmed.unwrap(), 1);
    database.close().await;
    let shown = world.run(&["run", "show", &run]).expect_success();
    assert!(shown.contains("Retention has removed"), "{shown}");
    assert!(shown.contains("after 30d"), "{shown}");
    assert_eq!(world.json(&["run", "show", &run])["record_trimmed"], true);
    // The retention is a setting.
    let refused = world
        .with_env("MATINS_RETAIN_RECORDS_DAYS", "a week")
        .run(&["run", "show", &run]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(
        refused.stderr.contains("MATINS_RETAIN_RECORDS_DAYS")
            || refused.stderr.contains("--retain-records-days"),
        "{refused:#?}"
    );
}
