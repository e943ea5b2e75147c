//! The definitions of the tools, as agents see them, against the stored ones.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{collections::BTreeSet, fs, path::PathBuf};

use model::{
    goal::TaskRole,
    permission::{TASK_TOOL_NAMES, TEAM_TOOL_NAMES, TOOL_NAMES},
    tools::ToolAccess,
};
use serde_json::{Value, json};
use service::ToolOffer;

/// The longest list of tools, in bytes. Models read it at each turn.
const MAX_BYTES: usize = 10 * 1024;

/// Returns the tools in a session with several seats: in a turn of a task if `task` is given, and else outside of goals.
fn definitions(access: ToolAccess, task: Option<TaskRole>) -> Value {
    of_offer(ToolOffer {
        access,
        unread: Some(0),
        is_of_goal: task.is_some(),
        task,
        ..ToolOffer::NONE
    })
}

/// Returns the tools in the turn of a message to a seat of a goal.
fn of_message(access: ToolAccess) -> Value {
    of_offer(ToolOffer {
        access,
        unread: Some(0),
        is_of_goal: true,
        ..ToolOffer::NONE
    })
}

fn of_offer(offer: ToolOffer) -> Value {
    serde_json::to_value(tools::definitions(offer)).unwrap()
}

/// Returns the lists of tools of all turns.
fn all_lists() -> Vec<Value> {
    let tasks = TaskRole::ALL.iter().copied().map(Some);
    let turns = [None].into_iter().chain(tasks);
    let accesses = [ToolAccess::Read, ToolAccess::All];
    let lists = turns.flat_map(|task| accesses.map(|access| definitions(access, task)));
    lists.chain(accesses.map(of_message)).collect()
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list.as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Returns the names of the tools of tasks in a list.
fn task_tools(list: &Value) -> Vec<&str> {
    let mut names = names(list);
    names.retain(|name| TASK_TOOL_NAMES.contains(name));
    names
}

#[test]
fn definitions_equal_stored_ones() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/definitions.json");
    let of_tasks = |mut list: Value| {
        let is_of_tasks = |tool: &Value| TASK_TOOL_NAMES.contains(&tool["name"].as_str().unwrap());
        list.as_array_mut().unwrap().retain(is_of_tasks);
        list
    };
    let defined = json!({
        "all": definitions(ToolAccess::All, None),
        "read": definitions(ToolAccess::Read, None),
        "planner": of_tasks(definitions(ToolAccess::All, Some(TaskRole::Planner))),
        "worker": of_tasks(definitions(ToolAccess::All, Some(TaskRole::Worker))),
        "judge": of_tasks(definitions(ToolAccess::All, Some(TaskRole::Judge))),
        "message": of_tasks(of_message(ToolAccess::All)),
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&defined).unwrap());
    if option_env!("MATINS_UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == stored,
        "run this test with MATINS_UPDATE=1, and look at the difference of {}",
        path.display()
    );
}

/// Returns a schema and those of its fields and entries.
fn schemas(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    if let Some(properties) = schema["properties"].as_object() {
        found.extend(properties.values().flat_map(schemas));
    }
    if schema["items"].is_object() {
        found.extend(schemas(&schema["items"]));
    }
    found
}

#[test]
fn definitions_fit_every_agent() {
    assert_eq!(definitions(ToolAccess::None, None), json!([]));
    for list in all_lists() {
        let bytes = list.to_string().len();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes: {:?}", names(&list));
        for tool in list.as_array().unwrap() {
            let input = &tool["inputSchema"];
            // Some agents refuse these (google-gemini/gemini-cli#13326).
            for word in ["$ref", "oneOf", "anyOf", "allOf"] {
                assert!(!input.to_string().contains(word), "{word}");
            }
            for schema in schemas(input) {
                assert!(schema["type"].is_string(), "{schema}: one type");
                if schema["type"] == "object" {
                    assert_eq!(schema["additionalProperties"], false);
                    for (name, property) in schema["properties"].as_object().unwrap() {
                        assert!(property["description"].is_string(), "{name}");
                    }
                }
            }
            let hints = &tool["annotations"];
            assert_eq!(
                (&hints["destructiveHint"], &hints["openWorldHint"]),
                (&json!(false), &json!(false))
            );
        }
    }
}

