//! A call for an answer, whichever API it comes by.

use serde_json::Value;

use super::http::Response;

/// How many characters of each request are quoted.
const MAX_QUOTE_CHARS: usize = 120;

/// What an API makes of a request: the things a person asked, and how the answer is written.
pub(super) struct ModelRequest {
    pub(super) user_texts: Vec<String>,
    pub(super) format_response: fn(&Value, &str) -> Response,
}

/// Takes what a person asked out of the list of messages that an agent sends: the first line of
/// each message of the user. Those that begin with `<` are context that the agent itself adds.
pub(super) fn user_texts(messages: Option<&Value>) -> Vec<String> {
    messages
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "user")
        .filter_map(|message| text(&message["content"]))
        .filter(|text| !text.starts_with('<'))
        .map(|text| {
            let line = text.lines().next().unwrap_or_default();
            line.chars().take(MAX_QUOTE_CHARS).collect()
        })
        .collect()
}

/// Reads content that is a text or a list of parts, of which the first with a text counts.
pub(super) fn text(content: &Value) -> Option<&str> {
    let parts = || content.as_array().into_iter().flatten();
    content
        .as_str()
        .or_else(|| parts().find_map(|part| part["text"].as_str()))
}
