//! The kinds, titles and commands of one tool call, from its first report until the permission request.
//!
//! An agent reports a call and may change it before and with the request. Rules look at all versions, so that a
//! harmless last one does not hide an earlier one.

use serde_json::Value;

use super::{
    shell,
    tool_input::{self, Command},
    wildcard::matches,
};

/// The kind of the tools that run commands.
pub(super) const EXECUTE: &str = "execute";

/// The most bytes that are kept of one call: the longest argument of a program on Linux (`MAX_ARG_STRLEN`), so every
/// command that a shell can take by `-c` fits.
const MAX_CALL_BYTES: usize = 128 * 1024;

/// The most different kinds, titles or commands that are kept of one call.
const MAX_VERSIONS: usize = 256;

/// Separates words in a text. No command contains it.
const WORD_END: &str = "\0";

/// The kinds, titles and commands that a tool call has had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallHistory {
    kinds: Vec<String>,
    titles: Vec<String>,
    commands: Vec<Command>,
    /// Texts of inputs that are no objects. Only denials look at them, because their meaning is unknown.
    bare_texts: Vec<String>,
    /// `true` if the latest raw input has a command.
    has_present_command: bool,
    /// `true` if more was reported than is kept.
    is_incomplete: bool,
    bytes: usize,
}

impl CallHistory {
    /// Adds a report of the call. The call keeps its kind, title or input if the report names none.
    pub fn record(&mut self, kind: Option<&str>, title: Option<&str>, input: Option<&Value>) {
        if let Some(kind) = kind {
            self.add(kind.len(), kind.to_owned(), |it| &mut it.kinds);
        }
        if let Some(title) = title.map(without_stream_counter) {
            self.add(title.len(), title.to_owned(), |it| &mut it.titles);
        }
        let Some(input) = input else { return };
        let Some(commands) = tool_input::find_commands(input) else {
            self.is_incomplete = true;
            return;
        };
        self.has_present_command = !commands.is_empty();
        for command in commands {
            self.add(command.size(), command, |it| &mut it.commands);
        }
        for text in tool_input::bare_texts(input) {
            self.add(text.len(), text, |it| &mut it.bare_texts);
        }
    }

    /// Marks that earlier reports of the call may be lost.
    pub fn mark_incomplete(&mut self) {
        self.is_incomplete = true;
    }

    /// Returns the latest kind.
    pub fn kind(&self) -> Option<&str> {
        self.kinds.last().map(String::as_str)
    }

    /// Returns the latest title.
    pub fn title(&self) -> Option<&str> {
        self.titles.last().map(String::as_str)
    }

    /// Returns the size of the kept texts in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Adds a value at the end. Moves it there if the history has it already.
    fn add<T: PartialEq>(
        &mut self,
        bytes: usize,
        value: T,
        versions: impl Fn(&mut Self) -> &mut Vec<T>,
    ) {
        let all = versions(self);
        if let Some(known) = all.iter().position(|it| *it == value) {
            all[known..].rotate_left(1);
        } else if all.len() < MAX_VERSIONS && self.bytes + bytes <= MAX_CALL_BYTES {
            self.bytes += bytes;
            versions(self).push(value);
        } else {
            self.is_incomplete = true;
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(String::as_str)
    }

    pub(super) fn titles(&self) -> impl Iterator<Item = &str> {
        self.titles.iter().map(String::as_str)
    }

    /// `true` if the history lacks a part of the call. No pattern allows such a call, and every denial matches it.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// `true` if the call runs a command, by its kind or by its raw input.
    pub(super) fn is_command(&self) -> bool {
        !self.commands.is_empty() || self.kinds().any(|kind| kind == EXECUTE)
    }

    /// Returns `true` if the pattern holds for every command that the call has had, and the call still has one.
    pub(super) fn allowed_commands(&self, pattern: &str) -> bool {
        let pattern = pattern_words(pattern);
        !self.is_incomplete
            && self.has_present_command
            && self.commands.iter().all(|command| {
                command
                    .certain_words()
                    .is_some_and(|words| is_whole_command(&pattern, &words))
            })
    }

    /// Returns `true` if the pattern matches anything that a command of the call might run, or a command's text.
    pub(super) fn contains_command(&self, pattern: &str) -> bool {
        let words = pattern_words(pattern).join(WORD_END);
        let contains = |command: &Command| {
            let mut texts = command.raw_texts().into_iter();
            texts.any(|text| matches(pattern, &text))
                || command.commands_inside().is_none_or(|commands| {
                    commands.iter().any(|command| {
                        matches(pattern, &command.join(" "))
                            || matches(&words, &command.join(WORD_END))
                    })
                })
        };
        let mut bare_texts = self.bare_texts.iter().cloned().map(Command::Text);
        self.commands.iter().any(contains) || bare_texts.any(|text| contains(&text))
    }
}

/// Returns a title without the counter that fast-agent 0.10.46 adds while the input of a call streams, such as
/// `matins/remember (streaming: 25)`. Each piece of the input would be another title of the call.
fn without_stream_counter(title: &str) -> &str {
    let counted = title
        .strip_suffix(')')
        .and_then(|title| title.rsplit_once(" (streaming: "));
    match counted {
        Some((uncounted, count))
            if !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit()) =>
        {
            uncounted
        }
        _ => title,
    }
}

/// Splits a pattern into words as a shell does, so that a blank in it matches the border between two words.
fn pattern_words(pattern: &str) -> Vec<String> {
    let split_at_blanks = || pattern.split_whitespace().map(str::to_owned).collect();
    shlex::split(pattern).unwrap_or_else(split_at_blanks)
}

/// Returns `true` if the pattern matches all words. Variables in front of a command count only if the pattern names
/// each of them, because a variable can make a harmless program run another one (`GIT_PAGER`).
fn is_whole_command(pattern: &[String], words: &[String]) -> bool {
    let mut variables = words
        .iter()
        .map_while(|word| shell::assigned_variable(word))
        .zip(pattern.iter().map(Some).chain(std::iter::repeat(None)));
    variables.all(|(name, pattern)| pattern.is_some_and(|it| it.starts_with(name)))
        && matches(&pattern.join(WORD_END), &words.join(WORD_END))
}
