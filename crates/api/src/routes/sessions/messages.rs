//! `GET /sessions/{session}/messages`: reads the transcript of a session.

use api_types::Messages;
use axum::Json;
use model::{RunId, access::Permission};
use serde::Deserialize;
use utoipa::IntoParams;

use super::super::list_params;
use crate::{
    caller::Caller,
    extract::{Path, Query},
    problem::ApiError,
};

/// The query parameters that select rows of a transcript. At most one of `after`, `from_run` and `last` may be set.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListMessagesParams {
    /// The number after which the page begins, such as `next` of the previous page. Without it, the response is the
    /// first page. It excludes `from_run` and `last`.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// The ID of a run of this session. The page begins with the first row of the run. It excludes `last`.
    from_run: Option<RunId>,
    /// The number of rows to return from the end of the transcript, in place of a page. With 0, the response contains
    /// the number of all rows and no row.
    #[param(minimum = 0, maximum = 500)]
    last: Option<u32>,
    /// The maximum number of rows on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the messages of a session
///
/// Returns rows of the transcript, in order: the inputs of people and automations, and the answers and tool calls of
/// the agents. Returns 422 if parameters exclude each other.
#[utoipa::path(
    get,
    path = "/sessions/{session}/messages",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "The ID of the session, the beginning of its ID, or its key"),
        ListMessagesParams
    ),
    responses((status = OK, description = "Some rows of the transcript", body = Messages)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_messages(
    caller: Caller,
    Path([session]): Path<1>,
    Query(part): Query<ListMessagesParams>,
) -> Result<Json<Messages>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let limit = list_params::page_limit(part.limit)?;
    let after = list_params::row_cursor(part.after)?;
    match (after, part.from_run, part.last) {
        (Some(_), _, Some(last)) => {
            return Err(list_params::mutually_exclusive("last", last, "after"));
        }
        (_, Some(_), Some(last)) => {
            return Err(list_params::mutually_exclusive("last", last, "from_run"));
        }
        (Some(after), Some(_), _) => {
            return Err(list_params::mutually_exclusive("after", after, "from_run"));
        }
        _ => {}
    }
    if let Some(last) = part.last {
        // 0 is valid here, unlike for `limit`: it asks for the number of rows alone.
        let last = if last == 0 {
            0
        } else {
            list_params::page_limit(Some(last))?
        };
        return Ok(Json(service.last_messages(&session, last).await?));
    }
    let after = match (after, part.from_run) {
        (Some(after), _) => after,
        (None, Some(run)) => service.before_run(run).await?,
        (None, None) => 0,
    };
    Ok(Json(service.messages(&session, after, limit).await?))
}
