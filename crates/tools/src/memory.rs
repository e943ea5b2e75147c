//! The tools `remember`, `recall` and `forget`: facts for later turns.

use futures::future::FutureExt as _;
use model::{caller_name::display_name, tools::ToolAccess};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Remember, RunTools};
use store::{MemorySearch, RecalledEntry};

use crate::{
    reply::{self, Answer, object},
    tool::{Offered, Tool},
};

pub(crate) const REMEMBER: Tool = Tool {
    name: "remember",
    title: "Remember a fact",
    description: |offer| {
        if offer.task.is_some() {
            return "Keeps a fact for all later turns of this goal. Writing a key again replaces its value. Keep results and \
                    decisions, not documents. Limit: 50 in one turn.";
        }
        "Keeps a fact for later turns, of other sessions of this automation too. Writing a key again replaces its value. \
         Keep results, decisions and preferences, not whole documents. Limits: 50 entries in one turn, 1,000 in all."
    },
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "key": {
                    "type": "string",
                    "maxLength": 200,
                    "description": "Such as build.last_failure.",
                },
                "value": { "type": "string", "maxLength": 16384, "description": "The fact." },
                "confidence": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 1,
                    "description": "How sure you are. Default: 1.",
                },
                "ttl_hours": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 8760,
                    "description": "Hours until it is forgotten. Default: never.",
                },
            },
            "required": ["key", "value"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::Always,
    is_read_only: |_| false,
    call: |tools, _, input| remember(tools, input).boxed(),
};

pub(crate) const RECALL: Tool = Tool {
    name: "recall",
    title: "Recall facts",
    description: |offer| {
        if offer.task.is_some() {
            return "Returns facts of this goal, newest first; without input, the last 20. `unconfirmed` marks a fact of a \
                    run that has not succeeded.";
        }
        "Returns facts that were remembered for this session and for the automations that run in it, the newest first. \
         Without input, it returns the last 20. `unconfirmed` marks a fact of a run that has not succeeded."
    },
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "key": { "type": "string", "description": "Only this key." },
                "prefix": { "type": "string", "description": "Only keys that begin so." },
                "text": { "type": "string", "description": "Only keys or values with this text." },
                "min_confidence": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 1,
                    "description": "Only facts that are at least so sure.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "description": "Default: 20.",
                },
            },
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::Read,
    offered: Offered::Always,
    is_read_only: |_| true,
    call: |tools, _, input| recall(tools, input).boxed(),
};

pub(crate) const FORGET: Tool = Tool {
    name: "forget",
    title: "Forget a fact",
    description: |_| "Deletes a fact that is wrong or useless.",
    input: |_| {
        json!({
            "type": "object",
            "properties": { "key": { "type": "string", "description": "The key of the fact." } },
            "required": ["key"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::Always,
    is_read_only: |_| false,
    call: |tools, _, input| forget(tools, input).boxed(),
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberInput {
    key: String,
    value: String,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    ttl_hours: Option<u32>,
}

async fn remember(tools: &RunTools, input: Map<String, Value>) -> Answer {
    let RememberInput {
        key,
        value,
        confidence,
        ttl_hours,
    } = reply::read(input)?;
    let request = Remember {
        key,
        value,
        confidence,
        ttl_hours,
    };
    let entry = tools.remember(&request).await?;
    Ok(object(json!({
        "key": entry.key,
        "version": entry.version,
        "replaced": entry.version > 1,
        "expires_at": entry.expires_at,
    })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallInput {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    min_confidence: Option<f64>,
    #[serde(default)]
    limit: Option<u32>,
}

async fn recall(tools: &RunTools, input: Map<String, Value>) -> Answer {
    let input: RecallInput = reply::read(input)?;
    let search = MemorySearch {
        key: input.key,
        prefix: input.prefix,
        text: input.text,
        min_confidence: input.min_confidence,
        limit: 0,
    };
    let recalled = tools.recall(search, input.limit).await?;
    let entries: Vec<_> = recalled.entries.iter().map(entry_fields).collect();
    let mut answer = object(json!({ "entries": entries }));
    if recalled.has_more {
        answer.insert("more".into(), true.into());
        answer.insert(
            "note".into(),
            "more facts match: name a key or a prefix".into(),
        );
    }
    Ok(answer)
}

fn entry_fields(recalled: &RecalledEntry) -> Value {
    let RecalledEntry { entry, automation } = recalled;
    let mut fields = object(json!({
        "key": entry.key,
        "value": entry.value,
        "confidence": entry.confidence,
        "version": entry.version,
        "author": display_name(entry.author.name()),
        "updated_at": entry.updated_at,
    }));
    match automation {
        Some(name) => fields.insert("automation".into(), name.as_str().into()),
        None => fields.insert("of_session".into(), true.into()),
    };
    if let Some(end) = entry.expires_at {
        fields.insert("expires_at".into(), end.to_string().into());
    }
    if entry.is_unconfirmed {
        fields.insert("unconfirmed".into(), true.into());
    }
    Value::Object(fields)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForgetInput {
    key: String,
}

async fn forget(tools: &RunTools, input: Map<String, Value>) -> Answer {
    let ForgetInput { key } = reply::read(input)?;
    let removed = tools.forget(&key).await?;
    Ok(object(json!({ "key": key, "removed": removed })))
}
