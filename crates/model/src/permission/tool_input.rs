//! The commands in the raw input of a tool call. Each agent has a form of its own.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::shell::{self, CommandSearch};

/// The fields with one command, in lower case and without `_` and `-`. So are all fields whose names end with `command`
/// or `cmd`.
const COMMAND_FIELDS: [&str; 6] = [
    "argv",
    "bashscript",
    "cmdline",
    "commandline",
    "script",
    "shellscript",
];

/// The fields with a list of commands.
const LIST_FIELDS: [&str; 3] = ["cmds", "commands", "scripts"];

/// The ends of the names of fields with more words of the command beside them.
const ARGUMENT_FIELD_ENDS: [&str; 4] = ["args", "arguments", "parameters", "params"];

/// The beginnings of the names of fields with variables, whose own names may be those of harmless fields, such as `PATH`.
const VARIABLE_FIELDS: [&str; 2] = ["env", "var"];

/// The highest number of fields of arguments with which a command is tried one by one.
const MAX_ARGUMENT_FIELDS: usize = 8;

/// The highest total size of the commands of one raw input, in bytes and values. Each command has a copy of the arguments
/// beside it, so many commands and long arguments would otherwise take time without end.
const MAX_COMMANDS_SIZE: usize = 4 << 20;

/// The fields that do not change what a command beside, above or below them does. All other fields may hold variables,
/// an input or another program.
const HARMLESS_FIELDS: [&str; 63] = [
    "approvalid",
    "approvedexecpolicyamendment",
    "availabledecisions",
    "background",
    "blocking",
    "callid",
    "completedatms",
    "currentworkingdirectory",
    "cwd",
    "description",
    "dir",
    "directory",
    "dirpath",
    "explanation",
    "id",
    "initialwait",
    "isbackground",
    "justification",
    "kind",
    "login",
    "maxoutputlength",
    "maxoutputtokens",
    "maxwaitseconds",
    "mode",
    "name",
    "outputbytelimit",
    "path",
    "processid",
    "proposedexecpolicyamendment",
    "purpose",
    "query",
    "reason",
    "requestid",
    "requiresapproval",
    "risk",
    "risklevel",
    "risklevelreason",
    "runinbackground",
    "securityrisk",
    "server",
    "sessionid",
    "source",
    "startedatms",
    "summary",
    "threadid",
    "timeout",
    "timeoutms",
    "timeoutsec",
    "timeoutsecs",
    "timeoutseconds",
    "title",
    "tool",
    "toolcallid",
    "toolname",
    "tooluseid",
    "tty",
    "turnid",
    "type",
    "wait",
    "workdir",
    "workingdir",
    "workingdirectory",
    "yieldtimems",
];

/// The operations of file editors that name them in a field `command`. None of them is a command of a shell.
const EDITOR_OPERATIONS: [&str; 6] = [
    "create",
    "insert",
    "str_replace",
    "undo_edit",
    "view",
    "write",
];

/// A command in the raw input of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// A text for a shell.
    Text(String),
    /// A program and its arguments.
    Words(Vec<String>),
    /// The texts of a value that is no command in a known form.
    Unreadable(Vec<String>),
}

impl Command {
    /// Returns the words of the one program that the command runs. Returns `None` if that is uncertain.
    pub(super) fn certain_words(&self) -> Option<Vec<String>> {
        match self {
            Self::Text(text) => shell::unwrap(shell::plain_words(text)?),
            Self::Words(words) => {
                let program = shell::unwrap(words.clone())?;
                // The script of a shell has been checked when it was split.
                (program != *words || shell::are_plain_words(words)).then_some(program)
            }
            Self::Unreadable(_) => None,
        }
    }

    /// Returns the words of every command that it might run. Returns `None` if they are too many or too deep.
    pub(super) fn commands_inside(&self) -> Option<HashSet<Vec<String>>> {
        let mut search = CommandSearch::default();
        if let Self::Words(words) = self {
            search.search_words(words)?;
        }
        for text in self.raw_texts() {
            search.search_text(&text)?;
        }
        Some(search.found)
    }

