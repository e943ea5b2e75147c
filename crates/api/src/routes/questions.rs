//! Questions of agents that people answer.

use api_types::{AnswerRequest, Page, Question};
use axum::{Json as Answer, response::Response};
use http::StatusCode;
use model::{access::Permission, question::QuestionStatus};
use serde::Deserialize;
use service::QuestionQuery;
use utoipa::IntoParams;

use super::{
    approvals::decider,
    list_params::{self, StateFilter},
};
use crate::{
    api_router::{ApiRouter, routes},
    caller::Caller,
    extract::{Json, Path, Query},
    idempotency::IdempotencyKey,
    problem::ApiError,
};

/// The description of the path parameter that names a question.
const QUESTION_PARAM_DESCRIPTION: &str = "The ID of the question or the beginning of its ID";

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list_questions))
        .routes(routes!(show_question))
        .routes(routes!(answer_question))
        .routes(routes!(decline_question))
}

/// The query parameters of the list of questions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuestionsParams {
    /// The state of the questions, or `any` for questions in all states. The default is `pending`.
    #[param(
        value_type = Option<String>,
        pattern = "^(pending|answered|expired|void|any)$",
        example = "pending"
    )]
    state: Option<StateFilter<QuestionStatus>>,
    /// The session of the questions: its ID, the beginning of its ID, or its key.
    session: Option<String>,
    /// The value of `next` of the previous page. Without it, the response is the first page.
    #[param(value_type = Option<model::QuestionId>)]
    after: Option<String>,
    /// The maximum number of items on the page. The default is 50.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// List questions
///
/// Returns the questions that agents ask people, the newest first. Without a filter it returns the pending ones.
#[utoipa::path(
    get,
    path = "/questions",
    tag = "questions",
    params(ListQuestionsParams),
    responses((status = OK, description = "A page of questions", body = Page<Question>)),
    security(("token" = ["approvals:read"]), ("browser" = []))
)]
async fn list_questions(
    caller: Caller,
    Query(filter): Query<ListQuestionsParams>,
) -> Result<Answer<Page<Question>>, ApiError> {
    let service = caller.authorize(Permission::ApprovalsRead)?;
    let query = QuestionQuery {
        state: filter
            .state
            .map_or(Some(QuestionStatus::Pending), |it| it.0),
        session: filter.session,
        after: list_params::parse_cursor(filter.after.as_deref())?,
        limit: list_params::page_limit(filter.limit)?,
    };
    Ok(Answer(service.questions(&query).await?.map(Into::into)))
}

/// Show a question
///
/// Returns one question with its state and its answer.
#[utoipa::path(
    get,
    path = "/questions/{question}",
    tag = "questions",
    params(("question" = String, Path, description = QUESTION_PARAM_DESCRIPTION)),
    responses((status = OK, description = "The question", body = Question)),
    security(("token" = ["approvals:read"]), ("browser" = []))
)]
async fn show_question(
    caller: Caller,
    Path([question]): Path<1>,
) -> Result<Answer<Question>, ApiError> {
    let service = caller.authorize(Permission::ApprovalsRead)?;
    Ok(Answer(service.question(&question).await?.into()))
}

/// Answer a question
///
/// Answers a question, once. The answer becomes the next input of the agent. Returns 409 with the state of the question if
/// it is no longer pending, because it was answered, its default counts, or its session was closed.
#[utoipa::path(
    post,
    path = "/questions/{question}/answer",
    tag = "questions",
    params(("question" = String, Path, description = QUESTION_PARAM_DESCRIPTION), IdempotencyKey),
    request_body = AnswerRequest,
    responses((status = OK, description = "The question, answered", body = Question)),
    security(("token" = ["approvals:write"]), ("browser" = []))
)]
async fn answer_question(
    caller: Caller,
    Path([question]): Path<1>,
    idempotency_key: IdempotencyKey,
    request: Json<AnswerRequest>,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::ApprovalsWrite)?;
    let by = decider(&caller);
    let answered = idempotency_key.create(&caller, &request, async |id| {
        // With a key, the same request may have answered the question before the server stopped. The service then
        // returns that answer instead of 409.
        let answered = service.answer(&question, &request.value, &by, id.is_some());
        let answered = Question::from(answered.await?);
        // The answer may be the next input of an agent.
        caller.wake_loops();
        Ok((StatusCode::OK, answered))
    });
    answered.await
}

/// Decline a question
///
/// Declines to answer the form of an agent that waits in its turn. The agent reads that the question was declined, and no
/// default counts. Returns 409 with the state of the question if it is no longer pending, and 422 for a question of the
/// tool `ask_person`, whose agent does not wait.
#[utoipa::path(
    post,
    path = "/questions/{question}/decline",
    tag = "questions",
    params(("question" = String, Path, description = QUESTION_PARAM_DESCRIPTION), IdempotencyKey),
    responses((status = OK, description = "The question, declined", body = Question)),
    security(("token" = ["approvals:write"]), ("browser" = []))
)]
async fn decline_question(
    caller: Caller,
    Path([question]): Path<1>,
    idempotency_key: IdempotencyKey,
) -> Result<Response, ApiError> {
    let service = caller.authorize(Permission::ApprovalsWrite)?;
    let by = decider(&caller);
    let declined = idempotency_key.create_with_body(&caller, &[], async |id| {
        let declined = service.decline_question(&question, &by, id.is_some());
        Ok((StatusCode::OK, Question::from(declined.await?)))
    });
    declined.await
}
