//! The tools `save_artifact`, `list_artifacts` and `get_artifact`: files and addresses for people and for later turns.

use futures::future::{BoxFuture, FutureExt as _};
use model::{
    artifact::{Artifact, ArtifactContent},
    tools::ToolAccess,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{ArtifactCopy, ArtifactSave, ArtifactSource, Error, RunTools, ToolOffer};

use crate::{
    reply::{self, Answer, ToolError, object},
    tool::{Offered, Tool},
};

pub(crate) const SAVE: Tool = Tool {
    name: "save_artifact",
    title: "Hand in a file",
    description: |offer| {
        if offer.task.is_some() {
            return "Hands in a result: a file (`path`), a `text` or an address (`uri`). Other content under a name makes its \
                    next version. Limits: 100 MiB a file, 50 in one turn.";
        }
        "Hands in a result for people and later turns: a file (`path`), a `text` or an address (`uri`). Other content \
         under a name makes its next version; the same content changes nothing. Limits: 100 MiB for each file, 50 in \
         one turn."
    },
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "maxLength": 200, "description": "The name in this session." },
                "path": { "type": "string", "description": "A file in the working directory. No links." },
                "text": { "type": "string", "maxLength": 1_048_576, "description": "The content itself." },
                "uri": { "type": "string", "maxLength": 2048, "description": "An address; it is not fetched." },
                "media_type": { "type": "string", "description": "Such as text/markdown." },
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::All,
    offered: Offered::Always,
    is_read_only: |_| false,
    call: save,
};

pub(crate) const LIST: Tool = Tool {
    name: "list_artifacts",
    title: "List artifacts",
    description: |_| "Lists this session's artifacts, each version, newest first.",
    input: |_| {
        json!({
            "type": "object",
            "properties": {
                "prefix": { "type": "string", "description": "The beginning of the names." },
                "after": { "type": "string", "description": "`next` of the answer before." },
            },
            "additionalProperties": false,
        })
    },
    needs: ToolAccess::Read,
    offered: Offered::Always,
    is_read_only: |_| true,
    call: list,
};

pub(crate) const GET: Tool = Tool {
    name: "get_artifact",
    title: "Get an artifact",
    description: |_| "Returns an artifact. Text up to 64 KiB is in the answer.",
    input: |offer| {
        let mut input = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The name." },
                "version": { "type": "integer", "description": "Default: the newest." },
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        // An agent that may only read writes no file.
        if offer.access == ToolAccess::All {
            input["properties"]["path"] = json!({
                "type": "string",
                "description": "A new file in the working directory.",
            });
        }
        input
    },
    needs: ToolAccess::Read,
    offered: Offered::Always,
    is_read_only: |offer| offer.access != ToolAccess::All,
    call: get,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveInput {
    name: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    media_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListInput {
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GetInput {
    name: String,
    #[serde(default)]
    version: Option<i64>,
    #[serde(default)]
    path: Option<String>,
}

/// Returns the error of a save. In the turn of a task, no person reads an answer that asks for room.
fn save_error(error: Error, offer: ToolOffer) -> ToolError {
    let mut error = ToolError::from(error);
    if error.error == "limit" && offer.task.is_some() {
        error.advice = "report with those that are saved, then end your turn".into();
    }
    error
}

fn save(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let input: SaveInput = reply::read(input)?;
        let source = match (input.path, input.text, input.uri) {
            (Some(path), None, None) => ArtifactSource::Path(path),
            (None, Some(text), None) => ArtifactSource::Text(text),
            (None, None, Some(uri)) => ArtifactSource::Uri(uri),
            (None, None, None) => {
                let message = "`path`, `text` and `uri` are missing: exactly one is accepted";
                return Err(ToolError::invalid(message));
            }
            _ => {
                let message =
                    "of `path`, `text` and `uri` there are several: exactly one is accepted";
                return Err(ToolError::invalid(message));
            }
        };
        let request = ArtifactSave {
            name: input.name,
            source,
            media_type: input.media_type,
        };
        let saved = tools.save_artifact(&request).await;
        let saved = saved.map_err(|error| save_error(error, offer))?;
        Ok(fields(&saved))
    }
    .boxed()
}

fn list(tools: &RunTools, _: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let ListInput { prefix, after } = reply::read(input)?;
        let page = tools
            .list_artifacts(prefix.as_deref(), after.as_deref())
            .await?;
        let items: Vec<_> = page.items.iter().map(fields).collect();
        Ok(object(json!({ "artifacts": items, "next": page.next })))
    }
    .boxed()
}

fn get(tools: &RunTools, offer: ToolOffer, input: Map<String, Value>) -> BoxFuture<'_, Answer> {
    async move {
        let input: GetInput = reply::read(input)?;
        if input.path.is_some() && offer.access != ToolAccess::All {
            return Err(ToolError {
                error: "not_allowed",
                message: "`path` is not accepted: this agent may only read".into(),
                advice: "call the tool without `path`".into(),
            });
        }
        let path = input.path.as_deref();
        let got = tools.get_artifact(&input.name, input.version, path);
        let (artifact, copy) = got.await?;
        let mut answer = fields(&artifact);
        match copy {
            ArtifactCopy::Text(text) => {
                answer.insert("text".into(), text.into());
            }
            ArtifactCopy::File => {
                answer.insert("path".into(), path.into());
            }
            // It is one of the fields of each artifact.
            ArtifactCopy::Uri(_) => {}
        }
        Ok(answer)
    }
    .boxed()
}

fn fields(artifact: &Artifact) -> Map<String, Value> {
    let mut fields = object(json!({
        "artifact": artifact.id,
        "name": artifact.name,
        "version": artifact.version,
        "media_type": artifact.media_type,
        "created_at": artifact.created_at,
    }));
    match &artifact.content {
        ArtifactContent::Stored { sha256, size, .. } => {
            fields.insert("sha256".into(), sha256.to_string().into());
            fields.insert("size".into(), (*size).into());
        }
        ArtifactContent::Uri(uri) => {
            fields.insert("uri".into(), uri.clone().into());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use model::goal::TaskRole;

    use super::*;

    #[test]
    fn task_with_too_many_artifacts_reports() {
        let advice = |task| {
            let limit = store::Error::LimitReached {
                what: "artifacts in a turn",
                limit: 50,
            };
            let offer = ToolOffer {
                task,
                ..ToolOffer::NONE
            };
            save_error(Error::Store(limit), offer).advice
        };
        assert!(advice(None).contains("ask a person"));
        assert!(advice(Some(TaskRole::Worker)).starts_with("report with those"));
    }
}
