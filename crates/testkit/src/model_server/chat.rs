//! The chat completions API of the model server.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    ModelRequest {
        user_texts: user_texts(body.get("messages"), "content"),
        format_response,
    }
}

fn format_response(body: &Value, text: &str) -> Response {
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    if body["stream"] == true {
        let chunk = |choice: Value| {
            json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0,
                "model": body["model"], "choices": [choice],
            })
        };
        let delta = json!({
            "index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null,
        });
        let mut end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
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
