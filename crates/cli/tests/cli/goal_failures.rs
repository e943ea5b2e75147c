//! The failures of teams of agents, with real servers, agents and tools: each is refused, flagged, or ended by its limit.

mod causes;
mod edits;
mod kills;
mod limits;
mod processes;
mod speakers;

use std::fs;

use serde_json::{Value, json};
use testkit::scripted::{PromptLog, Script, Step};

use crate::test_installation::{CommandOutput, RunningCommand, TestInstallation};

const PLAN: &str = "Plan the work on the goal below.";
const REPLAN: &str = "Change the plan of the goal below.";
const REWORK: &str = "was sent back in round";
const REVIEW: &str = "Judge the result of the task";
const CHECK: &str = "Judge the whole goal below.";
const REPORT: &str = "Write the report on the goal below";

/// A server with a goal, whose agents play one script.
struct GoalTest {
    world: TestInstallation,
    script: Script,
    server: RunningCommand,
}

impl GoalTest {
    /// Starts a server and a goal. An agent plays the steps of the number of the prompt in its memory.
    fn start<const N: usize>(team: &str, limits: &[&str], prompts: [Vec<Step>; N]) -> Self {
        // The planner and three workers have turns at the same time.
        let world = TestInstallation::new().with_env("MATINS_WORKERS", "8");
        Self::start_in(world, team, limits, prompts.into())
    }

    fn start_in(
        world: TestInstallation,
        team: &str,
        limits: &[&str],
        prompts: Vec<Vec<Step>>,
    ) -> Self {
        let script = world.add_scripted_agent(prompts);
        let file = world.path().join("own.toml");
        let head = "name = \"own\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n";
        fs::write(&file, format!("{head}{team}")).unwrap();
        let server = world.serve();
        let file = file.to_str().unwrap();
        let mut start = vec!["goal", "start", "Draft it.", "--team", file];
        start.extend(["--agent", "scripted", "--key", "own"]);
        for limit in limits {
            start.extend(["--limit", limit]);
        }
        world.run(&start).expect_success();
        Self {
            world,
            script,
            server,
        }
    }

    /// Follows the goal until it is over or paused.
    fn follow(&self) -> CommandOutput {
        self.world.run(&["goal", "show", "own", "--follow"])
    }

    /// Follows the goal until it is paused with this cause.
    fn assert_stuck(&self, cause: &str) {
        let followed = self.follow();
        assert_eq!(followed.code, 4, "{followed:#?}");
        let says = format!("The goal is paused (stuck: {cause})");
        assert!(followed.stdout.contains(&says), "{}", followed.stdout);
    }

    fn assert_done(&self) {
        let followed = self.follow();
        assert_eq!(followed.code, 0, "{followed:#?}");
    }

    fn prompts(&self) -> Vec<String> {
        let log = PromptLog::read(&self.script.prompt_log_path()).unwrap();
        log.check_turns_disjoint().unwrap();
        log.prompts().into_iter().map(str::to_owned).collect()
    }

    /// Returns the prompts that contain a text.
    fn prompts_with(&self, text: &str) -> Vec<String> {
        let mut prompts = self.prompts();
        prompts.retain(|prompt| prompt.contains(text));
        prompts
    }

    fn task(&self, key: &str) -> Value {
        self.world.json(&["task", "show", "own", key])
    }

    /// Returns the keys of the tasks of the plan with their statuses.
    fn work(&self) -> Vec<(String, String)> {
        let listed = self.world.json(&["task", "list", "own"]);
        let tasks = listed["tasks"].as_array().unwrap().iter();
        let work = tasks.filter(|task| task["kind"] == "work");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        work.map(|task| (text(&task["key"]), text(&task["status"])))
            .collect()
    }

    /// Returns the answer of the first run of a task, in which the agent repeats the answers of its tools.
    fn first_answer(&self, key: &str) -> String {
        let run = self.task(key)["runs"][0]["id"].clone();
        let shown = self.world.json(&["run", "show", run.as_str().unwrap()]);
        shown["answer"].as_str().unwrap().to_owned()
    }
}

fn workers(count: u32) -> String {
    format!("\n[[seats]]\nrole = \"worker\"\ncount = {count}\n")
}

