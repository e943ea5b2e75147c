//! The memory of automations and sessions: entries that agents keep, and that people read and edit.

use api_types::{MemoryEntry, MemoryEntryRequest, Page};
use axum::Json as Answer;
use model::{MemoryEntryId, Timestamp, access::Permission, memory};
use serde::{Deserialize, Serialize};
use service::{MemoryOf, MemoryQuery, Service};
use utoipa::IntoParams;

use super::list_params;
use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, Path, Query},
    problem::ApiError,
};

const AUTOMATION_PARAM_DESCRIPTION: &str =
    "The name of the automation, its ID, or the beginning of its ID";
const SESSION_PARAM_DESCRIPTION: &str =
    "The ID of the session, the beginning of its ID, or its key";
const KEY_PARAM_DESCRIPTION: &str = "The key of the entry, 1 to 200 bytes";

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_automation_memory))
        .routes(routes!(
            show_automation_memory_entry,
            set_automation_memory_entry,
            delete_automation_memory_entry
        ))
        .routes(routes!(list_session_memory))
        .routes(routes!(
            show_session_memory_entry,
            set_session_memory_entry,
            delete_session_memory_entry
        ))
}

/// The query parameters of a list of memory entries.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListMemoryParams {
    /// A text in the key or in the value. The case of letters does not matter.
    text: Option<String>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

fn query(filter: ListMemoryParams) -> Result<MemoryQuery, ApiError> {
    Ok(MemoryQuery {
        text: filter.text,
        after: filter.after,
        limit: list_params::page_limit(filter.limit)?,
    })
}

/// The part of an entry from which the entity tag is computed.
#[derive(Serialize)]
struct EntryVersion<'a> {
    /// An entry that was deleted and written again under its key is another one.
    id: MemoryEntryId,
    version: i64,
    value: &'a str,
    confidence: f64,
    expires_at: Option<Timestamp>,
}

/// Returns the part of an entry from which the entity tag is computed.
fn version_of(entry: &memory::MemoryEntry) -> EntryVersion<'_> {
    EntryVersion {
        id: entry.id,
        version: entry.version,
        value: &entry.value,
        confidence: entry.confidence,
        expires_at: entry.expires_at,
    }
}

/// Checks `If-Match` against the present entry. Returns that entry, because the store compares it once more under a
/// lock, and `None` if the request has no such header.
///
/// # Errors
///
/// Returns 412 if the entry does not exist, or has another tag.
async fn check_seen(
    service: &Service,
    of: &MemoryOf,
    key: &str,
    seen: &IfMatch,
) -> Result<Option<memory::MemoryEntry>, ApiError> {
    if !seen.is_given() {
        return Ok(None);
    }
    match service.memory_entry(of, key).await {
        Ok(entry) => {
            seen.check("the memory entry", &version_of(&entry))?;
            Ok(Some(entry))
        }
        Err(error) if error.kind() == service::ErrorKind::NotFound => {
            seen.check_absent("the memory entry")?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// List the memory of an automation
///
/// Returns the memory entries of an automation by their keys, without those that have expired.
#[utoipa::path(
    get,
    path = "/automations/{automation}/memory",
    tag = "memory",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), ListMemoryParams),
    responses((status = OK, description = "A page of entries", body = Page<MemoryEntry>)),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
async fn list_automation_memory(
    caller: Caller,
    Path([automation]): Path<1>,
    Query(filter): Query<ListMemoryParams>,
) -> Result<Answer<Page<MemoryEntry>>, ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    let query = query(filter)?;
    Ok(Answer(
        service
            .memory(&MemoryOf::Automation(automation), &query)
            .await?,
    ))
}

/// Show a memory entry of an automation
///
/// Returns one memory entry of an automation, by its key.
#[utoipa::path(
    get,
    path = "/automations/{automation}/memory/{key}",
    tag = "memory",
    params(("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION), ("key" = String, Path, description = KEY_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The entry",
        body = MemoryEntry,
        headers(("ETag" = String, description = "The entity tag of the version"))
    )),
    security(("token" = ["automations:read"]), ("browser" = []))
)]
async fn show_automation_memory_entry(
    caller: Caller,
    Path([automation, key]): Path<2>,
) -> Result<(ETag, Answer<MemoryEntry>), ApiError> {
    let service = caller.authorize(Permission::AutomationsRead)?;
    let found = service
        .memory_entry(&MemoryOf::Automation(automation), &key)
        .await?;
    Ok((etag::header(&version_of(&found)), Answer(found.into())))
}

/// Set a memory entry of an automation
///
/// Writes a memory entry of an automation, whether or not it exists, and returns it. With `If-Match`, returns 412
/// unless the entry exists and is the one that the `ETag` describes.
#[utoipa::path(
    put,
    path = "/automations/{automation}/memory/{key}",
    tag = "memory",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("key" = String, Path, description = KEY_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = MemoryEntryRequest,
    responses((
        status = OK,
        description = "The entry",
        body = MemoryEntry,
        headers(("ETag" = String, description = "The entity tag of the version"))
    )),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
async fn set_automation_memory_entry(
    caller: Caller,
    Path([automation, key]): Path<2>,
    seen: IfMatch,
    request: Json<MemoryEntryRequest>,
) -> Result<(ETag, Answer<MemoryEntry>), ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let of = MemoryOf::Automation(automation);
    let seen = check_seen(&service, &of, &key, &seen).await?;
    let author = caller.name();
    let written = service.set_memory_entry(&of, &key, &request.value, author, seen.as_ref());
    let written = written.await?;
    Ok((etag::header(&version_of(&written)), Answer(written.into())))
}

