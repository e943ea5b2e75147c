//! The stored document of an event: the columns `kind`, `ref_id` and `body` of `session_events` and of
//! `automation_events`.
//!
//! Servers of several versions share these tables, so the format follows two rules:
//!
//! - **An old reader reads a new row.** Keys keep their names and meanings. A new version may add keys, because
//!   every reader ignores the keys that it does not know.
//! - **A new reader reads an old row.** A key that was added later is optional when it is read.
//!
//! A row that matches no form below becomes [`Change::Unknown`], so that one row of a later version does not end
//! the log for this version.

mod goals;
mod runs;
mod tasks;

use model::{
    ApprovalId, AutomationId, MessageId, QuestionId, RunId, SeatId, SessionId, TaskId, Timestamp,
    TriggerId,
    event::{ApprovalChange, AutomationChange, Change, QuestionChange, SessionChange, TriggerEdit},
    session::SessionStatus,
    turn::{EntryKind, Role},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use self::{goals::GoalBody, runs::RunBody, tasks::TaskBody};

const KIND_SESSION: &str = "session";
const KIND_RUN: &str = "run";
const KIND_MESSAGE: &str = "message";
const KIND_APPROVAL: &str = "approval";
const KIND_AUTOMATION: &str = "automation";
const KIND_TASK: &str = "task";

/// The columns of an event that hold its change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredEvent {
    /// The column `kind`.
    pub(crate) kind: String,
    /// The column `ref_id`: the ID of the subject of the event.
    pub(crate) about: Uuid,
    /// The column `body`.
    pub(crate) body: Value,
}

impl StoredEvent {
    /// Returns the columns of a change.
    pub(crate) fn of(change: &Change) -> Self {
        let (kind, about, body) = match change {
            Change::Session { session_id, change } => {
                let body = json!(SessionBody::of(change));
                (KIND_SESSION, session_id.uuid(), body)
            }
            Change::Run { run_id, change } => (KIND_RUN, run_id.uuid(), json!(RunBody::of(change))),
            Change::Message {
                message_id,
                role,
                kind,
                to,
            } => {
                let body = MessageBody {
                    role: *role,
                    kind: *kind,
                    to: *to,
                };
                (KIND_MESSAGE, message_id.uuid(), json!(body))
            }
            Change::Approval {
                approval_id,
                run_id,
                tool_kind,
                title,
                change,
            } => {
                let body = ApprovalBody {
                    run_id: *run_id,
                    tool_kind: tool_kind.clone(),
                    title: title.clone(),
                    state: ApprovalStateBody::of(change),
                };
                (KIND_APPROVAL, approval_id.uuid(), json!(body))
            }
            Change::Question {
                question_id,
                run_id,
                text,
                change,
            } => {
                let body = QuestionEventBody {
                    run_id: *run_id,
                    question: text.clone(),
                    state: QuestionStateBody::of(change),
                };
                (KIND_APPROVAL, question_id.uuid(), json!(body))
            }
            Change::Automation {
                automation_id,
                change,
            } => {
                let body = json!(AutomationBody::of(change));
                (KIND_AUTOMATION, automation_id.uuid(), body)
            }
            Change::Goal { session_id, state } => {
                let body = json!(GoalBody::of(*state));
                (KIND_SESSION, session_id.uuid(), body)
            }
            Change::Task { task_id, change } => {
                (KIND_TASK, task_id.uuid(), json!(TaskBody::of(change)))
            }
            Change::Unknown { kind, about } => (kind.as_str(), *about, json!({})),
        };
        Self {
            kind: kind.to_owned(),
            about,
            body,
        }
    }

