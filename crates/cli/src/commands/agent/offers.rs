//! Formats the features of agents for lists.

use api_types::{Agent, OfferedCapabilities};
use model::agent::{self, RestoreBy};

use crate::output::excerpt;

/// The maximum number of characters of a command or a path in a list.
pub(super) const MAX_COMMAND_CHARS: usize = 60;

/// Returns the method by which an agent restores its sessions.
pub(super) fn format_restore_method(agent: &Agent, offers: &OfferedCapabilities) -> String {
    let can_restore =
        agent::OfferedCapabilities::from(offers.clone()).can_restore(agent.config.restore);
    let restores = match (can_restore, offers.resume) {
        (false, _) => "no",
        (true, true) if agent.config.restore != RestoreBy::Load => "by resume",
        (true, _) => "by load",
    };
    restores.into()
}

/// Returns the name and the version of an agent. Returns `None` if it has announced no name.
pub(super) fn format_agent_version(offers: &OfferedCapabilities) -> Option<String> {
    let name = offers.name.as_deref()?;
    let version = offers.version.as_deref().unwrap_or("");
    Some(excerpt(&format!("{name} {version}"), MAX_COMMAND_CHARS))
}
