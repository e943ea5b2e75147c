//! Pausing, resuming and resetting automations

use axum::Json;
use model::access::Permission;
use wire::AutomationView;

use super::named::NAMED;
use crate::{caller::Caller, extract::Path, problem::Failure};

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "automations",
            params(("automation" = String, Path, description = NAMED)),
            responses((status = OK, description = "The automation", body = AutomationView)),
            security(("token" = ["automations:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([automation]): Path<1>,
        ) -> Result<Json<AutomationView>, Failure> {
            let service = caller.may(Permission::AutomationsWrite)?;
            let moved = service.$name(&automation).await?;
            caller.wake();
            Ok(Json(moved))
        }
    )*};
}

moves! {
    /// Pause an automation
    ///
    /// Pauses an automation. Instants before it is resumed are not due.
    pause_automation = "/automations/{automation}/pause";
    /// Resume an automation
    ///
    /// Resumes a paused automation. Its next runs are computed from now.
    resume_automation = "/automations/{automation}/resume";
    /// Reset an automation
    ///
    /// Detaches the current session, so that the next run starts another one. The old session stays among the sessions
    /// of the automation.
    reset_automation = "/automations/{automation}/reset";
}
