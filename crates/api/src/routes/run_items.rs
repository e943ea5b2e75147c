//! Removes names and answers from runs of a list.

use api_types::RunItem;
use model::access::Permission;

use crate::caller::Caller;

/// Removes from the runs of a list what the caller may not read at its own address.
pub(super) fn redact_items(caller: &Caller, items: &mut [RunItem]) {
    let hides = |permission| caller.authorize(permission).is_err();
    let hides_sessions = hides(Permission::SessionsRead);
    let hides_automations = hides(Permission::AutomationsRead);
    let hides_agents = hides(Permission::AgentsRead);
    for item in items {
        if hides_sessions {
            item.session_title = None;
            item.answer = None;
        }
        if hides_automations {
            item.automation_name = None;
        }
        if hides_agents {
            item.agent_name = None;
        }
    }
}
