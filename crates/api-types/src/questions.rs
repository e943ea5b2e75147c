//! Questions of agents that people answer.

use model::{
    AutomationId, InputId, QuestionId, RunId, SeatId, SessionId, TenantId, Timestamp, TokenId,
    question::{self, QuestionKind, QuestionStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A question of an agent that waits, or waited, for the answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// The ID of the question.
    pub id: QuestionId,
    /// The tenant that owns the question.
    pub tenant_id: TenantId,
    /// The session of the agent.
    pub session_id: SessionId,
    /// The seat whose agent asked.
    pub seat_id: SeatId,
    /// The run whose agent asked.
    pub run_id: RunId,
    /// The automation of the run. Null if there is none.
    pub automation_id: Option<AutomationId>,
    /// The way in which the agent asked.
    pub kind: QuestionKind,
    /// The state of the question.
    pub state: QuestionStatus,
    /// The question.
    pub text: String,
    /// Answers that the agent proposes. Another answer is accepted, too.
    pub options: Vec<String>,
    /// The answer that counts at the deadline without an answer of a person. Null if the question then has no answer.
    pub default: Option<Value>,
    /// The JSON Schema of the form that is the answer, as the agent sent it. Null if the answer is a text.
    pub form: Option<Value>,
    /// The instant at which the default counts.
    pub deadline_at: Timestamp,
    /// The instant at which the agent asked.
    pub created_at: Timestamp,
    /// The instant at which the question was answered, expired or became void. Null while the question is pending.
    pub closed_at: Option<Timestamp>,
    /// The answer, or the default that counts after the deadline. Null if there is none.
    pub answer: Option<Value>,
    /// `true` if a person declined to answer. The state is then `answered`. A server of an earlier version sends none.
    #[serde(default)]
    pub declined: bool,
    /// The name of the token that answered, or `socket` for the private socket of the data folder. Null without an
    /// answer of a person.
    pub answered_by: Option<String>,
    /// The token that answered. Null for the private socket, or without an answer of a person.
    pub answered_by_token: Option<TokenId>,
    /// The input that brings the answer to the agent. Null if there is none.
    pub answer_input_id: Option<InputId>,
}

impl From<question::Question> for Question {
    fn from(question: question::Question) -> Self {
        let question::Question {
            id,
            tenant_id,
            session_id,
            seat_id,
            run_id,
            automation_id,
            kind,
            text,
            body,
            state,
            deadline_at,
            created_at,
        } = question;
        let question::QuestionBody {
            options,
            default,
            schema,
        } = body;
        let by = state.answered_by();
        Self {
            id,
            tenant_id,
            session_id,
            seat_id,
            run_id,
            automation_id,
            kind,
            state: state.status(),
            text,
            options,
            default,
            form: schema,
            deadline_at,
            created_at,
            closed_at: state.closed_at(),
            answer: state.answer().filter(|answer| !answer.is_null()).cloned(),
            declined: state.is_declined(),
            answered_by: by.map(|by| by.name.clone()),
            answered_by_token: by.and_then(|by| by.token),
            answer_input_id: state.input(),
        }
    }
}

/// A request that answers a question, by a text, by one of the options, or by the fields of its form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerRequest {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 8192)]
    pub text: Option<String>,
    /// The number of the option that is the answer, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub option: Option<u32>,
    /// The fields of the form, if the question has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Map<String, Value>>,
}
