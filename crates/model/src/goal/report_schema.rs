//! The schemas of the tools with which turns of tasks end, and the answers that take the place of their calls.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::goal::{
    event::Severity,
    new_task::{DEFAULT_PRIORITY, NewTask},
    report::{ReportBody, ReportStatus, ReportedFinding},
};

/// The kind of the report that a turn of a task owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// A task of the plan.
    Plan,
    /// The result of a task.
    Result,
    /// The verdict of a judge.
    Verdict,
}

impl ReportKind {
    /// Returns the name of the tool.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Plan => "create_task",
            Self::Result => "update_task",
            Self::Verdict => "judge_task",
        }
    }
}

/// A report that an agent gives in its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerReport {
    /// A task of the plan.
    Task(NewTask),
    /// A result or a verdict.
    Report(ReportStatus, ReportBody),
}

/// Returns the closed schema of the input of a tool.
pub fn report_schema(kind: ReportKind) -> Value {
    let text = |bytes: u32, about: &str| json!({ "type": "string", "maxLength": bytes, "description": about });
    let texts = |count: u32, bytes: u32, about: &str| {
        let items = json!({ "type": "string", "maxLength": bytes });
        json!({ "type": "array", "maxItems": count, "items": items, "description": about })
    };
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    let (properties, required) = match kind {
        ReportKind::Plan => (
            json!({
                "key": text(40, "The key of the task, unique in the goal. A repeated key replaces the staged task."),
                "title": text(120, "The title in a few words."),
                "description": text(16_384, "The objective, the output, the sources and the boundary of the task."),
                "role": text(40, "The role whose seats take the task."),
                "depends_on": texts(20, 40, "The keys of tasks that must be done first."),
                "acceptance": texts(10, 500, "The lines by which the result is judged."),
                "checks": texts(5, 40, "The names of checks of the team that run after the work."),
                "writes": texts(20, 500, "The path prefixes that the task writes."),
                "replaces": texts(20, 40, "The keys of tasks that this one replaces."),
                "priority": {
                    "type": "integer", "minimum": 0, "maximum": 9,
                    "description": "The rank among ready tasks. Lower ones start first. 5 if absent.",
                },
                "optional": flag("true if the goal can be done without the task."),
                "review": flag("true if the judge has to review the result."),
                "each": texts(500, 200, "The items. Each makes a task of its own, in whose texts it replaces {item}."),
            }),
            json!(["key", "title", "description", "role"]),
        ),
        ReportKind::Result => (
            json!({
                "task": text(40, "The key of the task. The task of this turn if absent."),
                "status": {
                    "type": "string", "enum": ["done", "failed", "cancelled"],
                    "description": "The status. Only a planner cancels tasks.",
                },
                "result": text(4096, "The facts that later tasks need, or the reason of a failure."),
                "artifacts": texts(20, 200, "The names of artifacts."),
                "follow_up": text(2048, "A proposal of further work, which the planner reads."),
            }),
            json!(["status"]),
        ),
        ReportKind::Verdict => (
            json!({
                "verdict": {
                    "type": "string", "enum": ["accept", "send_back"],
                    "description": "The verdict. accept needs evidence, send_back needs findings.",
                },
                "evidence": texts(20, 500, "For each acceptance line, the thing that you ran, read or compared."),
                "findings": {
                    "type": "array", "maxItems": 20, "description": "The reasons to send the work back.",
                    "items": finding_schema(),
                },
            }),
            json!(["verdict"]),
        ),
    };
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    })
}

fn finding_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {
                "type": "string", "maxLength": 40,
                "description": "The ID, which stays the same in each round.",
            },
            "criterion": { "type": "integer", "description": "The number of the acceptance line, from 1." },
            "text": { "type": "string", "maxLength": 1000, "description": "The finding." },
            "severity": {
                "type": "string", "enum": ["blocker", "minor"],
                "description": "blocker prevents acceptance, minor is a note.",
            },
            "regression": { "type": "boolean", "description": "true if the rework has broken something." },
        },
        "required": ["id", "text", "severity"],
        "additionalProperties": false,
    })
}

