//! The responses API of the model server.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Part, Reply, ScriptRule, next_call, texts, user_texts},
};

pub(super) fn parse_request(body: &Value, script: &[ScriptRule]) -> ModelRequest {
    let texts = match &body["input"] {
        Value::String(text) => {
            user_texts(Some(&json!([{"role": "user", "content": text}])), "content")
        }
        messages => user_texts(Some(messages), "content"),
    };
    let tools = body["tools"].as_array().into_iter().flatten();
    let input = body["input"].as_array().into_iter().flatten();
    let conversation: Vec<_> = input.flat_map(parts).collect();
    ModelRequest {
        user_texts: texts,
        next: next_call(script, &conversation, tools.flat_map(offered_tools)),
        format_response,
    }
}

fn parts(item: &Value) -> Vec<Part<'_>> {
    if item["type"] == "function_call_output" {
        return vec![Part::ToolResult];
    }
    if item["role"] == "user" {
        return texts(&item["content"]).map(Part::UserText).collect();
    }
    Vec::new()
}

/// Returns the tools of an item of the list: one, or those of a namespace.
fn offered_tools(item: &Value) -> Vec<(Option<&str>, &str)> {
    let name = item["name"].as_str();
    match item["tools"].as_array() {
        Some(tools) => tools
            .iter()
            .filter_map(|tool| Some((name, tool["name"].as_str()?)))
            .collect(),
        None => name.map(|name| (None, name)).into_iter().collect(),
    }
}

fn format_response(body: &Value, reply: &Reply) -> Response {
    let text = reply.text();
    let item = |status: &str, content: Value| {
        json!({
            "type": "message", "id": "msg_1", "role": "assistant",
            "status": status, "content": content,
        })
    };
    let done = match reply {
        Reply::Text(text) => item(
            "completed",
            json!([{"type": "output_text", "text": text, "annotations": []}]),
        ),
        Reply::Call(call) => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{}", call.number),
                "call_id": format!("call_{}", call.number), "status": "completed",
                "name": call.name, "arguments": call.arguments,
            });
            if let Some(namespace) = &call.namespace {
                item["namespace"] = json!(namespace);
            }
            item
        }
    };
    let response = |status: &str, output: &[&Value]| {
        json!({
            "id": "resp_1", "object": "response", "created_at": 0, "status": status,
            "model": body["model"], "output": output,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        })
    };
    let completed = response("completed", &[&done]);
    if body["stream"] != true {
        return Response::json(&completed);
    }
    if matches!(reply, Reply::Call(_)) {
        return Response::named_events(&[
            json!({"type": "response.created", "response": response("in_progress", &[])}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": done}),
            json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
            json!({"type": "response.completed", "response": completed}),
        ]);
    }
    Response::named_events(&[
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({
            "type": "response.output_item.added", "output_index": 0,
            "item": item("in_progress", json!([])),
        }),
        json!({
            "type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
            "content_index": 0, "delta": text,
        }),
        json!({"type": "response.output_item.done", "output_index": 0, "item": done}),
        json!({"type": "response.completed", "response": completed}),
    ])
}
