//! Approvals, as people look at them and decide them.

use model::{
    ApprovalId, AutomationId, RunId, SessionId, TenantId, Timestamp, TokenId,
    approval::{self, ApprovalStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::document::same_fields;

/// A permission request that waits for a person, or did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// Its ID.
    pub id: ApprovalId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// The session of the run.
    pub session_id: SessionId,
    /// The run whose agent asks: this attempt, and no other.
    pub run_id: RunId,
    /// The automation of the run.
    pub automation_id: Option<AutomationId>,
    /// Its state.
    pub state: ApprovalStatus,
    /// The request of the agent.
    #[serde(flatten)]
    pub question: Question,
    /// The instant at which it is denied by itself: never later than the end of the turn.
    pub deadline_at: Timestamp,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant of its decision, or of its end without one.
    pub decided_at: Option<Timestamp>,
    /// The name of the token that allowed or denied it, or `socket` for the private socket of the data folder.
    pub decided_by: Option<String>,
    /// The token that allowed or denied it.
    pub decided_by_token: Option<TokenId>,
    /// The comment of the person who decided it.
    pub comment: Option<String>,
}

impl From<approval::Approval> for Approval {
    fn from(approval: approval::Approval) -> Self {
        let approval::Approval {
            id,
            tenant_id,
            session_id,
            run_id,
            automation_id,
            state,
            question,
            deadline_at,
            created_at,
        } = approval;
        let decision = state.decision();
        Self {
            id,
            tenant_id,
            session_id,
            run_id,
            automation_id,
            state: state.status(),
            question: question.into(),
            deadline_at,
            created_at,
            decided_at: state.decided_at(),
            decided_by: decision.map(|decision| decision.by.name.clone()),
            decided_by_token: decision.and_then(|decision| decision.by.token),
            comment: decision.and_then(|decision| decision.comment.clone()),
        }
    }
}

/// The permission that an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// The kind of the tool, as the protocol names it.
    pub tool_kind: String,
    /// The line that the agent shows for the call.
    pub title: String,
    /// The agent's ID of the tool call.
    pub tool_call: String,
    /// The input of the tool. Of one that is too long, the beginning as text.
    pub input: Option<Value>,
    /// `true` if `input` is only the beginning.
    pub input_cut: bool,
}

same_fields! {
    approval::Question, Question { tool_kind, title, tool_call, input, input_cut }
}

/// What somebody says with a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionRequest {
    /// Why, for whoever looks at it later. The agent is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub comment: Option<String>,
}
