//! The names and the answers of runs, as far as a caller may read them.

use api_types::RunNames;
use model::access::Permission;

use crate::caller::Caller;

/// Removes from the names of runs what the caller may not read at its own address.
pub(super) fn redact<'a>(caller: &Caller, names: impl IntoIterator<Item = &'a mut RunNames>) {
    let hides = |permission| caller.authorize(permission).is_err();
    let hides_sessions = hides(Permission::SessionsRead);
    let hides_automations = hides(Permission::AutomationsRead);
    let hides_agents = hides(Permission::AgentsRead);
    let hides_instances = hides(Permission::InstancesRead);
    for names in names {
        if hides_sessions {
            names.session_title = None;
            names.channel = None;
            names.seat_name = None;
            names.answer = None;
        }
        if hides_automations {
            names.automation_name = None;
        }
        if hides_agents {
            names.agent_name = None;
        }
        if hides_instances {
            names.instance_name = None;
        }
    }
}
