//! The responses API of the model server.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    let texts = match &body["input"] {
        Value::String(text) => {
            user_texts(Some(&json!([{"role": "user", "content": text}])), "content")
        }
        messages => user_texts(Some(messages), "content"),
    };
    ModelRequest {
        user_texts: texts,
        format_response,
    }
}

fn format_response(body: &Value, text: &str) -> Response {
    let item = |status: &str, content: Value| {
        json!({
            "type": "message", "id": "msg_1", "role": "assistant",
            "status": status, "content": content,
        })
    };
    let done = item(
        "completed",
        json!([{"type": "output_text", "text": text, "annotations": []}]),
    );
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
