//! A request for an answer of the model, for each API.

use serde_json::Value;

use super::http::Response;

/// The maximum number of quoted characters of each message.
const MAX_QUOTE_CHARS: usize = 120;

/// The first word of each line for which the model calls a tool: `call NAME ARGUMENTS`, with the arguments in JSON.
const CALL: &str = "call ";

/// A parsed request: the messages of the user, and the function that formats the response of its API.
pub(super) struct ModelRequest {
    pub(super) user_texts: Vec<String>,
    pub(super) next: NextCall,
    pub(super) format_response: fn(&Value, &Reply) -> Response,
}

/// A rule of the script of a model: the calls that the model makes for a prompt.
#[derive(Debug, Clone)]
pub struct ScriptRule {
    /// The texts that a prompt must contain, each of them.
    pub texts: Vec<String>,
    /// The calls, one after the other, as `NAME ARGUMENTS`.
    pub calls: Vec<String>,
}

impl ScriptRule {
    fn covers(&self, prompt: &str) -> bool {
        self.texts.iter().all(|text| prompt.contains(text))
    }
}

/// The place of a request in the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptStep {
    /// The position of the rule in the script.
    pub rule: usize,
    /// The number of calls that have a result. It is 0 in the first request for a prompt.
    pub answered: usize,
}

/// The next step of the model.
#[derive(Default)]
pub(super) struct NextCall {
    /// The call that the model answers with. `None` if it answers with a text.
    pub(super) call: Option<ToolCall>,
    /// The place of the request in the script. `None` if no rule covers the prompt, or if the agent does not offer the tool.
    pub(super) step: Option<ScriptStep>,
}

/// A part of the conversation that an agent sends with each request.
pub(super) enum Part<'a> {
    UserText(&'a str),
    ToolResult,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolCall {
    /// The number of the call in the conversation, from 1.
    pub(super) number: usize,
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

impl ToolCall {
    /// Returns the arguments as an object.
    pub(super) fn arguments_object(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }
}

/// Returns the next call of the newest text that asks for calls, by its own lines or by a rule of the script: the first of
/// these calls that has no result yet. Returns none if each call has a result, or if the agent does not offer that tool.
pub(super) fn next_call<'a>(
    script: &[ScriptRule],
    conversation: &[Part<'_>],
    offered: impl Iterator<Item = (Option<&'a str>, &'a str)>,
) -> NextCall {
    let newest = conversation
        .iter()
        .enumerate()
        .rev()
        .find_map(|(position, part)| match part {
            Part::UserText(text) => Some((position, calls_for(script, text)?)),
            Part::ToolResult => None,
        });
    let Some((position, (rule, calls))) = newest else {
        return NextCall::default();
    };
    let answered = count_results(&conversation[position..]);
    let step = rule.map(|rule| ScriptStep { rule, answered });
    let Some(call) = calls.get(answered) else {
        return NextCall { call: None, step };
    };
    let call = offered_call(call, offered).map(|(namespace, name, arguments)| ToolCall {
        number: count_results(conversation) + 1,
        name,
        namespace,
        arguments,
    });
    let step = step.filter(|_| call.is_some());
    NextCall { call, step }
}

fn count_results(parts: &[Part<'_>]) -> usize {
    let results = parts.iter().filter(|part| matches!(part, Part::ToolResult));
    results.count()
}

/// Returns the calls for a text, and the position of the rule that has them. Returns `None` if there are none.
fn calls_for<'a>(script: &'a [ScriptRule], text: &'a str) -> Option<(Option<usize>, Vec<&'a str>)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(CALL));
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        return Some((None, lines));
    }
    let position = script.iter().position(|rule| rule.covers(text))?;
    let calls = script[position].calls.iter().map(String::as_str);
    Some((Some(position), calls.collect()))
}

/// Returns the namespace, the name and the arguments of a call of an offered tool.
fn offered_call<'a>(
    call: &str,
    mut offered: impl Iterator<Item = (Option<&'a str>, &'a str)>,
) -> Option<(Option<String>, String, String)> {
    let (tool, arguments) = call.split_once(' ')?;
    let (namespace, name) = offered.find(|(_, name)| is_tool(name, tool))?;
    Some((
        namespace.map(str::to_owned),
        name.to_owned(),
        arguments.to_owned(),
    ))
}

/// Returns `true` if the name of an offered tool is this one, alone or after the name of its server.
fn is_tool(offered: &str, tool: &str) -> bool {
    offered
        .strip_suffix(tool)
        .is_some_and(|server| !server.ends_with(char::is_alphanumeric))
}

/// Returns the texts of a content, which is a string or a list of parts.
pub(super) fn texts(content: &Value) -> impl Iterator<Item = &str> {
    let parts = content.as_array().into_iter().flatten();
    let parts = parts.filter_map(|part| part["text"].as_str());
    content.as_str().into_iter().chain(parts)
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
    texts(content).find(|text| !text.starts_with('<'))
}
