//! The triggers of an automation

use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::access::Permission;
use wire::{AutomationView, Page, Trigger, TriggerRequest};

use super::NAMED;
use crate::{
    caller::Caller,
    extract::{Json, Path},
    once::Once,
    problem::Failure,
};

/// List the triggers of an automation
#[utoipa::path(
    get,
    path = "/automations/{automation}/triggers",
    tag = "triggers",
    params(("automation" = String, Path, description = NAMED)),
    responses((status = OK, description = "Its triggers, all on one page", body = Page<Trigger>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_triggers(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<Answer<Page<Trigger>>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    let view = service.automation(&automation).await?;
    Ok(Answer(Page::whole(view.triggers)))
}

/// Show a trigger
#[utoipa::path(
    get,
    path = "/automations/{automation}/triggers/{trigger}",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = NAMED),
        ("trigger" = String, Path, description = "The trigger's id or the beginning of that")
    ),
    responses((status = OK, description = "The trigger", body = Trigger)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_trigger(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
) -> Result<Answer<Trigger>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    Ok(Answer(service.trigger(&automation, &trigger).await?))
}

/// Add a trigger to an automation
///
/// Those that it has keep their cadence. One that is there already is not added again.
#[utoipa::path(
    post,
    path = "/automations/{automation}/triggers",
    tag = "triggers",
    params(("automation" = String, Path, description = NAMED), Once),
    request_body = TriggerRequest,
    responses(
        (status = CREATED, description = "The automation", body = AutomationView),
        (status = OK, description = "The automation, which has the trigger already", body = AutomationView)
    ),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn add_trigger(
    caller: Caller,
    Path([automation]): Path<1>,
    once: Once,
    request: Json<TriggerRequest>,
) -> Result<Response, Failure> {
    let service = caller.may(Permission::AutomationsWrite)?;
    let made = once.create(&caller, &request, async |_| {
        let (view, added) = service.add_trigger(&automation, &request.value).await?;
        caller.wake();
        let status = if added {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        Ok((status, view))
    });
    made.await
}

/// Remove a trigger from an automation
///
/// What it has fired stays.
#[utoipa::path(
    delete,
    path = "/automations/{automation}/triggers/{trigger}",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = NAMED),
        ("trigger" = String, Path, description = "The trigger's id or the beginning of that")
    ),
    responses((status = OK, description = "The automation", body = AutomationView)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn remove_trigger(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
) -> Result<Answer<AutomationView>, Failure> {
    let service = caller.may(Permission::AutomationsWrite)?;
    let view = service.remove_trigger(&automation, &trigger).await?;
    caller.wake();
    Ok(Answer(view))
}