    /// Returns the texts as the agent wrote them, and words joined, because the agent may join them for a shell.
    pub(super) fn raw_texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Words(words) => vec![words.join(" ")],
            Self::Unreadable(texts) => [texts.clone(), vec![texts.join(" ")]].concat(),
        }
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Words(texts) | Self::Unreadable(texts) => {
                texts.iter().map(|it| it.len() + 1).sum()
            }
        }
    }
}

/// Returns the commands in a raw input: the fields of commands in the object itself and in all objects below it.
/// Returns `None` if they are too large.
pub(super) fn find_commands(input: &Value) -> Option<Vec<Command>> {
    let mut found = Vec::new();
    let mut size = 0;
    // A list and not recursion, because the depth is the agent's.
    let mut pending = vec![input];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                pending.extend(fields.values());
                let commands: Vec<_> = fields
                    .iter()
                    .flat_map(|(name, value)| commands_of_field(name, value))
                    .collect();
                // Objects inside objects would otherwise be measured again and again.
                if commands.is_empty() {
                    continue;
                }
                let arguments = arguments_in(fields);
                let copies = arguments.len().min(MAX_ARGUMENT_FIELDS) + 1;
                let arguments_size = arguments.iter().map(|it| size_of(it)).sum::<usize>();
                // The measurement counts once, and each copy before it is made.
                size += arguments_size;
                for command in commands {
                    size += copies * (command.size() + arguments_size);
                    if size > MAX_COMMANDS_SIZE {
                        return None;
                    }
                    found.extend(with_arguments_of(command, &arguments));
                }
            }
            Value::Array(values) => pending.extend(values),
            _ => {}
        }
    }
    let unknown = unknown_values(input);
    if !found.is_empty() && !unknown.is_empty() {
        found.push(unreadable(Vec::new(), &unknown));
    }
    Some(found)
}

/// Returns the values that may change what the commands of a raw input do. A command among them is uncertain, because
/// a variable, for example, can make a harmless program run another one.
fn unknown_values(input: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut pending = vec![(input, false)];
    while let Some((value, is_known)) = pending.pop() {
        match value {
            Value::Object(fields) => {
                let has_own_command = fields.iter().any(is_command_field);
                for (name, value) in fields {
                    let is_known = is_command_field((name, value))
                        || is_harmless(name)
                        || (has_own_command && is_argument_field(name));
                    // A field without a command of its own may hold the command, unless it stands beside one.
                    let may_hold = !has_own_command && !is_variable_field(name);
                    if is_known || (may_hold && has_command(value)) {
                        pending.push((value, is_known));
                    } else if !is_unset(value) {
                        found.push(value);
                    }
                }
            }
            Value::Array(values) => pending.extend(values.iter().map(|it| (it, is_known))),
            value if !is_known && !is_unset(value) => found.push(value),
            _ => {}
        }
    }
    found
}

fn is_harmless(name: &str) -> bool {
    HARMLESS_FIELDS.contains(&plain_name(name).as_str())
}

fn is_variable_field(name: &str) -> bool {
    let name = plain_name(name);
    VARIABLE_FIELDS
        .iter()
        .any(|beginning| name.starts_with(beginning))
}

fn is_argument_field(name: &str) -> bool {
    let name = plain_name(name);
    ARGUMENT_FIELD_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns the strings of a raw input that is no object. It has no fields that could hold a command.
pub(super) fn bare_texts(input: &Value) -> Vec<String> {
    if input.is_object() {
        Vec::new()
    } else {
        all_texts(input)
    }
}

fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|it| !matches!(it, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the commands of a field. Returns none if the field has another purpose, or if its value is objects whose own
/// fields have the commands.
fn commands_of_field(name: &str, value: &Value) -> Vec<Command> {
    let name = plain_name(name);
    if LIST_FIELDS.contains(&name.as_str())
        && let Value::Array(values) = value
    {
        let commands = values.iter().filter(|it| !is_container(it));
        return commands.map(command_of_value).collect();
    }
    if !is_command_name(&name) || value.is_null() {
        return Vec::new();
    }
    match value {
        // The search goes on in the objects.
        value if is_container(value) && has_command(value) => Vec::new(),
        Value::String(text) if EDITOR_OPERATIONS.contains(&text.as_str()) => Vec::new(),
        value => vec![command_of_value(value)],
    }
}

fn is_command_name(plain_name: &str) -> bool {
    plain_name.ends_with("command")
        || plain_name.ends_with("cmd")
        || COMMAND_FIELDS.contains(&plain_name)
        || LIST_FIELDS.contains(&plain_name)
}

/// Returns `true` if [`find_commands`] finds a command. Takes linear time and does not look at the meaning of commands,
/// because the depth of the objects is the agent's.
fn has_command(input: &Value) -> bool {
    let mut pending = vec![input];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) if fields.iter().any(is_command_field) => return true,
            Value::Object(fields) => pending.extend(fields.values()),
            Value::Array(values) => pending.extend(values),
            _ => {}
        }
    }
    false
}

