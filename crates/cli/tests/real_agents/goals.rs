//! Goals that teams of one real agent play. The prompts decide the calls of the model, which plays a script.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use testkit::{
    goal_tasks::{TWENTY_TASKS, Task},
    model_server::{ModelServer, ScriptRule, ScriptStep},
    processes::processes_with_marker,
    real_agents,
};

use super::{
    commands::{
        LaunchAgent, RunningCommand, add_agent, matins, matins_json, matins_output, wait_for,
    },
    goal_script::{
        CHECK, PLAN, REPLAN, REPORT, accept, create, done, list, review, rework, rule, send_back,
        team, work,
    },
    tool_user::ToolOffer,
};

/// Five tasks: a fan and a join.
const FEW_TASKS: [Task; 5] = [
    ("t1", &[]),
    ("t2", &["t1"]),
    ("t3", &["t1"]),
    ("t4", &["t1"]),
    ("t5", &["t2", "t3", "t4"]),
];
/// A goal whose seats are all one agent.
#[derive(Clone, Copy)]
struct Play {
    start: LaunchAgent,
    workers: u32,
    tasks: &'static [Task],
    /// The task whose first result the judge sends back.
    sent_back: &'static str,
    /// The numbers of prompts after which the server is killed, and at every second one first an agent in mid-turn.
    kills: &'static [usize],
}

impl Play {
    const fn few_tasks(start: LaunchAgent, kills: &'static [usize]) -> Self {
        Self {
            start,
            workers: 2,
            tasks: &FEW_TASKS,
            sent_back: "t2",
            kills,
        }
    }

    const fn many_tasks(start: LaunchAgent) -> Self {
        Self {
            start,
            workers: 3,
            tasks: &TWENTY_TASKS,
            sent_back: "t05",
            kills: &[1, 4, 9, 15, 24, 33, 41],
        }
    }

    /// Returns the rules of the model. The first one that covers the newest prompt counts.
    fn script(&self) -> Vec<ScriptRule> {
        let rule = |texts: &[&str], calls: &[(&str, Value)]| rule(texts, ToolOffer::Direct, calls);
        let tasks = self.tasks.iter();
        let plan: Vec<_> = tasks
            .map(|(key, depends_on)| create(key, depends_on))
            .collect();
        let better = format!("Better result of {}.", self.sent_back);
        let mut rules = vec![
            rule(&[PLAN], &plan),
            rule(&[&rework(self.sent_back)], &[list(), done(&better)]),
            rule(&[&review(self.sent_back), &better], &[accept()]),
            rule(&[&review(self.sent_back)], &[send_back()]),
            rule(&[CHECK], &[list(), accept()]),
            rule(&[REPORT], &[list()]),
        ];
        for (key, _) in self.tasks {
            let result = format!("Result of {key}.");
            rules.push(rule(&[&work(key)], &[list(), done(&result)]));
            if *key != self.sent_back {
                rules.push(rule(&[&review(key)], &[accept()]));
            }
        }
        // Only a failed task leads to another plan.
        rules.push(rule(&[REPLAN], &[list()]));
        rules
    }

    /// Plays the goal. Kills processes in the middle, and returns when the goal is done.
    fn play(&self, data: &Path, model: &ModelServer) {
        let mut server = RunningCommand::serve(data);
        let file = data.join("own.toml");
        fs::write(&file, team(self.workers)).unwrap();
        let file = file.to_str().unwrap();
        let mut start = vec!["goal", "start", "Draft it.", "--team", file];
        start.extend(["--agent", "real", "--key", "own"]);
        for limit in ["turns=1000", "idle_turns=1000", "replans=100"] {
            start.extend(["--limit", limit]);
        }
        matins(data, &start);
        for (number, kill) in self.kills.iter().enumerate() {
            wait_for("the next prompts", || {
                prompts(model, None) >= *kill || !is_open(data)
            });
            assert!(is_open(data), "the goal ended before prompt {kill}");
            // The model answers no request now, so that each turn stays in its middle.
            model.pause_answers(true);
            if number % 2 == 1 {
                kill_agent(data);
            }
            server.kill();
            model.pause_answers(false);
            server = RunningCommand::serve(data);
        }
        wait_for("the end of the goal", || !is_open(data));
    }

