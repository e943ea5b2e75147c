//! `POST /automations/{automation}/fire`

use axum::response::Response;
use http::StatusCode;
use model::{InputId, access::Permission};
use wire::Run;

use super::named::NAMED;
use crate::{caller::Caller, extract::Path, once::Once, problem::Failure};

/// Fire an automation
///
/// Creates an occurrence now, on the path of a scheduled one, and leaves the cadence as it is. The run may be over at
/// once, because the overlap policy may skip it.
#[utoipa::path(
    post,
    path = "/automations/{automation}/fire",
    tag = "automations",
    params(("automation" = String, Path, description = NAMED), Once),
    responses((status = ACCEPTED, description = "The run", body = Run)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn fire_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    once: Once,
) -> Result<Response, Failure> {
    let service = caller.may(Permission::AutomationsWrite)?;
    let fired = once.create_of(&caller, &[], async |input| {
        let input = input.map(InputId::from_uuid);
        let run = service.fire(&automation, input).await?;
        caller.wake();
        Ok((StatusCode::ACCEPTED, Run::from(run)))
    });
    fired.await
}
