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

/// The query parameters that select rows of a transcript. At most one of `after`, `before`, `from_run` and
/// `last` may be set.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListMessagesParams {
    /// The number after which the page begins, such as `next` of the previous page. Without it, the response is the
    /// first page. It excludes `before`, `from_run` and `last`.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// The number before which the page ends, such as `previous` of the page that follows it. The page has the last
    /// rows before this number, in order. It excludes `after`, `from_run` and `last`.
    #[param(minimum = 0)]
    before: Option<i64>,
    /// The ID of a run of this session. The page begins with the first row of the run. It excludes `after`, `before`
    /// and `last`.
    from_run: Option<RunId>,
    /// The number of rows to return from the end of the transcript, in place of a page. With 0, the response contains
    /// the number of all rows and no row. It excludes `after`, `before` and `from_run`.
    #[param(minimum = 0, maximum = 500)]
    last: Option<u32>,
    /// The maximum number of rows on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List the messages of a session
///
/// Returns rows of the transcript, in order: the inputs of people and automations, and the answers and tool calls of
/// the agents. Pages go forward from the beginning (`after`, then `next`) or from a run (`from_run`), and backward from
/// the end (`last`, then `previous` as `before`). Returns 422 if parameters exclude each other.
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
    let after = list_params::row_number("after", part.after)?;
    let before = list_params::row_number("before", part.before)?;
    part.check_selection()?;
    let page = if let Some(last) = part.last {
        // 0 is valid here, unlike for `limit`: it asks for the number of rows alone.
        let last = if last == 0 {
            0
        } else {
            list_params::page_limit(Some(last))?
        };
        service.last_messages(&session, last).await
    } else if let Some(before) = before {
        service.messages_before(&session, before, limit).await
    } else if let Some(run) = part.from_run {
        service.messages_from_run(&session, run, limit).await
    } else {
        let after = after.unwrap_or(0);
        service.messages(&session, after, limit).await
    };
    Ok(Json(page?))
}

impl ListMessagesParams {
    /// Checks that at most one parameter selects rows.
    ///
    /// # Errors
    ///
    /// Returns 422 for the first parameter that excludes another one.
    fn check_selection(&self) -> Result<(), ApiError> {
        let mut selecting = [
            ("last", self.last.map(|last| last.to_string())),
            ("before", self.before.map(|before| before.to_string())),
            ("after", self.after.map(|after| after.to_string())),
            ("from_run", self.from_run.map(|run| run.to_string())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
        match (selecting.next(), selecting.next()) {
            (Some((name, value)), Some((other, _))) => {
                Err(list_params::mutually_exclusive(name, value, other))
            }
            _ => Ok(()),
        }
    }
}
