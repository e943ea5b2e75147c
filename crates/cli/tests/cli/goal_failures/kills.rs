//! Goals of five seats and twenty tasks, whose server and agents are killed again and again.

use std::{collections::BTreeMap, fs};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::{
    databases::TestDatabase,
    goal_tasks::TWENTY_TASKS,
    scripted::{Event, LogEntry, PromptLog, Script, Step},
};

use super::{CHECK, REVIEW, accept, create, done, on_work, plan_once, send_back, workers};
use crate::test_installation::TestInstallation;

/// The tasks whose first result the judge sends back.
const SENT_BACK: [&str; 2] = ["t05", "t11"];
/// The numbers of prompts of a goal after which processes are killed: the server at each, and at every
/// second one the agent of the newest prompt before it.
const KILLS: [usize; 7] = [1, 4, 9, 15, 24, 33, 41];
/// The same for the one goal of a short run: the server three times, and one agent.
const FEW_KILLS: [usize; 3] = [1, 15, 33];

/// Returns the steps for the first prompt in a memory, and for the later ones.
fn prompts() -> [Vec<Step>; 2] {
    let work = |least, most| Step::Work { least, most };
    let plan = TWENTY_TASKS.map(|(key, depends_on)| create(key, depends_on));
    let mut steps: Vec<Step> = plan_once(plan).into();
    for (key, _) in TWENTY_TASKS {
        steps.push(on_work(
            key,
            [work(5, 60), done(&format!("Result of {key}."))],
        ));
    }
    let rework = SENT_BACK.map(|key| {
        let text = format!("Your result of the task `{key}` was sent back");
        Step::when(
            &text,
            [work(5, 60), done(&format!("Better result of {key}."))],
        )
    });
    steps.extend(rework);
    steps.push(Step::when(CHECK, [accept()]));
    let review = |key: &str, verdict: Step| {
        Step::when(&format!("{REVIEW} `{key}`:"), [work(5, 40), verdict])
    };
    let mut later = steps.clone();
    for (key, _) in TWENTY_TASKS {
        let first = if SENT_BACK.contains(&key) {
            send_back(&["source"], false)
        } else {
            accept()
        };
        steps.push(review(key, first));
        later.push(review(key, accept()));
    }
    [steps, later]
}

/// Returns the entries of the log of prompts. None of its turns overlap in one conversation.
fn entries(script: &Script) -> Vec<LogEntry> {
    // A killed agent may have left half a line, and there is no file before the first prompt.
    PromptLog::read(&script.prompt_log_path()).map_or_else(|_| Vec::new(), |log| log.entries)
}

fn is_prompt(entry: &LogEntry) -> bool {
    matches!(entry.event, Event::PromptReceived(_))
}

/// Returns `false` if a goal is done. Repeats the failed tasks of a paused goal, and goes on with it, as a person does.
fn is_open(world: &TestInstallation, goal: &str) -> bool {
    let shown = world.run(&["goal", "show", goal, "--json"]);
    // The server is starting, and nobody holds the file of the database now.
    let Ok(shown) = serde_json::from_str::<Value>(&shown.stdout) else {
        return true;
    };
    let state = shown["state"].as_str().unwrap();
    assert_ne!(state, "failed", "{shown:#}");
    if state == "paused" {
        let listed = world.json(&["task", "list", goal]);
        for task in listed["tasks"].as_array().unwrap() {
            if task["status"] == "FAILED" {
                // The goal may go on before the second one.
                world.run(&["task", "retry", goal, task["key"].as_str().unwrap()]);
            }
        }
        world.run(&["goal", "resume", goal]);
    }
    state != "done"
}

