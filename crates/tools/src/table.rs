//! The table of all tools.

use model::tools::ToolAccess;
use service::ToolOffer;

use crate::{artifacts, ask_person, cron, memory, messages, tasks, tool::Tool};

/// All tools, in the order in which agents see them.
pub(crate) static TOOLS: &[Tool] = &[
    cron::CRON,
    tasks::CREATE,
    tasks::UPDATE,
    tasks::JUDGE,
    tasks::LIST,
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

/// Returns the tool of a name that an agent with this offer gets.
pub(crate) fn find(name: &str, offer: ToolOffer) -> Option<&'static Tool> {
    offered(offer).find(|tool| tool.name == name)
}

/// Returns the tools that an agent with this offer gets.
pub(crate) fn offered(offer: ToolOffer) -> impl Iterator<Item = &'static Tool> {
    let gets_any = offer.access != ToolAccess::None;
    TOOLS
        .iter()
        .filter(move |tool| gets_any && tool.needs <= offer.access && tool.offered.covers(offer))
}
