//! What is kept, as it is read: sessions, seats, automations, triggers, runs, messages.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    automation::AutomationState,
    budget::Budget,
    entry::{EntryKind, Role},
    ids::{
        AcpSessionId, AutomationId, HarnessId, InputId, InstanceId, MessageId, RunId, SeatId,
        SessionId, TenantId, TriggerId, WorkerId,
    },
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    prompt::PromptRef,
    run::{Origin, RunStatus},
    schedule,
    session::{SessionKind, SessionState, SessionType},
    time::Timestamp,
};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// Its name, unique for the whole install.
    pub name: String,
    /// What all its runs may use together, and each of them.
    pub budget: Budget,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// What it is for.
    pub kind: SessionKind,
    /// Where it came from.
    pub session_type: SessionType,
    /// Where it is in its life.
    pub state: SessionState,
    /// Why it is there, where somebody said so.
    pub state_reason: Option<String>,
    /// Its stable external name.
    pub session_key: Option<String>,
    /// What lists call it.
    pub title: Option<String>,
    /// The working directory of its agents, absolute; it never changes.
    pub cwd: String,
    /// Where people talk in it, beside Matins.
    pub channel: Option<Channel>,
    /// The automation that made it.
    pub schedule_id: Option<AutomationId>,
    /// The number of its newest event.
    pub last_seq: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

/// A place outside where people talk in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The program that carries the words: `slack`, for example.
    pub channel: String,
    /// The room there.
    pub chat_id: String,
    /// The thread in that room.
    pub thread: Option<String>,
}

/// An agent's seat in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Its id.
    pub id: SeatId,
    /// The session.
    pub session_id: SessionId,
    /// What the agent does there.
    pub role: String,
    /// The harness that starts the agent.
    pub harness_id: HarnessId,
    /// Whether inputs that name no seat come here.
    pub is_entry: bool,
    /// The instance that holds the agent's memory, once its first turn has begun.
    pub instance_id: Option<InstanceId>,
    /// The agent's own session: its memory, once its first turn has ended.
    pub acp_session_id: Option<AcpSessionId>,
    /// How many turns have ended.
    pub turns: i64,
    /// The tokens in its context and what its session has cost, as the agent last reported them.
    pub usage: Option<Value>,
    /// The mode and the settings that are applied after each restore.
    pub settings: SeatSettings,
    /// When its memory last changed: at the end of each turn.
    pub updated_at: Timestamp,
}

/// The mode and the settings of a seat, in the agent's own ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatSettings {
    /// The mode.
    pub mode: Option<String>,
    /// Other settings: id and value.
    pub values: BTreeMap<String, String>,
}

/// An automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automation {
    /// Its id.
    pub id: AutomationId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// Its name, unique for the tenant.
    pub name: String,
    /// Whether its triggers fire.
    pub state: AutomationState,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// What a person should look at.
    pub attention: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// The harness that starts the agent.
    pub harness_id: HarnessId,
    /// The working directory of its sessions; absent: a folder of each session's own.
    pub cwd: Option<String>,
    /// Where its turns go.
    pub session_mode: SessionMode,
    /// The key of the session that it is bound to.
    pub bound_session_key: Option<String>,
    /// The session that its next turn goes to, for `continuous`.
    pub current_session_id: Option<SessionId>,
    /// Its policies.
    pub policies: Policies,
    /// The mode and the settings of its seats.
    pub settings: SeatSettings,
    /// Rules for its turns, beyond those of the harness.
    pub permissions: PermissionRules,
    /// The least document format whose servers honour it, all its documents included.
    pub needs_format: i64,
    /// Inputs that failed for good since the last success.
    pub consecutive_failures: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// Its id.
    pub id: TriggerId,
    /// The automation that it fires.
    pub automation_id: AutomationId,
    /// When it fires.
    pub spec: schedule::Spec,
    /// The next instant that the schedule names.
    pub next_scheduled_for: Option<Timestamp>,
    /// When that instant fires, spread by jitter.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that was dealt with.
    pub last_scheduled_for: Option<Timestamp>,
    /// When it fired for the last time ever.
    pub done_at: Option<Timestamp>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// What it is an attempt at.
    pub input_id: InputId,
    /// Which attempt it is, from 1.
    pub attempt: i64,
    /// How many attempts at the input had failed before it.
    pub failures: i64,
    /// Where it is in its life.
    pub status: RunStatus,
    /// Where the input came from.
    pub origin: Origin,
    /// The session; none for what was missed or skipped, unless it was skipped in one that stays.
    pub session_id: Option<SessionId>,
    /// The seat; none where there is no session.
    pub seat_id: Option<SeatId>,
    /// The automation.
    pub automation_id: Option<AutomationId>,
    /// The trigger.
    pub trigger_id: Option<TriggerId>,
    /// The due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last instant of a stretch of missed ones.
    pub missed_until: Option<Timestamp>,
    /// How many instants the row stands for.
    pub occurrences: i64,
    /// The words of the input.
    pub content: String,
    /// When it may start at the earliest.
    pub not_before: Option<Timestamp>,
    /// Who executes it.
    pub worker_id: Option<WorkerId>,
    /// When its turn began.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// When somebody asked for it to be called off.
    pub cancel_requested_at: Option<Timestamp>,
    /// Why it ended, in one word; none for a success. While it waits: `budget`, where that is used up.
    pub reason: Option<String>,
    /// A short text for people.
    pub message: Option<String>,
    /// Why the agent says that it ended the turn.
    pub stop_reason: Option<String>,
    /// What shows about a success: no text, denied permissions.
    pub flags: RunFlags,
    /// The tokens and the cost that the agent reported.
    pub usage: Option<Value>,
    /// The attempt that this one follows after an interruption.
    pub interrupted_run_id: Option<RunId>,
    /// The template of the prompt that was sent.
    pub prompt_ref: Option<PromptRef>,
    /// When the input came.
    pub input_at: Timestamp,
    /// When the row was made.
    pub created_at: Timestamp,
}

/// What shows about a turn beside its outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunFlags {
    /// The agent's answer has no text.
    pub empty_answer: bool,
    /// How many permission requests were denied.
    pub permissions_denied: u32,
    /// How many tool calls the agent made.
    pub tool_calls: u32,
    /// The answer was longer than is kept.
    pub answer_cut: bool,
    /// The precheck ended otherwise than by saying whether to take the turn, which was taken.
    pub precheck_unclear: bool,
}

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Its place in the session.
    pub seq: i64,
    /// The run that it belongs to.
    pub run_id: Option<RunId>,
    /// The author of its text.
    pub role: Role,
    /// Its kind.
    pub kind: EntryKind,
    /// Its words.
    pub content: String,
    /// Everything else.
    pub metadata: Value,
    /// When it was written.
    pub created_at: Timestamp,
}

/// The internal record of a run: what was really sent, and what went wrong in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The template.
    pub prompt_ref: Option<PromptRef>,
    /// The prompt as it was sent.
    pub rendered_prompt: Option<String>,
    /// The template's variables.
    pub variables: Value,
    /// What the agent's process and the protocol left behind.
    pub diagnostics: Value,
    /// The error in full.
    pub error: Option<String>,
}