/// Delete a memory entry of an automation
///
/// Deletes a memory entry of an automation, and returns it. With `If-Match`, returns 412 unless the entry exists and is
/// the one that the `ETag` describes.
#[utoipa::path(
    delete,
    path = "/automations/{automation}/memory/{key}",
    tag = "memory",
    params(
        ("automation" = String, Path, description = AUTOMATION_PARAM_DESCRIPTION),
        ("key" = String, Path, description = KEY_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    responses((status = OK, description = "The entry, as it was", body = MemoryEntry)),
    security(("token" = ["automations:write"]), ("browser" = []))
)]
async fn delete_automation_memory_entry(
    caller: Caller,
    Path([automation, key]): Path<2>,
    seen: IfMatch,
) -> Result<Answer<MemoryEntry>, ApiError> {
    let service = caller.authorize(Permission::AutomationsWrite)?;
    let of = MemoryOf::Automation(automation);
    let seen = check_seen(&service, &of, &key, &seen).await?;
    let deleted = service.delete_memory_entry(&of, &key, seen.as_ref());
    Ok(Answer(deleted.await?.into()))
}

/// List the memory of a session
///
/// Returns the memory entries of a session by their keys, without those that have expired.
#[utoipa::path(
    get,
    path = "/sessions/{session}/memory",
    tag = "memory",
    params(("session" = String, Path, description = SESSION_PARAM_DESCRIPTION), ListMemoryParams),
    responses((status = OK, description = "A page of entries", body = Page<MemoryEntry>)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn list_session_memory(
    caller: Caller,
    Path([session]): Path<1>,
    Query(filter): Query<ListMemoryParams>,
) -> Result<Answer<Page<MemoryEntry>>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let query = query(filter)?;
    Ok(Answer(
        service.memory(&MemoryOf::Session(session), &query).await?,
    ))
}

/// Show a memory entry of a session
///
/// Returns one memory entry of a session, by its key.
#[utoipa::path(
    get,
    path = "/sessions/{session}/memory/{key}",
    tag = "memory",
    params(("session" = String, Path, description = SESSION_PARAM_DESCRIPTION), ("key" = String, Path, description = KEY_PARAM_DESCRIPTION)),
    responses((
        status = OK,
        description = "The entry",
        body = MemoryEntry,
        headers(("ETag" = String, description = "The entity tag of the version"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
async fn show_session_memory_entry(
    caller: Caller,
    Path([session, key]): Path<2>,
) -> Result<(ETag, Answer<MemoryEntry>), ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let found = service
        .memory_entry(&MemoryOf::Session(session), &key)
        .await?;
    Ok((etag::header(&version_of(&found)), Answer(found.into())))
}

/// Set a memory entry of a session
///
/// Writes a memory entry of a session, whether or not it exists, and returns it. With `If-Match`, returns 412 unless
/// the entry exists and is the one that the `ETag` describes.
#[utoipa::path(
    put,
    path = "/sessions/{session}/memory/{key}",
    tag = "memory",
    params(
        ("session" = String, Path, description = SESSION_PARAM_DESCRIPTION),
        ("key" = String, Path, description = KEY_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = MemoryEntryRequest,
    responses((
        status = OK,
        description = "The entry",
        body = MemoryEntry,
        headers(("ETag" = String, description = "The entity tag of the version"))
    )),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
async fn set_session_memory_entry(
    caller: Caller,
    Path([session, key]): Path<2>,
    seen: IfMatch,
    request: Json<MemoryEntryRequest>,
) -> Result<(ETag, Answer<MemoryEntry>), ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let of = MemoryOf::Session(session);
    let seen = check_seen(&service, &of, &key, &seen).await?;
    let author = caller.name();
    let written = service.set_memory_entry(&of, &key, &request.value, author, seen.as_ref());
    let written = written.await?;
    Ok((etag::header(&version_of(&written)), Answer(written.into())))
}

/// Delete a memory entry of a session
///
/// Deletes a memory entry of a session, and returns it. With `If-Match`, returns 412 unless the entry exists and is the
/// one that the `ETag` describes.
#[utoipa::path(
    delete,
    path = "/sessions/{session}/memory/{key}",
    tag = "memory",
    params(
        ("session" = String, Path, description = SESSION_PARAM_DESCRIPTION),
        ("key" = String, Path, description = KEY_PARAM_DESCRIPTION),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    responses((status = OK, description = "The entry, as it was", body = MemoryEntry)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
async fn delete_session_memory_entry(
    caller: Caller,
    Path([session, key]): Path<2>,
    seen: IfMatch,
) -> Result<Answer<MemoryEntry>, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let of = MemoryOf::Session(session);
    let seen = check_seen(&service, &of, &key, &seen).await?;
    let deleted = service.delete_memory_entry(&of, &key, seen.as_ref());
    Ok(Answer(deleted.await?.into()))
}
