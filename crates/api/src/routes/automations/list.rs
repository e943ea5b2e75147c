//! `GET /automations`

use axum::Json;
use model::{access::Permission, automation::AutomationState};
use serde::Deserialize;
use service::AutomationQuery;
use utoipa::IntoParams;
use wire::AutomationPage;

use super::super::lists;
use crate::{caller::Caller, extract::Query, problem::Failure};

/// Which automations a list shows.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Whether they are enabled or paused.
    state: Option<AutomationState>,
    /// A text in their names.
    text: Option<String>,
    /// The session to which their turns go: its key, its id or the beginning of that. In unified mode a web
    /// chat shows those of the unified conversation as well.
    session: Option<String>,
    /// What `next` of the page before said.
    #[param(value_type = Option<model::AutomationId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List automations
///
/// Returns automations, the newest first, each with its triggers and its next runs. An automation that the server
/// cannot read is in `unreadable` and hides no other.
#[utoipa::path(
    get,
    path = "/automations",
    tag = "automations",
    params(Filter),
    responses((status = OK, description = "A page of automations", body = AutomationPage)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_automations(
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Json<AutomationPage>, Failure> {
    let service = caller.may(Permission::AutomationsRead)?;
    let query = AutomationQuery {
        state: filter.state,
        text: filter.text,
        session: filter.session,
        after: lists::after(filter.after.as_deref())?,
        limit: lists::limit(filter.limit)?,
    };
    Ok(Json(service.automations(&query).await?))
}
