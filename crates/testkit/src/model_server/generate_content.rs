//! The API of the model server that gemini uses. Its path ends with the method, such as `:streamGenerateContent`.

use serde_json::{Value, json};

use super::{
    http::Response,
    model_request::{ModelRequest, user_texts},
};

pub(super) fn parse_request(body: &Value) -> ModelRequest {
    ModelRequest {
        user_texts: user_texts(body.get("contents"), "parts"),
        format_response: |_, text| Response::json(&response(text)),
    }
}

pub(super) fn parse_stream_request(body: &Value) -> ModelRequest {
    ModelRequest {
        format_response: |_, text| Response::events(&[format!("data: {}", response(text))]),
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