fn judged() -> String {
    format!(
        "{}\n[[seats]]\nrole = \"judge\"\nreviews = \"all\"\n",
        workers(1)
    )
}

fn create(key: &str, depends_on: &[&str]) -> Step {
    let task = json!({
        "key": key, "title": format!("Do {key}"), "description": format!("Do {key} well."),
        "role": "worker", "depends_on": depends_on, "writes": [],
    });
    Step::call_tool("create_task", task)
}

/// Returns the steps of the planner that makes a plan once, and changes it never.
fn plan_once(tasks: impl IntoIterator<Item = Step>) -> [Step; 3] {
    [
        Step::when(PLAN, tasks),
        Step::when(REPLAN, [Step::ListTools]),
        Step::when(REPORT, [Step::text("This is the report.")]),
    ]
}

fn report(fields: Value) -> Step {
    Step::call_tool("update_task", fields)
}

fn done(result: &str) -> Step {
    report(json!({ "status": "done", "result": result }))
}

fn on_work(key: &str, steps: impl IntoIterator<Item = Step>) -> Step {
    Step::when(&format!("Work on the task `{key}`:"), steps)
}

fn accept() -> Step {
    let verdict = json!({ "verdict": "accept", "evidence": ["read it"] });
    Step::call_tool("judge_task", verdict)
}

fn send_back(ids: &[&str], regression: bool) -> Step {
    let findings = ids.iter().map(|id| {
        json!({ "id": id, "text": "A source is missing.", "severity": "blocker", "regression": regression })
    });
    let findings: Vec<_> = findings.collect();
    let verdict = json!({ "verdict": "send_back", "findings": findings });
    Step::call_tool("judge_task", verdict)
}

fn wait_for_files<const N: usize>(world: &TestInstallation, names: [&str; N]) {
    world.wait_for("the turns", |world| {
        names.iter().all(|name| world.path().join(name).exists())
    });
}

#[test]
fn tasks_ending_together_each_reach_the_planner() {
    let world = TestInstallation::new().with_env("MATINS_WORKERS", "8");
    let goes_on = world.path().join("go");
    let keys = ["a", "b", "c"];
    let mut steps: Vec<Step> = plan_once(keys.map(|key| create(key, &[]))).into();
    steps.extend(keys.map(|key| {
        let ended = json!({
            "status": "done", "result": format!("Result of {key}."),
            "follow_up": format!("Proposal of {key}."),
        });
        let began = world.path().join(format!("began-{key}"));
        on_work(
            key,
            [
                Step::Touch(began),
                Step::WaitFor(goes_on.clone()),
                report(ended),
            ],
        )
    }));
    let test = GoalTest::start_in(world, &workers(3), &[], vec![steps]);
    wait_for_files(&test.world, ["began-a", "began-b", "began-c"]);
    fs::write(&goes_on, "").unwrap();
    test.assert_done();
    let replans = test.prompts_with(REPLAN);
    let reports = test.prompts_with(REPORT);
    assert_eq!(reports.len(), 1, "{reports:#?}");
    for key in keys {
        let proposal = format!("\nresult 1 of {key}: Proposal of {key}.\n");
        let shown = replans.iter().filter(|plan| plan.contains(&proposal));
        assert_eq!(shown.count(), 1, "{proposal}: {replans:#?}");
        let result = format!("Result of {key}.");
        assert!(reports[0].contains(&result), "{result}: {}", reports[0]);
    }
}

