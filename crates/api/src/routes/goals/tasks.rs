//! `/sessions/{session}/tasks` and `/tasks/{task}`: the tasks of goals.

use api_types::{
    PlanRequest, Task, TaskCommentRequest, TaskDetails, TaskList, TaskMove, TaskPatch,
};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::access::Permission;
use serde::Serialize;
use service::TaskToEdit;

use super::goal_param::GOAL_PARAM_DESCRIPTION;
use crate::{
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, OptionalJson, Path},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// List the tasks of a goal
///
/// Returns all tasks of a goal, in the order in which they were made, with the version of the plan.
#[utoipa::path(
    get,
    path = "/sessions/{session}/tasks",
    tag = "goals",
    params(("session" = String, Path, description = GOAL_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The tasks", body = TaskList)),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn list_tasks(
    caller: Caller,
    Path([session]): Path<1>,
) -> Result<Answer<TaskList>, ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    Ok(Answer(service.tasks(&session).await?))
}

/// Change the plan of a goal
///
/// Adds, replaces and cancels tasks, all or none. Returns 409 if `plan_version` is not the present version, or if the plan
/// replaces or cancels tasks that are over: read the tasks again. Returns 422 with the field if the plan has mistakes.
#[utoipa::path(
    post,
    path = "/sessions/{session}/tasks",
    tag = "goals",
    params(
        ("session" = String, Path, description = GOAL_PARAM_DESCRIPTION),
        IdempotencyKey
    ),
    request_body = PlanRequest,
    responses((status = OK, description = "The tasks", body = TaskList)),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn publish_tasks(
    caller: Caller,
    Path([session]): Path<1>,
    idempotency_key: IdempotencyKey,
    request: Json<PlanRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let published = idempotency_key.create(&caller, &request, async |_| {
        let tasks = service.publish_tasks(&session, &request.value).await?;
        caller.wake_loops();
        Ok((StatusCode::OK, tasks))
    });
    published.await
}

/// Show a task
///
/// Returns one task with its texts, the findings of its last round, and its runs.
#[utoipa::path(
    get,
    path = "/tasks/{task}",
    tag = "goals",
    params(("task" = String, Path, description = "The ID of the task")),
    responses((
        status = OK,
        description = "The task",
        body = TaskDetails,
        headers(("ETag" = String, description = "The entity tag of the editable part, and of the version of the plan"))
    )),
    security(("token" = ["sessions:read"]), ("browser" = []))
)]
pub(super) async fn show_task(
    caller: Caller,
    Path([task]): Path<1>,
) -> Result<(ETag, Answer<TaskDetails>), ApiError> {
    let service = caller.authorize(Permission::SessionsRead)?;
    let found = service.task_to_edit(&task).await?;
    Ok((etag::header(&editable(&found)), Answer(found.task)))
}

/// Change a task
///
/// Applies a merge patch (RFC 7396) to the title, the description, the acceptance lines and the priority of a task of the plan
/// that has not begun or has failed. Each change is a new version of the plan. Returns 409 for a task in any other state and if
/// the goal is over, and 412 if the task or the plan is no longer the one that the `ETag` in `If-Match` describes, or changes
/// while the server applies the patch.
#[utoipa::path(
    patch,
    path = "/tasks/{task}",
    tag = "goals",
    params(
        ("task" = String, Path, description = "The ID of the task"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the version that the client read")
    ),
    request_body = TaskPatch,
    responses((
        status = OK,
        description = "The task",
        body = TaskDetails,
        headers(("ETag" = String, description = "The entity tag of the editable part, and of the version of the plan"))
    )),
    security(("token" = ["sessions:write"]), ("browser" = []))
)]
pub(super) async fn edit_task(
    caller: Caller,
    Path([task]): Path<1>,
    seen: IfMatch,
    patch: Json<TaskPatch>,
) -> Result<(ETag, Answer<TaskDetails>), ApiError> {
    let service = caller.authorize(Permission::SessionsWrite)?;
    let before = service.task_to_edit(&task).await?;
    seen.check("the task or its plan", &editable(&before))?;
    let edited = service.edit_task(&before, &patch.value).await?;
    caller.wake_loops();
    Ok((etag::header(&editable(&edited)), Answer(edited.task)))
}

/// The part of a task that a request can change, with the version of the plan, from which the entity tag is computed.
#[derive(Serialize)]
struct EditableTask<'a> {
    title: &'a str,
    description: &'a str,
    acceptance: &'a [String],
    priority: u8,
    plan_version: u32,
}

fn editable(task: &TaskToEdit) -> EditableTask<'_> {
    let TaskToEdit { task, plan_version } = task;
    EditableTask {
        title: &task.task.title,
        description: &task.description,
        acceptance: &task.acceptance,
        priority: task.task.priority,
        plan_version: *plan_version,
    }
}

macro_rules! moves {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $to:ident;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "goals",
            params(("task" = String, Path, description = "The ID of the task")),
            request_body(content = Option<TaskCommentRequest>, description = "The reason, which the planner gets"),
            responses((status = OK, description = "The task", body = Task)),
            security(("token" = ["sessions:write"]), ("browser" = []))
        )]
        pub(super) async fn $name(
            caller: Caller,
            Path([task]): Path<1>,
            OptionalJson(why): OptionalJson<TaskCommentRequest>,
        ) -> Result<Answer<Task>, ApiError> {
            let service = caller.authorize(Permission::SessionsWrite)?;
            let comment = why.comment.as_deref();
            let moved = service.move_task(&task, TaskMove::$to, comment).await?;
            caller.wake_loops();
            Ok(Answer(moved))
        }
    )*};
}

moves! {
    /// Retry a task
    ///
    /// Starts a failed task from its beginning, or repeats a check or a review that could not run. Returns 409 for a task in any
    /// other state.
    retry_task = "/tasks/{task}/retry", Retry;
    /// Cancel a task
    ///
    /// Cancels an open task or drops a failed one, with all tasks that wait for it. Returns 409 for a task that is over.
    cancel_task = "/tasks/{task}/cancel", Cancel;
    /// Accept a task
    ///
    /// Accepts a failed task or one that is under review, so that the tasks behind it can start. Returns 409 for a task in any
    /// other state.
    accept_task = "/tasks/{task}/accept", Accept;
}
