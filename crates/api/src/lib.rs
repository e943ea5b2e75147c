//! The HTTP API: routes, who may use them, traces, and the document that describes all of it.
//!
//! **Invariants:** it maps what is asked for to [`service`] and what comes of it to [`wire`], and decides
//! nothing else. Whoever serves it brings the store, the clock and what wakes those who take turns; it
//! shares nothing with them but the database. A handler gets a [`service::Service`] only by naming the
//! permission that it needs.

#![expect(
    unused_qualifications,
    reason = "written by the macros that describe the routes"
)]

mod caller;
mod cookie;
mod etag;
mod extract;
mod gate;
mod health;
mod hosts;
mod listen;
mod observe;
mod once;
mod openapi;
mod pages;
mod problem;
mod routes;
mod sign_ins;
mod state;
mod strict;
mod token_uses;
pub mod trace;
mod within;
mod words;

use axum::{Router, middleware};
use tower::ServiceBuilder;

pub use listen::{Listener, Served, serve};
pub use openapi::document;
pub use state::{Api, ApiBuilder, Live, Peer, Wake};

/// The routes of an API, behind everything that every request passes.
pub fn router(api: Api) -> Router {
    let (routes, _) = openapi::routes().split_for_parts();
    let passes = ServiceBuilder::new()
        .layer(middleware::from_fn_with_state(
            api.clone(),
            observe::request,
        ))
        .layer(middleware::from_fn(problem::no_panic))
        .layer(middleware::from_fn_with_state(api.clone(), gate::pass))
        .layer(middleware::from_fn_with_state(
            api.clone(),
            within::the_time,
        ));
    routes
        .merge(pages::routes())
        .merge(health::routes())
        .fallback(problem::no_route)
        .method_not_allowed_fallback(problem::no_method)
        .layer(passes)
        .with_state(api)
}