    /// Panics if the model has seen a prompt of work more often than there are runs with it.
    fn assert_prompts_belong_to_runs(&self, data: &Path, model: &ModelServer) {
        let script = self.script();
        for (key, _) in self.tasks {
            let text = work(key);
            let position = script.iter().position(|rule| rule.texts[0] == text);
            let sent = prompts(model, position);
            let task = matins_json(data, &["task", "show", "own", key]);
            let runs = task["runs"].as_array().unwrap().iter();
            let runs = runs.filter(|run| run["prompt"] == "work").count();
            assert!((1..=runs).contains(&sent), "{sent} prompts: {task:#}");
        }
    }

    /// Panics unless each task was done once, after the tasks that it depends on, and the report names them all.
    fn assert_done_once(&self, data: &Path) {
        let done = done_tasks(data);
        for (key, depends_on) in self.tasks {
            for needed in *depends_on {
                assert!(done[*needed] < done[*key], "{needed}, {key}: {done:?}");
            }
            let task = matins_json(data, &["task", "show", "own", key]);
            let rounds = if *key == self.sent_back { 2 } else { 1 };
            assert_eq!(task["status"], "DONE", "{task:#}");
            let is_work = |run: &Value| run["prompt"] == "work" || run["prompt"] == "rework";
            assert_eq!(succeeded(&task, is_work), rounds, "{task:#}");
            let is_review = |run: &Value| run["prompt"] == "review";
            assert_eq!(succeeded(&task, is_review), rounds, "{task:#}");
        }
        for key in ["plan#1", "check#1", "report#1"] {
            let task = matins_json(data, &["task", "show", "own", key]);
            assert_eq!(succeeded(&task, |_| true), 1, "{task:#}");
        }
        let tasks = matins_json(data, &["task", "list", "own"]);
        let tasks = tasks["tasks"].as_array().unwrap().iter();
        let work = tasks.filter(|task| task["kind"] == "work");
        assert_eq!(work.count(), self.tasks.len());
        let report = matins(data, &["goal", "report", "own"]);
        let report = String::from_utf8_lossy(&report);
        for (key, _) in self.tasks {
            assert!(report.contains(key), "{key}: {report}");
        }
    }
}

/// Returns the number of first requests for prompts that the model has seen: those of one rule of the script, or all.
fn prompts(model: &ModelServer, rule: Option<usize>) -> usize {
    let steps = model.seen_requests().into_iter();
    let steps = steps.filter_map(|request| request.step);
    let is_first =
        |step: &ScriptStep| step.answered == 0 && rule.is_none_or(|rule| rule == step.rule);
    steps.filter(is_first).count()
}

/// Returns `false` if the goal is done. Repeats the failed tasks of a paused goal, and goes on with it, as a person does.
fn is_open(data: &Path) -> bool {
    let shown = matins_output(data, &["goal", "show", "own", "--json"]);
    let Ok(goal) = serde_json::from_slice::<Value>(&shown.stdout) else {
        return true;
    };
    let state = goal["state"].as_str().unwrap();
    assert_ne!(state, "failed", "{goal:#}");
    if state == "paused" {
        let listed = matins_json(data, &["task", "list", "own"]);
        for task in listed["tasks"].as_array().unwrap() {
            if task["status"] == "FAILED" {
                // The goal may go on before the second one.
                matins_output(
                    data,
                    &["task", "retry", "own", task["key"].as_str().unwrap()],
                );
            }
        }
        matins_output(data, &["goal", "resume", "own"]);
    }
    state != "done"
}

