//! Runs, their internal records, and the text of running turns.

use model::{
    AutomationId, InputId, InstanceId, RunId, SeatId, SessionId, TenantId, Timestamp, TriggerId,
    WorkerId, entity, prompt,
    run::{self, Origin, RunSource, RunState, RunStatus},
    tools::ToolAccess,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{BlockedOn, document::same_fields};

/// A run: one attempt to answer one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// The ID of the run.
    pub id: RunId,
    /// The tenant that owns the run.
    pub tenant_id: TenantId,
    /// The ID of the input, which all attempts at the input share.
    pub input_id: InputId,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The number of earlier attempts at the input that failed.
    pub failures: i64,
    /// The status of the run.
    pub status: RunStatus,
    /// The source of the input.
    pub origin: Origin,
    /// The session. Null if the occurrence was missed, or skipped outside of a session.
    pub session_id: Option<SessionId>,
    /// The seat. Null if the run has no session.
    pub seat_id: Option<SeatId>,
    /// The automation of the occurrence, or of the turn that asked the question which the input answers. Null for other inputs.
    pub automation_id: Option<AutomationId>,
    /// The trigger. Null if no trigger created the run.
    pub trigger_id: Option<TriggerId>,
    /// The due instant of the occurrence. Null if the run is not for an occurrence.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant of a range of missed occurrences. Null in all other runs.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants that the run stands for.
    pub occurrences: i64,
    /// The text of the input.
    pub content: String,
    /// The earliest instant at which the run may start. Null if the run may start at once.
    pub not_before: Option<Timestamp>,
    /// The worker that executes the run. Null if no worker has taken the run.
    pub worker_id: Option<WorkerId>,
    /// The instant at which the turn began. Null if no turn has begun.
    pub started_at: Option<Timestamp>,
    /// The instant at which the run ended. Null if the run has not ended.
    pub ended_at: Option<Timestamp>,
    /// The instant at which a cancellation was requested. Null if there was no request.
    pub cancel_requested_at: Option<Timestamp>,
    /// The reason for the end of the run, in one word. Null if the run succeeded. A run that waits has the reason
    /// `budget` while a budget is used up, and `directory not here` while it waits for a server that has its directory.
    pub reason: Option<String>,
    /// A short text about the reason, for people.
    pub message: Option<String>,
    /// The stop reason of the agent, such as `end_turn`. Null if the agent did not end the turn.
    pub stop_reason: Option<String>,
    /// Observations about the turn.
    pub flags: RunFlags,
    /// The tokens and the cost that the agent has reported so far.
    pub usage: Option<Value>,
    /// The interrupted attempt that this run continues. Null if there is none.
    pub interrupted_run_id: Option<RunId>,
    /// The template of the prompt that was sent. Null if no prompt was sent.
    pub prompt_ref: Option<PromptRef>,
    /// The instant at which the input arrived.
    pub input_at: Timestamp,
    /// The instant at which the run was created.
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
            task: _,
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

/// The state of a run as responses show it: a status, and fields that are null in all other states.
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

/// Observations about the turn of a run, in addition to its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RunFlags {
    /// `true` if the answer of the agent has no text.
    pub empty_answer: bool,
    /// The number of permission requests that were denied.
    pub permissions_denied: u32,
    /// The number of tool calls that the agent made.
    pub tool_calls: u32,
    /// `true` if the answer was too long to be stored in full.
    pub answer_cut: bool,
    /// `true` if the precheck neither accepted nor declined the turn, so that the turn ran.
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
    /// The SHA-256 hash of the template's text, in hexadecimal digits.
    pub sha256: String,
}

/// A report of the runs of a session that ended without success since the last turn that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunReport {
    /// The version of the template.
    pub version: u32,
    /// The text, which the agent received as a content block of its own. Null if there was nothing to report.
    pub text: Option<String>,
}

same_fields! {
    prompt::PromptRef, PromptRef { id, version, sha256 }
    prompt::RunReport, RunReport { version, text }
}

/// The internal record of a run: the prompt that was sent, and the complete error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRecord {
    /// The template of the prompt. Null if no prompt was sent.
    pub prompt_ref: Option<PromptRef>,
    /// The report of runs without success that the agent received before the prompt. Null if the prompt could have none.
    pub run_report: Option<RunReport>,
    /// The prompt as the agent received it. Null if no prompt was sent.
    pub rendered_prompt: Option<String>,
    /// The variables of the template.
    pub variables: Value,
    /// The output of the agent's process and the state of the protocol.
    pub diagnostics: Value,
    /// The complete error. Null if the run did not fail.
    pub error: Option<String>,
}

