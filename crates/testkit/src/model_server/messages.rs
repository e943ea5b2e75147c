//! The messages API of the model server, which claude uses.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Reply, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    ModelRequest {
        user_texts: user_texts(body.get("messages"), "content"),
        call: None,
        format_response,
    }
}

fn format_response(body: &Value, reply: &Reply) -> Response {
    let text = reply.text();
    let message = |content: Value, stop_reason: Option<&str>| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        })
    };
    if body["stream"] != true {
        let content = json!([{"type": "text", "text": text}]);
        return Response::json(&message(content, Some("end_turn")));
    }
    Response::named_events(&[
        json!({"type": "message_start", "message": message(json!([]), None)}),
        json!({
            "type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""},
        }),
        json!({
            "type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text},
        }),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 1},
        }),
        json!({"type": "message_stop"}),
    ])
}
