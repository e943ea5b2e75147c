//! The tool `create_task`.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    goal::{
        NewTask, TaskRole,
        text_limits::{
            ACCEPTANCE_BYTES, DESCRIPTION_BYTES, ITEM_BYTES, KEY_BYTES, MAX_ACCEPTANCE, MAX_CHECKS,
            MAX_DEPENDS_ON, MAX_ITEMS, MAX_PRIORITY, MAX_REPLACES, MAX_WRITES, TITLE_BYTES,
        },
    },
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{RunTools, ToolOffer};

use super::error::task_error;
use crate::{
    reply::{self, Answer, object},
    tool::{Offered, Tool},
};

pub(crate) const CREATE: Tool = Tool {
    name: "create_task",
    title: "Create a task",
    description: |_| "Adds a task to the plan, or replaces this turn's with the same `key`. The tasks start once your turn has succeeded.",
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "key": {
                    "type": "string",
                    "maxLength": KEY_BYTES,
                    "description": "A new name: letters, digits, `-`, `_` and `.`.",
                },
                "title": { "type": "string", "maxLength": TITLE_BYTES, "description": "One line for lists." },
                "description": {
                    "type": "string",
                    "maxLength": DESCRIPTION_BYTES,
                    "description": "Objective, output, sources and boundary. The seat knows only this and the results of \
                                    `depends_on`.",
                },
                "role": { "type": "string", "description": "Such as `worker`." },
                "depends_on": {
                    "type": "array",
                    "maxItems": MAX_DEPENDS_ON,
                    "items": { "type": "string" },
                    "description": "Keys of tasks that must end first.",
                },
                "acceptance": {
                    "type": "array",
                    "maxItems": MAX_ACCEPTANCE,
                    "items": { "type": "string", "maxLength": ACCEPTANCE_BYTES },
                    "description": "Lines that the result must satisfy.",
                },
                "checks": {
                    "type": "array",
                    "maxItems": MAX_CHECKS,
                    "items": { "type": "string" },
                    "description": "Names of the team's checks.",
                },
                "writes": {
                    "type": "array",
                    "maxItems": MAX_WRITES,
                    "items": { "type": "string" },
                    "description": "Paths. Tasks with common paths run one by one.",
                },
                "replaces": {
                    "type": "array",
                    "maxItems": MAX_REPLACES,
                    "items": { "type": "string" },
                    "description": "Keys of open or failed tasks.",
                },
                "priority": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_PRIORITY,
                    "description": "0 starts first. Default: 5.",
                },
                "optional": { "type": "boolean", "description": "The goal can do without it." },
                "review": { "type": "boolean", "description": "The judge must accept it." },
                "each": {
                    "type": "array",
                    "maxItems": MAX_ITEMS,
                    "items": { "type": "string", "maxLength": ITEM_BYTES },
                    "description": "One task for each item, which replaces `{item}` in the texts.",
                },
            },
            "required": ["key", "title", "description", "role"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::InTasks(&[TaskRole::Planner]),
    is_read_only: |_| false,
    call,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
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
    #[serde(default)]
    writes: Option<Vec<String>>,
    #[serde(default)]
    replaces: Vec<String>,
    #[serde(default)]
    priority: Option<u8>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    review: bool,
    #[serde(default)]
    each: Vec<String>,
}

impl Input {
    fn into_task(self) -> NewTask {
        let defaults = NewTask::new(&self.key, &self.role);
        NewTask {
            title: self.title,
            description: self.description,
            depends_on: self.depends_on,
            acceptance: self.acceptance,
            checks: self.checks,
            writes: self.writes,
            replaces: self.replaces,
            priority: self.priority.unwrap_or(defaults.priority),
            optional: self.optional,
            review: self.review,
            each: self.each,
            ..defaults
        }
    }
}

fn call(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let input: Input = reply::read(input)?;
        let new = input.into_task();
        let staged = tools.create_task(&new).await;
        let staged = staged.map_err(|error| task_error(error, offer))?;
        let mut answer = object(json!({ "key": new.key, "staged": staged.staged }));
        if !staged.unresolved.is_empty() {
            let unresolved: Vec<_> = staged.unresolved.iter().map(ToString::to_string).collect();
            let note = format!(
                "{}: the plan is refused unless this turn makes a task with that key",
                unresolved.join("; ")
            );
            answer.insert("note".into(), note.into());
        }
        Ok(answer)
    }
    .boxed()
}