impl From<entity::RunRecord> for RunRecord {
    fn from(record: entity::RunRecord) -> Self {
        let entity::RunRecord {
            prompt_ref,
            run_report,
            rendered_prompt,
            variables,
            diagnostics,
            error,
        } = record;
        Self {
            prompt_ref: prompt_ref.map(Into::into),
            run_report: run_report.map(Into::into),
            rendered_prompt,
            variables,
            diagnostics,
            error,
        }
    }
}

/// The names of the objects to which a run belongs, and its answer. What the caller may not read is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RunNames {
    /// The name of the automation, also if the automation is deleted. Null if the run has none.
    pub automation_name: Option<String>,
    /// The title of the session. Null if the run has no session, or if the session has no title.
    pub session_title: Option<String>,
    /// The name of the external chat of the session, such as `slack`. Null if the session belongs to none.
    pub channel: Option<String>,
    /// The name of the agent.
    pub agent_name: Option<String>,
    /// The name of the seat. Null if the session of the run has only one seat.
    pub seat_name: Option<String>,
    /// The name of the instance that executes the run or did. Null if no instance has taken the run.
    pub instance_name: Option<String>,
    /// The answer of the agent, at most 4 MiB; in a list, its first 300 characters. Null if the run has none, or none
    /// yet.
    pub answer: Option<String>,
}

/// A run of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunItem {
    /// The run. Its `content` is cut to [`MAX_LISTED_CHARS`] characters.
    #[serde(flatten)]
    pub run: Run,
    /// The event behind the input.
    pub source: RunSource,
    /// `true` if the turn of the run waits for a person: for a decision on an approval, or for an answer to a question.
    pub waits_for_approval: bool,
    /// `true` if the turn of the run waits for an answer to a question. A server of an earlier version sends none.
    #[serde(default)]
    pub waits_for_answer: bool,
    /// The names of the run's objects, and the beginning of its answer.
    #[serde(flatten)]
    pub names: RunNames,
}

/// The maximum number of characters of an input or an answer in a list of runs.
pub const MAX_LISTED_CHARS: usize = 300;

/// A run, its other attempts, and the cause of its wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// The event behind the input.
    pub source: RunSource,
    /// The cause of the run's wait. Null if the run does not wait.
    pub blocked_on: Option<BlockedOn>,
    /// All attempts at the same input, in order.
    pub attempts: Vec<Run>,
    /// `true` if retention has removed the internal record of the run.
    pub record_trimmed: bool,
    /// The built-in rule for the tools of Matins in such a turn. Null if the agent is removed, or if a server of an earlier
    /// version answers.
    #[serde(default)]
    pub own_tools: Option<OwnToolsRule>,
    /// The delivery of the run into the folder of its instance. Null if the run was not delivered as a file.
    #[serde(default)]
    pub delivery: Option<RunDelivery>,
    /// The names of the run's objects, and its answer.
    #[serde(flatten)]
    pub names: RunNames,
}

/// The delivery of a run into the folder of its instance, as a trigger file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunDelivery {
    /// The ID of the instance.
    pub instance: InstanceId,
    /// The name of the file.
    pub file: String,
    /// The instant at which the file was written last. Null if it was not written yet.
    pub delivered_at: Option<Timestamp>,
    /// The number of times that the file was written. More than one if it was removed before the turn began, or if the run
    /// had to wait again.
    #[schema(minimum = 0)]
    pub writes: i64,
    /// The number of failed attempts since the last one that succeeded.
    #[schema(minimum = 0)]
    pub failures: i64,
    /// The error of the last failed attempt. Null if the last attempt succeeded.
    pub error: Option<String>,
}

/// The built-in rule that allows an agent's permission requests for the tools of Matins, as the agent and the automation
/// are configured now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnToolsRule {
    /// The tools that the agent gets: those of its configuration, at most those of the automation.
    pub tools: ToolAccess,
    /// The whole titles of the requests that the rule allows once, with `{tool}` where the name of the tool stands. A rule
    /// that denies outweighs it. Empty if it allows none.
    pub titles: Vec<String>,
}

/// The internal record of a run, for callers that may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunRecordView {
    /// The record. Null if the run has no record yet, or if retention has removed it.
    pub record: Option<RunRecord>,
}

/// The change of a message that waits (merge patch, RFC 7396).
/// A field that is absent or null keeps its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunPatch {
    /// The new text of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub content: Option<String>,
}

/// The part of a run that a patch can change. Its hash is the entity tag of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunEdit<'a> {
    /// The text of the input.
    pub content: &'a str,
}

/// The result of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunCancelled {
    /// The run.
    pub run_id: RunId,
    /// The status after the request. A running run ends as soon as its agent has stopped.
    pub status: RunStatus,
}

/// The text that a running turn has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiveText {
    /// The text from the requested position to the end.
    pub text: String,
    /// The position of the end of the text, in bytes.
    #[schema(minimum = 0)]
    pub end: i64,
}
