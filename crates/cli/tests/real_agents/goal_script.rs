//! The first lines of the prompts of a goal, and rules of a model's script for them.

use serde_json::{Value, json};
use testkit::model_server::ScriptRule;

use super::tool_user::ToolOffer;

pub(crate) const PLAN: &str = "Plan the work on the goal below.";
pub(crate) const REPLAN: &str = "Change the plan of the goal below.";
pub(crate) const ANSWER: &str = "Your question was answered.";
pub(crate) const CHECK: &str = "Judge the whole goal below.";
pub(crate) const REPORT: &str = "Write the report on the goal below";

pub(crate) fn work(key: &str) -> String {
    format!("Work on the task `{key}`:")
}

pub(crate) fn rework(key: &str) -> String {
    format!("Your result of the task `{key}` was sent back")
}

pub(crate) fn review(key: &str) -> String {
    format!("Judge the result of the task `{key}`:")
}

/// Returns the rule by which the model makes these calls of tools of Matins for a prompt with all of these texts.
pub(crate) fn rule(texts: &[&str], offer: ToolOffer, calls: &[(&str, Value)]) -> ScriptRule {
    ScriptRule {
        texts: texts.iter().map(|text| (*text).to_owned()).collect(),
        calls: offer.model_calls(calls),
    }
}

pub(crate) fn create(key: &str, depends_on: &[&str]) -> (&'static str, Value) {
    let task = json!({
        "key": key, "title": format!("Do {key}"), "description": format!("Do {key} well."),
        "role": "worker", "depends_on": depends_on, "acceptance": ["It is done."], "writes": [],
    });
    ("create_task", task)
}

pub(crate) fn list() -> (&'static str, Value) {
    ("list_tasks", json!({}))
}

pub(crate) fn done(result: &str) -> (&'static str, Value) {
    let report = json!({"status": "done", "result": result});
    ("update_task", report)
}

pub(crate) fn accept() -> (&'static str, Value) {
    let verdict = json!({"verdict": "accept", "evidence": ["I have read it."]});
    ("judge_task", verdict)
}

pub(crate) fn send_back() -> (&'static str, Value) {
    let finding = json!({"id": "source", "text": "A source is missing.", "severity": "blocker"});
    let verdict = json!({"verdict": "send_back", "findings": [finding]});
    ("judge_task", verdict)
}

/// Returns the file of a team with this number of workers, whose judge reviews each result.
pub(crate) fn team(workers: u32) -> String {
    format!(
        "name = \"own\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n\n[[seats]]\nrole = \"worker\"\ncount = {workers}\n\n\
         [[seats]]\nrole = \"judge\"\nreviews = \"all\"\n"
    )
}
