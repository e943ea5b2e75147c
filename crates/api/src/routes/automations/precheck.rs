//! Who may say which precheck an automation has.

use api_types::{AutomationRequest, SessionTarget};
use model::access::Permission;

use crate::{caller::Caller, problem::Failure};

/// Refuses another precheck than before, and another place for one, to whoever may not say what runs on the
/// server: a relative name in its command means another program there. What stays may stay.
pub(super) fn check_precheck(
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

/// Returns the two values that decide in which directory an automation runs: its own `cwd`, and the session to which
/// it is bound.
fn place(request: &AutomationRequest) -> (Option<&str>, Option<&str>) {
    let bound = match &request.session {
        SessionTarget::Bound(session) => Some(session.as_str()),
        SessionTarget::Fresh | SessionTarget::Continuous => None,
    };
    (request.cwd.as_deref(), bound)
}
