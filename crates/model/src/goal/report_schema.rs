//! The schemas of the tools with which turns of tasks end, and the answers that take the place of their calls.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::goal::{
    event::Severity,
    new_task::{DEFAULT_PRIORITY, NewTask},
    plan_fields::own_faults,
    report::{ReportBody, ReportStatus, ReportedFinding},
    report_fault::ReportFault,
    text_limits::{
        ACCEPTANCE_BYTES, ARTIFACT_NAME_BYTES, DESCRIPTION_BYTES, EVIDENCE_BYTES, FINDING_BYTES,
        FINDING_ID_BYTES, FOLLOW_UP_BYTES, ITEM_BYTES, KEY_BYTES, MAX_ACCEPTANCE, MAX_ARTIFACTS,
        MAX_CHECKS, MAX_DEPENDS_ON, MAX_EVIDENCE, MAX_FINDINGS, MAX_ITEMS, MAX_PRIORITY,
        MAX_REPLACES, MAX_WRITES, NAME_BYTES, PATH_BYTES, REFERENCE_BYTES, RESULT_BYTES,
        TITLE_BYTES,
    },
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
    let text = |bytes: usize, about: &str| json!({ "type": "string", "maxLength": bytes, "description": about });
    let texts = |count: usize, bytes: usize, about: &str| {
        let items = json!({ "type": "string", "maxLength": bytes });
        json!({ "type": "array", "maxItems": count, "items": items, "description": about })
    };
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    let (properties, required) = match kind {
        ReportKind::Plan => (
            json!({
                "key": text(KEY_BYTES, "The key of the task, unique in the goal. A repeated key replaces the staged task."),
                "title": text(TITLE_BYTES, "The title in a few words."),
                "description": text(DESCRIPTION_BYTES, "The objective, the output, the sources and the boundary of the task."),
                "role": text(NAME_BYTES, "The role whose seats take the task."),
                "depends_on": texts(MAX_DEPENDS_ON, REFERENCE_BYTES, "The keys of tasks that must be done first."),
                "acceptance": texts(MAX_ACCEPTANCE, ACCEPTANCE_BYTES, "The lines by which the result is judged."),
                "checks": texts(MAX_CHECKS, NAME_BYTES, "The names of checks of the team that run after the work."),
                "writes": texts(MAX_WRITES, PATH_BYTES, "The path prefixes that the task writes."),
                "replaces": texts(MAX_REPLACES, REFERENCE_BYTES, "The keys of tasks that this one replaces."),
                "priority": {
                    "type": "integer", "minimum": 0, "maximum": MAX_PRIORITY,
                    "description": "The rank among ready tasks. Lower ones start first. 5 if absent.",
                },
                "optional": flag("true if the goal can be done without the task."),
                "review": flag("true if the judge has to review the result."),
                "each": texts(MAX_ITEMS, ITEM_BYTES, "The items. Each makes a task of its own, in whose texts it replaces {item}."),
            }),
            json!(["key", "title", "description", "role"]),
        ),
        ReportKind::Result => (
            json!({
                "task": text(REFERENCE_BYTES, "The key of the task. The task of this turn if absent."),
                "status": {
                    "type": "string", "enum": ["done", "failed"],
                    "description": "done: the acceptance lines are satisfied. failed: the task cannot be done.",
                },
                "result": text(RESULT_BYTES, "The facts that later tasks need, or the reason of a failure."),
                "artifacts": texts(MAX_ARTIFACTS, ARTIFACT_NAME_BYTES, "The names of artifacts."),
                "follow_up": text(FOLLOW_UP_BYTES, "A proposal of further work, which the planner reads."),
            }),
            json!(["status"]),
        ),
        ReportKind::Verdict => (
            json!({
                "verdict": {
                    "type": "string", "enum": ["accept", "send_back"],
                    "description": "The verdict. accept needs evidence, send_back needs findings.",
                },
                "evidence": texts(MAX_EVIDENCE, EVIDENCE_BYTES, "For each acceptance line, the thing that you ran, read or compared."),
                "findings": {
                    "type": "array", "maxItems": MAX_FINDINGS, "description": "The reasons to send the work back.",
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
                "type": "string", "maxLength": FINDING_ID_BYTES,
                "description": "The ID, which stays the same in each round.",
            },
            "criterion": { "type": "integer", "minimum": 1, "description": "The number of the acceptance line." },
            "text": { "type": "string", "maxLength": FINDING_BYTES, "description": "The finding." },
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

/// Returns the report in the answer of a turn of the task with a key: its only block of `json`, if that satisfies the schema.
/// Returns `None` for an answer without a block, with several, or with another content.
///
/// # Errors
///
/// Returns the faults of a report with the fields of the schema, such as a text that is too long.
pub fn report_in_answer(
    kind: ReportKind,
    task: &str,
    answer: &str,
) -> Result<Option<AnswerReport>, Vec<ReportFault>> {
    let Some(block) = only_json_block(answer) else {
        return Ok(None);
    };
    match kind {
        ReportKind::Plan => {
            let new: Option<TaskInput> = serde_json::from_str(block).ok();
            new.map(TaskInput::into_task).transpose()
        }
        ReportKind::Result => {
            let Some(result) = serde_json::from_str::<ResultInput>(block).ok() else {
                return Ok(None);
            };
            let given = result.task.as_deref();
            let fault = given.and_then(|given| ReportFault::of_task(given, task));
            match (result.into_report(), fault) {
                (Some(_), Some(fault)) => Err(vec![fault]),
                (report, _) => checked(report),
            }
        }
        ReportKind::Verdict => {
            let verdict: Option<VerdictInput> = serde_json::from_str(block).ok();
            checked(verdict.and_then(VerdictInput::into_report))
        }
    }
}

fn checked(
    report: Option<(ReportStatus, ReportBody)>,
) -> Result<Option<AnswerReport>, Vec<ReportFault>> {
    let Some((status, body)) = report else {
        return Ok(None);
    };
    body.check()?;
    Ok(Some(AnswerReport::Report(status, body)))
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
    fn into_task(self) -> Result<AnswerReport, Vec<ReportFault>> {
        let task = NewTask {
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
        };
        let empty = task.description.trim().is_empty();
        let empty = empty.then_some(ReportFault::Empty {
            field: "description",
            accepted: DESCRIPTION_BYTES,
        });
        let faults = own_faults(&task).into_iter().map(ReportFault::from);
        let faults: Vec<_> = faults.chain(empty).collect();
        if faults.is_empty() {
            Ok(AnswerReport::Task(task))
        } else {
            Err(faults)
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultInput {
    task: Option<String>,
    status: String,
    result: Option<String>,
    #[serde(default)]
    artifacts: Vec<String>,
    follow_up: Option<String>,
}

impl ResultInput {
    fn into_report(self) -> Option<(ReportStatus, ReportBody)> {
        let status = match self.status.as_str() {
            "done" => ReportStatus::Done,
            // Reminders of earlier versions offer `cancelled`. Without a report, a team that accepts answers completes the task.
            "failed" | "cancelled" => ReportStatus::Failed,
            _ => return None,
        };
        let body = ReportBody {
            result: self.result.filter(|text| !text.trim().is_empty()),
            artifacts: self.artifacts,
            follow_up: self.follow_up.filter(|text| !text.trim().is_empty()),
            ..ReportBody::default()
        };
        Some((status, body))
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
    fn into_report(self) -> Option<(ReportStatus, ReportBody)> {
        let status = match self.verdict.as_str() {
            "accept" => ReportStatus::Accept,
            "send_back" => ReportStatus::SendBack,
            _ => return None,
        };
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
        Some((status, body))
    }
}
