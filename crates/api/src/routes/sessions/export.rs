//! `GET /sessions/{session}/export`

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures::{StreamExt as _, TryStreamExt as _};
use http::{HeaderValue, header};
use model::access::Permission;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::ExportFormat;

use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::Failure,
};

/// How a session is written down.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Form {
    /// The format; absent: `jsonl`.
    #[serde(default)]
    #[param(inline)]
    format: ExportFormat,
    /// The IANA name of the zone in which people read times in `markdown`; absent: UTC.
    zone: Option<String>,
}

/// Export a session
///
/// Returns the whole conversation, as JSON Lines (an object about the session, then one for each row) or as Markdown.
/// It contains the transcript, without the prompts as they were sent and without settings of agents.
#[utoipa::path(
    get,
    path = "/sessions/{session}/export",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "Its id, the beginning of that, or its key"),
        Form
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
    Query(form): Query<Form>,
) -> Result<Response, Failure> {
    let service = caller.may(Permission::SessionsRead)?;
    let export = service
        .export(&session, form.format, form.zone.as_deref())
        .await?;
    let kind = HeaderValue::from_static(match form.format {
        ExportFormat::Jsonl => "application/jsonl",
        ExportFormat::Markdown => "text/markdown; charset=utf-8",
    });
    // An export that breaks off is seen as that: the connection ends without the last chunk.
    let parts = export.into_stream().map(|part| part.map(Bytes::from));
    let body = Body::from_stream(parts.map_err(std::io::Error::other));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
