//! The tool `judge_task`.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    goal::{
        ReportedFinding, Severity, TaskRole,
        text_limits::{
            EVIDENCE_BYTES, FINDING_BYTES, FINDING_ID_BYTES, MAX_EVIDENCE, MAX_FINDINGS,
        },
    },
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{RunTools, TaskVerdict, ToolOffer};

use super::error::task_error;
use crate::{
    reply::{self, Answer, object},
    tool::{Offered, Tool},
};

pub(crate) const JUDGE: Tool = Tool {
    name: "judge_task",
    title: "Judge a task",
    description: |_| {
        "Gives your verdict on the result that your prompt names. The newest verdict counts when your turn ends, so end it \
         then. In later rounds, only unresolved findings and regressions count. Without this call there is no verdict."
    },
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "verdict": {
                    "type": "string",
                    "enum": ["accept", "send_back"],
                    "description": "`accept` needs `evidence`, and `send_back` needs `findings`.",
                },
                "evidence": {
                    "type": "array",
                    "maxItems": MAX_EVIDENCE,
                    "items": { "type": "string", "maxLength": EVIDENCE_BYTES },
                    "description": "For `accept`: one entry for each acceptance line, and at least one. Say what you ran, read \
                                    or compared.",
                },
                "findings": {
                    "type": "array",
                    "maxItems": MAX_FINDINGS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {
                                "type": "string",
                                "maxLength": FINDING_ID_BYTES,
                                "description": "A short name. The same fault keeps it in each round.",
                            },
                            "criterion": {
                                "type": "integer",
                                "minimum": 1,
                                "description": "The number of the acceptance line.",
                            },
                            "text": {
                                "type": "string",
                                "maxLength": FINDING_BYTES,
                                "description": "The fault, and what would resolve it.",
                            },
                            "severity": {
                                "type": "string",
                                "enum": ["blocker", "minor"],
                                "description": "Only a `blocker` sends the work back.",
                            },
                            "regression": {
                                "type": "boolean",
                                "description": "The rework has broken it.",
                            },
                        },
                        "required": ["id", "text", "severity"],
                        "additionalProperties": false,
                    },
                    "description": "For `send_back`: the faults. For `accept`: notes.",
                },
            },
            "required": ["verdict"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::InTasks(&[TaskRole::Judge]),
    is_read_only: |_| false,
    call,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    verdict: Verdict,
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default)]
    findings: Vec<InputFinding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Accept,
    SendBack,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InputFinding {
    id: String,
    #[serde(default)]
    criterion: Option<u32>,
    text: String,
    severity: InputSeverity,
    #[serde(default)]
    regression: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InputSeverity {
    Blocker,
    Minor,
}

impl InputFinding {
    fn into_finding(self) -> ReportedFinding {
        ReportedFinding {
            id: self.id,
            text: self.text,
            severity: match self.severity {
                InputSeverity::Blocker => Severity::Blocker,
                InputSeverity::Minor => Severity::Minor,
            },
            regression: self.regression,
            criterion: self.criterion,
        }
    }
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let Input {
            verdict,
            evidence,
            findings,
        } = reply::read(input)?;
        let findings = findings.into_iter().map(InputFinding::into_finding);
        let findings: Vec<ReportedFinding> = findings.collect();
        let verdict = match verdict {
            Verdict::Accept => TaskVerdict::Accept {
                evidence,
                notes: findings,
            },
            Verdict::SendBack => TaskVerdict::SendBack(findings),
        };
        let judged = tools.judge_task(&verdict).await;
        let judged = judged.map_err(|error| task_error(error, offer))?;
        let takes_effect = match (&verdict, judged.accepts) {
            (TaskVerdict::SendBack(_), true) => {
                "at the end of your turn: no finding counts in this round, so the work is accepted with your notes"
            }
            (TaskVerdict::SendBack(_), false) => "at the end of your turn: the work goes back",
            (TaskVerdict::Accept { notes, .. }, _) if !notes.is_empty() => {
                "at the end of your turn: the work is accepted, and your findings are notes"
            }
            (TaskVerdict::Accept { .. }, _) => "at the end of your turn: the work is accepted",
        };
        Ok(object(json!({
            "key": judged.key,
            "round": judged.round,
            "counted": judged.counted,
            "takes_effect": takes_effect,
        })))
    }
    .boxed()
}
