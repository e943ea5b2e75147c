//! Serves the HTTP API of Matins: routes, authentication and permissions, live traces, and the `OpenAPI` document.
//!
//! ```text
//! serve() accepts connections
//!    │
//! router(): request_metrics ── catch_panic ── request_guard ── timeout
//!    │
//! routes/, one file for each operation or resource
//!    │
//! Caller::authorize() ── service::Service
//! ```
//!
//! - [`Api`] is the state that all routes share. [`ApiBuilder`] makes it.
//! - [`router`] has all routes, [`serve`] serves them at a [`Listener`], and [`document`] describes them.
//! - [`trace::Hub`] reads the logs for all live traces of the process.
//!
//! Read `routes/automations/create.rs` first.
//!
//! **Invariants:** a handler maps a request to a call of [`service`] and its result to a type of [`api_types`]; the
//! rules are in [`service`]. The server process passes in the store, the clock and the callback that wakes the worker
//! loops; this crate shares nothing with those loops but the database. A handler gets a [`service::Service`] only by
//! naming the permission that it needs, so that no handler of a resource can skip the check.

#![expect(
    unused_qualifications,
    reason = "the macros that describe the routes write them"
)]

mod api_router;
mod caller;
mod cookie;
mod etag;
mod extract;
mod health;
mod hosts;
mod idempotency;
mod keys_in_progress;
mod listen;
mod openapi;
mod pages;
mod problem;
mod query_params;
mod request_guard;
mod request_metrics;
mod routes;
mod runtime_caller;
mod sign_in_limiter;
mod state;
mod strict_json;
mod timeout;
mod token_uses;
pub mod trace;

use axum::{
    Router,
    http::{HeaderName, HeaderValue},
    middleware,
    response::Response,
};
use tower::ServiceBuilder;

pub use listen::{Listener, PeerCheck, ServerHandle, serve};
pub use openapi::document;
pub use state::{
    AgentTools, Api, ApiBuilder, LivenessCheck, Peer, ToolAnswerer, ToolMessage, TurnTiming,
    WakeCallback,
};

/// Returns all routes of an API, behind the middleware that every request passes.
pub fn router(api: Api) -> Router {
    // The digests of idempotent requests have the paths below the prefix, so the routes are nested.
    let routes = Router::new().nest(openapi::API_PREFIX, routes::all().into_router());
    // The first layer is the outermost. Each response has the version of the API and is counted, also those of the layers
    // below. A panic below becomes a 500. `guard_request` refuses requests of foreign pages before the time limit reads a
    // body.
    let passes = ServiceBuilder::new()
        .layer(middleware::map_response(add_version))
        .layer(middleware::from_fn_with_state(
            api.clone(),
            request_metrics::record_request,
        ))
        .layer(middleware::from_fn(problem::catch_panic))
        .layer(middleware::from_fn_with_state(
            api.clone(),
            request_guard::guard_request,
        ))
        .layer(middleware::from_fn_with_state(
            api.clone(),
            timeout::limit_request_time,
        ));
    routes
        .merge(routes::runtime::routes())
        .merge(pages::routes())
        .merge(health::routes())
        .fallback(pages::show_not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .layer(passes)
        .with_state(api)
}

/// Adds the version of the API to a response, so that a program of another version can name the mismatch.
async fn add_version(mut response: Response) -> Response {
    let version = HeaderValue::from(api_types::API_VERSION);
    let name = HeaderName::from_static(api_types::API_VERSION_HEADER);
    response.headers_mut().insert(name, version);
    response
}
