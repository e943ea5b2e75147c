//! A request for an answer of the model, for each API.

use serde_json::Value;

use super::http::Response;

/// The maximum number of quoted characters of each message.
const MAX_QUOTE_CHARS: usize = 120;

/// A parsed request: the messages of the user, and the function that formats the response of its API.
pub(super) struct ModelRequest {
    pub(super) user_texts: Vec<String>,
    pub(super) format_response: fn(&Value, &str) -> Response,
}

/// Returns the first line of each message of the user in an agent's list of messages. `content` is the field with the
/// text of a message. Skips messages without a text of the user.
pub(super) fn user_texts(messages: Option<&Value>, content: &str) -> Vec<String> {
    messages
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "user")
        .filter_map(|message| user_text(&message[content]))
        .map(|text| {
            let line = text.lines().next().unwrap_or_default();
            line.chars().take(MAX_QUOTE_CHARS).collect()
        })
        .collect()
}

/// Returns the text of a content, which is a string or a list of parts. In a list, the first part with a text counts.
/// Leaves out texts that begin with `<`, because the agent itself adds them as context.
fn user_text(content: &Value) -> Option<&str> {
    let parts = content.as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| part["text"].as_str());
    let mut texts = content.as_str().into_iter().chain(parts);
    texts.find(|text| !text.starts_with('<'))
}
