//! The operations that pause, resume and reset an automation.

use api_types::AutomationView;
use axum::Json;
use model::access::Permission;

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{caller::Caller, extract::Path, problem::ApiError};

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "automations",
            params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION)),
            responses((status = OK, description = "The automation", body = AutomationView)),
            security(("token" = ["automations:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([automation]): Path<1>,
        ) -> Result<Json<AutomationView>, ApiError> {
            let service = caller.authorize(Permission::AutomationsWrite)?;
            let moved = service.$name(&automation).await?;
            caller.wake_loops();
            Ok(Json(moved))
        }
    )*};
}

moves! {
    /// Pause an automation
    ///
    /// Pauses an automation: its triggers do not fire. Matins skips the instants before it is resumed.
    /// Returns 409 if it is paused already.
    pause_automation = "/automations/{automation}/pause";
    /// Resume an automation
    ///
    /// Resumes a paused automation. Its next runs are computed from now, its count of consecutive failures becomes 0,
    /// and `attention` becomes null. Returns 409 if it is not paused.
    resume_automation = "/automations/{automation}/resume";
    /// Reset an automation
    ///
    /// Detaches the current session of an automation, so that the next run creates another session. The previous
    /// session stays in the list of the sessions of the automation.
    reset_automation = "/automations/{automation}/reset";
}
