//! Triggers: the conditions that fire an automation, read and changed one by one.

use std::sync::{Mutex, PoisonError};

use api_types::{AutomationView, Page, Trigger, TriggerRequest};
use axum::{
    Json as Answer,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use model::{TriggerId, access::Permission};

use super::path_param::AUTOMATION_PARAM_DESCRIPTION;
use crate::{
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, Path},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// List the triggers of an automation
///
/// Returns all triggers of an automation on one page, the manual trigger first.
#[utoipa::path(
    get,
    path = "/automations/{automation}/triggers",
    tag = "triggers",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION)),
    responses((status = OK, description = "All triggers of the automation on one page", body = Page<Trigger>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_triggers(
    caller: Caller,
    Path([automation]): Path<1>,
) -> Result<Answer<Page<Trigger>>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    let view = service.automation(&automation).await?;
    Ok(Answer(Page::whole(view.triggers)))
}

/// Show a trigger
///
/// Returns one trigger of an automation, with its next instant.
#[utoipa::path(
    get,
    path = "/automations/{automation}/triggers/{trigger}",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("trigger" = String, Path, description = "The ID of the trigger or the beginning of its ID")
    ),
    responses((status = OK, description = "The trigger", body = Trigger)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn show_trigger(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
) -> Result<Answer<Trigger>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    Ok(Answer(service.trigger(&automation, &trigger).await?))
}

/// Add a trigger to an automation
///
/// Adds a trigger to an automation and returns the automation. The other triggers keep their cadence. Returns 200 and
/// adds nothing if the automation has an equal trigger already; webhook triggers are never equal, because each has a
/// secret of its own. Returns 412 if the automation is no longer the one that the `ETag` in `If-Match` describes.
#[utoipa::path(
    post,
    path = "/automations/{automation}/triggers",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the automation that the client read"),
        IdempotencyKey
    ),
    request_body = TriggerRequest,
    responses(
        (
            status = CREATED,
            description = "The automation",
            body = AutomationView,
            headers(("ETag" = String, description = "The entity tag of the editable part. The response to a repeated request lacks it"))
        ),
        (
            status = OK,
            description = "The automation, which has the trigger already",
            body = AutomationView,
            headers(("ETag" = String, description = "The entity tag of the editable part. The response to a repeated request lacks it"))
        )
    ),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn add_trigger(
    caller: Caller,
    Path([automation]): Path<1>,
    idempotency_key: IdempotencyKey,
    seen: IfMatch,
    request: Json<TriggerRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    // The recorded response contains the body alone, so that a repeated request gets no `ETag`.
    let tag = Mutex::new(None);
    let created = idempotency_key.create(&caller, &request, async |id| {
        let id = id.map(TriggerId::from_uuid);
        let view = service.automation(&automation).await?;
        // A repeated request whose trigger was committed, but whose response was not recorded. Return before the
        // check of `If-Match`: the trigger itself has changed the tag, and a 412 would hide that the request
        // succeeded. A trigger that was removed since counts as added, so that the repetition does not add it again.
        if let Some(id) = id
            && service.had_trigger(&view, id).await?
        {
            store_tag(&tag, &view);
            return Ok((StatusCode::CREATED, view));
        }
        seen.check("the automation", &view.request())?;
        let exactly = seen.is_given();
        let added = service.add_trigger(&view, &request.value, exactly, id);
        let (view, added) = added.await?;
        caller.wake_loops();
        store_tag(&tag, &view);
        let status = if added {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        Ok((status, view))
    });
    let answer = created.await?;
    let tag = tag.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(match tag {
        Some(tag) => (tag, answer).into_response(),
        None => answer,
    })
}

/// Stores the entity tag of an automation, for the header of the response.
fn store_tag(tag: &Mutex<Option<ETag>>, view: &AutomationView) {
    *tag.lock().unwrap_or_else(PoisonError::into_inner) = Some(etag::header(&view.request()));
}

/// Remove a trigger from an automation
///
/// Removes a trigger and returns the automation. The runs that the trigger fired stay. Returns 412 if the automation
/// is no longer the one that the `ETag` in `If-Match` describes.
#[utoipa::path(
    delete,
    path = "/automations/{automation}/triggers/{trigger}",
    tag = "triggers",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("trigger" = String, Path, description = "The ID of the trigger or the beginning of its ID"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the automation that the client read")
    ),
    responses((
        status = OK,
        description = "The automation",
        body = AutomationView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn remove_trigger(
    caller: Caller,
    Path([automation, trigger]): Path<2>,
    seen: IfMatch,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let view = service.automation(&automation).await?;
    seen.check("the automation", &view.request())?;
    let exactly = seen.is_given();
    let view = service.remove_trigger(&view, &trigger, exactly).await?;
    caller.wake_loops();
    Ok((etag::header(&view.request()), Answer(view)))
}
