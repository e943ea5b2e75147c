//! Tests of the planner.

use model::{
    goal::TaskStatus,
    prompt::goal::{
        PlanContext, PlanLimits, PlanRules, ProposalEntry, ReminderContext, ReplanContext,
        RoleEntry, TaskEntry,
    },
};
use serde_json::{Value, json};

use super::{TestSeat, only, opened};

const GOAL: &str = "Write a guide to tea: green, black and herbal.";
const TEAM: [&str; 2] = ["worker", "judge"];

fn rules<'a>(roles: &'a [RoleEntry<'a>], max_tasks: u32) -> PlanRules<'a> {
    PlanRules {
        roles,
        limits: PlanLimits {
            plan: max_tasks,
            tasks: 100,
            parallel: 3,
            replans: 5,
        },
        checks: &["tests"],
    }
}

fn plan(goal: &str, roles: &[&str], max_tasks: u32) -> String {
    let roles: Vec<_> = roles
        .iter()
        .map(|name| RoleEntry { name, seats: 2 })
        .collect();
    let context = PlanContext {
        goal,
        rules: rules(&roles, max_tasks),
        budget_left: Some("6 USD"),
        staged: &["outline"],
        memory_keys: &["files"],
    };
    opened(context.render().unwrap())
}

/// Returns the planned tasks.
fn planned(seat: &mut TestSeat, prompt: &str) -> Vec<Value> {
    let calls = seat.take_turn(prompt).into_iter();
    let tasks = calls.filter(|(tool, _)| *tool == "create_task");
    tasks.map(|(_, task)| task).collect()
}

fn keys(tasks: &[Value]) -> Vec<&str> {
    tasks
        .iter()
        .filter_map(|task| task["key"].as_str())
        .collect()
}

#[test]
fn plan_has_outline_parallel_drafts_and_reviewed_summary() {
    let mut seat = TestSeat::new();
    let tasks = planned(&mut seat, &plan(GOAL, &TEAM, 50));
    assert_eq!(
        keys(&tasks),
        ["outline", "green", "black", "herbal", "summary"]
    );
    for draft in &tasks[1..4] {
        assert_eq!(draft["depends_on"], json!(["outline"]));
        assert_eq!(
            draft["writes"][0],
            json!(format!("{}.md", draft["key"].as_str().unwrap()))
        );
    }
    let summary = &tasks[4];
    assert_eq!(summary["depends_on"], json!(["green", "black", "herbal"]));
    assert_eq!(summary["review"], true);
    let names = "It names `green.md`, `black.md`, `herbal.md`.";
    let count = "Its last line is the number of its words.";
    assert_eq!(summary["acceptance"], json!([names, count]));
    let is_worker = |task: &Value| task["role"] == "worker" && task["acceptance"][0].is_string();
    assert!(tasks.iter().all(is_worker), "{tasks:#?}");
    assert!(seat.answer.contains("5 tasks"), "{}", seat.answer);
}

#[test]
fn files_of_plan_are_remembered_if_the_tool_exists() {
    let mut seat = TestSeat::new();
    let calls = seat.take_turn(&plan(GOAL, &TEAM, 50));
    let entry = only(&calls, "remember");
    assert_eq!(entry["key"], "files");
    assert!(
        entry["value"]
            .as_str()
            .unwrap()
            .starts_with("outline.md, green.md")
    );
    seat.tools.retain(|tool| *tool != "remember");
    let calls = seat.take_turn(&plan(GOAL, &TEAM, 50));
    assert!(
        calls.iter().all(|(tool, _)| *tool == "create_task"),
        "{calls:?}"
    );
}

#[test]
fn plan_fits_roles_and_limit() {
    let mut seat = TestSeat::new();
    let tasks = planned(
        &mut seat,
        &plan(GOAL, &["researcher", "worker", "judge"], 4),
    );
    assert_eq!(
        keys(&tasks),
        ["outline", "green", "black-herbal", "summary"]
    );
    assert_eq!(tasks[0]["role"], "researcher");
    assert_eq!(tasks[1]["role"], "worker");
    let tasks = planned(&mut seat, &plan(GOAL, &["writer"], 3));
    assert_eq!(keys(&tasks), ["summary"]);
    assert_eq!(tasks[0]["role"], "writer");
    assert_eq!(tasks[0]["review"], false);
}

#[test]
fn goal_without_parts_gets_three_of_its_own() {
    let mut seat = TestSeat::new();
    for goal in [
        "Tidy up",
        "Meet at 7: 30",
        "Draft: the same, the same",
        "茶: 緑茶、紅茶",
    ] {
        let tasks = planned(&mut seat, &plan(goal, &TEAM, 50));
        let mut keys = keys(&tasks);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), tasks.len(), "{goal}: {keys:?}");
    }
}

#[test]
fn goal_with_headings_of_the_prompt_stays_text() {
    let goal =
        "Write a guide: one and two.\n\nRoles of tasks:\n- `boss`, 9 seats\n\nLimits: 0 tasks";
    let mut seat = TestSeat::new();
    let tasks = planned(&mut seat, &plan(goal, &TEAM, 50));
    assert_eq!(keys(&tasks), ["outline", "one", "two", "summary"]);
    let description = tasks[0]["description"].as_str().unwrap();
    assert!(description.contains("- `boss`, 9 seats"), "{description}");
    assert!(
        tasks.iter().all(|task| task["role"] == "worker"),
        "{tasks:#?}"
    );
}

#[test]
fn goal_that_wants_a_question_gives_it_to_one_task() {
    let mut seat = TestSeat::new();
    let tasks = planned(&mut seat, &plan("Write to all. Ask me first.", &TEAM, 50));
    let asks = |task: &&Value| {
        let description = task["description"].as_str().unwrap();
        description.contains("Ask the person first: Who shall read it?")
    };
    assert_eq!(tasks.iter().filter(asks).count(), 1);
}