    /// Returns the change. Returns [`Change::Unknown`] if a later version wrote it in an unknown form.
    pub(crate) fn into_change(self) -> Change {
        let Self { kind, about, body } = self;
        let change = match kind.as_str() {
            KIND_SESSION if body.get("goal").is_some() => {
                GoalBody::deserialize(body).map(|body| Change::Goal {
                    session_id: SessionId::from_uuid(about),
                    state: body.into_state(),
                })
            }
            KIND_SESSION => SessionBody::deserialize(body).map(|body| Change::Session {
                session_id: SessionId::from_uuid(about),
                change: body.into_change(),
            }),
            KIND_RUN => RunBody::deserialize(body).map(|body| Change::Run {
                run_id: RunId::from_uuid(about),
                change: body.into_change(),
            }),
            KIND_MESSAGE => MessageBody::deserialize(body).map(|body| Change::Message {
                message_id: MessageId::from_uuid(about),
                role: body.role,
                kind: body.kind,
                to: body.to,
            }),
            KIND_APPROVAL if body.get("question").is_some() => QuestionEventBody::deserialize(body)
                .map(|body| Change::Question {
                    question_id: QuestionId::from_uuid(about),
                    run_id: body.run_id,
                    text: body.question,
                    change: body.state.into_change(),
                }),
            KIND_APPROVAL => ApprovalBody::deserialize(body).map(|body| Change::Approval {
                approval_id: ApprovalId::from_uuid(about),
                run_id: body.run_id,
                tool_kind: body.tool_kind,
                title: body.title,
                change: body.state.into_change(),
            }),
            KIND_AUTOMATION => AutomationBody::deserialize(body).map(|body| Change::Automation {
                automation_id: AutomationId::from_uuid(about),
                change: body.into_change(),
            }),
            KIND_TASK => TaskBody::deserialize(body).map(|body| Change::Task {
                task_id: TaskId::from_uuid(about),
                change: body.into_change(),
            }),
            _ => return Change::Unknown { kind, about },
        };
        change.unwrap_or(Change::Unknown { kind, about })
    }
}

/// The body of a session's event. The forms differ by their keys. Serde takes the first form that fits, so the form
/// with the fewest keys must be the last.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SessionBody {
    Renamed {
        state: SessionStatus,
        // The key is required, and its value may be null. Without the attribute, a `Created` row would match.
        #[serde(deserialize_with = "Option::deserialize")]
        title: Option<String>,
    },
    Moved {
        state: SessionStatus,
        #[serde(deserialize_with = "Option::deserialize")]
        reason: Option<String>,
    },
    Created {
        state: SessionStatus,
    },
}

impl SessionBody {
    fn of(change: &SessionChange) -> Self {
        match change.clone() {
            SessionChange::Created { state } => Self::Created { state },
            SessionChange::Moved { state, reason } => Self::Moved { state, reason },
            SessionChange::Renamed { state, title } => Self::Renamed { state, title },
        }
    }

    fn into_change(self) -> SessionChange {
        match self {
            Self::Created { state } => SessionChange::Created { state },
            Self::Moved { state, reason } => SessionChange::Moved { state, reason },
            Self::Renamed { state, title } => SessionChange::Renamed { state, title },
        }
    }
}

/// The body of a message's event.
#[derive(Serialize, Deserialize)]
struct MessageBody {
    role: Role,
    kind: EntryKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<SeatId>,
}

/// The body of an approval's event.
#[derive(Serialize, Deserialize)]
struct ApprovalBody {
    run_id: RunId,
    tool_kind: String,
    title: String,
    #[serde(flatten)]
    state: ApprovalStateBody,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum ApprovalStateBody {
    Pending { deadline_at: Timestamp },
    Allowed { decided_by: String },
    Denied { decided_by: String },
    Expired {},
    Void {},
}

impl ApprovalStateBody {
    fn of(change: &ApprovalChange) -> Self {
        match change.clone() {
            ApprovalChange::Pending { deadline_at } => Self::Pending { deadline_at },
            ApprovalChange::Allowed { decided_by } => Self::Allowed { decided_by },
            ApprovalChange::Denied { decided_by } => Self::Denied { decided_by },
            ApprovalChange::Expired => Self::Expired {},
            ApprovalChange::Void => Self::Void {},
        }
    }

