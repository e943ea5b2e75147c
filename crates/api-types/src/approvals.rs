//! Approvals: permission requests of agents that a person decides.

use model::{
    ApprovalId, AutomationId, RunId, SessionId, TenantId, Timestamp, TokenId,
    approval::{self, ApprovalStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::document::same_fields;

/// A permission request of an agent that waits, or waited, for the decision of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// The ID of the approval.
    pub id: ApprovalId,
    /// The tenant that owns the approval.
    pub tenant_id: TenantId,
    /// The session of the run.
    pub session_id: SessionId,
    /// The run whose agent made the request. A decision applies to this attempt only.
    pub run_id: RunId,
    /// The automation of the run. Null if there is none.
    pub automation_id: Option<AutomationId>,
    /// The state of the approval.
    pub state: ApprovalStatus,
    /// The request of the agent.
    #[serde(flatten)]
    pub request: RequestedPermission,
    /// The instant at which the request expires and is denied. The instant is never later than the end of the turn.
    pub deadline_at: Timestamp,
    /// The instant at which the approval was created.
    pub created_at: Timestamp,
    /// The instant at which the approval was decided, expired or became void. Null while the approval is pending.
    pub decided_at: Option<Timestamp>,
    /// The name of the token that decided, or `socket` for the private socket of the data folder. Null without a
    /// decision.
    pub decided_by: Option<String>,
    /// The token that decided. Null for the private socket, or without a decision.
    pub decided_by_token: Option<TokenId>,
    /// The comment of the person who decided. Null if there is none.
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
            request,
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
            request: request.into(),
            deadline_at,
            created_at,
            decided_at: state.decided_at(),
            decided_by: decision.map(|decision| decision.by.name.clone()),
            decided_by_token: decision.and_then(|decision| decision.by.token),
            comment: decision.and_then(|decision| decision.comment.clone()),
        }
    }
}

/// The permission that an agent requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestedPermission {
    /// The kind of the tool, as the protocol names it.
    pub tool_kind: String,
    /// The line that the agent shows for the tool call.
    pub title: String,
    /// The agent's ID of the tool call.
    pub tool_call: String,
    /// The input of the tool. If the input is longer than 16 KiB, its beginning as text.
    pub input: Option<Value>,
    /// `true` if `input` is only the beginning. The operation `show_approval_input` returns more.
    pub input_cut: bool,
}

same_fields! {
    approval::RequestedPermission, RequestedPermission { tool_kind, title, tool_call, input, input_cut }
}

/// The input of the tool in a permission request, as far as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalInput {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The input of the tool. If it is cut, its beginning as text. Null if the agent named no input.
    pub input: Option<Value>,
    /// `true` if `input` is only the beginning. At most 1 MiB is stored, and earlier versions stored 16 KiB.
    pub cut: bool,
    /// The length of the whole input as JSON, in bytes. Null without an input, and if it is unknown, because an earlier
    /// version stored the approval.
    #[schema(minimum = 0)]
    pub bytes: Option<u64>,
}

impl ApprovalInput {
    /// Returns the input of an approval.
    pub fn new(approval_id: ApprovalId, stored: approval::ApprovalInput) -> Self {
        let approval::ApprovalInput { value, cut, bytes } = stored;
        Self {
            approval_id,
            input: value,
            cut,
            bytes,
        }
    }
}

/// A request that allows or denies an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionRequest {
    /// A comment, stored with the decision but not sent to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4096)]
    pub comment: Option<String>,
}
