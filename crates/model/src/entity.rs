//! The entities of the domain, as the store reads them: tenants, sessions, seats, automations, triggers, runs and
//! messages.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    automation::AutomationState,
    budget::Budget,
    cursor::CursorOrigin,
    entry::{EntryKind, Role},
    goal,
    ids::{
        AcpSessionId, AgentId, AutomationId, InputId, InstanceId, MessageId, RunId, SeatId,
        SessionId, TaskId, TenantId, TriggerId,
    },
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    prompt::{PromptRef, RunReport},
    run::{Origin, RunState, RunStatus},
    schedule,
    seat::SeatDirectory,
    session::{SessionKind, SessionState, SessionStatus, SessionType},
    time::Timestamp,
    tools::{AgentCron, MadeBy},
    working_directory::WorkingDirectory,
};

/// A tenant: the owner of all other entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// The ID of the tenant.
    pub id: TenantId,
    /// The name of the tenant, unique within the installation.
    pub name: String,
    /// The budget of all runs of the tenant together, and of each run.
    pub budget: Budget,
    /// The instant at which the tenant was created.
    pub created_at: Timestamp,
}

/// A session: a conversation with an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The ID of the session.
    pub id: SessionId,
    /// The tenant that owns the session.
    pub tenant_id: TenantId,
    /// The purpose of the session.
    pub kind: SessionKind,
    /// The source of the session.
    pub session_type: SessionType,
    /// The state, with the data of that state.
    pub state: SessionState,
    /// The stable external name, such as `cli:0199...`. Automations are bound to a session by it.
    pub session_key: Option<String>,
    /// The title that lists show.
    pub title: Option<String>,
    /// The absolute working directory that a person gave. `None`: the session has a folder of its own, which each
    /// server keeps in its data folder. The value never changes, because agents find their memory by the directory.
    pub cwd: Option<String>,
    /// The external chat that the session belongs to.
    pub channel: Option<Channel>,
    /// The automation that created the session.
    pub schedule_id: Option<AutomationId>,
    /// The number of the newest event in the session's log.
    pub last_seq: i64,
    /// The instant at which the session was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the session.
    pub updated_at: Timestamp,
}

impl Session {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> SessionStatus {
        self.state.status()
    }
}

/// An external chat that a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// The program that carries the messages, such as `slack`.
    pub channel: String,
    /// The room in the program.
    pub chat_id: String,
    /// The thread in that room.
    pub thread: Option<String>,
}

/// A seat: one agent in a session, with its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The ID of the seat.
    pub id: SeatId,
    /// The session.
    pub session_id: SessionId,
    /// The task of the agent in the session.
    pub role: String,
    /// The name of the seat, unique within the session.
    pub name: String,
    /// The configured agent whose process takes the turns of the seat.
    pub agent_id: AgentId,
    /// The instructions that open each new memory of the agent. `None` if the seat has none.
    pub instructions: Option<String>,
    /// `true` if the seat receives inputs that name no seat.
    pub is_entry: bool,
    /// The directory of the turns.
    pub directory: SeatDirectory,
    /// The instance that holds the agent's memory. `None` until the first turn begins.
    pub instance_id: Option<InstanceId>,
    /// The instance on which a person has placed the turns of the seat. `None`: any instance may take the first one.
    pub placed_on: Option<InstanceId>,
    /// The agent's own session, which is the memory of the seat. `None` until the first turn has ended.
    pub acp_session_id: Option<AcpSessionId>,
    /// The number of turns that have ended.
    pub turns: i64,
    /// The number of tokens in the agent's context and the cost of its session, as the agent last reported them.
    pub usage: Option<Value>,
    /// The mode and the settings that Matins applies after each restore.
    pub settings: SeatSettings,
    /// The instant of the last change of the memory: the end of the last turn.
    pub updated_at: Timestamp,
}

impl Seat {
    /// Returns the directory of the turns that a person gave the session. Returns `None` if Matins keeps their folder.
    pub fn given_directory<'session>(&self, session: &'session Session) -> Option<&'session str> {
        match self.directory {
            SeatDirectory::Shared => session.cwd.as_deref(),
            SeatDirectory::Own => None,
        }
    }

    /// Returns the working directory of the turns: the own folder of the seat at `path`, or the directory of the session,
    /// which is the given one or its own folder at `path`.
    pub fn working_directory(
        &self,
        session: &Session,
        path: impl FnOnce() -> String,
    ) -> WorkingDirectory {
        match self.own_folder() {
            Some(name) => WorkingDirectory::OwnOfSeat {
                path: path(),
                seat: name.to_owned(),
            },
            None => WorkingDirectory::of(session.cwd.as_deref(), path),
        }
    }

    /// Returns the name of the seat's own folder below that of the session. Returns `None` if the seat has none.
    pub fn own_folder(&self) -> Option<&str> {
        match self.directory {
            SeatDirectory::Shared => None,
            SeatDirectory::Own => Some(&self.name),
        }
    }
}

/// The mode and the settings of a seat, in the agent's own identifiers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeatSettings {
    /// The mode.
    pub mode: Option<String>,
    /// The other settings, from ID to value.
    pub values: BTreeMap<String, String>,
}