/// Kills the processes of one running turn, without its guard.
fn kill_agent(data: &Path) {
    let running = || {
        let listed = matins_json(data, &["run", "list", "--status", "running"]);
        let runs = listed.as_array().unwrap().iter();
        let processes = runs.flat_map(|run| {
            let marked = processes_with_marker(run["id"].as_str().unwrap()).unwrap();
            let is_guard = |arg: &String| arg == "guard";
            let own = marked.into_iter();
            own.filter(move |process| !process.command.get(1).is_some_and(is_guard))
        });
        processes.collect::<Vec<_>>()
    };
    wait_for("the processes of a turn", || !running().is_empty());
    for process in running() {
        // A process may have ended already together with another one that was killed before it.
        kill_process(process.pid, Signal::KILL).ok();
    }
}

/// Reads the log of the session up to the report. Returns the tasks with the numbers of the rows by which they were done.
/// Panics if a task moved after that.
fn done_tasks(data: &Path) -> BTreeMap<String, usize> {
    let mut trace = RunningCommand::start(data, &["trace", "own", "--after", "0", "--json"]);
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for number in 0.. {
        let event: Value = serde_json::from_str(trace.read_line().trim()).unwrap();
        if event["event"] != "task" {
            continue;
        }
        let (key, status) = (&event["data"]["key"], &event["data"]["status"]);
        let key = key.as_str().unwrap().to_owned();
        assert!(!done.contains_key(&key), "{key} was done before {event}");
        if status == "DONE" {
            let is_end = key.starts_with("report");
            done.insert(key, number);
            if is_end {
                break;
            }
        }
    }
    done
}

/// Returns the number of successful runs of a task among the matching ones.
fn succeeded(task: &Value, matches: impl Fn(&Value) -> bool) -> usize {
    let runs = task["runs"].as_array().unwrap().iter();
    let runs = runs.filter(|run| run["status"] == "succeeded" && matches(run));
    runs.count()
}

async fn assert_goal_is_played(play: Play) {
    let script = play.script();
    let model = ModelServer::start_with_script(script.clone())
        .await
        .unwrap();
    let model = Arc::new(model);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let launch = (play.start)(&model, &home).unwrap();
    let data = folder.path().join("data");
    let shared = Arc::clone(&model);
    let played = tokio::task::spawn_blocking(move || {
        add_agent(&data, &launch, &[]);
        play.play(&data, &shared);
        play.assert_done_once(&data);
        play.assert_prompts_belong_to_runs(&data, &shared);
    });
    if let Err(error) = played.await {
        let steps = model.seen_requests().into_iter();
        let steps: Vec<_> = steps.map(|request| request.step).collect();
        panic!("{error}: {steps:?}");
    }
    if play.kills.is_empty() {
        for (position, rule) in script.iter().enumerate() {
            let expected = usize::from(rule.texts != [REPLAN]);
            assert_eq!(prompts(&model, Some(position)), expected, "{rule:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_plays_goal() {
    assert_goal_is_played(Play::few_tasks(real_agents::goose, &[])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes a minute: `scripts/test-long agents` runs it"]
async fn codex_plays_goal() {
    assert_goal_is_played(Play::few_tasks(real_agents::codex, &[])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goose_goal_survives_kills() {
    assert_goal_is_played(Play::few_tasks(real_agents::goose, &[2, 6])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes a minute: `scripts/test-long agents` runs it"]
async fn codex_goal_survives_kills() {
    assert_goal_is_played(Play::few_tasks(real_agents::codex, &[2, 6])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes: `scripts/test-long agents` runs it"]
async fn goose_goal_of_twenty_tasks_survives_kills() {
    assert_goal_is_played(Play::many_tasks(real_agents::goose)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it takes minutes: `scripts/test-long agents` runs it"]
async fn codex_goal_of_twenty_tasks_survives_kills() {
    assert_goal_is_played(Play::many_tasks(real_agents::codex)).await;
}
