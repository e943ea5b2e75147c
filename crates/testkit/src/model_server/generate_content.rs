//! The API of the model server that gemini uses. Its path ends with the method, such as `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Part, Reply, ScriptRule, next_call, user_texts},
};

pub(super) fn parse_request(body: &Value, script: &[ScriptRule]) -> ModelRequest {
    let contents = body["contents"].as_array().into_iter().flatten();
    let conversation: Vec<_> = contents
        .filter(|content| content["role"] != "model")
        .flat_map(|content| parts(&content["parts"]))
        .collect();
    let tools = body["tools"].as_array().into_iter().flatten();
    let functions = tools.flat_map(|tool| {
        tool["functionDeclarations"]
            .as_array()
            .into_iter()
            .flatten()
    });
    ModelRequest {
        user_texts: user_texts(body.get("contents"), "parts"),
        next: next_call(
            script,
            &conversation,
            functions.filter_map(|function| Some((None, function["name"].as_str()?))),
        ),
        format_response: |_, reply| Response::json(&response(reply)),
    }
}

pub(super) fn parse_stream_request(body: &Value, script: &[ScriptRule]) -> ModelRequest {
    ModelRequest {
        format_response: |_, reply| Response::events(&[format!("data: {}", response(reply))]),
        ..parse_request(body, script)
    }
}

fn parts(content: &Value) -> Vec<Part<'_>> {
    let parts = content.as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| match part.get("functionResponse") {
        Some(_) => Some(Part::ToolResult),
        None => part["text"].as_str().map(Part::UserText),
    });
    parts.collect()
}

fn response(reply: &Reply) -> Value {
    let part = match reply {
        Reply::Text(text) => json!({"text": text}),
        Reply::Call(call) => {
            json!({"functionCall": {"name": call.name, "args": call.arguments_object()}})
        }
    };
    json!({
        "candidates": [{
            "index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]},
        }],
        "usageMetadata": {
            "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2,
        },
    })
}
