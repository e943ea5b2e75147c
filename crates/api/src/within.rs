//! How long a request may take.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use tokio::time::timeout;
use wire::ProblemKind;

use crate::{Api, problem::Failure};

/// The ending of the paths whose requests start agents, which have time limits of their own.
const STARTS_AGENTS: &str = "/check";

/// Answers what takes too long, and gives up on it: a transition is done whole or not at all. The bodies of
/// streams are not meant, they begin in time and go on.
pub(crate) async fn the_time(State(api): State<Api>, request: Request, next: Next) -> Response {
    if request.uri().path().ends_with(STARTS_AGENTS) {
        return next.run(request).await;
    }
    let limit = api.shared.patience;
    if let Ok(response) = timeout(limit, next.run(request)).await {
        return response;
    }
    Failure::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        format!("failed to answer within {} s", limit.as_secs()),
    )
    .into_response()
}
