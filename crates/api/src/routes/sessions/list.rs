//! `GET /sessions`: lists sessions.

use api_types::{Page, SessionItem};
use axum::Json;
use model::{
    access::Permission,
    session::{SessionKind, SessionStatus, SessionType},
};
use serde::Deserialize;
use service::SessionQuery;
use store::SessionOrder;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{caller::Caller, extract::Query, problem::ApiError};

/// The query parameters of the list of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListSessionsParams {
    /// The types of the sessions, separated by commas. The default is `regular`, or all types if `automation` is set.
    #[serde(
        default,
        rename = "type",
        deserialize_with = "list_params::comma_separated"
    )]
    #[param(style = Form, explode = false, min_items = 1)]
    types: Option<Vec<SessionType>>,
    /// The kind of the sessions.
    kind: Option<SessionKind>,
    /// The state of the sessions.
    state: Option<SessionStatus>,
    /// `true` for the sessions of goals, `false` for the others.
    of_goal: Option<bool>,
    /// The automation that created the sessions: its name, its ID, or the beginning of its ID.
    automation: Option<String>,
    /// A text that the title, the key or the ID of each session contains.
    text: Option<String>,
    /// The order of the list: `made` begins with the newest session, and `changed` with the session that changed
    /// last. The default is `made`.
    #[param(inline)]
    order: Option<OrderParam>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderParam {
    Made,
    Changed,
}

/// List sessions
///
/// Returns sessions, each with the beginning of its last message and the outcome of its last run. Without filters it
/// returns the sessions that people created; set `type` or `automation` to get sessions of chat channels and of
/// automations.
#[utoipa::path(
    get,
    path = "/sessions",
    tag = "sessions",
    params(ListSessionsParams),
    responses((status = OK, description = "A page of sessions", body = Page<SessionItem>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_sessions(
    caller: Caller,
    Query(filter): Query<ListSessionsParams>,
) -> Result<Json<Page<SessionItem>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let after = filter.after.as_deref();
    let order = match filter.order {
        None | Some(OrderParam::Made) => SessionOrder::Created {
            after: list_params::parse_cursor_of_order(after, |text| text.parse().ok())?,
        },
        Some(OrderParam::Changed) => SessionOrder::Changed {
            after: list_params::parse_cursor_of_order(after, |text| text.parse().ok())?,
        },
    };
    let query = SessionQuery {
        types: filter.types,
        kind: filter.kind,
        state: filter.state,
        of_goal: filter.of_goal,
        automation: filter.automation,
        text: filter.text,
        order,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Json(service.sessions(&query).await?))
}
