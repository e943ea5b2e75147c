//! Pages for browsers: the reference of the API, and the page that a sign-in link opens.

mod reference;

use std::sync::LazyLock;

use axum::{
    Router,
    response::{Html, IntoResponse, Redirect},
    routing::get,
};
use http::header;

use crate::{Api, openapi, problem::Failure};

static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi::document().to_string());

/// Returns the routes of the pages. They need no authentication, because they contain no data of a tenant.
pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/api/v1/docs") }))
        .route(
            "/api/v1/openapi.json",
            get(|| async { file("application/json", DOCUMENT.as_str()) }),
        )
        .route("/api/v1/docs", get(reference))
        .route(
            "/api/v1/docs.css",
            get(|| async { file("text/css", include_str!("pages/reference.css")) }),
        )
        .route(
            "/sign-in",
            get(|| async { Html(include_str!("pages/sign-in.html")) }),
        )
        .route(
            "/sign-in.css",
            get(|| async { file("text/css", include_str!("pages/sign-in.css")) }),
        )
        .route(
            "/sign-in.js",
            get(|| async { file("text/javascript", include_str!("pages/sign-in.js")) }),
        )
}

async fn reference() -> Result<Html<&'static str>, Failure> {
    // Rendered once: the document does not change while the process runs.
    static PAGE: LazyLock<Result<String, minijinja::Error>> =
        LazyLock::new(|| reference::render(&openapi::document()));
    match &*PAGE {
        Ok(page) => Ok(Html(page)),
        Err(error) => {
            tracing::error!(%error, "failed to render the reference");
            Err(Failure::internal("failed to render the reference"))
        }
    }
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}
