//! The permission to set the precheck of an automation.

use api_types::{AutomationRequest, SessionTarget};
use model::access::Permission;

use crate::{caller::Caller, problem::ApiError};

/// Requires the permission `agents:write` if a request changes the precheck of an automation, or the directory in
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
pub(super) fn authorize_precheck(
    caller: &Caller,
    before: Option<&AutomationRequest>,
    to: &AutomationRequest,
) -> Result<(), ApiError> {
    let precheck = to.policies.precheck.as_ref();
    let is_changed = match before {
        Some(before) if precheck == before.policies.precheck.as_ref() => {
            precheck.is_some() && precheck_location(before) != precheck_location(to)
        }
        Some(_) => true,
        None => precheck.is_some(),
    };
    if is_changed {
        caller.authorize(Permission::AgentsWrite)?;
    }
    Ok(())
}

/// Returns the three values that decide where an automation runs: its own `cwd`, the instance on which it is placed, and
/// the session to which it is bound.
fn precheck_location(request: &AutomationRequest) -> [Option<&str>; 3] {
    let bound = match &request.session {
        SessionTarget::Bound(session) => Some(session.as_str()),
        SessionTarget::Fresh | SessionTarget::Continuous => None,
    };
    [request.cwd.as_deref(), request.placed_on.as_deref(), bound]
}
