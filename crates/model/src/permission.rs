//! Rules that answer an agent's permission requests without a person.
//!
//! A rule is no sandbox: it reads the agent's own words. Where the words say that the agent runs a command, an
//! allowance holds only for a command whose meaning is certain, and a denial holds for everything that the command
//! might run.

mod history;
mod own_tools;
mod shell;
mod tool_input;
mod wildcard;

use std::fmt;

use crate::{escape::excerpt, text_enum::text_enum};

pub use history::CallHistory;
use history::EXECUTE;
pub use own_tools::{
    OwnTools, TASK_TOOL_NAMES, TEAM_TOOL_NAMES, TOOL_NAMES, is_title_of_own_tool, own_tools_problem,
};
use wildcard::matches;

/// The subject of a permission request, in the agent's words (ACP `ToolKind` and title).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The kind of the tool: `read`, `edit`, `execute`, `fetch`, and so on. `other` if the agent names none.
    pub tool_kind: String,
    /// The line that the agent shows for the tool call.
    pub title: String,
    /// The kinds, titles and commands of the tool call until now.
    pub history: CallHistory,
}

/// The kinds of tools that the protocol defines (ACP `ToolKind`).
pub const TOOL_KINDS: [&str; 10] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];

text_enum! {
    /// The verdict of a rule.
    Verdict, "a verdict of a permission rule" {
        /// The request is granted, for this call only if the agent offers that choice.
        Allow = "allow",
        /// The request is denied.
        Deny = "deny",
    }
}

/// A rule for requests whose kind and title both match its patterns.
///
/// If the request is for a command, an allowance compares its pattern with the words of the command and not with the
/// title. A denial compares it with all titles and commands of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The pattern for the tool's kind. `*` matches any run of characters.
    pub tool: String,
    /// The pattern for the title or the command. `None` matches every one.
    pub title: Option<String>,
    /// The answer to requests that match.
    pub verdict: Verdict,
}

/// The error for a text that is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRule {
    /// The kind or the pattern is empty.
    #[error("expected a tool kind such as edit, or a kind and a pattern such as 'execute:cargo *'")]
    EmptyPart,
    /// No tool has the kind. The text is an excerpt of it.
    #[error(
        "unknown tool kind `{}`: expected one of {}, or a pattern with *",
        .0,
        TOOL_KINDS.join(", ")
    )]
    UnknownKind(String),
}

/// A set of rules. The order of the rules does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules(pub Vec<PermissionRule>);

impl PermissionRules {
    /// Returns the answer to a request. Returns `None` if no rule matches.
    ///
    /// A rule that denies outweighs all rules that allow, so that adding a denial never allows more.
    pub fn verdict(&self, request: &PermissionRequest) -> Option<Verdict> {
        let covering = self.0.iter().filter(|rule| rule.covers(request));
        covering
            .map(|rule| rule.verdict)
            .max_by_key(|verdict| *verdict == Verdict::Deny)
    }
}

impl fmt::Display for PermissionRule {
    /// Writes the form that [`PermissionRule::parse`] reads, without the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "{}:{title}", self.tool),
            None => write!(f, "{}", self.tool),
        }
    }
}

impl PermissionRule {
    /// Parses the kind of a tool, such as `edit`, or a kind and a pattern, such as `execute:git log*`.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] if a part is empty, or if no tool has the kind.
    pub fn parse(text: &str, verdict: Verdict) -> Result<Self, InvalidRule> {
        let (tool, title) = match text.split_once(':') {
            Some((tool, title)) => (tool, Some(title)),
            None => (text, None),
        };
        if tool.is_empty() || title == Some("") {
            return Err(InvalidRule::EmptyPart);
        }
        if !tool.contains('*') && !TOOL_KINDS.contains(&tool) {
            return Err(InvalidRule::UnknownKind(excerpt(tool)));
        }
        Ok(Self {
            tool: tool.to_owned(),
            title: title.map(str::to_owned),
            verdict,
        })
    }

    /// `true` if the rule allows commands by a pattern, which must hold for the whole command. Commands come as `execute` or,
    /// from the tools of MCP servers, as `other`. The raw input of another kind seldom has one.
    pub fn allows_commands_by_pattern(&self) -> bool {
        let is_of_commands = [EXECUTE, "other"]
            .iter()
            .any(|kind| matches(&self.tool, kind));
        self.verdict == Verdict::Allow && self.title.is_some() && is_of_commands
    }

    fn covers(&self, request: &PermissionRequest) -> bool {
        match self.verdict {
            Verdict::Allow => self.allows(request),
            Verdict::Deny => self.denies(request),
        }
    }

    fn allows(&self, request: &PermissionRequest) -> bool {
        let PermissionRequest {
            tool_kind,
            title,
            history,
        } = request;
        if !matches(&self.tool, tool_kind) {
            return false;
        }
        match &self.title {
            None => true,
            Some(pattern) if tool_kind == EXECUTE || history.is_command() => {
                history.allowed_commands(pattern)
            }
            Some(pattern) => !history.is_incomplete() && matches(pattern, title),
        }
    }

    fn denies(&self, request: &PermissionRequest) -> bool {
        let PermissionRequest {
            tool_kind,
            title,
            history,
        } = request;
        if history.is_incomplete() {
            return true;
        }
        let is_of_kind = matches(&self.tool, tool_kind)
            || history.kinds().any(|kind| matches(&self.tool, kind))
            || (history.is_command() && matches(&self.tool, EXECUTE));
        is_of_kind
            && self.title.as_deref().is_none_or(|pattern| {
                matches(pattern, title)
                    || history.titles().any(|title| matches(pattern, title))
                    || history.contains_command(pattern)
            })
    }
}

#[cfg(test)]
mod tests_commands;
#[cfg(test)]
mod tests_permission;
#[cfg(test)]
mod tests_redirection;
#[cfg(test)]
mod tests_rules;
