//! A request for an answer of the model, for each API.

use serde_json::Value;

use super::http::Response;

/// The maximum number of quoted characters of each message.
const MAX_QUOTE_CHARS: usize = 120;

/// The first word of a message for which the model calls a tool: `call NAME ARGUMENTS`, with the arguments in JSON.
const CALL: &str = "call ";

/// A parsed request: the messages of the user, and the function that formats the response of its API.
pub(super) struct ModelRequest {
    pub(super) user_texts: Vec<String>,
    /// The call that the model answers with, in place of a text.
    pub(super) call: Option<ToolCall>,
    pub(super) format_response: fn(&Value, &Reply) -> Response,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolCall {
    /// The name of the tool, as the agent offers it.
    pub(super) name: String,
    /// The namespace of the tool, if the agent offers it in one.
    pub(super) namespace: Option<String>,
    /// The arguments in JSON.
    pub(super) arguments: String,
}

/// The answer of the model.
pub(super) enum Reply {
    Text(String),
    Call(ToolCall),
}

impl Reply {
    /// Returns the text. A call has none.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Call(_) => "",
        }
    }
}

/// Returns the call that the last message asks for, if that message is one of the user, and if one of the offered tools
/// has that name or ends with it.
pub(super) fn tool_call<'a>(
    last: Option<&Value>,
    mut offered: impl Iterator<Item = (Option<&'a str>, &'a str)>,
) -> Option<ToolCall> {
    let last = last.filter(|last| last["role"] == "user")?;
    let parts = last["content"].as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| part["text"].as_str());
    let texts = last["content"].as_str().into_iter().chain(parts);
    let text = texts
        .flat_map(str::lines)
        .find_map(|line| line.strip_prefix(CALL))?;
    let (tool, arguments) = text.split_once(' ')?;
    let (namespace, name) = offered.find(|(_, name)| name.ends_with(tool))?;
    Some(ToolCall {
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        arguments: arguments.to_owned(),
    })
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
