//! Several servers over one PostgreSQL, each with a data folder of its own.

use rustix::process::Signal;
use serde_json::Value;
use testkit::databases::TestDatabase;

use crate::world::{Running, World};

/// Two servers that look for nothing by themselves for an hour: what they do in a test, they were woken for.
struct Fleet {
    one: World,
    other: World,
    _database: TestDatabase,
}

impl Fleet {
    fn new() -> Self {
        let database = TestDatabase::empty_postgres().unwrap();
        let one = World::new()
            .with("MATINS_DATABASE", database.url())
            .with("MATINS_TICK_SECONDS", "3600")
            .with("MATINS_WATCHDOG_SECONDS", "3600")
            .with("MATINS_HEARTBEAT_SECONDS", "600")
            .with("MATINS_HEARTBEAT_STALE", "3600");
        let other = one.beside("other");
        Self {
            one,
            other,
            _database: database,
        }
    }

    fn instances(&self) -> Vec<Value> {
        let Value::Array(all) = self.other.json(&["instance", "list"]) else {
            panic!("no list of instances")
        };
        all
    }

    /// The instance of the first server: the one that is not the other's.
    fn first(&self) -> Value {
        let other = self.other.data().join("instance.id");
        let other = std::fs::read_to_string(other).unwrap();
        let mut all = self.instances().into_iter();
        all.find(|one| one["id"] != other.trim()).unwrap()
    }
}

/// Says something to a session by whoever serves a world's folder, and leaves it to whoever takes it.
fn queue(world: &World, session: &[&str], words: &str) -> Value {
    let args = [&["session", "say"], session, &["--queue", words]].concat();
    world.json(&args)["run"].clone()
}

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

fn status(world: &World, run: &Value) -> Value {
    world.json(&["run", "show", id(run)])["status"].clone()
}

fn wait_for(world: &World, run: &Value, expected: &str) {
    world.wait_for(expected, |world| status(world, run) == expected);
}

const NEW: [&str; 3] = ["--new", "--agent", "demo"];

/// Has the first server alone take a first turn. Gives its session.
fn remembered(fleet: &Fleet) -> String {
    let run = queue(&fleet.one, &NEW, "My name is Ada");
    wait_for(&fleet.one, &run, "succeeded");
    run["session_id"].as_str().unwrap().to_owned()
}

fn end(server: Running) {
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}

#[test]
fn message_is_taken_at_once_by_server_with_session_memory() {
    let fleet = Fleet::new();
    let _one = fleet.one.serve();
    let session = remembered(&fleet);
    let _other = fleet.other.serve();
    let run = queue(&fleet.other, &[&session], "Who am I?");
    wait_for(&fleet.other, &run, "succeeded");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .done();
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
    let fleet = Fleet::new();
    let one = fleet.one.serve();
    fleet.one.slow_agent();
    let run = queue(&fleet.one, &["--new", "--agent", "slow"], "Take your time");
    wait_for(&fleet.one, &run, "running");
    let _other = fleet.other.serve();
    fleet.other.run(&["run", "cancel", id(&run)]).done();
    wait_for(&fleet.other, &run, "cancelled");
    end(one);
}

#[test]
fn schedule_of_frozen_server_is_run_by_another_server() {
    let fleet = Fleet::new();
    let one = fleet.one.serve();
    let _other = fleet.other.serve();
    one.freeze();
    let add = ["automation", "add", "--name", "often", "--every", "1s"];
    let add = [&add[..], &["--agent", "demo", "Look"]].concat();
    // By a command of its own, beside a server that does nothing any more.
    fleet.one.beside("third").run(&add).done();
    fleet.other.wait_for("a run", |world| {
        let runs = world.json(&["run", "list", "--automation", "often"]);
        runs.as_array()
            .unwrap()
            .iter()
            .any(|run| run["status"] == "succeeded")
    });
    fleet.other.run(&["automation", "pause", "often"]).done();
}

#[test]
fn run_waits_for_offline_instance_until_its_server_returns() {
    let fleet = Fleet::new();
    let one = fleet.one.serve();
    let session = remembered(&fleet);
    let _other = fleet.other.serve();
    end(one);
    assert_eq!(fleet.first()["state"], "offline");
    let waits = queue(&fleet.other, &[&session], "Who am I?");
    // Fresh work goes on at once meanwhile.
    let fresh = queue(&fleet.other, &NEW, "Hello");
    wait_for(&fleet.other, &fresh, "succeeded");
    assert_eq!(status(&fleet.other, &waits), "queued");
    assert_eq!(fleet.first()["waiting"], 1);
    let _one = fleet.one.serve();
    wait_for(&fleet.other, &waits, "succeeded");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .done();
    assert!(shown.contains("This is turn 2"), "{shown}");
    assert_eq!(fleet.first()["state"], "online");
}

#[test]
fn run_waiting_for_removed_instance_fails_with_reason() {
    let fleet = Fleet::new();
    let one = fleet.one.serve();
    let session = remembered(&fleet);
    let _other = fleet.other.serve();
    let name = fleet.first()["name"].as_str().unwrap().to_owned();
    let refused = fleet.other.run(&["instance", "remove", &name]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(
        refused.stderr.contains("stop that server first"),
        "{refused:#?}"
    );
    end(one);
    let waits = queue(&fleet.other, &[&session], "Who am I?");
    let shown = fleet.other.run(&["instance", "show", &name]).done();
    assert!(shown.contains("1 run whose memory lies there"), "{shown}");
    let removed = fleet.other.run(&["instance", "remove", &name]).done();
    assert_eq!(removed, format!("{name} is given up.\n"));
    wait_for(&fleet.other, &waits, "failed");
    let shown = fleet
        .other
        .run(&["session", "show", &session, "--all"])
        .done();
    assert!(shown.contains("an instance that is gone"), "{shown}");
    let missing = fleet.other.run(&["instance", "show", &name]);
    assert_eq!(missing.code, 3, "{missing:#?}");
    assert_eq!(fleet.instances().len(), 1);
}

#[test]
fn server_of_copied_data_folder_is_refused() {
    let mut fleet = Fleet::new();
    // As often as a server's heart beats it shows itself.
    fleet.one = fleet.one.with("MATINS_HEARTBEAT_SECONDS", "1");
    let one = fleet.one.serve();
    std::fs::create_dir(fleet.other.data()).unwrap();
    let copied = fleet.other.data().join("instance.id");
    std::fs::copy(fleet.one.data().join("instance.id"), copied).unwrap();
    let refused = fleet.other.run(&["serve"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    let told = "serves a data folder with the same identity";
    assert!(refused.stderr.contains(told), "{refused:#?}");
    // Once it has stopped, the copy may take its place.
    end(one);
    end(fleet.other.serve());
}
