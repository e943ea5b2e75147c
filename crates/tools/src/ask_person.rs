//! The tool `ask_person`: a question to a person, whose answer is the next input of the agent.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    question::{DEFAULT_HOURS, LONGEST_HOURS, MAX_OPTIONS, OPTION_BYTES, TEXT_BYTES},
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{PersonQuestion, RunTools};

use crate::{
    reply::{self, Answer, ToolError},
    tool::Tool,
};

pub(crate) const ASK_PERSON: Tool = Tool {
    name: "ask_person",
    title: "Ask a person",
    description: |_| {
        "Asks a person. The call returns at once: end your turn if you need the answer. The answer comes as your next \
         message; without an answer until the deadline, your `default` comes instead. Repeating the same question in a \
         turn changes nothing. Limit: 3 questions in one turn."
    },
    input,
    needs: ToolAccess::All,
    needs_team: false,
    is_read_only: |_| false,
    call,
};

fn input(_: ToolAccess) -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "maxLength": TEXT_BYTES,
                "description": "The question. The person may know nothing but this text.",
            },
            "options": {
                "type": "array",
                "maxItems": MAX_OPTIONS,
                "items": { "type": "string", "maxLength": OPTION_BYTES },
                "description": "Answers that you propose. The person may answer otherwise.",
            },
            "default": {
                "type": "string",
                "maxLength": OPTION_BYTES,
                "description": "The answer that counts if nobody answers.",
            },
            "hours": {
                "type": "integer",
                "minimum": 1,
                "maximum": LONGEST_HOURS,
                "description": format!("The time for an answer, in hours. Default: {DEFAULT_HOURS}."),
            },
        },
        "required": ["question", "default"],
        "additionalProperties": false,
    })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    question: String,
    #[serde(default)]
    options: Vec<String>,
    default: String,
    #[serde(default)]
    hours: Option<u32>,
}

fn call(tools: &RunTools, _: ToolAccess, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let Input {
            question,
            options,
            default,
            hours,
        } = reply::read(input)?;
        let request = PersonQuestion {
            question,
            options,
            default,
            hours,
        };
        let asked = tools.ask_person(&request).await.map_err(|error| {
            let mut error = ToolError::from(error);
            if error.error == "limit" {
                error.advice = "go on without an answer, or ask in your answer".into();
            }
            error
        })?;
        let mut answer = Map::new();
        answer.insert("question".into(), asked.id.to_string().into());
        answer.insert("deadline".into(), asked.deadline_at.to_string().into());
        answer.insert("state".into(), asked.status().as_str().into());
        Ok(answer)
    }
    .boxed()
}
