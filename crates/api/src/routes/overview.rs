//! The overview of a tenant, and its timeline.

use api_types::{Overview, Timeline};
use axum::Json;
use model::{Timestamp, access::Permission};
use serde::Deserialize;
use service::{DEFAULT_LANES, MAX_LANES, Service, TimelineQuery};
use utoipa::IntoParams;

use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::Query,
    problem::ApiError,
};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(show_overview))
        .routes(routes!(show_timeline))
}

/// The query parameters of the overview.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OverviewParams {
    /// The instant from which on inputs are counted, at most 31 days ago. The default is 24 hours ago.
    since: Option<Timestamp>,
}

/// Show the overview
///
/// Returns what ran since an instant, what failed and why, what waits for a person, what runs next, and what it cost.
#[utoipa::path(
    get,
    path = "/overview",
    tag = "overview",
    params(OverviewParams),
    responses((status = OK, description = "The overview", body = Overview)),
    security(
        ("token" = ["automations:read", "runs:read", "sessions:read", "approvals:read"]),
        ("browser" = [])
    )
)]
async fn show_overview(
    caller: Caller,
    Query(params): Query<OverviewParams>,
) -> Result<Json<Overview>, ApiError> {
    caller.authorize(Permission::ApprovalsRead)?;
    let service = authorize(&caller)?;
    Ok(Json(service.overview(params.since).await?))
}

/// The query parameters of the timeline.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TimelineParams {
    /// The beginning of the period, at most 31 days ago. The default is 24 hours ago.
    from: Option<Timestamp>,
    /// The end of the period, at most 31 days ahead. The default is in 24 hours.
    to: Option<Timestamp>,
    /// The automation: its name, its ID, or the beginning of its ID. Without it, each automation has a lane, and the
    /// conversations of people have one together.
    automation: Option<String>,
    /// The maximum number of lanes. The default is 20.
    #[param(minimum = 1, maximum = 200)]
    lanes: Option<u32>,
}

/// Show the timeline
///
/// Returns the runs of a period and the next runs in the rest of it, by automation.
#[utoipa::path(
    get,
    path = "/timeline",
    tag = "overview",
    params(TimelineParams),
    responses((status = OK, description = "The timeline", body = Timeline)),
    security(("token" = ["automations:read", "runs:read", "sessions:read"]), ("browser" = []))
)]
async fn show_timeline(
    caller: Caller,
    Query(params): Query<TimelineParams>,
) -> Result<Json<Timeline>, ApiError> {
    let service = authorize(&caller)?;
    let lanes = match params.lanes.unwrap_or(DEFAULT_LANES) {
        lanes if (1..=MAX_LANES).contains(&lanes) => lanes,
        lanes => {
            let detail = format!("invalid `lanes` {lanes}: accepted are 1 to {MAX_LANES}");
            return Err(ApiError::malformed(detail).field("lanes"));
        }
    };
    let query = TimelineQuery {
        from: params.from,
        to: params.to,
        automation: params.automation,
        lanes,
    };
    Ok(Json(service.timeline(&query).await?))
}

fn authorize(caller: &Caller) -> Result<Service, ApiError> {
    caller.authorize(Permission::AutomationsRead)?;
    caller.authorize(Permission::SessionsRead)?;
    caller.authorize(Permission::RunsRead)
}
