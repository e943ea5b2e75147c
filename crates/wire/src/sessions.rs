//! Sessions: begun, spoken to, looked at, moved on, deleted.

use model::{
    AcpSessionId, AutomationId, HarnessId, InstanceId, SeatId, SessionId, TenantId, Timestamp,
    automation::AutomationState,
    entity,
    session::{SessionKind, SessionState, SessionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    Change, Channel, ChannelRequest, Message, Run, SeatSettings, SeatSettingsRequest, Waiting,
};

/// A session to be begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The harness that starts the agent: its name or its id.
    #[schema(min_length = 1)]
    pub harness: String,
    /// The working directory, absolute; absent: a folder of the session's own. It never changes.
    #[serde(default)]
    #[schema(min_length = 1)]
    pub cwd: Option<String>,
    /// What lists call it.
    #[serde(default)]
    pub title: Option<String>,
    /// Its stable external name, such as `web:7`; absent: one is made.
    #[serde(default)]
    pub session_key: Option<String>,
    /// Where its chat lives, if it is one of a channel.
    #[serde(default)]
    pub channel: Option<ChannelRequest>,
    /// Whether it begins as a draft, in which inputs wait until it is enabled.
    #[serde(default)]
    pub draft: bool,
    /// The mode and the settings of the agent.
    #[serde(default)]
    pub settings: SeatSettingsRequest,
}

/// The fields of a session that change (merge patch, RFC 7396).
///
/// A field that is not named keeps its value, and null gives it its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionPatch {
    /// Its name in lists.
    #[serde(skip_serializing_if = "Change::is_keep")]
    #[schema(value_type = Option<String>)]
    pub title: Change<String>,
}

/// The part of a session that a patch can change, as it is. Its hash is the entity tag of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionEdit {
    /// What lists call it; null for nothing.
    pub title: Option<String>,
}

/// A person's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// The words.
    #[schema(min_length = 1)]
    pub words: String,
}

/// Why somebody moves a session on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Move {
    /// Why, for those who look at it later.
    pub reason: Option<String>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Its ID.
    pub id: SessionId,
    /// Its owner.
    pub tenant_id: TenantId,
    /// Its purpose.
    pub kind: SessionKind,
    /// Its source.
    #[serde(rename = "type")]
    pub session_type: SessionType,
    /// Its state.
    pub state: SessionState,
    /// The reason of its state, as a person gave it.
    pub state_reason: Option<String>,
    /// Its stable external name.
    pub session_key: Option<String>,
    /// Its name in lists.
    pub title: Option<String>,
    /// The working directory of its agents, absolute. It never changes.
    pub cwd: String,
    /// The place outside of Matins where people talk in it.
    pub channel: Option<Channel>,
    /// The automation that created it.
    pub schedule_id: Option<AutomationId>,
    /// The number of its newest event.
    pub last_seq: i64,
    /// The instant of its creation.
    pub created_at: Timestamp,
    /// The instant of its last change.
    pub updated_at: Timestamp,
}

impl From<entity::Session> for Session {
    fn from(session: entity::Session) -> Self {
        let entity::Session {
            id,
            tenant_id,
            kind,
            session_type,
            state,
            state_reason,
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
            state,
            state_reason,
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

/// The seat of an agent in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Seat {
    /// Its ID.
    pub id: SeatId,
    /// The session.
    pub session_id: SessionId,
    /// The part of its agent in the session.
    pub role: String,
    /// The harness that starts the agent.
    pub harness_id: HarnessId,
    /// `true` if it takes the inputs that name no seat.
    pub is_entry: bool,
    /// The instance that holds the agent's memory, from its first turn on.
    pub instance_id: Option<InstanceId>,
    /// The ID of the agent's own session, from the end of its first turn on.
    pub acp_session_id: Option<AcpSessionId>,
    /// The number of turns that have ended.
    pub turns: i64,
    /// The tokens in its context and the cost of its session, as the agent last reported them.
    #[serde(default)]
    pub usage: Option<Value>,
    /// The mode and the settings that are applied after each restore.
    pub settings: SeatSettings,
    /// The instant at which its memory last changed: the end of a turn.
    pub updated_at: Timestamp,
}

impl From<entity::Seat> for Seat {
    fn from(seat: entity::Seat) -> Self {
        let entity::Seat {
            id,
            session_id,
            role,
            harness_id,
            is_entry,
            instance_id,
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
            harness_id,
            is_entry,
            instance_id,
            acp_session_id,
            turns,
            usage,
            settings: settings.into(),
            updated_at,
        }
    }
}

/// A session with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// The session.
    #[serde(flatten)]
    pub session: Session,
    /// Its seats.
    pub seats: Vec<Seat>,
    /// The names of the automations that are bound to it.
    pub bound_automations: Vec<String>,
    /// Its runs that are not over, the oldest first.
    pub open_runs: Vec<OpenRun>,
    /// The number of the oldest event of its log that retention has kept, or that of the next one.
    #[schema(minimum = 0)]
    pub oldest_event: i64,
}

/// A run that is not over, with what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenRun {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What it waits for, if it has not begun.
    pub waiting: Option<Waiting>,
}

/// Some rows of a transcript, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// The rows.
    pub items: Vec<Message>,
    /// How many rows come before the first of them, where the end of the transcript was asked for.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub before: Option<i64>,
    /// What `after` takes for the next page; absent where no more are there by now.
    #[serde(default)]
    pub next: Option<i64>,
}

/// What a replay shows, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// What happened.
    pub items: Vec<Replayed>,
    /// What `after` takes for the next page; absent on the last one.
    #[serde(default)]
    pub next: Option<i64>,
}

/// One thing of a replay: a row of the transcript, or a run when its first row comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum Replayed {
    /// A run, as it is now.
    Run(Box<Run>),
    /// A row of the transcript.
    Message(Message),
}

/// What became of a wish to delete a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionDeleted {
    /// Whether it is gone.
    pub deleted: bool,
    /// Whether that would have taken automations with it, to which nobody has consented.
    pub blocked_by_automations: bool,
    /// The automations that block it, or those that went with it.
    pub automations: Vec<BoundAutomation>,
    /// How many turns were under way and were called off with it.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub turns: u32,
}

/// An automation that is bound to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoundAutomation {
    /// Its id.
    pub id: AutomationId,
    /// Its name.
    pub name: String,
    /// Whether its triggers fire.
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

/// How much of a session was called off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionCancelled {
    /// The session.
    pub session_id: SessionId,
    /// How many runs.
    #[schema(minimum = 0)]
    pub cancelled: u32,
}

/// How a conversation is written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One JSON object a line: first one about the session, then one for each row.
    #[default]
    Jsonl,
    /// To be read by people.
    Markdown,
}
