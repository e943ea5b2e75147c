//! Servers that are killed or frozen in the middle of a turn.

use std::{fs, path::PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{
    databases::TestDatabase,
    processes::{is_alive, processes_with_marker},
    scripted::{PromptLog, Script, Step},
};

use crate::test_installation::TestInstallation;

/// A world with a scripted agent, on a database that several instances can share.
struct CrashTest {
    world: TestInstallation,
    script: Script,
    _database: Option<TestDatabase>,
}

impl CrashTest {
    fn on_sqlite() -> Self {
        let world = TestInstallation::new();
        let file = world.path().join("shared.db");
        let world = world.with_env("MATINS_DATABASE", format!("sqlite://{}", file.display()));
        Self::new(world, None)
    }

    fn on_postgres() -> Self {
        let database = TestDatabase::empty_postgres().unwrap();
        let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
        Self::new(world, Some(database))
    }

    fn new(world: TestInstallation, database: Option<TestDatabase>) -> Self {
        let script = Script::new(world.path().join("agent"));
        Self {
            world,
            script,
            _database: database,
        }
    }

    /// With the agent doing this for its prompts.
    fn with_prompts(mut self, prompts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        self.script.prompts = prompts.into_iter().collect();
        let command = self.script.command().unwrap();
        let add = ["agent", "add", "scripted", "--"];
        let command = command.iter().map(String::as_str);
        let args: Vec<_> = add.into_iter().chain(command).collect();
        self.world.run(&args).expect_success();
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path().join(name)
    }

    /// Leaves a process in a session of its own, then waits in mid-turn.
    fn blocked_turn(&self) -> Vec<Step> {
        vec![
            Step::Grandchild {
                pid_file: self.path("grandchild"),
                clear_environment: false,
            },
            Step::text("I begin"),
            Step::Touch(self.path("began")),
            Step::WaitFor(self.path("goes on")),
        ]
    }

    /// The attempts at the newest input, the first one first.
    fn runs(&self) -> Vec<Value> {
        let Value::Array(mut runs) = self.world.json(&["run", "list", "--all-attempts"]) else {
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
            processes_with_marker(run).unwrap().is_empty()
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

        let ledger = PromptLog::read(&self.script.prompt_log_path()).unwrap();
        ledger.check_turns_disjoint().unwrap();
        assert!(ledger.prompts().last().unwrap().contains(run));
        let shown = self
            .world
            .run(&["session", "show", text(&second["session_id"])])
            .expect_success();
        let interrupted = "The turn was interrupted: the worker that executed it was lost.";
        assert!(shown.contains(interrupted), "{shown}");
        assert!(shown.contains("It is done"), "{shown}");
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Begins a second turn of a session under a server, and gives the server's and the run's id.
fn start_second_turn(stage: &CrashTest) -> (crate::test_installation::RunningCommand, String) {
    let server = stage.world.serve();
    let say = ["session", "send", "--new", "--agent", "scripted", "One"];
    let session = stage.world.json(&say)["run"]["session_id"].clone();
    stage
        .world
        .run(&["session", "send", text(&session), "Two", "--queue"])
        .expect_success();
    stage.wait_for_file("began");
    let runs = stage.runs();
    let run = runs.last().unwrap();
    assert_eq!(run["status"], "running");
    let run = text(&run["id"]).to_owned();
    assert!(processes_with_marker(&run).unwrap().len() >= 3);
    (server, run)
}

fn turn_of_killed_server_is_retried_by_next_server(stage: CrashTest) {
    let held = stage.blocked_turn();
    let stage = stage.with_prompts([vec![Step::Echo], held, vec![Step::text("It is done")]]);
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
    turn_of_killed_server_is_retried_by_next_server(CrashTest::on_sqlite());
}

#[test]
fn turn_of_killed_server_is_retried_by_next_server_on_postgres() {
    turn_of_killed_server_is_retried_by_next_server(CrashTest::on_postgres());
}

#[test]
fn orphans_of_killed_server_and_guard_end_before_next_attempt() {
    let stage = CrashTest::on_sqlite();
    let held = stage.blocked_turn();
    let stage = stage.with_prompts([vec![Step::Echo], held, vec![Step::text("It is done")]]);
    let (server, run) = start_second_turn(&stage);
    // A frozen server cannot see that its guard is gone.
    server.signal(Signal::STOP);
    let guard = processes_with_marker(&run).unwrap().into_iter();
    let guard = guard.filter(|process| process.command.get(1).is_some_and(|arg| arg == "guard"));
    for process in guard {
        kill_process(process.pid, Signal::KILL).unwrap();
    }
    server.signal(Signal::KILL);
    server.end();
    assert!(
        !processes_with_marker(&run).unwrap().is_empty(),
        "there was nothing to be left"
    );

    let _server = stage.world.serve();
    stage.wait_until_processes_are_gone(&run);
    stage.wait_for_next_attempt(&run);
}

fn frozen_server_loses_its_turn_and_writes_nothing_on_resume(mut stage: CrashTest) {
    stage.world = stage
        .world
        .with_env("MATINS_HEARTBEAT_SECONDS", "1")
        .with_env("MATINS_HEARTBEAT_STALE", "6")
        .with_env("MATINS_WATCHDOG_SECONDS", "1");
    let mut held = stage.blocked_turn();
    held.push(Step::text(". It is done"));
    let mut stage = stage.with_prompts([held]);
    let frozen = stage.world.serve();
    let say = [
        "session", "send", "--new", "--agent", "scripted", "Go", "--queue",
    ];
    stage.world.run(&say).expect_success();
    stage.wait_for_file("began");
    let run = text(&stage.runs()[0]["id"]).to_owned();
    frozen.freeze();
    // Another instance on the same database, because a command of the frozen one waits for its server.
    stage.world = stage.world.with_data_folder("other");
    // No worker renews the lease, and the guard is not frozen.
    stage.wait_until_processes_are_gone(&run);
    assert_eq!(stage.runs()[0]["status"], "running");

    // No first turn has ended, so the other instance may have the session.
    fs::write(stage.path("goes on"), "").unwrap();
    let other = &stage.world;
    let server = other.serve();
    stage.wait_for_next_attempt(&run);
    let worker = text(&stage.runs()[1]["worker_id"]).to_owned();
    assert!(
        worker.contains(&format!("-{}-", server.process_id())),
        "{worker}"
    );
    let session = text(&stage.runs()[1]["session_id"]).to_owned();
    let everything = || {
        let runs = other.json(&["run", "list", "--all-attempts"]);
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
        ended.stdout.contains("0 turns finished, 0 were requeued"),
        "{ended:#?}"
    );
    assert_eq!(everything(), before);
}

#[test]
fn frozen_server_loses_its_turn_and_writes_nothing_on_resume_on_sqlite() {
    frozen_server_loses_its_turn_and_writes_nothing_on_resume(CrashTest::on_sqlite());
}

#[test]
fn frozen_server_loses_its_turn_and_writes_nothing_on_resume_on_postgres() {
    frozen_server_loses_its_turn_and_writes_nothing_on_resume(CrashTest::on_postgres());
}
