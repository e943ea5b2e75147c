//! Live traces of sessions, automations and tenants, as Server-Sent Events.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use api_types::TraceEvent;
use axum::{body::Body, extract::FromRequestParts, response::Response};
use futures::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts};
use model::access::Permission;
use serde::Deserialize;
use tokio::time::sleep;
use utoipa::IntoParams;

use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
    trace::{InvalidCursor, Trace, feed_cursor, session_cursor},
};

/// The longest life of a trace. The server authenticates a client only when it connects, so that a trace without an
/// end would outlive the revocation of its token. Clients connect again and continue after the last event.
const MAX_TRACE_DURATION: Duration = Duration::from_mins(15);

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(trace_session))
        .routes(routes!(trace_automation))
        .routes(routes!(trace_tenant))
}

/// The query parameters of a trace.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TraceParams {
    /// The ID of the last event that the client received, for clients that cannot send the header `Last-Event-ID`.
    /// The header takes precedence.
    after: Option<String>,
}

/// The query parameters of the trace of a tenant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TenantTraceParams {
    /// The ID of the last event that the client received, for clients that cannot send the header `Last-Event-ID`.
    /// The header takes precedence.
    after: Option<String>,
    /// A session whose `delta` events the trace has as well: its ID, the beginning of its ID, or its key. The
    /// parameter may occur up to 8 times.
    #[serde(default)]
    #[param(max_items = 8)]
    delta: Vec<String>,
}

/// The maximum number of sessions whose text the trace of a tenant has. A client shows few texts at the same time, and
/// each costs the server the reads of that session.
const MAX_DELTA_SESSIONS: usize = 8;

/// The header `Last-Event-ID`, which a client sends when it connects again: the ID of the last event that it
/// received.
struct LastEventId(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let name = HeaderName::from_static("last-event-id");
        let given = parts.headers.get(&name).map(|value| {
            let text = value.to_str().map(str::to_owned);
            text.map_err(|_| {
                ApiError::malformed("invalid `Last-Event-ID`: accepted is the ID of an event")
                    .field("Last-Event-ID")
            })
        });
        given.transpose().map(Self)
    }
}