/// An automation: a prompt, the triggers that run it, and the policies of its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Automation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The tenant that owns the automation.
    pub tenant_id: TenantId,
    /// The name of the automation, unique within the tenant.
    pub name: String,
    /// The state.
    pub state: AutomationState,
    /// The reason for the pause. `None` if the automation is not paused.
    pub pause_reason: Option<String>,
    /// A problem that a person should look at. `None` if there is none.
    pub attention: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The configured agent whose process takes the turns of the automation.
    pub agent_id: AgentId,
    /// The working directory of the automation's sessions. `None`: each session gets a folder of its own.
    pub cwd: Option<String>,
    /// The instance on which a person has placed the turns. `None`: any instance may begin a session.
    pub placed_on: Option<InstanceId>,
    /// The session that receives each run's turn.
    pub session_mode: SessionMode,
    /// The key of the session that the automation is bound to, for `bound`.
    pub bound_session_key: Option<String>,
    /// The session that receives the next turn, for `continuous`.
    pub current_session_id: Option<SessionId>,
    /// The policies.
    pub policies: Policies,
    /// The mode and the settings of the seats in its sessions.
    pub settings: SeatSettings,
    /// The rules that answer permission requests, in addition to the agent's rules.
    pub permissions: PermissionRules,
    /// The lowest document format that a server must support to run this automation. Servers below it leave the
    /// automation alone, because they would ignore settings that limit it.
    pub needs_format: i64,
    /// The number of inputs that have failed for good since the last success.
    pub consecutive_failures: i64,
    /// The turn in which an agent has made the automation. `None` if a person has made it.
    pub made_by: Option<MadeBy>,
    /// The instant from which the automation fires no more. `None`: never.
    pub expires_at: Option<Timestamp>,
    /// The instant at which the automation was created.
    pub created_at: Timestamp,
    /// The instant of the last change.
    pub updated_at: Timestamp,
}

impl Automation {
    /// Returns the rule for new automations that agents make in the automation's turns.
    ///
    /// Turns of an automation that an agent has made make none, even if its policies allow it, so that agents which schedule
    /// agents stop by themselves.
    pub const fn agent_cron(&self) -> AgentCron {
        if self.made_by.is_some() {
            AgentCron::Deny
        } else {
            self.policies.agent_cron
        }
    }

    /// Returns `true` if the lifetime of the automation has ended.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A trigger: one condition that creates occurrences of an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The ID of the trigger.
    pub id: TriggerId,
    /// The automation that it fires.
    pub automation_id: AutomationId,
    /// The schedule.
    pub spec: schedule::Spec,
    /// The next nominal instant of the schedule. `None` if the trigger is not due again.
    pub next_scheduled_for: Option<Timestamp>,
    /// The instant at which the next nominal instant fires, after jitter.
    pub next_fire_at: Option<Timestamp>,
    /// The computation of the next nominal instant. `None` if it is unknown, or if no zone rules take part in it.
    pub origin: Option<CursorOrigin>,
    /// The last nominal instant that was turned into a run, a skip or a missed range.
    pub last_scheduled_for: Option<Timestamp>,
    /// The instant at which the trigger fired for the last time. `None` while its schedule continues.
    pub done_at: Option<Timestamp>,
}

/// A run: one attempt at one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The ID of the run.
    pub id: RunId,
    /// The tenant that owns the run.
    pub tenant_id: TenantId,
    /// The input that the run attempts to execute.
    pub input_id: InputId,
    /// The number of the attempt, from 1.
    pub attempt: i64,
    /// The number of earlier attempts at the input that failed.
    pub failures: i64,
    /// The state, with the data of that state.
    pub state: RunState,
    /// The source of the input.
    pub origin: Origin,
    /// The session. `None` if the occurrence was missed, or skipped before it got a session.
    pub session_id: Option<SessionId>,
    /// The seat. `None` if there is no session.
    pub seat_id: Option<SeatId>,
    /// The automation of the occurrence, or of the turn that asked the question whose answer the input is. `None` for other
    /// inputs.
    pub automation_id: Option<AutomationId>,
    /// The trigger that created the occurrence.
    pub trigger_id: Option<TriggerId>,
    /// The task whose turn the input is.
    pub task: Option<RunTask>,
    /// The due instant of the occurrence.
    pub scheduled_for: Option<Timestamp>,
    /// The text of the input.
    pub content: String,
    /// The tokens and the cost that the agent has reported so far.
    pub usage: Option<Value>,
    /// The interrupted attempt that this attempt follows.
    pub interrupted_run_id: Option<RunId>,
    /// The reference to the template of the prompt that was sent.
    pub prompt_ref: Option<PromptRef>,
    /// The instant at which the input was created.
    pub input_at: Timestamp,
    /// The instant at which the row was created.
    pub created_at: Timestamp,
}

/// The task whose turn an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTask {
    /// The task.
    pub id: TaskId,
    /// The prompt. `None` if a later version has written another one.
    pub prompt: Option<goal::Prompt>,
    /// `true` if the turn judges the task. The work and the reviews of a task have memories of their own.
    pub is_review: bool,
}

impl Run {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> RunStatus {
        self.state.status()
    }
}

/// A row of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The ID of the row.
    pub id: MessageId,
    /// The number of the row in the session's log.
    pub seq: i64,
    /// The run that wrote the row.
    pub run_id: Option<RunId>,
    /// The seat whose agent wrote the row. `None` if a person or Matins wrote it.
    pub seat_id: Option<SeatId>,
    /// The author of its text.
    pub role: Role,
    /// The kind of the row.
    pub kind: EntryKind,
    /// The text of the row.
    pub content: String,
    /// Structured details, such as the input of a tool call.
    pub metadata: Value,
    /// The instant at which the row was written.
    pub created_at: Timestamp,
}

/// The internal record of a run: the prompt as it was sent, and the full error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// The reference to the template of the prompt.
    pub prompt_ref: Option<PromptRef>,
    /// The report that the agent received before the prompt. `None` if the prompt could have none.
    pub run_report: Option<RunReport>,
    /// The prompt as the agent received it. `None` if no prompt was sent.
    pub rendered_prompt: Option<String>,
    /// The values of the template's variables.
    pub variables: Value,
    /// Diagnostics of the agent's process and the protocol.
    pub diagnostics: Value,
    /// The full error.
    pub error: Option<String>,
}
