//! Pages for browsers: the page of Matins, the reference of the API, and the page that a sign-in link opens.

mod api_reference;
mod page_files;

use std::sync::LazyLock;

use axum::{
    Router,
    response::{Html, IntoResponse},
    routing::get,
};
use http::header;

use crate::{Api, openapi, problem::ApiError};

static OPENAPI_JSON: LazyLock<String> = LazyLock::new(|| openapi::document().to_string());

/// Returns the routes of the pages. They need no authentication, because they contain no data of a tenant.
pub(crate) fn routes() -> Router<Api> {
    Router::new()
        .merge(page_files::routes())
        .route(
            "/api/v1/openapi.json",
            get(|| async { static_file("application/json", OPENAPI_JSON.as_str()) }),
        )
        .route("/api/v1/docs", get(show_reference))
        .route(
            "/api/v1/docs.css",
            get(|| async { static_file("text/css", include_str!("pages/reference.css")) }),
        )
        .route(
            "/sign-in",
            get(|| async { Html(include_str!("pages/sign-in.html")) }),
        )
        .route(
            "/sign-in.css",
            get(|| async { static_file("text/css", include_str!("pages/sign-in.css")) }),
        )
        .route(
            "/sign-in.js",
            get(|| async { static_file("text/javascript", include_str!("pages/sign-in.js")) }),
        )
}

async fn show_reference() -> Result<Html<&'static str>, ApiError> {
    // Rendered once: the document does not change while the process runs.
    static REFERENCE_PAGE: LazyLock<Result<String, minijinja::Error>> =
        LazyLock::new(|| api_reference::render(&openapi::document()));
    match &*REFERENCE_PAGE {
        Ok(page) => Ok(Html(page)),
        Err(error) => {
            tracing::error!(%error, "cannot render the API reference");
            Err(ApiError::internal("cannot render the API reference"))
        }
    }
}

fn static_file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}
