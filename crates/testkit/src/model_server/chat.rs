//! The chat completions API of the model server.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Part, Reply, ScriptRule, next_call, texts, user_texts},
};

pub(super) fn parse_request(body: &Value, script: &[ScriptRule]) -> ModelRequest {
    let tools = body["tools"].as_array().into_iter().flatten();
    let messages = body["messages"].as_array().into_iter().flatten();
    let conversation: Vec<_> = messages.flat_map(parts).collect();
    ModelRequest {
        user_texts: user_texts(body.get("messages"), "content"),
        next: next_call(
            script,
            &conversation,
            tools.filter_map(|tool| Some((None, tool["function"]["name"].as_str()?))),
        ),
        format_response,
    }
}

fn parts(message: &Value) -> Vec<Part<'_>> {
    match message["role"].as_str() {
        Some("user") => texts(&message["content"]).map(Part::UserText).collect(),
        Some("tool") => vec![Part::ToolResult],
        _ => Vec::new(),
    }
}

fn format_response(body: &Value, reply: &Reply) -> Response {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let (message, reason) = match reply {
        Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Reply::Call(call) => (
            json!({"role": "assistant", "tool_calls": [{
                "index": 0, "id": format!("call_{}", call.number), "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }]}),
            "tool_calls",
        ),
    };
    if body["stream"] == true {
        let chunk = |choice: Value| {
            json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                "model": body["model"], "choices": [choice],
            })
        };
        let delta = json!({"index": 0, "delta": message, "finish_reason": null});
        let mut end = chunk(json!({"index": 0, "delta": {}, "finish_reason": reason}));
        end["usage"] = usage;
        return Response::events(&[
            format!("data: {}", chunk(delta)),
            format!("data: {end}"),
            "data: [DONE]".to_owned(),
        ]);
    }
    Response::json(&json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": body["model"],
        "choices": [{
            "index": 0, "message": message, "finish_reason": reason,
        }],
        "usage": usage,
    }))
}
