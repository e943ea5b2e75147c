//! Sessions, their seats, transcripts and replays, and the requests that create and change sessions.

use model::{
    AcpSessionId, AgentId, AutomationId, InstanceId, SeatId, SessionId, TenantId, Timestamp,
    automation::AutomationState,
    entity,
    seat::SeatDirectory,
    session::{SessionKind, SessionStatus, SessionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    BlockedOn, Change, Channel, ChannelRequest, Message, MessageRole, Run, RunOutcome,
    SeatSettings, SeatSettingsRequest, Task,
};

/// A request that creates a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The name or the ID of the configured agent. Required unless `seats` is given, which excludes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub agent: Option<String>,
    /// The purpose: `background` for a session with `seats`, and `interactive` for one with `agent`. If absent, it follows
    /// from these fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SessionKind>,
    /// The seats of a background session, at most 16. They take turns at the same time, each with a memory of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 16)]
    pub seats: Option<Vec<SeatRequest>>,
    /// The working directory, as an absolute path. The directory never changes. If absent, the session gets a folder
    /// of its own.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub cwd: Option<String>,
    /// The name or the ID of the instance on which the turns run. If absent, any instance begins the session.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub placed_on: Option<String>,
    /// The title in lists.
    #[serde(default)]
    pub title: Option<String>,
    /// The stable external name of the session, such as `web:7`. If absent, the server makes a key.
    #[serde(default)]
    pub session_key: Option<String>,
    /// The external chat that the session belongs to. Absent for a session without a channel.
    #[serde(default)]
    pub channel: Option<ChannelRequest>,
    /// `true` if the session starts as a draft. The inputs of a draft wait until it is enabled.
    #[serde(default)]
    pub draft: bool,
    /// The mode and the settings of the agent. Excluded by `seats`, each of which has settings of its own.
    #[serde(default)]
    pub settings: SeatSettingsRequest,
}

/// One seat of a new session, or several of one role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatRequest {
    /// The role, such as `planner`, `worker` or `judge`: 1 to 40 lower-case letters, digits and hyphens, of which the first
    /// is a letter.
    #[schema(min_length = 1, max_length = 40)]
    pub role: String,
    /// The name or the ID of the configured agent.
    #[schema(min_length = 1)]
    pub agent: String,
    /// The name of the seat, unique in the session, in the form of a role. If absent, it is the role, with a number if the
    /// role has several seats, such as `worker-1`. It excludes a `count` above 1.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 40)]
    pub name: Option<String>,
    /// The number of seats. The default is 1.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 16)]
    pub count: Option<u32>,
    /// `true` for the seat that takes the inputs which name no seat. If no seat is the entry, the first one is. It excludes
    /// a `count` above 1.
    #[serde(default)]
    pub entry: bool,
    /// `shared` for the directory of the session, or `own` for a folder of the seat alone. The default is `shared`.
    #[serde(default)]
    pub directory: Option<SeatDirectory>,
    /// The mode and the settings of the agent.
    #[serde(default)]
    pub settings: SeatSettingsRequest,
    /// The instructions that open each new memory of the agent, at most 16 KiB.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 16384)]
    pub instructions: Option<String>,
}

/// The changes of a session (merge patch, RFC 7396).
///
/// A field that is absent keeps its value, and null restores the default of the field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionPatch {
    /// The title in lists. Null removes the title.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub title: Change<String>,
}

/// The current values of the fields that a patch can change. The hash of the values is the entity tag of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionEdit {
    /// The title in lists. `None` if the session has no title.
    pub title: Option<String>,
}

/// The message of a person to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageRequest {
    /// The text of the message.
    #[schema(min_length = 1)]
    pub text: String,
    /// The name or the ID of the seat that takes the message. If absent, the entry seat takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub seat: Option<String>,
}

