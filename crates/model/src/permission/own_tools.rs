//! The tools of Matins: the built-in rule for their requests, and the titles of their calls.
//!
//! Without it, an agent that asks before each use of a tool could not use the tools that Matins itself gives to it, because
//! an unattended turn denies what no rule covers. Authorisation does not lie here: each call proves its run.

use super::{PermissionRequest, history::EXECUTE};
use crate::tools::ToolAccess;

/// The place of the tool's name in a described title.
const PLACEHOLDER: &str = "{tool}";
/// The kinds of tools that are never tools of Matins.
const FOREIGN_KINDS: [&str; 4] = [EXECUTE, "edit", "delete", "move"];
/// The names of all tools of Matins.
pub const TOOL_NAMES: [&str; 14] = [
    "cron",
    "create_task",
    "update_task",
    "judge_task",
    "list_tasks",
    "ask_person",
    "send_message",
    "read_messages",
    "remember",
    "recall",
    "forget",
    "save_artifact",
    "list_artifacts",
    "get_artifact",
];

/// The names of the tools that only agents in sessions with several seats get.
pub const TEAM_TOOL_NAMES: [&str; 2] = ["send_message", "read_messages"];

/// The names of the tools that only agents in the sessions of goals get.
pub const TASK_TOOL_NAMES: [&str; 4] = ["create_task", "update_task", "judge_task", "list_tasks"];

/// The name of the MCP server of Matins, as the titles of calls have it.
const SERVER: &str = "matins";
/// The words that agents put before the name of the server.
const WORDS_BEFORE_SERVER: [&str; 2] = ["mcp", "tool"];

/// The titles of an agent's requests for tools of Matins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnTools(Vec<String>);

impl OwnTools {
    /// Returns the titles that the configuration of an agent describes (`own_tools`). An agent without tools has none.
    pub fn of(described: &[String], access: ToolAccess) -> Self {
        if access == ToolAccess::None {
            return Self::default();
        }
        let titles = described.iter().flat_map(|described| {
            TOOL_NAMES
                .iter()
                .map(move |tool| described.replace(PLACEHOLDER, tool))
        });
        Self(titles.collect())
    }

    /// Returns `true` if a request is for a tool of Matins: its whole title is a described one, and nothing that the agent
    /// has said about the call speaks of another kind of tool.
    pub fn cover(&self, request: &PermissionRequest) -> bool {
        let PermissionRequest {
            tool_kind,
            title,
            history,
        } = request;
        let is_foreign = |kind: &str| FOREIGN_KINDS.contains(&kind);
        self.0.contains(title)
            && !is_foreign(tool_kind)
            && !history.is_incomplete()
            && !history.is_command()
            && !history.kinds().any(is_foreign)
            && history
                .titles()
                .all(|earlier| self.0.iter().any(|own| own == earlier))
    }
}

/// Returns the problem of a described title, or `None` if it can be used.
pub fn own_tools_problem(described: &str) -> Option<&'static str> {
    if !described.contains(PLACEHOLDER) {
        return Some("`{tool}` is missing, which stands for the name of the tool");
    }
    if described.trim() == PLACEHOLDER {
        return Some("it is `{tool}` alone, and any tool could have such a title");
    }
    None
}