#[test]
fn worker_creating_tasks_is_refused() {
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    steps.push(on_work("a", [create("b", &[]), done("Result.")]));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_done();
    let answer = test.first_answer("a");
    for part in ["not_allowed", "put this into `follow_up`"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(test.work(), [("a".to_owned(), "DONE".to_owned())]);
}

#[test]
fn plan_over_limit_is_refused() {
    let each = json!({
        "key": "many", "title": "Do {item}", "description": "Do {item}.", "role": "worker",
        "writes": [], "each": ["x", "y", "z"],
    });
    let many = Step::call_tool("create_task", each);
    let mut steps: Vec<Step> = plan_once([many, create("a", &[])]).into();
    steps.push(on_work("a", [done("Result.")]));
    let test = GoalTest::start(&workers(1), &["plan=2"], [steps]);
    test.assert_done();
    let answer = test.first_answer("plan#1");
    for part in ["\"limit\"", "accepts 2", "fewer and larger tasks"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(test.work(), [("a".to_owned(), "DONE".to_owned())]);
}

#[test]
fn answer_without_result_call_is_not_done() {
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    let only_says = || [Step::ListTools, Step::text("All of it is done.")];
    steps.push(on_work("a", only_says()));
    steps.push(Step::when("This is the only reminder.", only_says()));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("nothing can run");
    assert_eq!(test.prompts_with("This is the only reminder.").len(), 1);
    let task = test.task("a");
    assert_eq!(
        (&task["status"], &task["reason"], &task["result"]),
        (
            &json!("FAILED"),
            &json!("no result reported"),
            &json!("All of it is done.")
        )
    );
}

#[test]
fn result_without_tool_calls_is_flagged() {
    let call = |id: &str, title: &str| {
        Step::Update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "completed",
        }))
    };
    // Agents show their calls of the tools of Matins, too.
    let reports = || call("report", "mcp__matins__update_task");
    let mut steps: Vec<Step> = plan_once([create("a", &[]), create("b", &[])]).into();
    let lists = call("list", "mcp__matins__list_tasks");
    steps.push(on_work(
        "a",
        [lists, reports(), done("I have read it all.")],
    ));
    let works = [
        call("read", "Read brand.md"),
        reports(),
        done("I have read it all."),
    ];
    steps.push(on_work("b", works));
    steps.push(Step::when(REVIEW, [accept()]));
    steps.push(Step::when(CHECK, [accept()]));
    let test = GoalTest::start(&judged(), &[], [steps]);
    test.assert_done();
    let review = |key: &str| test.prompts_with(&format!("{REVIEW} `{key}`:")).remove(0);
    let flag = "The worker called 0 tools. A result without any call may be invented";
    assert!(review("a").contains(flag), "{}", review("a"));
    assert!(
        review("b").contains("The worker called 1 tool."),
        "{}",
        review("b")
    );
    assert_eq!(test.task("a")["tool_calls"], 0);
    assert_eq!(test.task("b")["tool_calls"], 1);
    let shown = |key: &str| {
        test.world
            .run(&["task", "show", "own", key])
            .expect_success()
    };
    assert!(
        shown("a").contains("the result may be invented"),
        "{}",
        shown("a")
    );
    assert!(!shown("b").contains("invented"), "{}", shown("b"));
}

#[test]
fn invented_rework_is_flagged() {
    let call = |title: &str| {
        Step::Update(json!({
            "sessionUpdate": "tool_call", "toolCallId": title, "title": title, "status": "completed",
        }))
    };
    let mut first: Vec<Step> = plan_once([create("a", &[])]).into();
    first.push(on_work(
        "a",
        [call("Read src/update_task.rs"), done("I have read it.")],
    ));
    first.push(Step::when(CHECK, [accept()]));
    let mut later = first.clone();
    first.push(Step::when(REVIEW, [send_back(&["source"], false)]));
    later.push(Step::when(REWORK, [done("I have read it again.")]));
    later.push(Step::when(REVIEW, [accept()]));
    let test = GoalTest::start(&judged(), &[], [first, later]);
    test.assert_done();
    let reviews = test.prompts_with(&format!("{REVIEW} `a`:"));
    assert!(
        reviews[0].contains("The worker called 1 tool."),
        "{}",
        reviews[0]
    );
    assert!(
        reviews[1].contains("The worker called 0 tools."),
        "{}",
        reviews[1]
    );
    assert_eq!(test.task("a")["tool_calls"], 0);
}

#[test]
fn agent_without_tools_fails_as_unavailable() {
    let mut steps: Vec<Step> = plan_once([create("a", &[])]).into();
    steps.push(on_work("a", [Step::text("All of it is done.")]));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_stuck("nothing can run");
    let task = test.task("a");
    assert_eq!(
        (&task["status"], &task["reason"]),
        (&json!("FAILED"), &json!("tools_unavailable"))
    );
    let result = task["result"].as_str().unwrap();
    assert!(result.contains("`matins agent check scripted`"), "{result}");
}
