//! `PUT` and `PATCH /automations/{automation}`: replace or change the definition of an automation.
//!
//! **Invariant:** both compare the stored automation with the one that the handler read, under the lock of the row,
//! so that of two edits at the same time one gets 412 and none is lost.

use api_types::{AutomationPatch, AutomationRequest, AutomationView, Change};
use axum::{Json as Answer, response::IntoResponse};
use model::access::Permission;
use serde::Deserialize;
use serde_json::Value;
use service::Service;
use utoipa::IntoParams;

use super::{path_param::AUTOMATION_PARAM_DESCRIPTION, precheck::authorize_precheck};
use crate::{
    caller::Caller,
    etag::{self, IfMatch},
    extract::{self, Json, Path, Query},
    problem::ApiError,
};

/// The query parameters of an edit.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EditAutomationParams {
    /// `true` to detach the current session of the automation, so that the next run creates another session. The edit
    /// may then change the agent and the directory, which a session that continues keeps.
    #[serde(default)]
    reset: bool,
}

/// Replace an automation
///
/// Replaces the whole definition of an automation, or changes nothing if the server refuses any part. Triggers that
/// stay keep their cadence. A changed precheck, or a changed directory of a precheck, needs the permission
/// `agents:write` as well. Returns 412 if the automation is no longer the one that the `ETag` in `If-Match`
/// describes, or changes while the server replaces it.
#[utoipa::path(
    put,
    path = "/automations/{automation}",
    tag = "automations",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read"),
        EditAutomationParams
    ),
    request_body = AutomationRequest,
    responses((
        status = OK,
        description = "The automation",
        body = AutomationView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn replace_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    seen: IfMatch,
    Query(how): Query<EditAutomationParams>,
    request: Json<AutomationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let view = service.automation(&automation).await?;
    seen.check("the automation", &view.request())?;
    edit(&caller, &service, &view, &request.value, how.reset).await
}

/// Change an automation
///
/// Applies a merge patch (RFC 7396): each field that the patch names changes, null restores its default, and all
/// others keep their values. `triggers` are replaced as a whole; triggers that stay keep their cadence. A changed
/// precheck, or a changed directory of a precheck, needs the permission `agents:write` as well. Returns 412 if the
/// automation is no longer the one that the `ETag` in `If-Match` describes, or changes while the server applies the
/// patch.
#[utoipa::path(
    patch,
    path = "/automations/{automation}",
    tag = "automations",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read"),
        EditAutomationParams
    ),
    request_body = AutomationPatch,
    responses((
        status = OK,
        description = "The automation",
        body = AutomationView,
        headers(("ETag" = String, description = "The entity tag of the editable part"))
    )),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
pub(super) async fn edit_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    seen: IfMatch,
    Query(how): Query<EditAutomationParams>,
    patch: Json<AutomationPatch>,
) -> Result<impl IntoResponse, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let view = service.automation(&automation).await?;
    let before = view.request();
    seen.check("the automation", &before)?;
    // Merge into the request that would create the automation as it is. The result is then checked like a whole
    // request, so that a patch cannot combine values that `PUT` refuses.
    let mut merged = serde_json::to_value(&before).unwrap_or_default();
    merge(
        &mut merged,
        serde_json::to_value(&patch.value).unwrap_or_default(),
    );
    let mut request: AutomationRequest = extract::from_value(merged)?;
    // Each present trigger names its own zone, which would win over the new one.
    let AutomationPatch { zone, triggers, .. } = &patch.value;
    if *zone != Change::Keep && *triggers == Change::Keep {
        request.share_zone();
    }
    edit(&caller, &service, &view, &request, how.reset).await
}

/// Writes an edited definition, and returns it with its entity tag. `seen` is the automation as the handler read it.
async fn edit(
    caller: &Caller,
    service: &Service,
    seen: &AutomationView,
    request: &AutomationRequest,
    reset: bool,
) -> Result<impl IntoResponse + use<>, ApiError> {
    authorize_precheck(caller, Some(&seen.request()), request)?;
    let edited = service.edit_automation(seen, request, reset).await?;
    caller.wake_loops();
    Ok((etag::header(&edited.request()), Answer(edited)))
}

/// Merges a patch into a document (RFC 7396, section 2).
fn merge(target: &mut Value, patch: Value) {
    // A patch that is no object replaces the target. This includes lists: they are never merged.
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(&name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patch_matches_examples_of_rfc_7396() {
        // RFC 7396, appendix A.
        for (mut target, patch, result) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (
                json!({"a":{"b":"c"}}),
                json!({"a":{"b":"d","c":null}}),
                json!({"a":{"b":"d"}}),
            ),
            (json!({"a":"foo"}), json!(null), json!(null)),
            (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
            (
                json!({}),
                json!({"a":{"bb":{"ccc":null}}}),
                json!({"a":{"bb":{}}}),
            ),
        ] {
            merge(&mut target, patch);
            assert_eq!(target, result);
        }
    }
}
