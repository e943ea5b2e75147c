//! `GET /automations`: lists automations.

use api_types::{AutomationPage, MAX_LISTED_OUTCOMES};
use axum::Json;
use model::{access::Permission, automation::AutomationState};
use serde::Deserialize;
use service::{AutomationOrder, AutomationQuery};
use store::{AutomationRank, AutomationSort};
use utoipa::IntoParams;

use super::super::list_params;
use crate::{caller::Caller, extract::Query, problem::ApiError};

/// The query parameters of the list of automations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListAutomationsParams {
    /// The state of the automations. Without it, the list contains enabled and paused automations; `deleted` lists
    /// the deleted ones.
    state: Option<AutomationState>,
    /// A text that the name of each automation contains.
    text: Option<String>,
    /// The session of the turns of the automations: its ID, the beginning of its ID, or its key. In unified mode the
    /// list for a web chat contains the automations of the unified conversation as well.
    session: Option<String>,
    /// `true` to list only the automations that need a person: with a notice, or paused by something else than a person.
    #[serde(default)]
    attention: bool,
    /// The order of the list: by `name`, by the `next` run, by the `last` run, by the last change (`changed`) or by the
    /// number of `failures` since the last success. Without it, the newest automation comes first, and in a list of
    /// those that need a person the name decides.
    #[param(inline)]
    sort: Option<SortParam>,
    /// The number of the newest outcomes that the response contains for each automation. The default is 1.
    #[param(minimum = 0, maximum = 30)]
    outcomes: Option<u32>,
    /// The value of `next` of the previous page, of the same order. Without it, the response is the first page.
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SortParam {
    Name,
    Next,
    Last,
    Changed,
    Failures,
}

impl From<SortParam> for AutomationSort {
    fn from(sort: SortParam) -> Self {
        match sort {
            SortParam::Name => Self::Name,
            SortParam::Next => Self::Next,
            SortParam::Last => Self::Last,
            SortParam::Changed => Self::Changed,
            SortParam::Failures => Self::Failures,
        }
    }
}

/// List automations
///
/// Returns automations, each with its triggers, its next run and its last outcomes. `unreadable`
/// contains the automations of the page that the server cannot read, so that one corrupt automation hides no other.
#[utoipa::path(
    get,
    path = "/automations",
    tag = "automations",
    params(ListAutomationsParams),
    responses((status = OK, description = "A page of automations", body = AutomationPage)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
pub(super) async fn list_automations(
    caller: Caller,
    Query(filter): Query<ListAutomationsParams>,
) -> Result<Json<AutomationPage>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    let after = filter.after.as_deref();
    let sort = filter
        .sort
        .or_else(|| filter.attention.then_some(SortParam::Name));
    let order = match sort {
        None => AutomationOrder::Made(list_params::parse_cursor_of_order(after, |text| {
            text.parse().ok()
        })?),
        Some(sort) => {
            let sort = sort.into();
            let parse = |text: &str| AutomationRank::parse(text, sort).ok();
            AutomationOrder::Sorted(sort, list_params::parse_cursor_of_order(after, parse)?)
        }
    };
    let query = AutomationQuery {
        state: filter.state,
        text: filter.text,
        session: filter.session,
        attention: filter.attention,
        order,
        limit: list_params::page_limit(filter.limit)?,
        outcomes: outcomes(filter.outcomes)?,
    };
    Ok(Json(service.automations(&query).await?))
}

/// Returns the number of outcomes for each automation: the given one, or 1.
///
/// # Errors
///
/// Returns 400 if the number is higher than [`MAX_LISTED_OUTCOMES`].
fn outcomes(given: Option<u32>) -> Result<u32, ApiError> {
    match given.unwrap_or(1) {
        outcomes if outcomes <= MAX_LISTED_OUTCOMES => Ok(outcomes),
        outcomes => {
            let detail =
                format!("invalid `outcomes` {outcomes}: accepted are 0 to {MAX_LISTED_OUTCOMES}");
            Err(ApiError::malformed(detail).field("outcomes"))
        }
    }
}