#[test]
fn permission_rule_knows_every_tool() {
    let lists = all_lists();
    let defined: BTreeSet<&str> = lists.iter().flat_map(names).collect();
    assert_eq!(defined, TOOL_NAMES.into_iter().collect());
    // Each list has the order of the names.
    for list in &lists {
        let names = names(list);
        let mut expected = TOOL_NAMES.to_vec();
        expected.retain(|name| names.contains(name));
        assert_eq!(names, expected);
    }
}

#[test]
fn tools_of_tasks_depend_on_part_in_task() {
    for (role, expected) in [
        (
            TaskRole::Planner,
            &["create_task", "update_task", "list_tasks"][..],
        ),
        (TaskRole::Worker, &["update_task", "list_tasks"][..]),
        (TaskRole::Judge, &["judge_task", "list_tasks"][..]),
        (TaskRole::Reporter, &["list_tasks"][..]),
    ] {
        let all = definitions(ToolAccess::All, Some(role));
        assert_eq!(task_tools(&all), expected, "{role}");
        let read = definitions(ToolAccess::Read, Some(role));
        assert_eq!(task_tools(&read), ["list_tasks"], "{role}");
    }
}

#[test]
fn message_to_seat_of_goal_gets_list_of_tasks_alone() {
    for access in [ToolAccess::Read, ToolAccess::All] {
        assert_eq!(task_tools(&of_message(access)), ["list_tasks"]);
        // A session without a goal has no tasks.
        assert_eq!(task_tools(&definitions(access, None)), [""; 0]);
    }
}

#[test]
fn agent_that_may_only_read_sees_read_only_tools() {
    let turns = [None, Some(TaskRole::Planner), Some(TaskRole::Worker)];
    for tool in turns.map(|task| definitions(ToolAccess::Read, task)) {
        for tool in tool.as_array().unwrap() {
            let hint = &tool["annotations"]["readOnlyHint"];
            assert_eq!(hint, true, "{}", tool["name"]);
        }
    }
}

#[test]
fn agent_without_other_seats_gets_no_messages() {
    let offer = ToolOffer {
        access: ToolAccess::All,
        ..ToolOffer::NONE
    };
    let alone = serde_json::to_value(tools::definitions(offer)).unwrap();
    let mut expected = TOOL_NAMES.to_vec();
    expected.retain(|name| !TEAM_TOOL_NAMES.contains(name) && !TASK_TOOL_NAMES.contains(name));
    assert_eq!(names(&alone), expected);
}

#[test]
fn agent_of_goal_gets_no_schedules() {
    let list = of_message(ToolAccess::All);
    let mut expected = TOOL_NAMES.to_vec();
    expected.retain(|name| match *name {
        "cron" => false,
        "list_tasks" => true,
        name => !TASK_TOOL_NAMES.contains(&name),
    });
    assert_eq!(names(&list), expected);
}

#[test]
fn question_names_time_that_counts_for_its_answer() {
    for question_hours in [12, 24] {
        let offer = ToolOffer {
            access: ToolAccess::All,
            question_hours,
            ..ToolOffer::NONE
        };
        let list = serde_json::to_value(tools::definitions(offer)).unwrap();
        let tools = list.as_array().unwrap().iter();
        let asking = tools.filter(|tool| tool["name"] == "ask_person");
        let hours = asking.map(|tool| &tool["inputSchema"]["properties"]["hours"]["description"]);
        let says = format!("Hours for an answer. Default: {question_hours}.");
        assert_eq!(hours.collect::<Vec<_>>(), [&json!(says)]);
    }
}
