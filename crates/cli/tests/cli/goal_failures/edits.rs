//! Edits outside of the paths of a task: `task show` and the report list them.

use serde_json::json;
use testkit::scripted::Step;

use super::{GoalTest, done, on_work, plan_once, workers};

#[test]
fn edits_outside_of_paths_are_listed() {
    let call = |kind: &str, status: &str, path: &str| {
        Step::Update(json!({
            "sessionUpdate": "tool_call", "toolCallId": path, "title": "Call", "kind": kind, "status": status,
            "locations": [{ "path": path }],
        }))
    };
    let task = json!({
        "key": "a", "title": "Do a", "description": "Do a well.", "role": "worker", "writes": ["docs"],
    });
    let mut steps: Vec<Step> = plan_once([Step::call_tool("create_task", task)]).into();
    let work = [
        call("edit", "completed", "/etc/hosts"),
        call("move", "completed", "notes.md"),
        call("delete", "completed", "docs/old.md"),
        call("edit", "failed", "/etc/passwd"),
        call("read", "completed", "/etc/group"),
        done("A."),
    ];
    steps.push(on_work("a", work));
    let test = GoalTest::start(&workers(1), &[], [steps]);
    test.assert_done();
    let task = test.task("a");
    let listed = json!(["/etc/hosts", "notes.md"]);
    assert_eq!(task["edits_outside_writes"], listed, "{task:#}");
    assert_eq!(task["more_edits_outside_writes"], 0);
    let print = |args: &[&str]| test.world.run(args).expect_success();
    let shown = print(&["task", "show", "own", "a"]);
    let part = "\nEdits outside of its paths:\n- /etc/hosts\n- notes.md\n";
    assert!(shown.contains(part), "{shown}");
    let shown = print(&["goal", "report", "own"]);
    let part = "declare the paths.\n\n- a: /etc/hosts\n- a: notes.md\n\n## ";
    assert!(shown.contains(part), "{shown}");
}
