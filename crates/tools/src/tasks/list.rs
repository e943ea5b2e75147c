//! The tool `list_tasks`.

use futures::future::{BoxFuture, FutureExt as _};
use model::{goal::TaskRole, tools::ToolAccess};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{ListedTask, RunTools, TaskQuery, ToolOffer};
use store::TaskFinding;

use super::error::task_error;
use crate::{
    reply::{self, Answer, object},
    tool::{Offered, Tool},
};

pub(crate) const LIST: Tool = Tool {
    name: "list_tasks",
    title: "List tasks",
    description,
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "task": { "type": "string", "description": "Only the task with this key." },
                "status": {
                    "type": "string",
                    "description": "PENDING, READY, RUNNING, DONE, FAILED or CANCELLED.",
                },
                "after": { "type": "string", "description": "`next` of the answer before." },
            },
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::Read,
    offered: Offered::InGoal,
    is_read_only: |_| true,
    call,
};

fn description(offer: ToolOffer) -> &'static str {
    match offer.task {
        Some(_) => {
            "Lists the goal's tasks with status, seat, result and cause of waiting. `task` returns one whole."
        }
        None => {
            "Lists the goal's tasks with status, seat, result and cause of waiting. `task` returns one whole. This turn \
             changes no task."
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    task: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    after: Option<String>,
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let Input {
            task,
            status,
            after,
        } = reply::read(input)?;
        let query = TaskQuery {
            task,
            status,
            after,
        };
        let found = tools.list_tasks(&query).await;
        let found = found.map_err(|error| task_error(error, offer))?;
        let tasks: Vec<Value> = found.tasks.iter().map(fields).collect();
        let mut answer = object(json!({
            "tasks": tasks,
            "plan_version": found.plan_version,
            "next": found.next,
        }));
        if offer.task == Some(TaskRole::Planner) {
            answer.insert("staged".into(), found.staged.into());
            answer.insert("staged_cancellations".into(), found.cancelled.into());
        }
        Ok(answer)
    }
    .boxed()
}

/// Returns the fields of a task, without those that say nothing.
fn fields(task: &ListedTask) -> Value {
    let mut fields = object(json!({
        "key": task.key,
        "title": task.title,
        "kind": task.kind.as_str(),
        "status": task.status.as_str(),
    }));
    if let Some(step) = task.step {
        fields.insert("step".into(), step.as_str().into());
    }
    if task.round > 0 {
        fields.insert("sent_back".into(), task.round.into());
    }
    for (name, value) in [
        ("seat", &task.seat),
        ("waits_for", &task.waits_for),
        ("result", &task.result),
    ] {
        if let Some(value) = value {
            fields.insert(name.into(), value.clone().into());
        }
    }
    if let Some(content) = &task.content {
        fields.extend(object(json!({
            "description": content.description,
            "acceptance": content.acceptance,
            "role": content.role,
            "depends_on": content.depends_on,
            "writes": content.writes,
            "checks": content.checks,
        })));
        if !content.findings.is_empty() {
            let findings: Vec<Value> = content.findings.iter().map(finding_fields).collect();
            fields.insert("findings".into(), findings.into());
        }
    }
    Value::Object(fields)
}

/// Returns the fields of a finding, without those that say nothing.
fn finding_fields(finding: &TaskFinding) -> Value {
    let mut fields = object(json!({
        "id": finding.id,
        "severity": finding.severity.as_str(),
        "text": finding.text,
    }));
    if let Some(check) = &finding.check {
        fields.insert("check".into(), check.clone().into());
    }
    if let Some(criterion) = finding.criterion {
        fields.insert("criterion".into(), criterion.into());
    }
    Value::Object(fields)
}
