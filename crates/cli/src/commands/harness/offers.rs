//! Formats the features of agents for lists.

use api_types::{Harness, Offers};
use model::harness::{self, RestoreBy};

use crate::output::excerpt;

/// The maximum number of characters of a command or a path in a list.
pub(super) const SHOWN_COMMAND: usize = 60;

/// Returns the method by which an agent restores its sessions.
pub(super) fn known(harness: &Harness, offers: &Offers) -> String {
    let can_restore = harness::Offers::from(offers.clone()).can_restore(harness.config.restore);
    let restores = match (can_restore, offers.resume) {
        (false, _) => "no",
        (true, true) if harness.config.restore != RestoreBy::Load => "by resume",
        (true, _) => "by load",
    };
    restores.into()
}

/// Returns the name and the version of an agent. Returns `None` if it has announced no name.
pub(super) fn version(offers: &Offers) -> Option<String> {
    let name = offers.name.as_deref()?;
    let version = offers.version.as_deref().unwrap_or("");
    Some(excerpt(&format!("{name} {version}"), SHOWN_COMMAND))
}
