//! The tool `update_task`: the result of a worker, and the cancellation of a task by a planner.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    goal::{
        TaskRole,
        text_limits::{FOLLOW_UP_BYTES, MAX_ARTIFACTS, RESULT_BYTES},
    },
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{RunTools, TaskResult, ToolOffer};
use store::StagedCancellation;

use super::error::{role_advice, task_error};
use crate::{
    reply::{self, Answer, ToolError, object},
    tool::{Offered, Tool},
};

pub(crate) const UPDATE: Tool = Tool {
    name: "update_task",
    title: "Report a task",
    description: |offer| {
        if is_planner(offer) {
            "Cancels a task and those behind it once your turn has succeeded, or withdraws a task of this turn."
        } else {
            "Reports the end of your task. The newest report counts when your turn ends, so end it then. Without this call, \
             your task has no result."
        }
    },
    input,
    needs: ToolAccess::All,
    offered: Offered::InTasks(&[TaskRole::Planner, TaskRole::Worker]),
    is_read_only: |_| false,
    call,
};

/// The time at which a withdrawal takes effect.
const WITHDRAWN: &str = "now: the plan no longer has this change";

fn is_planner(offer: ToolOffer) -> bool {
    offer.task == Some(TaskRole::Planner)
}

fn input(offer: ToolOffer) -> Value {
    if is_planner(offer) {
        return json!({
            "type": "object",
            "properties": {
                "task": { "type": "string", "description": "The key of the task." },
                "status": {
                    "type": "string",
                    "enum": ["cancelled", "kept"],
                    "description": "`kept` withdraws a cancellation.",
                },
            },
            "required": ["task", "status"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": {
            "task": { "type": "string", "description": "The key of your task. Default: that key." },
            "status": {
                "type": "string",
                "enum": ["done", "failed"],
                "description": "`done`: the acceptance lines are satisfied. `failed`: the task cannot be done.",
            },
            "result": {
                "type": "string",
                "maxLength": RESULT_BYTES,
                "description": "The facts that later tasks and the judge need, or the reason of the failure. Other seats know \
                                nothing else of your work.",
            },
            "artifacts": {
                "type": "array",
                "maxItems": MAX_ARTIFACTS,
                "items": { "type": "string" },
                "description": "Names of artifacts that `save_artifact` has saved.",
            },
            "follow_up": {
                "type": "string",
                "maxLength": FOLLOW_UP_BYTES,
                "description": "Further work that you propose to the planner.",
            },
        },
        "required": ["status"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    task: Option<String>,
    status: Status,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    artifacts: Vec<String>,
    #[serde(default)]
    follow_up: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Done,
    Failed,
    Cancelled,
    Kept,
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let input: Input = reply::read(input)?;
        match (input.status, is_planner(offer)) {
            (Status::Cancelled, true) => cancel(tools, offer, input.task).await,
            (Status::Kept, true) => keep(tools, offer, input.task).await,
            (Status::Done | Status::Failed, false) => report(tools, offer, input).await,
            (Status::Cancelled | Status::Kept, false) => Err(not_allowed(
                offer,
                "`status` is `cancelled` or `kept`, which only the planner uses; use done or failed",
            )),
            (Status::Done | Status::Failed, true) => Err(not_allowed(
                offer,
                "a plan needs no report, and other seats report their tasks; use the status cancelled or kept",
            )),
        }
    }
    .boxed()
}

/// Returns the key of a task that a planner names.
fn named(task: Option<String>) -> Result<String, ToolError> {
    let message = "`task` is missing: the key of a task is accepted";
    task.ok_or_else(|| ToolError::invalid(message))
}

async fn cancel(tools: &RunTools, offer: ToolOffer, task: Option<String>) -> Answer {
    let key = named(task)?;
    let staged = tools.cancel_task(&key).await;
    let (staged, takes_effect) = match staged.map_err(|error| task_error(error, offer))? {
        StagedCancellation::Staged(staged) => (staged, "when your turn has ended with success"),
        StagedCancellation::Withdrawn(staged) => (staged, WITHDRAWN),
    };
    Ok(object(
        json!({ "key": key, "staged": staged, "takes_effect": takes_effect }),
    ))
}

async fn keep(tools: &RunTools, offer: ToolOffer, task: Option<String>) -> Answer {
    let key = named(task)?;
    let staged = tools.keep_task(&key).await;
    let staged = staged.map_err(|error| task_error(error, offer))?;
    Ok(object(
        json!({ "key": key, "staged": staged, "takes_effect": WITHDRAWN }),
    ))
}

async fn report(tools: &RunTools, offer: ToolOffer, input: Input) -> Answer {
    let result = TaskResult {
        task: input.task,
        is_done: input.status == Status::Done,
        result: input.result,
        artifacts: input.artifacts,
        follow_up: input.follow_up,
    };
    let reported = tools.report_task(&result).await;
    let reported = reported.map_err(|error| task_error(error, offer))?;
    Ok(object(json!({
        "key": reported.key,
        "takes_effect": "at the end of your turn: end it now",
    })))
}

fn not_allowed(offer: ToolOffer, message: &str) -> ToolError {
    ToolError {
        error: "not_allowed",
        message: message.to_owned(),
        advice: role_advice(offer.task).to_owned(),
    }
}
