//! The API of the model server that gemini uses. Its path ends with the method, such as `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    ModelRequest {
        user_texts: user_texts(body.get("contents"), "parts"),
        call: None,
        format_response: |_, reply| Response::json(&response(reply.text())),
    }
}

pub(super) fn parse_stream_request(body: &Value) -> ModelRequest {
    ModelRequest {
        call: None,
        format_response: |_, reply| {
            Response::events(&[format!("data: {}", response(reply.text()))])
        },
        ..parse_request(body)
    }
}

fn response(text: &str) -> Value {
    json!({
        "candidates": [{
            "index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": [{"text": text}]},
        }],
        "usageMetadata": {
            "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2,
        },
    })
}