/// Returns `true` if [`commands_of_field`] finds a command for the field, or if it leaves the commands to the objects in
/// the field.
fn is_command_field((name, value): (&String, &Value)) -> bool {
    let name = plain_name(name);
    match value {
        Value::Null => false,
        Value::String(text) if EDITOR_OPERATIONS.contains(&text.as_str()) => false,
        Value::Array(values) if LIST_FIELDS.contains(&name.as_str()) => {
            values.iter().any(|it| !is_container(it))
        }
        _ => is_command_name(&name),
    }
}

/// Returns `true` for an object, and for a list of objects alone.
fn is_container(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(values) => !values.is_empty() && values.iter().all(Value::is_object),
        _ => false,
    }
}

fn command_of_value(value: &Value) -> Command {
    match value {
        Value::String(text) => Command::Text(text.clone()),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            Command::Words(all_texts(value))
        }
        _ => Command::Unreadable(all_texts(value)),
    }
}

/// Returns the arguments in the fields beside a command.
fn arguments_in(fields: &Map<String, Value>) -> Vec<&Value> {
    let arguments = fields
        .iter()
        .filter(|(name, value)| is_argument_field(name) && !is_empty(value));
    arguments.map(|(_, value)| value).collect()
}

/// Returns a command with the arguments beside it. A command with several fields of arguments is uncertain, because an
/// agent may pass any of them.
fn with_arguments_of(command: Command, arguments: &[&Value]) -> Vec<Command> {
    if arguments.is_empty() {
        return vec![command];
    }
    let mut found: Vec<Command> = arguments
        .iter()
        .take(MAX_ARGUMENT_FIELDS)
        .map(|arguments| with_arguments(&command, arguments))
        .collect();
    if arguments.len() > 1 {
        found.push(unreadable(command.raw_texts(), arguments));
    }
    found
}

fn with_arguments(command: &Command, arguments: &Value) -> Command {
    match (command, command_of_value(arguments)) {
        (Command::Text(program), Command::Words(words))
            if !program.contains(char::is_whitespace) =>
        {
            let program = std::iter::once(program.clone());
            Command::Words(program.chain(words).collect())
        }
        _ => unreadable(command.raw_texts(), &[arguments]),
    }
}

/// Returns a command of unknown meaning with these texts and those of the values.
fn unreadable(mut texts: Vec<String>, values: &[&Value]) -> Command {
    texts.extend(values.iter().flat_map(|value| all_texts(value)));
    Command::Unreadable(texts)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Returns `true` for a value that is empty, and for a flag that is off.
fn is_unset(value: &Value) -> bool {
    is_empty(value) || *value == Value::Bool(false)
}

/// Returns the number of values in a value, and the size of its texts in bytes, as one sum.
fn size_of(value: &Value) -> usize {
    let mut size = 0;
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        size += 1;
        match value {
            Value::String(text) => size += text.len(),
            Value::Array(values) => pending.extend(values),
            Value::Object(fields) => {
                size += fields.keys().map(String::len).sum::<usize>();
                pending.extend(fields.values());
            }
            _ => {}
        }
    }
    size
}

/// Returns all strings of a value, in its order, and the names of its fields.
fn all_texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(values) => pending.extend(values.iter().rev()),
            Value::Object(fields) => {
                found.extend(fields.keys().cloned());
                pending.extend(fields.values().rev());
            }
            _ => {}
        }
    }
    found
}
