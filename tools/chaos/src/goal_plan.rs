//! The team and the plan of each goal.

use serde_json::{Value, json};
use testkit::scripted::{FIRST_VERSION, QUESTION_LINE};

use super::processes::CHECK_MARKER;

/// The name of the agent of all seats.
pub(crate) const GOAL_AGENT: &str = "goal";
/// The items of the task that makes one task for each.
const ITEMS: [&str; 4] = ["north", "east", "south", "west"];
/// The key of the task with the items.
const EACH: &str = "visit";

/// A task of the plan, as the checks know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlannedTask {
    pub(crate) key: String,
    pub(crate) depends_on: Vec<String>,
    pub(crate) writes: Vec<String>,
    /// The number of tasks that it makes.
    pub(crate) count: usize,
    /// `true` if the judge sends the first version back.
    pub(crate) is_sent_back: bool,
    /// `true` if Matins runs checks of the task.
    pub(crate) has_checks: bool,
}

impl PlannedTask {
    /// `true` if the task with this key takes turns. The task that stands for all items takes none.
    pub(crate) fn takes_turns(&self, key: &str) -> bool {
        self.count == 1 || key.contains('/')
    }
}

/// Returns the plan of each goal, as arguments of `create_task`: twenty tasks in four rows with one task for each of four
/// items, a question, a check, and a task whose first version the judge sends back.
pub(crate) fn plan() -> Vec<Value> {
    let task = |key: &str, depends_on: &[&str], writes: &str| {
        json!({
            "key": key, "title": format!("Task {key}"), "description": format!("Do {key}."),
            "role": "worker", "depends_on": depends_on, "writes": [writes],
        })
    };
    let mut tasks = vec![task("outline", &[], "outline.md")];
    for row in 1..=3 {
        for place in 1..=4 {
            let before = match row {
                1 => "outline".to_owned(),
                row => format!("r{}-{place}", row - 1),
            };
            let key = format!("r{row}-{place}");
            // The tasks of the second row write one file, so that they never run together.
            let writes = match row {
                2 => "shared.md".to_owned(),
                _ => format!("{key}.md"),
            };
            tasks.push(task(&key, &[&before], &writes));
        }
    }
    let mut each = task(EACH, &["r1-1"], "places/{item}");
    each["title"] = json!("Visit {item}");
    each["description"] = json!("Visit {item}.");
    each["each"] = json!(ITEMS);
    tasks.push(each);
    let mut question = task("ask", &["outline"], "ask.md");
    question["description"] = json!(format!("Do ask. {QUESTION_LINE}"));
    tasks.push(question);
    let mut checked = task("checked", &["r3-1"], "checked.md");
    checked["checks"] = json!(["slow"]);
    tasks.push(checked);
    let mut reviewed = task(
        "summary",
        &["r3-2", "r3-3", "r3-4", "ask", EACH],
        "summary.md",
    );
    reviewed["review"] = json!(true);
    reviewed["acceptance"] = json!([format!("{FIRST_VERSION}.")]);
    tasks.push(reviewed);
    tasks
}

/// Returns the plan in the form of the checks.
pub(crate) fn planned_tasks() -> Vec<PlannedTask> {
    let texts = |list: &Value| {
        let texts = list.as_array().into_iter().flatten();
        texts
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let plan = plan();
    let tasks = plan.iter().map(|task| PlannedTask {
        key: task["key"].as_str().unwrap_or_default().to_owned(),
        depends_on: texts(&task["depends_on"]),
        writes: texts(&task["writes"]),
        count: task["each"].as_array().map_or(1, Vec::len),
        is_sent_back: task["review"] == true,
        has_checks: task["checks"].is_array(),
    });
    tasks.collect()
}

/// Returns the team, whose check names the folder of the test, so that its processes are found.
pub(crate) fn team(root: &str) -> String {
    format!(
        r#"name = "chaos"
limits = {{ turns = 1000, replans = 20, idle_turns = 500 }}
checks = {{ slow = "sleep 1; echo {CHECK_MARKER} {root}" }}

[[seats]]
role = "planner"
entry = true
attempts = 10

[[seats]]
role = "worker"
count = 3
attempts = 10

[[seats]]
role = "judge"
reviews = "marked"
attempts = 10
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_has_twenty_tasks_whose_dependencies_exist() {
        let tasks = planned_tasks();
        assert_eq!(tasks.iter().map(|task| task.count).sum::<usize>(), 20);
        for task in &tasks {
            for before in &task.depends_on {
                assert!(tasks.iter().any(|other| other.key == *before), "{before}");
            }
        }
    }

    #[test]
    fn plan_has_reviewed_and_checked_task_and_plain_keys() {
        let tasks = planned_tasks();
        assert_eq!(tasks.iter().filter(|task| task.is_sent_back).count(), 1);
        assert_eq!(tasks.iter().filter(|task| task.has_checks).count(), 1);
        // The check of the reports expects keys that the tables of reports do not escape.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        for task in &tasks {
            assert!(task.key.chars().all(is_plain), "{}", task.key);
        }
    }
}