/// The reason for a move of a session to another state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StateChangeRequest {
    /// The reason, which the session keeps as `state_reason`.
    pub reason: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// The ID of the session.
    pub id: SessionId,
    /// The tenant that owns the session.
    pub tenant_id: TenantId,
    /// The purpose of the session.
    pub kind: SessionKind,
    /// The source of the session.
    #[serde(rename = "type")]
    pub session_type: SessionType,
    /// The state of the session.
    pub state: SessionStatus,
    /// The reason for the state, as a person gave it. Null if no reason was given.
    pub state_reason: Option<String>,
    /// The stable external name of the session. Automations are bound to the session by this key.
    pub session_key: Option<String>,
    /// The title in lists.
    pub title: Option<String>,
    /// The working directory that a person gave, as an absolute path. Null if the session has a folder of its own. The
    /// directory never changes.
    pub cwd: Option<String>,
    /// The external chat that the session belongs to. Null if there is none.
    pub channel: Option<Channel>,
    /// The automation that created the session. Null if a person created it.
    pub schedule_id: Option<AutomationId>,
    /// The number of the newest event in the log of the session.
    pub last_seq: i64,
    /// The instant at which the session was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the session.
    pub updated_at: Timestamp,
}

/// The maximum number of characters of the last message in a list of sessions.
pub const MAX_LINE_CHARS: usize = 200;

/// A session of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionItem {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// The last message of the transcript. Null if there is none yet.
    #[serde(default)]
    pub last_message: Option<LastMessage>,
    /// The last run that has begun or ended, with its outcome so far. Null if there is none yet.
    #[serde(default)]
    pub last_run: Option<RunOutcome>,
    /// The name of the instance that alone may take the turns, if it was removed. The runs fail with the reason
    /// `instance_gone`. Null otherwise.
    #[serde(default)]
    pub removed_instance: Option<String>,
}

/// The last message of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastMessage {
    /// The author of the message.
    pub role: MessageRole,
    /// The beginning of the text on one line, at most 200 characters.
    pub text: String,
    /// The instant at which the message was written.
    pub at: Timestamp,
}

impl From<entity::Session> for Session {
    fn from(session: entity::Session) -> Self {
        let entity::Session {
            id,
            tenant_id,
            kind,
            session_type,
            state,
            session_key,
            title,
            cwd,
            channel,
            schedule_id,
            last_seq,
            created_at,
            updated_at,
        } = session;
        Self {
            id,
            tenant_id,
            kind,
            session_type,
            state: state.status(),
            state_reason: state.into_reason(),
            session_key,
            title,
            cwd,
            channel: channel.map(Into::into),
            schedule_id,
            last_seq,
            created_at,
            updated_at,
        }
    }
}

/// The seat of an agent in a session. The seat refers to the agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Seat {
    /// The ID of the seat.
    pub id: SeatId,
    /// The session.
    pub session_id: SessionId,
    /// The role of the agent in the session.
    pub role: String,
    /// The name of the seat, unique in the session. Empty if a server of an earlier version answers.
    #[serde(default)]
    pub name: String,
    /// The name of the configured agent. Null if a server of an earlier version answers.
    #[serde(default)]
    pub agent: Option<String>,
    /// `true` if a run holds the seat, so that further inputs wait.
    #[serde(default)]
    pub is_busy: bool,
    /// The name of the instance on which the turns run. Null if any instance may take the first one.
    #[serde(default)]
    pub instance: Option<String>,
    /// The directory of the turns: that of the session, or a folder of the seat alone below the folder of the session.
    #[serde(default = "shared_directory")]
    pub directory: SeatDirectory,
    /// The instructions that open each new memory of the agent. Null if the seat has none.
    #[serde(default)]
    pub instructions: Option<String>,
    /// The configured agent whose process takes the turns of the seat.
    pub agent_id: AgentId,
    /// `true` if the seat takes the inputs that name no seat.
    pub is_entry: bool,
    /// The instance that holds the agent's memory. Null until the first turn begins.
    pub instance_id: Option<InstanceId>,
    /// The instance on which a person has placed the turns. Null if any instance may take the first one.
    #[serde(default)]
    pub placed_on: Option<InstanceId>,
    /// The name of the instance that alone may take the turns, if it was removed. The runs fail with the reason
    /// `instance_gone`. Null otherwise.
    #[serde(default)]
    pub removed_instance: Option<String>,
    /// The ID of the agent's own session, which is the memory. Null until the first turn ends.
    pub acp_session_id: Option<AcpSessionId>,
    /// The number of turns that have ended.
    pub turns: i64,
    /// The tokens in the agent's context and the cost of its session, as the agent last reported them.
    #[serde(default)]
    pub usage: Option<Value>,
    /// The mode and the settings that Matins applies each time it creates or restores the agent's session.
    pub settings: SeatSettings,
    /// The instant of the last change of the agent's memory: the end of a turn.
    pub updated_at: Timestamp,
}

