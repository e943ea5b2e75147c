//! The time limits of requests.

use std::time::Duration;

use api_types::ProblemKind;
use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use tokio::time::timeout;

use crate::{Api, extract, problem::ApiError};

/// The routes whose requests may start an agent to read its capabilities. The configuration of the agent limits the
/// start, so that these requests have a longer limit here.
const AGENT_ROUTES: [&str; 4] = [
    "/api/v1/agents/{agent}/check",
    "/api/v1/sessions",
    "/api/v1/automations",
    "/api/v1/automations/{automation}",
];
/// The time limit of such a request, without the time for its body.
const AGENT_REQUEST_TIMEOUT: Duration = Duration::from_mins(10);

/// The route whose requests bring a file of an agent. A runtime may have a slow network.
const FILE_ROUTE: &str = "/api/v1/runtime/runs/{run}/tools/file";
/// The time limit of such a request.
const FILE_REQUEST_TIMEOUT: Duration = Duration::from_mins(10);

/// Answers a request with 503 when its time is over, and drops its handler. A handler commits each transition in one
/// transaction, so that a dropped handler leaves no part of one. The limit ends with the head of the response: the
/// bodies of streams continue.
pub(crate) async fn limit_request_time(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let limit = api.shared.request_timeout;
    let route = request.extensions().get::<MatchedPath>();
    if route.is_some_and(|route| AGENT_ROUTES.contains(&route.as_str())) {
        // Apply the short limit to the body. Otherwise a client that sends its body slowly would hold the request for
        // ten minutes.
        let Ok(whole) = timeout(limit, buffer_body(request)).await else {
            return timeout_response(limit);
        };
        return match whole {
            Ok(request) => respond_or_time_out(AGENT_REQUEST_TIMEOUT, next.run(request)).await,
            Err(error) => error.into_response(),
        };
    }
    if route.is_some_and(|route| route.as_str() == FILE_ROUTE) {
        return respond_or_time_out(limit.max(FILE_REQUEST_TIMEOUT), next.run(request)).await;
    }
    respond_or_time_out(limit, next.run(request)).await
}

/// Reads the body of a request into memory and returns the request with it.
///
/// # Errors
///
/// Returns the errors of [`extract::read_body`].
async fn buffer_body(request: Request) -> Result<Request, ApiError> {
    let (parts, body) = request.into_parts();
    let bytes = extract::read_body(
        Request::from_parts(parts.clone(), body),
        extract::MAX_BODY_BYTES,
    )
    .await?;
    Ok(Request::from_parts(parts, bytes.into()))
}

async fn respond_or_time_out(
    limit: Duration,
    response: impl Future<Output = Response>,
) -> Response {
    let response = timeout(limit, response).await;
    response.unwrap_or_else(|_| timeout_response(limit))
}

fn timeout_response(limit: Duration) -> Response {
    ApiError::new(
        ProblemKind::Unavailable,
        StatusCode::SERVICE_UNAVAILABLE,
        format!("the request took longer than {} s", limit.as_secs()),
    )
    .into_response()
}
