//! Conversion from a row to an approval.

use model::approval::{
    Approval, ApprovalState, ApprovalStatus, Decider, Decision, RequestedPermission,
};

use crate::{Error, database::Row};

/// Returns an approval.
pub(crate) fn approval(row: &Row) -> Result<Approval, Error> {
    Ok(Approval {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        session_id: row.get("session_id")?,
        run_id: row.get("run_id")?,
        automation_id: row.optional("automation_id")?,
        state: approval_state(row)?,
        request: RequestedPermission {
            tool_kind: row.get("tool_kind")?,
            title: row.get("title")?,
            tool_call: row.get("tool_call")?,
            input: row.optional("input")?,
            input_cut: row.get("input_cut")?,
        },
        deadline_at: row.get("deadline_at")?,
        created_at: row.get("created_at")?,
    })
}

/// Returns the state of an approval.
fn approval_state(row: &Row) -> Result<ApprovalState, Error> {
    let decision = || {
        Ok::<_, Error>(Decision {
            at: row.get("decided_at")?,
            by: Decider {
                token: row.optional("decided_by_token")?,
                name: row.get("decided_by")?,
            },
            comment: row.optional("comment")?,
        })
    };
    let at = || row.get("decided_at");
    Ok(match row.parse("state")? {
        ApprovalStatus::Pending => ApprovalState::Pending,
        ApprovalStatus::Allowed => ApprovalState::Allowed(decision()?),
        ApprovalStatus::Denied => ApprovalState::Denied(decision()?),
        ApprovalStatus::Expired => ApprovalState::Expired { at: at()? },
        ApprovalStatus::Void => ApprovalState::Void { at: at()? },
    })
}
