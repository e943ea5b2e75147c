//! Permission requests that people decide, and questions that people answer.
//!
//! The runtime chooses the ID of a request, so that a repetition makes no second one, and then polls for the decision.

use model::{
    ApprovalId, QuestionId,
    approval::{self, ApprovalStatus},
    question::{self, QuestionState},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::word::Word;

/// The request for a person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The ID of the approval.
    pub id: ApprovalId,
    /// The time until the deadline, in milliseconds.
    pub timeout_millis: u64,
    /// The permission request.
    pub permission: Permission,
}

/// The permission request of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    tool_kind: String,
    title: String,
    tool_call: String,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    input_cut: bool,
    #[serde(default)]
    long_input: Option<LongInput>,
}

/// An input of a tool that is too long for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LongInput {
    json: String,
    bytes: u64,
}

impl From<Permission> for approval::ApprovalRequest {
    fn from(permission: Permission) -> Self {
        let Permission {
            tool_kind,
            title,
            tool_call,
            input,
            input_cut,
            long_input,
        } = permission;
        Self {
            permission: approval::RequestedPermission {
                tool_kind,
                title,
                tool_call,
                input,
                input_cut,
            },
            long_input: long_input.map(|long| {
                let LongInput { json, bytes } = long;
                approval::LongInput { json, bytes }
            }),
        }
    }
}

impl From<approval::ApprovalRequest> for Permission {
    fn from(request: approval::ApprovalRequest) -> Self {
        let approval::ApprovalRequest {
            permission:
                approval::RequestedPermission {
                    tool_kind,
                    title,
                    tool_call,
                    input,
                    input_cut,
                },
            long_input,
        } = request;
        Self {
            tool_kind,
            title,
            tool_call,
            input,
            input_cut,
            long_input: long_input.map(|long| {
                let approval::LongInput { json, bytes } = long;
                LongInput { json, bytes }
            }),
        }
    }
}

/// The request for a person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// The ID of the question.
    pub id: QuestionId,
    /// The time until the deadline, in milliseconds.
    pub timeout_millis: u64,
    /// The question.
    pub question: Elicitation,
}

/// A question with a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elicitation {
    text: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    default: Option<Value>,
    #[serde(default)]
    schema: Option<Value>,
}

impl From<Elicitation> for question::Elicitation {
    fn from(elicitation: Elicitation) -> Self {
        let Elicitation {
            text,
            options,
            default,
            schema,
        } = elicitation;
        Self {
            text,
            body: question::QuestionBody {
                options,
                default,
                schema,
            },
        }
    }
}

impl From<question::Elicitation> for Elicitation {
    fn from(elicitation: question::Elicitation) -> Self {
        let question::Elicitation {
            text,
            body:
                question::QuestionBody {
                    options,
                    default,
                    schema,
                },
        } = elicitation;
        Self {
            text,
            options,
            default,
            schema,
        }
    }
}

/// The request to wait for a decision or an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequest {
    /// The longest wait, in milliseconds. The server waits for at most [`MAX_WAIT_MILLIS`](crate::MAX_WAIT_MILLIS).
    pub wait_millis: u64,
    /// `true` if the deadline has passed, so that an undecided request expires.
    #[serde(default)]
    pub expire: bool,
}

/// The state of a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalReply {
    state: Word,
}

impl ApprovalReply {
    /// Returns the state. A state that this version does not know is no permission.
    pub fn state(&self) -> ApprovalStatus {
        self.state.or(ApprovalStatus::Denied)
    }
}

impl From<ApprovalStatus> for ApprovalReply {
    fn from(state: ApprovalStatus) -> Self {
        Self {
            state: Word::of(state),
        }
    }
}

/// The state of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionReply {
    /// `true` if the question waits for an answer.
    pub pending: bool,
    /// The answer that counts. Absent if there is none, and null if a person declined to answer.
    #[serde(
        default,
        deserialize_with = "present_value",
        skip_serializing_if = "Option::is_none"
    )]
    pub answer: Option<Value>,
}

/// Keeps `null` apart from an absent key.
fn present_value<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<&QuestionState> for QuestionReply {
    fn from(state: &QuestionState) -> Self {
        Self {
            pending: matches!(state, QuestionState::Pending),
            answer: state.answer().cloned(),
        }
    }
}
