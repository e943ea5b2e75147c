//! Automations: prompts that triggers fire, with their policies.

mod create;
mod delete;
mod edit;
mod fire;
mod history;
mod list;
mod moves;
mod preview;
mod show;
mod spending;
mod triggers;

use model::access::Permission;
use utoipa_axum::{router::OpenApiRouter, routes};
use wire::{AutomationRequest, SessionTarget};

use crate::{Api, caller::Caller, problem::Failure};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list::list_automations, create::create_automation))
        .routes(routes!(preview::preview_fires))
        .routes(routes!(
            show::show_automation,
            edit::replace_automation,
            edit::edit_automation,
            delete::delete_automation
        ))
        .routes(routes!(spending::show_automation_spending))
        .routes(routes!(fire::fire_automation))
        .routes(routes!(moves::pause_automation))
        .routes(routes!(moves::resume_automation))
        .routes(routes!(moves::reset_automation))
        .routes(routes!(history::list_sessions_of_automation))
        .routes(routes!(history::list_occurrences))
        .routes(routes!(triggers::list_triggers, triggers::add_trigger))
        .routes(routes!(triggers::show_trigger, triggers::remove_trigger))
}

/// The description of the path parameter that names an automation.
const NAMED: &str = "Its name, its id or the beginning of that";

/// Requires the permission `harnesses:write` if a request changes the precheck of an automation, or the directory in
/// which the precheck runs.
///
/// A precheck is a command that the server runs, so that it needs the permission that also decides which command
/// lines start agents. The directory counts as well, because a relative program name in the command means another
/// program in another directory. A request that changes neither needs no further permission, so that a caller with
/// less permission can edit the rest. `before` is `None` when the automation is created.
///
/// # Errors
///
/// Returns 403 if the caller lacks the permission.
fn check_precheck(
    caller: &Caller,
    before: Option<&AutomationRequest>,
    to: &AutomationRequest,
) -> Result<(), Failure> {
    let precheck = to.policies.precheck.as_ref();
    let another = match before {
        Some(before) if precheck == before.policies.precheck.as_ref() => {
            precheck.is_some() && place(before) != place(to)
        }
        // The precheck differs. Removing it counts as a change as well.
        Some(_) => true,
        None => precheck.is_some(),
    };
    if another {
        caller.may(Permission::HarnessesWrite)?;
    }
    Ok(())
}

/// Returns the two values that decide in which directory an automation runs: its own `cwd`, and the session to which
/// it is bound.
fn place(request: &AutomationRequest) -> (Option<&str>, Option<&str>) {
    let bound = match &request.session {
        SessionTarget::Bound(session) => Some(session.as_str()),
        SessionTarget::Fresh | SessionTarget::Continuous => None,
    };
    (request.cwd.as_deref(), bound)
}
