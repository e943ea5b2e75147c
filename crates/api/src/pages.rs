//! Pages for browsers: the page of Matins, the reference of the API, and the page that a sign-in link opens.

mod api_reference;
mod page_files;

use std::sync::LazyLock;

use axum::{
    Router,
    extract::{Request, State},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, Method, StatusCode, header};

use crate::{
    Api, openapi,
    problem::{self, ApiError},
};

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

/// Answers a request for a path that no route has (404). A browser that opens an address outside of the API gets the
/// page, which says that there is nothing and leads back. Everything else gets a problem.
pub(crate) async fn show_not_found(State(api): State<Api>, request: Request) -> Response {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    if is_read && is_page_address(request.uri().path()) && accepts_html(request.headers()) {
        return match page_files::show_page(State(api)).await {
            Ok(page) => (StatusCode::NOT_FOUND, page).into_response(),
            Err(error) => error.into_response(),
        };
    }
    problem::route_not_found(&request).into_response()
}

/// `true` if the path belongs neither to the API nor to the files of the page.
fn is_page_address(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    !matches!(first, Some("api" | "assets"))
}

/// `true` if the client names HTML, as browsers do when a person opens an address. `*/*` is not enough, because scripts
/// and command-line programs send it.
fn accepts_html(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|kind| kind.split(';').next())
        .any(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
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
