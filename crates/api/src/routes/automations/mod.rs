//! Automations and their triggers.

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

/// What a path parameter that names an automation takes.
const NAMED: &str = "Its name, its id or the beginning of that";

/// Refuses another precheck than before, and another place for one, to whoever may not say what runs on the
/// server: a relative name in its command means another program there. What stays may stay.
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
        Some(_) => true,
        None => precheck.is_some(),
    };
    if another {
        caller.may(Permission::HarnessesWrite)?;
    }
    Ok(())
}

/// What decides in which directory an automation runs: its own, or that of a session to which it is bound.
fn place(request: &AutomationRequest) -> (Option<&str>, Option<&str>) {
    let bound = match &request.session {
        SessionTarget::Bound(session) => Some(session.as_str()),
        SessionTarget::Fresh | SessionTarget::Continuous => None,
    };
    (request.cwd.as_deref(), bound)
}