    fn into_change(self) -> ApprovalChange {
        match self {
            Self::Pending { deadline_at } => ApprovalChange::Pending { deadline_at },
            Self::Allowed { decided_by } => ApprovalChange::Allowed { decided_by },
            Self::Denied { decided_by } => ApprovalChange::Denied { decided_by },
            Self::Expired {} => ApprovalChange::Expired,
            Self::Void {} => ApprovalChange::Void,
        }
    }
}

/// The body of a question's event. Its row has the kind of approvals, because a check of the table names the kinds, and a
/// new one would copy the log of each session. Programs without questions find none of their forms in it.
#[derive(Serialize, Deserialize)]
struct QuestionEventBody {
    run_id: RunId,
    question: String,
    #[serde(flatten)]
    state: QuestionStateBody,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum QuestionStateBody {
    Pending { deadline_at: Timestamp },
    Answered { answered_by: String },
    Expired {},
    Void {},
}

impl QuestionStateBody {
    fn of(change: &QuestionChange) -> Self {
        match change.clone() {
            QuestionChange::Pending { deadline_at } => Self::Pending { deadline_at },
            QuestionChange::Answered { answered_by } => Self::Answered { answered_by },
            QuestionChange::Expired => Self::Expired {},
            QuestionChange::Void => Self::Void {},
        }
    }

    fn into_change(self) -> QuestionChange {
        match self {
            Self::Pending { deadline_at } => QuestionChange::Pending { deadline_at },
            Self::Answered { answered_by } => QuestionChange::Answered { answered_by },
            Self::Expired {} => QuestionChange::Expired,
            Self::Void {} => QuestionChange::Void,
        }
    }
}

/// The body of an automation's event.
#[derive(Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
enum AutomationBody {
    Created {
        name: String,
    },
    Edited {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger_added: Option<TriggerId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger_removed: Option<TriggerId>,
    },
    Paused {
        reason: String,
    },
    Resumed {},
    Reset {
        #[serde(default)]
        session_id: Option<SessionId>,
    },
    Attention {
        text: String,
    },
    Deleted {},
}

impl AutomationBody {
    fn of(change: &AutomationChange) -> Self {
        match change.clone() {
            AutomationChange::Created { name } => Self::Created { name },
            AutomationChange::Edited { name, trigger } => {
                let (trigger_added, trigger_removed) = match trigger {
                    None => (None, None),
                    Some(TriggerEdit::Added(id)) => (Some(id), None),
                    Some(TriggerEdit::Removed(id)) => (None, Some(id)),
                };
                Self::Edited {
                    name,
                    trigger_added,
                    trigger_removed,
                }
            }
            AutomationChange::Paused { reason } => Self::Paused { reason },
            AutomationChange::Resumed => Self::Resumed {},
            AutomationChange::Reset { session_id } => Self::Reset { session_id },
            AutomationChange::Attention { text } => Self::Attention { text },
            AutomationChange::Deleted => Self::Deleted {},
        }
    }

    fn into_change(self) -> AutomationChange {
        match self {
            Self::Created { name } => AutomationChange::Created { name },
            Self::Edited {
                name,
                trigger_added,
                trigger_removed,
            } => {
                let added = trigger_added.map(TriggerEdit::Added);
                AutomationChange::Edited {
                    name,
                    trigger: added.or(trigger_removed.map(TriggerEdit::Removed)),
                }
            }
            Self::Paused { reason } => AutomationChange::Paused { reason },
            Self::Resumed {} => AutomationChange::Resumed,
            Self::Reset { session_id } => AutomationChange::Reset { session_id },
            Self::Attention { text } => AutomationChange::Attention { text },
            Self::Deleted {} => AutomationChange::Deleted,
        }
    }
}

#[cfg(test)]
#[path = "tests_events.rs"]
mod tests;