/// Returns the directory of seats in servers of earlier versions.
const fn shared_directory() -> SeatDirectory {
    SeatDirectory::Shared
}

impl From<entity::Seat> for Seat {
    fn from(seat: entity::Seat) -> Self {
        let entity::Seat {
            id,
            session_id,
            role,
            name,
            agent_id,
            instructions,
            is_entry,
            directory,
            instance_id,
            placed_on,
            acp_session_id,
            turns,
            usage,
            settings,
            updated_at,
        } = seat;
        Self {
            id,
            session_id,
            role,
            name,
            agent: None,
            is_busy: false,
            instance: None,
            directory,
            instructions,
            agent_id,
            is_entry,
            instance_id,
            placed_on,
            removed_instance: None,
            acp_session_id,
            turns,
            usage,
            settings: settings.into(),
            updated_at,
        }
    }
}

/// A session, its seats, its bound automations, and its runs that are not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// The path of the session's own folder on this server. Null if a person gave the directory, and while the server
    /// has no such folder: before the first turn, or because another server takes the turns.
    #[serde(default)]
    pub own_folder: Option<String>,
    /// The seats of the session.
    pub seats: Vec<Seat>,
    /// The names of the automations that are bound to the session.
    pub bound_automations: Vec<String>,
    /// The runs that are not over, the oldest first.
    pub open_runs: Vec<OpenRun>,
    /// The number of the oldest event that the log of the session still has. If the log has none, the number of the
    /// next event.
    #[schema(minimum = 0)]
    pub oldest_event: i64,
}

/// A run that is not over, and the cause of its wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenRun {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// The cause of the run's wait. Null if the run does not wait.
    pub blocked_on: Option<BlockedOn>,
}

/// Rows of a transcript, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// The rows.
    pub items: Vec<Message>,
    /// The number of rows before the first item. Null unless the request names `last`.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub before: Option<i64>,
    /// The value of `before` that returns the previous page. Null if no row precedes this page, and if the request
    /// names `after` or selects no rows.
    #[serde(default)]
    pub previous: Option<i64>,
    /// The value of `after` that returns the next page. Null if there are no more rows at present, and if the request
    /// names `before` or `last`.
    #[serde(default)]
    pub next: Option<i64>,
}

/// A part of a replay: rows of a transcript, and their runs and tasks, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// The items in order.
    pub items: Vec<ReplayItem>,
    /// The value of `after` that returns the next page. Null if this page is the last one.
    #[serde(default)]
    pub next: Option<i64>,
}

/// An item of a replay. A run comes before the first row that belongs to the run, and a task before the first of its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum ReplayItem {
    /// A task of a goal, with its present status.
    Task(Box<Task>),
    /// A run, with its present status.
    Run(Box<Run>),
    /// A row of the transcript.
    Message(Message),
}

/// The result of deleting a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionDeleted {
    /// `true` if the session was deleted.
    pub deleted: bool,
    /// `true` if the session was kept, because automations are bound to it and the request does not delete them.
    pub blocked_by_automations: bool,
    /// The automations that prevented the deletion, or that were deleted with the session.
    pub automations: Vec<BoundAutomation>,
    /// The number of running turns that were cancelled with the deletion.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub turns: u32,
}

/// A session that is not closed and uses an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenSession {
    /// The ID of the session.
    pub id: SessionId,
    /// The title of the session. Null if it has none.
    pub title: Option<String>,
}

/// An automation that is bound to a session, or that uses an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoundAutomation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// `true` if the triggers of the automation fire.
    pub enabled: bool,
}

impl From<entity::Automation> for BoundAutomation {
    fn from(automation: entity::Automation) -> Self {
        Self {
            id: automation.id,
            enabled: automation.state == AutomationState::Enabled,
            name: automation.name,
        }
    }
}

/// The result of cancelling the runs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCancelled {
    /// The session.
    pub session_id: SessionId,
    /// The number of runs that were cancelled.
    #[schema(minimum = 0)]
    pub cancelled: u32,
}

/// A format of an exported transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One JSON object on each line: first the session, then each row.
    #[default]
    Jsonl,
    /// Markdown, for people.
    Markdown,
}
