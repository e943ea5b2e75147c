//! The table of all tools.

use model::tools::ToolAccess;

use crate::{artifacts, ask_person, cron, memory, messages, tool::Tool};

/// All tools, in the order in which agents see them.
pub(crate) static TOOLS: &[Tool] = &[
    cron::CRON,
    ask_person::ASK_PERSON,
    messages::SEND,
    messages::READ,
    memory::REMEMBER,
    memory::RECALL,
    memory::FORGET,
    artifacts::SAVE,
    artifacts::LIST,
    artifacts::GET,
];

/// Returns the tool of a name that an agent with this access gets. `in_team` is `true` in a session with several seats.
pub(crate) fn find(name: &str, access: ToolAccess, in_team: bool) -> Option<&'static Tool> {
    offered(access, in_team).find(|tool| tool.name == name)
}

/// Returns the tools that an agent with this access gets. `in_team` is `true` in a session with several seats.
pub(crate) fn offered(access: ToolAccess, in_team: bool) -> impl Iterator<Item = &'static Tool> {
    let gets_any = access != ToolAccess::None;
    TOOLS
        .iter()
        .filter(move |tool| gets_any && tool.needs <= access && (in_team || !tool.needs_team))
}
