//! Prechecks: commands that run before a turn.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;
use testkit::processes::processes_with_marker;

use crate::test_installation::TestInstallation;

fn add_automation_with_precheck(world: &TestInstallation, precheck: &str) {
    let add = ["automation", "add", "--on-demand", "--agent", "demo"];
    let named = ["--name", "news", "--precheck", precheck, "Read the news"];
    world.json(&[&add[..], &named].concat());
}

#[test]
fn declining_precheck_skips_run_and_creates_no_session() {
    let world = TestInstallation::new();
    add_automation_with_precheck(&world, "echo nothing new; exit 1");
    let fired = world.run(&["automation", "fire", "news"]);
    assert_eq!(fired.code, 4, "{fired:#?}");
    assert!(
        fired.stderr.contains("the run was skipped: precheck"),
        "{fired:#?}"
    );
    let run = &world.json(&["run", "list", "--automation", "news"])[0];
    assert_eq!(
        (&run["status"], &run["reason"], &run["session_id"]),
        (&"skipped".into(), &"precheck".into(), &Value::Null)
    );
    let shown = world
        .run(&["run", "show", run["id"].as_str().unwrap()])
        .expect_success();
    for part in ["skipped", "precheck", "Precheck\nexit code 1\nnothing new"] {
        assert!(shown.contains(part), "{shown}");
    }
    let sessions = world.json(&["session", "list", "--automation", "news"]);
    assert_eq!(sessions.as_array().unwrap().len(), 0, "{sessions}");
}

#[test]
fn unclear_precheck_takes_turn_and_is_reported() {
    let world = TestInstallation::new();
    add_automation_with_precheck(&world, "echo no idea >&2; exit 3");
    let fired = world.run(&["automation", "fire", "news"]);
    assert_eq!(fired.code, 0, "{fired:#?}");
    assert!(fired.stdout.contains("This is turn 1"), "{fired:#?}");
    assert!(
        fired.stderr.contains("The precheck was unclear"),
        "{fired:#?}"
    );
    let listed = world.run(&["run", "list"]).expect_success();
    assert!(listed.contains("precheck unclear"), "{listed}");
    let run = &world.json(&["run", "list"])[0];
    let shown = world
        .run(&["run", "show", run["id"].as_str().unwrap()])
        .expect_success();
    assert!(shown.contains("Precheck\nexit code 3\nno idea"), "{shown}");
    // Without it, the turn is taken as any other.
    world.json(&["automation", "edit", "news", "--no-precheck"]);
    let fired = world.run(&["automation", "fire", "news"]);
    assert!(!fired.stderr.contains("precheck"), "{fired:#?}");
}

#[test]
fn precheck_of_killed_server_is_run_again_by_next_server() {
    let world = TestInstallation::new();
    let (began, go_on) = (world.path().join("began"), world.path().join("goes on"));
    let words = format!(
        "touch '{}'; test -e '{}' || sleep 1000",
        began.display(),
        go_on.display()
    );
    let server = world.serve();
    add_automation_with_precheck(&world, &words);
    world
        .run(&["automation", "fire", "news", "--queue"])
        .expect_success();
    world.wait_for("the precheck", |_| began.exists());
    let run = world.json(&["run", "list"])[0].clone();
    assert_eq!(run["status"], "delivered");
    let run = run["id"].as_str().unwrap().to_owned();
    assert!(processes_with_marker(&run).unwrap().len() >= 2);
    server.signal(Signal::KILL);
    server.end();
    world.wait_for("all of its processes are gone", |_| {
        processes_with_marker(&run).unwrap().is_empty()
    });

    fs::write(&go_on, "").unwrap();
    let _server = world.serve();
    world.wait_for("the next attempt", |_| {
        world.json(&["run", "list"])[0]["status"] == "succeeded"
    });
    let runs = world.json(&["run", "list", "--all-attempts"]);
    assert_eq!(
        (&runs[1]["id"], &runs[1]["status"]),
        (&run.into(), &"stalled".into())
    );
    // The interrupted attempt had not sent a prompt to the agent.
    assert_eq!(runs[0]["interrupted_run_id"], Value::Null);
}
