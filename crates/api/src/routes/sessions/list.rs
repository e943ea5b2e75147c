//! `GET /sessions`

use axum::Json;
use model::{
    access::Permission,
    session::{SessionKind, SessionStatus, SessionType},
};
use serde::Deserialize;
use service::SessionQuery;
use utoipa::IntoParams;
use wire::{Page, Session};

use super::super::lists;
use crate::{caller::Caller, extract::Query, problem::Failure};

/// Which sessions a list shows.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Where they came from, with commas in between; absent: `regular`, or any if an automation is named.
    #[serde(default, rename = "type", deserialize_with = "lists::words")]
    #[param(style = Form, explode = false, min_items = 1)]
    types: Option<Vec<SessionType>>,
    /// What they are for.
    kind: Option<SessionKind>,
    /// Where they are in their lives.
    state: Option<SessionStatus>,
    /// The automation that made them.
    automation: Option<String>,
    /// A text in their titles, keys or ids.
    text: Option<String>,
    /// In which order: by when they were made, or those first in which anything changed last. The latter has
    /// one page, and goes with the filters by type and by automation alone.
    #[param(inline)]
    order: Option<Order>,
    /// What `next` of the page before said.
    #[param(value_type = Option<model::SessionId>)]
    after: Option<String>,
    /// How many at the most.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Made,
    Changed,
}

/// List sessions
///
/// Returns the sessions that people began. Name other types, or an automation, to get those that automations created.
#[utoipa::path(
    get,
    path = "/sessions",
    tag = "sessions",
    params(Filter),
    responses((status = OK, description = "A page of sessions", body = Page<Session>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_sessions(
    caller: Caller,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<Session>>, Failure> {
    let service = caller.may(Permission::SessionsRead)?;
    let query = SessionQuery {
        types: filter.types,
        kind: filter.kind,
        state: filter.state,
        automation: filter.automation,
        text: filter.text,
        by_change: matches!(filter.order, Some(Order::Changed)),
        after: lists::after(filter.after.as_deref())?,
        limit: lists::limit(filter.limit)?,
    };
    Ok(Json(service.sessions(&query).await?.map(Into::into)))
}
