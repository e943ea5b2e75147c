//! The chat completions API of the model server.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Reply, tool_call, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let tools = body["tools"].as_array().into_iter().flatten();
    let messages = body["messages"].as_array();
    ModelRequest {
        user_texts: user_texts(body.get("messages"), "content"),
        call: tool_call(
            messages.and_then(|messages| messages.last()),
            tools.filter_map(|tool| Some((None, tool["function"]["name"].as_str()?))),
        ),
        format_response,
    }
}

fn format_response(body: &Value, reply: &Reply) -> Response {
    let text = reply.text();
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    if body["stream"] == true {
        let chunk = |choice: Value| {
            json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                "model": body["model"], "choices": [choice],
            })
        };
        let (delta, reason) = match reply {
            Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Reply::Call(call) => (
                json!({"role": "assistant", "tool_calls": [{
                    "index": 0, "id": "call_1", "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }]}),
                "tool_calls",
            ),
        };
        let delta = json!({"index": 0, "delta": delta, "finish_reason": null});
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
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }],
        "usage": usage,
    }))
}