/// Returns `true` if a tool call with this title is one of a tool of Matins: the title begins with the names of the server and of the
/// tool, in any order and with any signs between them, or is the name of the tool alone.
///
/// A permission needs more than such a title, because any tool can have it: see [`OwnTools::cover`].
pub fn is_title_of_own_tool(title: &str) -> bool {
    let title = title.to_lowercase();
    let words = title.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words = words.skip_while(|word| WORDS_BEFORE_SERVER.contains(word));
    let words: Vec<&str> = words.collect();
    TOOL_NAMES.iter().any(|tool| {
        let name: Vec<&str> = tool.split('_').collect();
        if let Some(after_server) = words.strip_prefix(&[SERVER]) {
            return after_server.starts_with(&name);
        }
        let after_name = words.strip_prefix(name.as_slice());
        title.trim() == *tool || after_name.is_some_and(|after| after.first() == Some(&SERVER))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::CallHistory;

    fn request(kind: &str, title: &str) -> PermissionRequest {
        PermissionRequest {
            tool_kind: kind.into(),
            title: title.into(),
            history: CallHistory::default(),
        }
    }

    fn own(described: &[&str], access: ToolAccess) -> OwnTools {
        let described: Vec<_> = described.iter().map(|&one| one.to_owned()).collect();
        OwnTools::of(&described, access)
    }

    #[test]
    fn whole_title_of_harmless_kind_is_covered() {
        let own = own(&["mcp__matins__{tool}", "matins: {tool}"], ToolAccess::All);
        for title in ["mcp__matins__cron", "matins: cron"] {
            assert!(own.cover(&request("other", title)), "{title}");
        }
        for tool in TOOL_NAMES {
            assert!(
                own.cover(&request("other", &format!("matins: {tool}"))),
                "{tool}"
            );
        }
        for (kind, title) in [
            ("execute", "matins: cron"),
            ("edit", "matins: cron"),
            ("delete", "matins: cron"),
            ("move", "matins: cron"),
            ("other", "matins: cron "),
            ("other", "matins: cron; rm -rf /"),
            ("other", "matins: {tool}"),
            ("other", "cron"),
        ] {
            assert!(!own.cover(&request(kind, title)), "{kind} {title}");
        }
    }

    #[test]
    fn counter_of_streamed_input_is_no_other_title() {
        let own = own(&["matins/{tool}"], ToolAccess::All);
        let mut request = request("other", "matins/remember");
        let counted = |count: u32| format!("matins/remember (streaming: {count})");
        for count in 25..1000 {
            let title = counted(count);
            request.history.record(Some("other"), Some(&title), None);
        }
        assert!(own.cover(&request));
        for title in [
            "matins/remember (streaming: 25); rm a",
            "matins/remember (streaming: rm a)",
            "matins/remember (streaming: )",
            "notes.md (streaming: 25)",
        ] {
            let mut request = request.clone();
            request.history.record(None, Some(title), None);
            assert!(!own.cover(&request), "{title}");
        }
        request.title = counted(25);
        assert!(
            !own.cover(&request),
            "the title of the request is compared whole"
        );
    }

    #[test]
    fn agent_without_tools_has_no_own_ones() {
        let own = own(&["matins: {tool}"], ToolAccess::None);
        assert!(!own.cover(&request("other", "matins: cron")));
    }

    #[test]
    fn call_of_own_tool_is_known_by_server_and_name() {
        for title in [
            "mcp__matins__update_task",
            "mcp_matins.cron",
            "matins/remember (streaming: 25)",
            "matins__list_tasks",
            "matins_recall",
            "Matins: Update Task",
            "Tool: matins/get_artifact",
            "mcp.matins.ask_person",
            "cron (matins MCP Server)",
            "update_task",
            " recall ",
        ] {
            assert!(is_title_of_own_tool(title), "{title}");
        }
        for tool in TOOL_NAMES {
            assert!(is_title_of_own_tool(&format!("mcp__matins__{tool}")));
        }
        for title in [
            "",
            "matins",
            "Read src/update_task.rs",
            "Read matins/cron",
            "grep recall",
            "Update task list",
            "mcp__other__recall",
            "recall (other MCP Server)",
            "matins task list",
        ] {
            assert!(!is_title_of_own_tool(title), "{title}");
        }
    }

    #[test]
    fn description_without_server_is_a_problem() {
        assert!(own_tools_problem("matins: {tool}").is_none());
        assert!(own_tools_problem("matins").is_some());
        assert!(own_tools_problem(" {tool}").is_some());
    }
}
