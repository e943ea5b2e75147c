//! Several servers over one PostgreSQL, each with a data folder of its own.

use rustix::process::Signal;
use serde_json::Value;
use testkit::databases::TestDatabase;

use crate::test_installation::{RunningCommand, TestInstallation};

/// Two servers that poll only once an hour, so that a test shows the effects of notifications.
pub(crate) struct TwoServers {
    pub(crate) one: TestInstallation,
    pub(crate) other: TestInstallation,
    pub(crate) database: TestDatabase,
}

impl TwoServers {
    pub(crate) fn new() -> Self {
        let database = TestDatabase::empty_postgres().unwrap();
        let one = TestInstallation::new()
            .with_env("MATINS_DATABASE", database.url())
            .with_env("MATINS_TICK_SECONDS", "3600")
            .with_env("MATINS_WATCHDOG_SECONDS", "3600")
            .with_env("MATINS_HEARTBEAT_SECONDS", "600")
            .with_env("MATINS_HEARTBEAT_STALE", "3600");
        let other = one.with_data_folder("other");
        Self {
            one,
            other,
            database,
        }
    }

    fn instances(&self) -> Vec<Value> {
        let Value::Array(all) = self.other.json(&["instance", "list"]) else {
            panic!("no list of instances")
        };
        all
    }

    /// Returns the instance of the first server.
    fn first_instance(&self) -> Value {
        let other = self.other.data_folder().join("instance.id");
        let other = std::fs::read_to_string(other).unwrap();
        let mut all = self.instances().into_iter();
        all.find(|one| one["id"] != other.trim()).unwrap()
    }
}

/// Queues a message through the server of one installation, and returns the run.
pub(crate) fn queue_message(world: &TestInstallation, session: &[&str], words: &str) -> Value {
    let args = [&["session", "send"], session, &["--queue", words]].concat();
    world.json(&args)["run"].clone()
}

pub(crate) fn run_id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

pub(crate) fn run_status(world: &TestInstallation, run: &Value) -> Value {
    world.json(&["run", "show", run_id(run)])["status"].clone()
}

pub(crate) fn wait_for_status(world: &TestInstallation, run: &Value, expected: &str) {
    world.wait_for(expected, |world| run_status(world, run) == expected);
}

pub(crate) const NEW_SESSION_ARGS: [&str; 3] = ["--new", "--agent", "demo"];

/// Lets the first server take the first turn of a session, and returns the session.
fn take_first_turn(fleet: &TwoServers) -> String {
    let run = queue_message(&fleet.one, &NEW_SESSION_ARGS, "My name is Ada");
    wait_for_status(&fleet.one, &run, "succeeded");
    run["session_id"].as_str().unwrap().to_owned()
}

pub(crate) fn stop_server(server: RunningCommand) {
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}

#[test]
fn message_is_taken_at_once_by_server_with_session_memory() {
    let fleet = TwoServers::new();
    let _one = fleet.one.serve();
    let session = take_first_turn(&fleet);
    let _other = fleet.other.serve();
    let run = queue_message(&fleet.other, &[&session], "Who am I?");
    wait_for_status(&fleet.other, &run, "succeeded");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .expect_success();
    assert!(shown.contains("This is turn 2"), "{shown}");
    let workers = fleet.instances();
    assert_eq!(workers.len(), 2);
    assert!(
        workers.iter().all(|one| one["state"] == "online"),
        "{workers:#?}"
    );
}

#[test]
fn turn_is_cancelled_at_once_through_another_server() {
    let fleet = TwoServers::new();
    let one = fleet.one.serve();
    fleet.one.slow_agent();
    let run = queue_message(&fleet.one, &["--new", "--agent", "slow"], "Take your time");
    wait_for_status(&fleet.one, &run, "running");
    let _other = fleet.other.serve();
    fleet
        .other
        .run(&["run", "cancel", run_id(&run)])
        .expect_success();
    wait_for_status(&fleet.other, &run, "cancelled");
    stop_server(one);
}

#[test]
fn schedule_of_frozen_server_is_run_by_another_server() {
    let fleet = TwoServers::new();
    let one = fleet.one.serve();
    let _other = fleet.other.serve();
    one.freeze();
    let add = ["automation", "add", "--name", "often", "--every", "1s"];
    let add = [&add[..], &["--agent", "demo", "Look"]].concat();
    // Use a third installation, because the first server is frozen.
    fleet
        .one
        .with_data_folder("third")
        .run(&add)
        .expect_success();
    fleet.other.wait_for("a run", |world| {
        let runs = world.json(&["run", "list", "--automation", "often"]);
        runs.as_array()
            .unwrap()
            .iter()
            .any(|run| run["status"] == "succeeded")
    });
    fleet
        .other
        .run(&["automation", "pause", "often"])
        .expect_success();
}