/// Returns the report in an answer: its only block of `json`, if that satisfies the schema. Returns `None` for an answer
/// without a block, with several, or with another content.
pub fn report_in_answer(kind: ReportKind, answer: &str) -> Option<AnswerReport> {
    let block = only_json_block(answer)?;
    match kind {
        ReportKind::Plan => {
            let task: TaskInput = serde_json::from_str(block).ok()?;
            task.into_task().map(AnswerReport::Task)
        }
        ReportKind::Result => {
            let result: ResultInput = serde_json::from_str(block).ok()?;
            result.into_report()
        }
        ReportKind::Verdict => {
            let verdict: VerdictInput = serde_json::from_str(block).ok()?;
            verdict.into_report()
        }
    }
}

/// Returns the content of the only fenced block whose language is `json`.
fn only_json_block(answer: &str) -> Option<&str> {
    const FENCE: &str = "```";
    let is_opening = |line: &str| line.trim() == "```json";
    let mut found = None;
    let mut start = None;
    let mut offset = 0;
    for line in answer.split_inclusive('\n') {
        let end = offset + line.len();
        match start {
            None if is_opening(line) => start = Some(end),
            Some(from) if line.trim() == FENCE => {
                if found.replace(answer.get(from..offset)?).is_some() {
                    return None;
                }
                start = None;
            }
            _ => {}
        }
        offset = end;
    }
    found.filter(|_| start.is_none())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskInput {
    key: String,
    title: String,
    description: String,
    role: String,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    acceptance: Vec<String>,
    #[serde(default)]
    checks: Vec<String>,
    writes: Option<Vec<String>>,
    #[serde(default)]
    replaces: Vec<String>,
    priority: Option<u8>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    review: bool,
    #[serde(default)]
    each: Vec<String>,
}

impl TaskInput {
    fn into_task(self) -> Option<NewTask> {
        let is_small = self.title.len() <= 120 && self.description.len() <= 16_384;
        is_small.then(|| NewTask {
            key: self.key,
            title: self.title,
            description: self.description,
            role: self.role,
            depends_on: self.depends_on,
            acceptance: self.acceptance,
            checks: self.checks,
            writes: self.writes,
            replaces: self.replaces,
            priority: self.priority.unwrap_or(DEFAULT_PRIORITY),
            optional: self.optional,
            review: self.review,
            each: self.each,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultInput {
    /// Only the own task can be meant.
    #[serde(rename = "task")]
    _task: Option<String>,
    status: String,
    result: Option<String>,
    #[serde(default)]
    artifacts: Vec<String>,
    follow_up: Option<String>,
}

impl ResultInput {
    fn into_report(self) -> Option<AnswerReport> {
        let status = match self.status.as_str() {
            "done" => ReportStatus::Done,
            "failed" => ReportStatus::Failed,
            _ => return None,
        };
        let result_bytes = self.result.as_ref().map_or(0, String::len);
        let follow_up_bytes = self.follow_up.as_ref().map_or(0, String::len);
        if result_bytes > 4096 || follow_up_bytes > 2048 || self.artifacts.len() > 20 {
            return None;
        }
        let body = ReportBody {
            result: self.result,
            artifacts: self.artifacts,
            follow_up: self.follow_up,
            ..ReportBody::default()
        };
        Some(AnswerReport::Report(status, body))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictInput {
    verdict: String,
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default)]
    findings: Vec<FindingInput>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingInput {
    id: String,
    criterion: Option<u32>,
    text: String,
    severity: Severity,
    #[serde(default)]
    regression: bool,
}

impl VerdictInput {
    fn into_report(self) -> Option<AnswerReport> {
        let status = match self.verdict.as_str() {
            "accept" => ReportStatus::Accept,
            "send_back" => ReportStatus::SendBack,
            _ => return None,
        };
        if self.evidence.len() > 20 || self.findings.len() > 20 {
            return None;
        }
        let findings = self.findings.into_iter().map(|finding| ReportedFinding {
            id: finding.id,
            text: finding.text,
            severity: finding.severity,
            regression: finding.regression,
            criterion: finding.criterion,
        });
        let body = ReportBody {
            evidence: self.evidence,
            findings: findings.collect(),
            ..ReportBody::default()
        };
        Some(AnswerReport::Report(status, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(block: &str) -> String {
        format!("Here it is.\n\n```json\n{block}\n```\nThat is all.")
    }

    #[test]
    fn answer_without_exactly_one_block_is_no_report() {
        let block = r#"{"status":"done"}"#;
        let two = format!("{}\n{}", answer(block), answer(block));
        for text in [
            "",
            "done",
            block,
            "```\n{\"status\":\"done\"}\n```",
            "```json\n{\"status\":\"done\"}",
            &two,
        ] {
            assert_eq!(report_in_answer(ReportKind::Result, text), None, "{text}");
        }
        assert!(report_in_answer(ReportKind::Result, &answer(block)).is_some());
    }

    #[test]
    fn block_of_other_schema_is_no_report() {
        let long = format!(r#"{{"status":"done","result":"{}"}}"#, "x".repeat(4097));
        for block in [
            r#"{"status":"cancelled"}"#,
            r#"{"status":"done","note":"x"}"#,
            r#"{"verdict":"accept"}"#,
            "[]",
            &long,
        ] {
            let found = report_in_answer(ReportKind::Result, &answer(block));
            assert_eq!(found, None, "{block}");
        }
        let verdict = answer(r#"{"verdict":"later"}"#);
        assert_eq!(report_in_answer(ReportKind::Verdict, &verdict), None);
        let task = answer(r#"{"key":"a","title":"A","description":"Do it."}"#);
        assert_eq!(report_in_answer(ReportKind::Plan, &task), None);
    }

    #[test]
    fn block_with_schema_is_report() {
        let result = answer(r#"{"status":"failed","result":"No file.","follow_up":"Find it."}"#);
        let Some(AnswerReport::Report(status, body)) =
            report_in_answer(ReportKind::Result, &result)
        else {
            panic!("no report");
        };
        assert_eq!(status, ReportStatus::Failed);
        assert_eq!(body.result.as_deref(), Some("No file."));
        assert_eq!(body.follow_up.as_deref(), Some("Find it."));
        let finding =
            r#"{"verdict":"send_back","findings":[{"id":"a","text":"b","severity":"blocker"}]}"#;
        let Some(AnswerReport::Report(status, body)) =
            report_in_answer(ReportKind::Verdict, &answer(finding))
        else {
            panic!("no verdict");
        };
        assert_eq!(status, ReportStatus::SendBack);
        assert_eq!(body.findings[0].severity, Severity::Blocker);
        let task = r#"{"key":"a","title":"A","description":"Do it.","role":"worker","writes":[]}"#;
        let Some(AnswerReport::Task(task)) = report_in_answer(ReportKind::Plan, &answer(task))
        else {
            panic!("no task");
        };
        assert_eq!(
            (task.priority, task.writes),
            (DEFAULT_PRIORITY, Some(Vec::new()))
        );
    }

    #[test]
    fn schema_is_closed_and_describes_each_property() {
        for kind in [ReportKind::Plan, ReportKind::Result, ReportKind::Verdict] {
            let schema = report_schema(kind);
            assert_eq!(schema["additionalProperties"], false);
            let properties = schema["properties"].as_object().unwrap();
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{name}");
                assert!(property["type"].is_string(), "{name}");
            }
            for required in schema["required"].as_array().unwrap() {
                assert!(properties.contains_key(required.as_str().unwrap()));
            }
        }
    }
}
