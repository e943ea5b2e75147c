//! `GET /sessions/{session}/export`: streams a whole conversation.

use api_types::ExportFormat;
use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{HeaderValue, header};
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters of an export.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// The format of the export. The default is `jsonl`.
    #[serde(default)]
    #[param(inline)]
    format: ExportFormat,
    /// The IANA name of the time zone of the times in `markdown`, such as `Europe/Prague`. The default is UTC.
    zone: Option<String>,
}

/// Export a session
///
/// Returns the whole conversation, as JSON Lines (one object for the session, then one for each row of the
/// transcript) or as Markdown. The export contains neither the prompts as the agents received them nor the settings
/// of agents.
#[utoipa::path(
    get,
    path = "/sessions/{session}/export",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ExportParams
    ),
    responses((
        status = OK,
        description = "The conversation",
        content((String = "application/jsonl"), (String = "text/markdown"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn export_session(
    caller: Caller,
    Path([session]): Path<1>,
    Query(form): Query<ExportParams>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let export = service
        .export(&session, form.format, form.zone.as_deref())
        .await?;
    let kind = HeaderValue::from_static(match form.format {
        ExportFormat::Jsonl => "application/jsonl",
        ExportFormat::Markdown => "text/markdown; charset=utf-8",
    });
    // The status 200 is sent before the rows are read. If a read fails later, the error makes the server close the
    // connection without the last chunk, so that the client cannot take a part for the whole.
    let parts = export.into_stream().map(|part| part.map(Bytes::from));
    let body = Body::from_stream(parts.map_err(std::io::Error::other));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
