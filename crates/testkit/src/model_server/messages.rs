//! The messages API of the model server, which claude uses.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, Part, Reply, ScriptRule, next_call, user_texts},
};

pub(super) fn parse_request(body: &Value, script: &[ScriptRule]) -> ModelRequest {
    let messages = body["messages"].as_array().into_iter().flatten();
    let conversation: Vec<_> = messages
        .filter(|message| message["role"] == "user")
        .flat_map(|message| parts(&message["content"]))
        .collect();
    let tools = body["tools"].as_array().into_iter().flatten();
    ModelRequest {
        user_texts: user_texts(body.get("messages"), "content"),
        next: next_call(
            script,
            &conversation,
            tools.filter_map(|tool| Some((None, tool["name"].as_str()?))),
        ),
        format_response,
    }
}

fn parts(content: &Value) -> Vec<Part<'_>> {
    let blocks = content.as_array().into_iter().flatten();
    let blocks = blocks.filter_map(|block| {
        if block["type"] == "tool_result" {
            Some(Part::ToolResult)
        } else {
            block["text"].as_str().map(Part::UserText)
        }
    });
    content
        .as_str()
        .map(Part::UserText)
        .into_iter()
        .chain(blocks)
        .collect()
}

fn format_response(body: &Value, reply: &Reply) -> Response {
    // Each kind of block begins empty in a stream, and its delta fills it.
    let (block, empty_block, delta, stop_reason) = match reply {
        Reply::Text(text) => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        Reply::Call(call) => {
            let block = |input: Value| {
                json!({
                    "type": "tool_use", "id": format!("toolu_{}", call.number), "name": call.name,
                    "input": input,
                })
            };
            (
                block(call.arguments_object()),
                block(json!({})),
                json!({"type": "input_json_delta", "partial_json": call.arguments}),
                "tool_use",
            )
        }
    };
    let message = |content: Value, stop_reason: Option<&str>| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        })
    };
    if body["stream"] != true {
        return Response::json(&message(json!([block]), Some(stop_reason)));
    }
    Response::named_events(&[
        json!({"type": "message_start", "message": message(json!([]), None)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty_block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason, "stop_sequence": null},
            "usage": {"output_tokens": 1},
        }),
        json!({"type": "message_stop"}),
    ])
}
