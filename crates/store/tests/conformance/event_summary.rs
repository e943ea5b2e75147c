//! Renders events as one line each, for comparison.

use model::event::{ApprovalChange, AutomationChange, Change, QuestionChange};

/// Returns the kind of a change, with the status, the state or the action that it leads to.
pub(crate) fn summary(change: &Change) -> String {
    match change {
        Change::Session { change, .. } => format!("session {}", change.state()),
        Change::Run { change, .. } => format!("run {}", change.status()),
        Change::Message { .. } => "message".to_owned(),
        Change::Approval { change, .. } => format!("approval {}", approval_state(change)),
        Change::Question { change, .. } => format!("question {}", question_state(change)),
        Change::Automation { change, .. } => format!("automation {}", automation_action(change)),
        Change::Goal { state, .. } => format!("goal {}", state.status()),
        Change::Task { change, .. } => format!("task {} {}", change.key, change.status),
        Change::Unknown { kind, .. } => format!("unknown {kind}"),
    }
}

/// Returns the ID of the row that a change concerns.
pub(crate) fn subject_id(change: &Change) -> String {
    match change {
        Change::Session { session_id, .. } | Change::Goal { session_id, .. } => {
            session_id.to_string()
        }
        Change::Run { run_id, .. } => run_id.to_string(),
        Change::Message { message_id, .. } => message_id.to_string(),
        Change::Approval { approval_id, .. } => approval_id.to_string(),
        Change::Question { question_id, .. } => question_id.to_string(),
        Change::Automation { automation_id, .. } => automation_id.to_string(),
        Change::Task { task_id, .. } => task_id.to_string(),
        Change::Unknown { about, .. } => about.to_string(),
    }
}

pub(crate) fn approval_state(change: &ApprovalChange) -> &'static str {
    match change {
        ApprovalChange::Pending { .. } => "pending",
        ApprovalChange::Allowed { .. } => "allowed",
        ApprovalChange::Denied { .. } => "denied",
        ApprovalChange::Expired => "expired",
        ApprovalChange::Void => "void",
    }
}

fn question_state(change: &QuestionChange) -> &'static str {
    match change {
        QuestionChange::Pending { .. } => "pending",
        QuestionChange::Answered { .. } => "answered",
        QuestionChange::Expired => "expired",
        QuestionChange::Void => "void",
    }
}

pub(crate) fn automation_action(change: &AutomationChange) -> &'static str {
    match change {
        AutomationChange::Created { .. } => "created",
        AutomationChange::Edited { .. } => "edited",
        AutomationChange::Paused { .. } => "paused",
        AutomationChange::Resumed => "resumed",
        AutomationChange::Reset { .. } => "reset",
        AutomationChange::Attention { .. } => "attention",
        AutomationChange::Deleted => "deleted",
    }
}

/// Returns the change of an automation.
pub(crate) fn automation_change(change: &Change) -> &AutomationChange {
    match change {
        Change::Automation { change, .. } => change,
        other => panic!("{other:?}"),
    }
}