#[test]
fn run_waits_for_offline_instance_until_its_server_returns() {
    let fleet = TwoServers::new();
    let one = fleet.one.serve();
    let session = take_first_turn(&fleet);
    let _other = fleet.other.serve();
    stop_server(one);
    assert_eq!(fleet.first_instance()["state"], "offline");
    let waits = queue_message(&fleet.other, &[&session], "Who am I?");
    // Runs of new sessions start at once meanwhile.
    let fresh = queue_message(&fleet.other, &NEW_SESSION_ARGS, "Hello");
    wait_for_status(&fleet.other, &fresh, "succeeded");
    assert_eq!(run_status(&fleet.other, &waits), "queued");
    assert_eq!(fleet.first_instance()["waiting_runs"], 1);
    let _one = fleet.one.serve();
    wait_for_status(&fleet.other, &waits, "succeeded");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .expect_success();
    assert!(shown.contains("This is turn 2"), "{shown}");
    assert_eq!(fleet.first_instance()["state"], "online");
}

#[test]
fn placed_work_runs_on_its_server_alone() {
    let fleet = TwoServers::new();
    let one = fleet.one.serve();
    take_first_turn(&fleet);
    let _other = fleet.other.serve();
    let name = fleet.first_instance()["name"].as_str().unwrap().to_owned();
    stop_server(one);
    let world = &fleet.other;

    // The directory is one of the other machine, so this one does not look for it.
    let on_demand = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "demo",
        "--name",
    ];
    let placed = ["report", "--on", &name, "--dir", "/", "Hello"];
    let added = world.json(&[&on_demand[..], &placed].concat());
    assert_eq!(added["instance"], name);
    let of_automation = world.json(&["automation", "fire", "report", "--queue"]);
    let of_automation = &of_automation["run"];
    let placed = [&NEW_SESSION_ARGS[..], &["--on", &name]].concat();
    let of_session = &queue_message(world, &placed, "Hello");
    let free = queue_message(world, &NEW_SESSION_ARGS, "Hello");
    wait_for_status(world, &free, "succeeded");
    for run in [of_automation, of_session] {
        let shown = world.json(&["run", "show", run_id(run)]);
        assert_eq!(shown["status"], "queued");
        assert_eq!(shown["blocked_on"]["for"], "instance");
        assert_eq!(shown["blocked_on"]["name"], name);
        let shown = world.run(&["run", "show", run_id(run)]).expect_success();
        let waits = format!("It waits for the instance {name}, which is offline.");
        assert!(shown.contains(&waits), "{shown}");
    }

    let one = fleet.one.serve();
    for run in [of_automation, of_session] {
        wait_for_status(world, run, "succeeded");
        let shown = world.json(&["run", "show", run_id(run)]);
        assert_eq!(shown["instance_name"], name);
    }
    let session = of_session["session_id"].as_str().unwrap();
    let shown = world.run(&["session", "show", session]).expect_success();
    assert!(shown.contains(&format!("{name} (placed there)")), "{shown}");

    // Another instance, and none.
    let unknown = world.run(&["automation", "edit", "report", "--on", "nowhere"]);
    assert_eq!(unknown.code, 2, "{unknown:#?}");
    let problem = "invalid instance `nowhere`: there is no such instance; accepted are ";
    assert!(unknown.stderr.contains(problem), "{unknown:#?}");
    let cleared = world.json(&["automation", "edit", "report", "--clear", "on"]);
    assert_eq!(cleared["placed_on"], Value::Null);
    stop_server(one);
    let anywhere = world.json(&["automation", "fire", "report", "--queue"]);
    wait_for_status(world, &anywhere["run"], "succeeded");
}

#[test]
fn run_waiting_for_removed_instance_fails_with_reason() {
    let fleet = TwoServers::new();
    let one = fleet.one.serve();
    let session = take_first_turn(&fleet);
    let _other = fleet.other.serve();
    let name = fleet.first_instance()["name"].as_str().unwrap().to_owned();
    let refused = fleet.other.run(&["instance", "remove", &name]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(
        refused.stderr.contains("stop that server first"),
        "{refused:#?}"
    );
    stop_server(one);
    let waits = queue_message(&fleet.other, &[&session], "Who am I?");
    let shown = fleet
        .other
        .run(&["instance", "show", &name])
        .expect_success();
    assert!(shown.contains("1 run waits for it"), "{shown}");
    let removed = fleet
        .other
        .run(&["instance", "remove", &name])
        .expect_success();
    assert_eq!(removed, format!("Removed {name}.\n"));
    wait_for_status(&fleet.other, &waits, "failed");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .expect_success();
    assert!(shown.contains("an instance that was removed"), "{shown}");
    let missing = fleet.other.run(&["instance", "show", &name]);
    assert_eq!(missing.code, 3, "{missing:#?}");
    assert_eq!(fleet.instances().len(), 1);
}

#[test]
fn server_of_copied_data_folder_is_refused() {
    let mut fleet = TwoServers::new();
    // The server renews its registration at the interval of heartbeats.
    fleet.one = fleet.one.with_env("MATINS_HEARTBEAT_SECONDS", "1");
    let one = fleet.one.serve();
    std::fs::create_dir(fleet.other.data_folder()).unwrap();
    let copied = fleet.other.data_folder().join("instance.id");
    std::fs::copy(fleet.one.data_folder().join("instance.id"), copied).unwrap();
    let refused = fleet.other.run(&["serve"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    let told = "serves a data folder with the same instance ID";
    assert!(refused.stderr.contains(told), "{refused:#?}");
    // After the first server has stopped, the server of the copy may start.
    stop_server(one);
    stop_server(fleet.other.serve());
}
