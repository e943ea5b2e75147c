//! Runs, as people look at them and call them off.

use model::{
    AutomationId, InputId, RunId, SeatId, SessionId, TenantId, Timestamp, TriggerId, WorkerId,
    entity, prompt,
    run::{self, Origin, RunState, RunStatus},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{Waiting, document::same_fields};

/// A run: one attempt at one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its ID.
    pub id: RunId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// The input that it is an attempt at.
    pub input_id: InputId,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The number of attempts at the input that failed before it.
    pub failures: i64,
    /// Its status.
    pub status: RunStatus,
    /// The source of its input.
    pub origin: Origin,
    /// The session. Null: the occurrence was missed, or skipped outside of a session.
    pub session_id: Option<SessionId>,
    /// The seat. Null: there is no session.
    pub seat_id: Option<SeatId>,
    /// The automation.
    pub automation_id: Option<AutomationId>,
    /// The trigger.
    pub trigger_id: Option<TriggerId>,
    /// The due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last instant of a range of missed ones.
    pub missed_until: Option<Timestamp>,
    /// The number of instants that the row stands for.
    pub occurrences: i64,
    /// The text of its input.
    pub content: String,
    /// The earliest instant at which it may start.
    pub not_before: Option<Timestamp>,
    /// The worker that executes it.
    pub worker_id: Option<WorkerId>,
    /// The instant at which its turn began.
    pub started_at: Option<Timestamp>,
    /// The instant of its end.
    pub ended_at: Option<Timestamp>,
    /// The instant at which its cancellation was requested.
    pub cancel_requested_at: Option<Timestamp>,
    /// The reason of its end, in one word. Null: it succeeded. While it waits, `budget` says that a budget is used
    /// up.
    pub reason: Option<String>,
    /// A short text for people.
    pub message: Option<String>,
    /// The reason that the agent gave for the end of the turn.
    pub stop_reason: Option<String>,
    /// Observations about its turn.
    pub flags: RunFlags,
    /// The tokens and the cost that the agent reported.
    pub usage: Option<Value>,
    /// The attempt that it follows after an interruption.
    pub interrupted_run_id: Option<RunId>,
    /// The template of the prompt that was sent.
    pub prompt_ref: Option<PromptRef>,
    /// The instant at which its input came.
    pub input_at: Timestamp,
    /// The instant of its creation.
    pub created_at: Timestamp,
}

impl From<entity::Run> for Run {
    fn from(run: entity::Run) -> Self {
        let entity::Run {
            id,
            tenant_id,
            input_id,
            attempt,
            failures,
            state,
            origin,
            session_id,
            seat_id,
            automation_id,
            trigger_id,
            scheduled_for,
            content,
            usage,
            interrupted_run_id,
            prompt_ref,
            input_at,
            created_at,
        } = run;
        let flat = FlatState::of(&state);
        Self {
            id,
            tenant_id,
            input_id,
            attempt,
            failures,
            status: flat.status,
            origin,
            session_id,
            seat_id,
            automation_id,
            trigger_id,
            scheduled_for,
            missed_until: flat.missed_until,
            occurrences: flat.occurrences,
            content,
            not_before: flat.not_before,
            worker_id: flat.worker_id,
            started_at: flat.started_at,
            ended_at: flat.ended_at,
            cancel_requested_at: flat.cancel_requested_at,
            reason: flat.reason,
            message: flat.message,
            stop_reason: flat.stop_reason,
            flags: flat.flags.into(),
            usage,
            interrupted_run_id,
            prompt_ref: prompt_ref.map(Into::into),
            input_at,
            created_at,
        }
    }
}

/// The state of a run as responses show it: a status, and fields that are null in other states.
pub(crate) struct FlatState {
    pub(crate) status: RunStatus,
    pub(crate) missed_until: Option<Timestamp>,
    pub(crate) occurrences: i64,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) worker_id: Option<WorkerId>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) cancel_requested_at: Option<Timestamp>,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) flags: run::RunFlags,
}

impl FlatState {
    pub(crate) fn of(state: &RunState) -> Self {
        let missed_until = match &state {
            RunState::Missed { until, .. } => *until,
            _ => None,
        };
        Self {
            status: state.status(),
            missed_until,
            occurrences: state.occurrences(),
            not_before: state.not_before(),
            worker_id: state.worker_id().cloned(),
            started_at: state.started_at(),
            ended_at: state.ended_at(),
            cancel_requested_at: state.cancel_requested_at(),
            reason: state.reason().map(str::to_owned),
            message: state.message().map(str::to_owned),
            stop_reason: state.stop_reason().map(str::to_owned),
            flags: state.flags(),
        }
    }
}

/// Observations about the turn of a run, beside its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RunFlags {
    /// `true` if the agent's answer has no text.
    pub empty_answer: bool,
    /// The number of permission requests that were denied.
    pub permissions_denied: u32,
    /// The number of tool calls that the agent made.
    pub tool_calls: u32,
    /// `true` if the answer was longer than Matins keeps.
    pub answer_cut: bool,
    /// `true` if the precheck ended without an answer, so that the turn was taken.
    pub precheck_unclear: bool,
}

same_fields! {
    run::RunFlags, RunFlags {
        empty_answer, permissions_denied, tool_calls, answer_cut, precheck_unclear
    }
}

/// A version of a prompt template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromptRef {
    /// The name of the template.
    pub id: String,
    /// The version of the template.
    pub version: u32,
    /// SHA-256 of the template's text, in hexadecimal digits.
    pub sha256: String,
}

same_fields! {
    prompt::PromptRef, PromptRef { id, version, sha256 }
}

/// The internal record of a run: the prompt that was sent, and the error in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRecord {
    /// The template.
    pub prompt_ref: Option<PromptRef>,
    /// The prompt as it was sent.
    pub rendered_prompt: Option<String>,
    /// The template's variables.
    pub variables: Value,
    /// The output of the agent's process, and the state of the protocol.
    pub diagnostics: Value,
    /// The error in full.
    pub error: Option<String>,
}

impl From<entity::RunRecord> for RunRecord {
    fn from(record: entity::RunRecord) -> Self {
        let entity::RunRecord {
            prompt_ref,
            rendered_prompt,
            variables,
            diagnostics,
            error,
        } = record;
        Self {
            prompt_ref: prompt_ref.map(Into::into),
            rendered_prompt,
            variables,
            diagnostics,
            error,
        }
    }
}

/// One run with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// All attempts at the same input, the first one first.
    pub attempts: Vec<Run>,
    /// Whether it had an internal record and retention has removed it.
    pub record_trimmed: bool,
}

/// The internal record of a run, for those who may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRecordView {
    /// What was really sent, and what went wrong in full; absent where there is none yet, or none any more.
    pub record: Option<RunRecord>,
}

/// A run that was called off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCancelled {
    /// The run.
    pub run_id: RunId,
    /// Where it is by now: one that was running ends as soon as its agent has stopped.
    pub status: RunStatus,
}

/// The answer that a running turn has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveText {
    /// The text from the position that was asked for.
    pub text: String,
    /// The position of its end, in bytes.
    #[schema(minimum = 0)]
    pub end: i64,
}
