//! Servers that are killed or frozen in the middle of a turn.

use std::{fs, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{
    databases::TestDatabase,
    processes::{is_alive, marked},
    scripted::{Ledger, Script, Step},
};

use crate::world::World;

/// A world with a scripted agent, on a database that several instances can share.
struct Stage {
    world: World,
    script: Script,
    _database: Option<TestDatabase>,
}

impl Stage {
    fn on_sqlite() -> Self {
        let world = World::new();
        let file = world.path().join("shared.db");
        let world = world.with("MATINS_DATABASE", format!("sqlite://{}", file.display()));
        Self::of(world, None)
    }

    fn on_postgres() -> Self {
        let database = TestDatabase::empty_postgres().unwrap();
        let world = World::new().with("MATINS_DATABASE", database.url());
        Self::of(world, Some(database))
    }

    fn of(world: World, database: Option<TestDatabase>) -> Self {
        let script = Script::new(world.path().join("agent"));
        Self {
            world,
            script,
            _database: database,
        }
    }

    /// With the agent doing this for its prompts.
    fn with(mut self, prompts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        self.script.prompts = prompts.into_iter().collect();
        let command = self.script.command().unwrap();
        let add = ["agent", "add", "scripted", "--"];
        let command = command.iter().map(String::as_str);
        let args: Vec<_> = add.into_iter().chain(command).collect();
        self.world.run(&args).done();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(name)
    }

    /// Leaves a process in a session of its own, then waits in mid-turn.
    fn held(&self) -> Vec<Step> {
        vec![
            Step::Grandchild {
                pid_file: self.path("grandchild"),
                clear_environment: false,
            },
            Step::say("I begin"),
            Step::Touch(self.path("began")),
            Step::WaitFor(self.path("goes on")),
        ]
    }

    /// The attempts at the newest input, the first one first.
    fn runs(&self) -> Vec<Value> {
        let Value::Array(mut runs) = self.world.json(&["run", "list"]) else {
            panic!("no list of runs")
        };
        runs.reverse();
        runs
    }

    fn wait_for_file(&self, name: &str) {
        let path = self.path(name);
        self.world.wait_for(name, |_| path.exists());
    }

    fn wait_until_processes_are_gone(&self, run: &str) {
        self.world.wait_for("all of its processes are gone", |_| {
            marked(run).unwrap().is_empty()
        });
        let pid = fs::read_to_string(self.path("grandchild")).unwrap();
        assert!(!is_alive(Pid::from_raw(pid.parse().unwrap()).unwrap()));
    }

    /// Waits until the newest attempt is done, which is the one after the one of this id.
    fn wait_for_next_attempt(&self, run: &str) {
        self.world.wait_for("the next attempt", |_| {
            self.runs()
                .last()
                .is_some_and(|newest| newest["status"] == "succeeded")
        });
        let runs = self.runs();
        let [.., first, second] = runs.as_slice() else {
            panic!("{runs:#?}")
        };
        assert_eq!(
            (&first["id"], &first["status"]),
            (&run.into(), &"stalled".into())
        );
        assert_eq!(
            (&second["attempt"], &second["failures"]),
            (&2.into(), &1.into())
        );
        assert_eq!(second["interrupted_run_id"], run);

        let ledger = Ledger::read(&self.script.ledger()).unwrap();
        ledger.check_turns_disjoint().unwrap();
        assert!(ledger.prompts().last().unwrap().contains(run));
        let shown = self
            .world
            .run(&["session", "show", text(&second["session_id"])])
            .done();
        let interrupted = "The turn was interrupted: the worker that executed it was lost.";
        assert!(shown.contains(interrupted), "{shown}");
        assert!(shown.contains("It is done"), "{shown}");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Begins a second turn of a session under a server, and gives the server's and the run's id.
fn start_second_turn(stage: &Stage) -> (crate::world::Running, String) {
    let server = stage.world.serve();
    let say = ["session", "say", "--new", "--agent", "scripted", "One"];
    let session = stage.world.json(&say)["run"]["session_id"].clone();
    stage
        .world
        .run(&["session", "say", text(&session), "Two", "--queue"])
        .done();
    stage.wait_for_file("began");
    let runs = stage.runs();
    let run = runs.last().unwrap();
    assert_eq!(run["status"], "running");
    let run = text(&run["id"]).to_owned();
    assert!(marked(&run).unwrap().len() >= 3);
    (server, run)
}

fn turn_of_killed_server_is_retried_by_next_server(stage: Stage) {
    let held = stage.held();
    let stage = stage.with([vec![Step::Echo], held, vec![Step::say("It is done")]]);
    let (server, run) = start_second_turn(&stage);
    server.signal(Signal::KILL);
    server.end();
    stage.wait_until_processes_are_gone(&run);

    // Its heartbeat would be stale in three minutes; its process is known to be gone.
    let _server = stage.world.serve();
    stage.wait_for_next_attempt(&run);
}

#[test]
fn turn_of_killed_server_is_retried_by_next_server_on_sqlite() {
    turn_of_killed_server_is_retried_by_next_server(Stage::on_sqlite());
}

#[test]
fn turn_of_killed_server_is_retried_by_next_server_on_postgres() {
    turn_of_killed_server_is_retried_by_next_server(Stage::on_postgres());
}

#[test]
fn orphans_of_killed_server_and_guard_end_before_next_attempt() {
    let stage = Stage::on_sqlite();
    let held = stage.held();
    let stage = stage.with([vec![Step::Echo], held, vec![Step::say("It is done")]]);
    let (server, run) = start_second_turn(&stage);
    // A frozen server cannot see that its guard is gone.
    server.signal(Signal::STOP);
    let guard = marked(&run).unwrap().into_iter();
    let guard = guard.filter(|process| process.command.get(1).is_some_and(|arg| arg == "guard"));
    for process in guard {
        kill_process(process.pid, Signal::KILL).unwrap();
    }
    server.signal(Signal::KILL);
    server.end();
    assert!(
        !marked(&run).unwrap().is_empty(),
        "there was nothing to be left"
    );

    let _server = stage.world.serve();
    stage.wait_until_processes_are_gone(&run);
    stage.wait_for_next_attempt(&run);
}

fn frozen_server_loses_its_turn_and_writes_nothing_on_resume(mut stage: Stage) {
    stage.world = stage
        .world
        .with("MATINS_HEARTBEAT_SECONDS", "1")
        .with("MATINS_HEARTBEAT_STALE", "6")
        .with("MATINS_WATCHDOG_SECONDS", "1");
    let mut held = stage.held();
    held.push(Step::say(". It is done"));
    let stage = stage.with([held]);
    let frozen = stage.world.serve();
    let say = [
        "session", "say", "--new", "--agent", "scripted", "Go", "--queue",
    ];
    stage.world.run(&say).done();
    stage.wait_for_file("began");
    let run = text(&stage.runs()[0]["id"]).to_owned();
    frozen.freeze();
    // Nobody renews the lease, and the guard is not frozen.
    stage.wait_until_processes_are_gone(&run);
    assert_eq!(stage.runs()[0]["status"], "running");

    // Another instance on the same database: no first turn has ended, so it may have the session.
    fs::write(stage.path("goes on"), "").unwrap();
    let other = stage.world.beside("other");
    let server = other.serve();
    stage.wait_for_next_attempt(&run);
    let worker = text(&stage.runs()[1]["worker_id"]).to_owned();
    assert!(worker.contains(&format!("-{}-", server.id())), "{worker}");
    let session = text(&stage.runs()[1]["session_id"]).to_owned();
    let everything = || {
        let runs = other.json(&["run", "list"]);
        let records = runs.as_array().unwrap().iter();
        let records = records.map(|run| other.json(&["run", "show", text(&run["id"])]));
        let records: Vec<_> = records.collect();
        (other.json(&["session", "show", &session]), runs, records)
    };
    let before = everything();

    frozen.signal(Signal::CONT);
    frozen.signal(Signal::TERM);
    let ended = frozen.end();
    assert!(
        ended
            .stdout
            .contains("0 turns ended meanwhile, 0 were handed back"),
        "{ended:#?}"
    );
    assert_eq!(everything(), before);
}

#[test]
fn frozen_server_loses_its_turn_and_writes_nothing_on_resume_on_sqlite() {
    frozen_server_loses_its_turn_and_writes_nothing_on_resume(Stage::on_sqlite());
}

#[test]
fn frozen_server_loses_its_turn_and_writes_nothing_on_resume_on_postgres() {
    frozen_server_loses_its_turn_and_writes_nothing_on_resume(Stage::on_postgres());
}