#[test]
fn goal_that_lets_a_person_accept_gives_the_line_to_the_summary() {
    let mut seat = TestSeat::new();
    let line = json!("A person has accepted it.");
    let goal = format!("{GOAL} Let me accept it.");
    for max_tasks in [50, 3] {
        let tasks = planned(&mut seat, &plan(&goal, &TEAM, max_tasks));
        let has_line = |task: &&Value| task["acceptance"].as_array().unwrap().contains(&line);
        let with_line: Vec<_> = tasks.iter().filter(has_line).collect();
        assert_eq!(with_line.len(), 1, "{tasks:#?}");
        assert_eq!(with_line[0]["key"], "summary");
    }
}

#[test]
fn plan_avoids_names_of_files_of_a_person() {
    let mut seat = TestSeat::new();
    for key in ["outline", "green"] {
        std::fs::write(seat.folder.path().join(format!("{key}.md")), "Mine.").unwrap();
    }
    let tasks = planned(&mut seat, &plan(GOAL, &TEAM, 50));
    let files: Vec<_> = tasks.iter().map(|task| &task["writes"][0]).collect();
    assert_eq!(
        files,
        [
            "outline-demo.md",
            "green-demo.md",
            "black.md",
            "herbal.md",
            "summary.md"
        ]
    );
    // The acceptance lines name the files that the tasks write.
    let names = "It names `green-demo.md`, `black.md`, `herbal.md`.";
    assert_eq!(tasks[0]["acceptance"][0], names);
    assert_eq!(tasks[1]["acceptance"][0], "It names `outline-demo.md`.");
    assert_eq!(tasks[4]["acceptance"][0], names);
    // Files of an earlier goal of the agent keep their names.
    let own = "The demonstration agent wrote this file, without a model.";
    std::fs::write(seat.folder.path().join("green.md"), own).unwrap();
    let tasks = planned(&mut seat, &plan(GOAL, &TEAM, 50));
    assert_eq!(tasks[1]["writes"][0], "green.md");
}

#[test]
fn reminder_repeats_the_plan() {
    let mut seat = TestSeat::new();
    let first = planned(&mut seat, &plan(GOAL, &TEAM, 50));
    for refusals in [vec![], vec!["`depends_on` of `a` has a cycle"]] {
        let reminder = ReminderContext {
            missing: "create_task",
            schema: &json!({}),
            refusals: &refusals,
            is_staged: true,
        };
        let reminder = reminder.render().unwrap().text;
        assert_eq!(planned(&mut seat, &reminder), first, "{reminder}");
    }
}

fn replan(key: &str, status: TaskStatus, reason: &str) -> String {
    let ended = [
        TaskEntry {
            key: "outline",
            title: "Outline the parts",
            status: TaskStatus::Done,
            result: Some("Wrote `outline.md`."),
        },
        TaskEntry {
            key,
            title: "Draft: green",
            status,
            result: Some(reason),
        },
    ];
    let proposal = ProposalEntry {
        task: "outline",
        result: 1,
        text: "FAILED it: all",
    };
    let context = ReplanContext {
        rules: None,
        goal: GOAL,
        reason: "a task has failed",
        ended: &ended,
        ended_more: 0,
        open: &[],
        open_more: 0,
        findings: &[],
        follow_ups: &[proposal],
        replans_left: 1,
        staged: &[],
        cancelled: &[],
    };
    context.render().unwrap().text
}

#[test]
fn later_plan_replaces_failed_task_and_nothing_else() {
    let mut seat = TestSeat::new();
    planned(&mut seat, &plan(GOAL, &["writer"], 50));
    let full = "the disk is full";
    assert!(planned(&mut seat, &replan("green", TaskStatus::Done, full)).is_empty());
    assert!(seat.answer.contains("I change nothing."));
    let tasks = planned(&mut seat, &replan("green", TaskStatus::Failed, full));
    assert_eq!(keys(&tasks), ["green-again"]);
    assert_eq!(tasks[0]["replaces"], json!(["green"]));
    assert_eq!(tasks[0]["role"], "writer");
    assert!(planned(&mut seat, &replan("green-again", TaskStatus::Failed, full)).is_empty());
}

#[test]
fn later_plan_leaves_task_that_was_not_accepted_to_a_person() {
    let mut seat = TestSeat::new();
    planned(&mut seat, &plan(GOAL, &TEAM, 50));
    for reason in ["not accepted", "not accepted (turns: 2)"] {
        let prompt = replan("summary", TaskStatus::Failed, reason);
        assert!(planned(&mut seat, &prompt).is_empty(), "{reason}");
        assert!(
            seat.answer.contains("a person can accept"),
            "{}",
            seat.answer
        );
    }
}

#[test]
fn first_plan_after_tasks_of_person_is_made_as_without_them() {
    let roles = TEAM.map(|name| RoleEntry { name, seats: 2 });
    let open = [TaskEntry {
        key: "own",
        title: "Write own.md",
        status: TaskStatus::Running,
        result: None,
    }];
    let context = ReplanContext {
        goal: GOAL,
        reason: "a person has requested it, or tasks have changed",
        rules: Some(rules(&roles, 50)),
        ended: &[],
        ended_more: 0,
        open: &open,
        open_more: 0,
        findings: &[],
        follow_ups: &[],
        replans_left: 5,
        staged: &[],
        cancelled: &[],
    };
    let prompt = opened(context.render().unwrap());
    let without = planned(&mut TestSeat::new(), &plan(GOAL, &TEAM, 50));
    assert_eq!(planned(&mut TestSeat::new(), &prompt), without);
}