/// Panics unless each task of a goal was done once, after the tasks that it depends on, and the report names them all.
fn assert_done_once(world: &TestInstallation, goal: &str, entries: &[LogEntry]) {
    // 1. The log of the session: exactly one move to DONE, and no turn after it.
    let mut trace = world.start(&["trace", goal, "--after", "0", "--json"]);
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0.. {
        let line = trace.read_stdout_until("\n");
        let event: Value = serde_json::from_str(line.trim()).unwrap();
        if event["event"] != "task" {
            continue;
        }
        let (key, status) = (&event["data"]["key"], &event["data"]["status"]);
        let key = key.as_str().unwrap().to_owned();
        let is_end = key.starts_with("report") && status == "DONE";
        let before = done.get(&key).copied();
        assert_eq!(before, None, "{key} was done before {event}");
        if status == "DONE" {
            done.insert(key, number);
        }
        if is_end {
            break;
        }
    }
    trace.kill();
    for (key, depends_on) in TWENTY_TASKS {
        for needed in depends_on {
            assert!(done[*needed] < done[key], "{needed} before {key}: {done:?}");
        }
    }
    // 2. The runs of each task, and the log of the agents: one success for each round, and no prompt of a task that a
    // task has waited for.
    let begin = |run: &str| {
        let is_begin = |entry: &LogEntry| is_prompt(entry) && entry.run.as_deref() == Some(run);
        entries.iter().position(is_begin)
    };
    let mut prompts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (key, _) in TWENTY_TASKS {
        let task = world.json(&["task", "show", goal, key]);
        let runs = task["runs"].as_array().unwrap();
        let is_work = |run: &&Value| run["prompt"] == "work" || run["prompt"] == "rework";
        let work = runs.iter().filter(is_work);
        let succeeded = work.clone().filter(|run| run["status"] == "succeeded");
        let rounds = 1 + usize::try_from(task["round"].as_u64().unwrap()).unwrap();
        assert_eq!(succeeded.count(), rounds, "{task:#}");
        let prompted = work.filter_map(|run| begin(run["id"].as_str().unwrap()));
        prompts.insert(key, prompted.collect());
    }
    for (key, depends_on) in TWENTY_TASKS {
        let first = prompts[key].iter().min();
        assert!(first.is_some(), "{key} got no prompt");
        for needed in depends_on {
            assert!(
                prompts[needed].iter().max() < first,
                "{needed} before {key}"
            );
        }
    }
    let plans = world.json(&["task", "show", goal, "plan#1"]);
    let plan = plans["runs"].as_array().unwrap().iter();
    assert_eq!(plan.filter(|run| run["status"] == "succeeded").count(), 1);
    // 3. The report.
    let report = world.run(&["goal", "report", goal]).expect_success();
    for (key, _) in TWENTY_TASKS {
        assert!(report.contains(key), "{key}: {report}");
    }
}

/// Plays goals one after the other, as many as the environment says: the number of `scripts/test-long`, or one goal with
/// few kills, because the turns of each killed server wait for their backoff.
#[expect(
    clippy::disallowed_methods,
    reason = "the number of goals is given by the environment"
)]
fn goals_survive_kills_of_all_processes(world: TestInstallation) {
    let goals = std::env::var("MATINS_KILLED_GOALS").ok();
    match goals {
        Some(goals) => play_goals(world, goals.parse().unwrap(), &KILLS),
        None => play_goals(world, 1, &FEW_KILLS),
    }
}

fn play_goals(world: TestInstallation, goals: usize, kills: &[usize]) {
    let world = world.with_env("MATINS_WORKERS", "8");
    let script = world.add_scripted_agent(prompts());
    let head = "name = \"own\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n";
    let judge = "\n[[seats]]\nrole = \"judge\"\nreviews = \"all\"\n";
    let file = world.path().join("own.toml");
    fs::write(&file, format!("{head}{}{judge}", workers(3))).unwrap();
    let file = file.to_str().unwrap();
    for number in 0..goals {
        let key = format!("own-{number}");
        let mut server = world.serve();
        let prompted = || {
            entries(&script)
                .iter()
                .filter(|entry| is_prompt(entry))
                .count()
        };
        let before = prompted();
        let start = [
            "goal",
            "start",
            "Draft it.",
            "--team",
            file,
            "--agent",
            "scripted",
            "--key",
            &key,
        ];
        let limits = ["turns=1000", "idle_turns=1000", "replans=100"];
        let limits = limits.iter().flat_map(|limit| ["--limit", *limit]);
        world
            .run(&start.into_iter().chain(limits).collect::<Vec<_>>())
            .expect_success();
        for (number, kill) in kills.iter().enumerate() {
            world.wait_for("the next prompts", |world| {
                prompted() >= before + kill || !is_open(world, &key)
            });
            let newest = entries(&script).into_iter().rfind(is_prompt);
            if let Some(agent) = newest.filter(|_| number % 2 == 1) {
                // The agent may have ended meanwhile.
                let pid = Pid::from_raw(agent.pid.try_into().unwrap()).unwrap();
                kill_process(pid, Signal::KILL).ok();
            }
            server.kill();
            server = world.serve();
        }
        world.wait_for("the end of the goal", |world| !is_open(world, &key));
        let log = PromptLog::read(&script.prompt_log_path()).unwrap();
        log.check_turns_disjoint().unwrap();
        assert_done_once(&world, &key, &log.entries);
        server.signal(Signal::TERM);
        assert_eq!(server.end().code, 0);
    }
}

#[test]
fn goals_survive_kills_of_all_processes_on_sqlite() {
    goals_survive_kills_of_all_processes(TestInstallation::new());
}

#[test]
fn goals_survive_kills_of_all_processes_on_postgres() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    goals_survive_kills_of_all_processes(world);
}