/// Trace a session
///
/// Streams the events of a session as Server-Sent Events. The data of each is a `TraceEvent`, whose `kind` is also
/// the name of the event. The ID of `session`, `run`, `message`, `approval`, `question` and `unknown` is the number of the event
/// in the log. `delta`, the text that a turn is writing, has no ID. After a break, send the last ID as
/// `Last-Event-ID`: no event is lost and none comes twice. If retention has removed the next events, one `resync`
/// with a snapshot takes their place. Without either parameter the trace begins with the oldest event that is kept.
/// The trace ends after 15 minutes at the latest, when the token expires, and when the server stops: then connect
/// again. After `session_deleted` it ends for good.
#[utoipa::path(
    get,
    path = "/sessions/{session}/trace",
    tag = "traces",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ("Last-Event-ID" = Option<String>, Header, description = "The ID of the last event that the client received"),
        TraceParams
    ),
    responses((
        status = OK,
        description = "Server-Sent Events. The data of each event is one `TraceEvent`, and its name is the `kind`",
        content_type = "text/event-stream",
        body = TraceEvent
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn trace_session(
    caller: Caller,
    Path([session]): Path<1>,
    LastEventId(last): LastEventId,
    Query(since): Query<TraceParams>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let after = session_cursor(last.as_deref(), since.after.as_deref())?;
    let session = service.session_id(&session).await?;
    let scope = store::Scope::Tenant(caller.tenant);
    let traces = &caller.api.shared.traces;
    let trace = traces.session(scope, session, after).await?;
    Ok(stream(&caller, trace))
}

/// Trace an automation
///
/// Streams the events of an automation: of its sessions, of its runs in other sessions, and of the automation itself,
/// such as skipped and missed occurrences and pauses. It works like the trace of a session, with three differences:
/// an ID is a position in the order of commits, a snapshot is a `feed_resync`, and there is no `delta`. Without either
/// parameter the trace begins with the next event. The caller needs the permission `sessions:read` as well.
#[utoipa::path(
    get,
    path = "/automations/{automation}/trace",
    tag = "traces",
    params(
        ("automation" = String, Path, description = "The name of the automation, its ID, or the beginning of its ID"),
        ("Last-Event-ID" = Option<String>, Header, description = "The ID of the last event that the client received"),
        TraceParams
    ),
    responses((
        status = OK,
        description = "Server-Sent Events. The data of each event is one `TraceEvent`, and its name is the `kind`",
        content_type = "text/event-stream",
        body = TraceEvent
    )),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
async fn trace_automation(
    caller: Caller,
    Path([automation]): Path<1>,
    LastEventId(last): LastEventId,
    Query(since): Query<TraceParams>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    caller.authorize(Permission::SessionsRead)?;
    let after = feed_cursor(last.as_deref(), since.after.as_deref())?;
    let automation = service.automation_id(&automation).await?;
    let traces = &caller.api.shared.traces;
    let trace = traces.automation(caller.tenant, automation, after).await?;
    Ok(stream(&caller, trace))
}

/// Trace a tenant
///
/// Streams the events of all sessions and automations of the tenant, in the order of commits. It works like the trace
/// of an automation. Without a cursor the trace begins with the next event. The caller needs the permission
/// `automations:read` as well. `delta` adds the text that the turns of a session are writing, from its beginning, as in
/// the trace of that session. Such a text may come shortly before the event of its turn's start and shortly after that
/// of its end.
#[utoipa::path(
    get,
    path = "/trace",
    tag = "traces",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The ID of the last event that the client received"),
        TenantTraceParams
    ),
    responses((
        status = OK,
        description = "Server-Sent Events. The data of each event is one `TraceEvent`, and its name is the `kind`",
        content_type = "text/event-stream",
        body = TraceEvent
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn trace_tenant(
    caller: Caller,
    LastEventId(last): LastEventId,
    Query(since): Query<TenantTraceParams>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    caller.authorize(Permission::AutomationsRead)?;
    if since.delta.len() > MAX_DELTA_SESSIONS {
        let given = since.delta.len();
        let detail = format!(
            "invalid `delta` with {given} sessions: accepted are up to {MAX_DELTA_SESSIONS}"
        );
        return Err(ApiError::malformed(detail).field("delta"));
    }
    let mut texts = BTreeSet::new();
    for session in &since.delta {
        texts.insert(service.session_id(session).await?);
    }
    let after = feed_cursor(last.as_deref(), since.after.as_deref())?;
    let traces = &caller.api.shared.traces;
    let trace = traces
        .tenant_with_texts(caller.tenant, after, &texts)
        .await?;
    Ok(stream(&caller, trace))
}

/// Returns the response that streams a trace, until the token of the caller expires or [`MAX_TRACE_DURATION`] is over.
fn stream(caller: &Caller, trace: Trace) -> Response {
    let now = caller.now();
    let expires = caller.token.as_ref().and_then(|token| token.expires_at);
    let duration = expires.map_or(MAX_TRACE_DURATION, |expires| {
        MAX_TRACE_DURATION.min(expires.since(now))
    });
    let frames = trace.take_until(Box::pin(sleep(duration)));
    let open = caller.api.shared.metrics.open_trace();
    let frames = frames.map(move |frame| {
        // The closure owns `open`, so that the trace is counted as open until its stream is dropped.
        let _counts = &open;
        Ok::<_, Infallible>(frame)
    });
    let mut response = Response::new(Body::from_stream(frames));
    let headers: &mut HeaderMap = response.headers_mut();
    let kind = HeaderValue::from_static("text/event-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    // nginx would otherwise buffer events until a buffer is full.
    let name = HeaderName::from_static("x-accel-buffering");
    headers.insert(name, HeaderValue::from_static("no"));
    response
}

impl From<InvalidCursor> for ApiError {
    fn from(error: InvalidCursor) -> Self {
        Self::malformed(error.to_string()).field(error.field)
    }
}
