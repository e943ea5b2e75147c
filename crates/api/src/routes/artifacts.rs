//! Artifacts: the files and addresses that agents hand in.

use std::fmt::Write as _;

use api_types::{Artifact, Page};
use axum::{Json as Answer, body::Body, response::Response};
use http::{HeaderName, HeaderValue, header};
use model::{access::Permission, artifact::is_media_type};
use serde::Deserialize;
use service::ArtifactQuery;
use tokio::{fs::File, io::AsyncReadExt as _};
use tokio_util::io::ReaderStream;
use utoipa::IntoParams;

use super::list_params;
use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The description of the path parameter that names an artifact.
const ARTIFACT_PARAM_DESCRIPTION: &str = "The ID of the artifact or the beginning of its ID";
/// The number of bytes of a content that are read at once.
const STREAM_BUFFER_BYTES: usize = 64 << 10;
/// The media type of a content whose stored type is invalid.
const UNKNOWN_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/octet-stream");

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_artifacts))
        .routes(routes!(show_artifact))
        .routes(routes!(download_artifact))
}

/// The query parameters of the list of artifacts.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListArtifactsParams {
    /// The beginning of the names of the artifacts.
    name: Option<String>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::ArtifactId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List artifacts
///
/// Returns the files and addresses that the agents of a session have handed in, each version, the newest first.
#[utoipa::path(
    get,
    path = "/sessions/{session}/artifacts",
    tag = "artifacts",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ListArtifactsParams
    ),
    responses((status = OK, description = "A page of artifacts", body = Page<Artifact>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn list_artifacts(
    caller: Caller,
    Path([session]): Path<1>,
    Query(filter): Query<ListArtifactsParams>,
) -> Result<Answer<Page<Artifact>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let query = ArtifactQuery {
        session,
        name: filter.name,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Answer(service.artifacts(&query).await?.map(Into::into)))
}

/// Show an artifact
///
/// Returns one version of a file or of an address that an agent handed in, without the content.
#[utoipa::path(
    get,
    path = "/artifacts/{artifact}",
    tag = "artifacts",
    params(("artifact" = String, Path, description = ARTIFACT_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The artifact", body = Artifact)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn show_artifact(
    caller: Caller,
    Path([artifact]): Path<1>,
) -> Result<Answer<Artifact>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    Ok(Answer(service.artifact(&artifact).await?.into()))
}

/// Download an artifact
///
/// Returns the content, after the server has verified its SHA-256. A browser saves it and never shows it as a page of
/// the server. Returns 409 if the artifact is an address, if the content is in the data folder of another instance, which
/// the error names, and if the stored content is missing or damaged.
#[utoipa::path(
    get,
    path = "/artifacts/{artifact}/content",
    tag = "artifacts",
    params(("artifact" = String, Path, description = ARTIFACT_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The content, with the media type that the agent named",
        content((String = "application/octet-stream"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn download_artifact(
    caller: Caller,
    Path([artifact]): Path<1>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let (artifact, content) = service.artifact_content(&artifact).await?;
    // The size bounds the body, so that it never differs from `Content-Length`.
    let file = File::from_std(content.file).take(content.size);
    let stream = ReaderStream::with_capacity(file, STREAM_BUFFER_BYTES);
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    let media_type = is_media_type(&artifact.media_type)
        .then(|| HeaderValue::try_from(&artifact.media_type).ok())
        .flatten();
    headers.insert(
        header::CONTENT_TYPE,
        media_type.unwrap_or(UNKNOWN_MEDIA_TYPE),
    );
    headers.insert(header::CONTENT_LENGTH, content.size.into());
    headers.insert(
        header::CONTENT_DISPOSITION,
        content_disposition(&artifact.name),
    );
    // An agent has chosen the content and its type: no browser may take it for a page or a script of the server.
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    Ok(response)
}

/// Returns the header by which a client saves a content under the last part of a name (RFC 6266), with the whole name in
/// UTF-8 (RFC 8187) beside an ASCII form for old clients.
fn content_disposition(name: &str) -> HeaderValue {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    // A name of dots or without any character would name a folder.
    let last = match last.trim_matches(['.', ' ']) {
        "" => "artifact",
        _ => last.trim_start_matches(' '),
    };
    let mut value = String::from("attachment; filename=\"");
    value.extend(last.chars().map(|char| match char {
        '"' | '%' | '\\' => '_',
        ' '..='~' => char,
        _ => '_',
    }));
    value.push_str("\"; filename*=UTF-8''");
    for byte in last.bytes() {
        // The characters `attr-char` of RFC 8187.
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            value.push(byte.into());
        } else {
            write!(value, "%{byte:02X}").ok();
        }
    }
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_name_adds_no_parameter_and_no_folder() {
        for (name, expected) in [
            ("report.md", r#""report.md"; filename*=UTF-8''report.md"#),
            ("../../etc/passwd", r#""passwd"; filename*=UTF-8''passwd"#),
            (r"..\..\run.bat", r#""run.bat"; filename*=UTF-8''run.bat"#),
            ("mail/", r#""artifact"; filename*=UTF-8''artifact"#),
            ("..", r#""artifact"; filename*=UTF-8''artifact"#),
            (
                r#"a"; filename="b"#,
                r#""a_; filename=_b"; filename*=UTF-8''a%22%3B%20filename%3D%22b"#,
            ),
            ("a%22b", r#""a_22b"; filename*=UTF-8''a%2522b"#),
            ("žába", r#""__ba"; filename*=UTF-8''%C5%BE%C3%A1ba"#),
            // A stored name is one line; another program may have written it.
            (
                "a\r\nset-cookie: b=c",
                r#""a__set-cookie: b=c"; filename*=UTF-8''a%0D%0Aset-cookie%3A%20b%3Dc"#,
            ),
            (
                "a\u{202e}dm.exe",
                r#""a_dm.exe"; filename*=UTF-8''a%E2%80%AEdm.exe"#,
            ),
        ] {
            let header = content_disposition(name);
            let value = header.to_str().unwrap();
            let rest = value.strip_prefix("attachment; filename=");
            assert_eq!(rest, Some(expected), "{name}");
        }
    }
}
