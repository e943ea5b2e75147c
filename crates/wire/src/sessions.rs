//! Sessions: begun, spoken to, looked at, moved on, deleted.

use model::{
    ApprovalId, AutomationId, RunId, SessionId, Timestamp,
    automation::AutomationState,
    entity::{Automation, Channel, Message, Run, Seat, SeatSettings, Session},
    run::{Origin, RunStatus},
    session::SessionState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    pub channel: Option<Channel>,
    /// Whether it begins as a draft, in which inputs wait until it is enabled.
    #[serde(default)]
    pub draft: bool,
    /// The mode and the settings of the agent.
    #[serde(default)]
    pub settings: SeatSettings,
}

/// What of a session can be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub before: Option<i64>,
    /// What `after` takes for the next page; absent where no more are there by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// What a replay shows, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replay {
    /// What happened.
    pub items: Vec<Replayed>,
    /// What `after` takes for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

impl From<Automation> for BoundAutomation {
    fn from(automation: Automation) -> Self {
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

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waiting {
    /// A worker.
    Worker,
    /// The end of its backoff.
    Backoff {
        /// When that is.
        until: Timestamp,
    },
    /// A budget that is used up.
    Budget {
        /// When there is one again.
        until: Timestamp,
        /// Which one it is.
        reason: String,
    },
    /// Its session is held.
    Session {
        /// The state of the session.
        state: SessionState,
    },
    /// Another run on its seat, or of its automation.
    Run {
        /// The other run.
        run: RunId,
        /// Where that is in its life.
        status: RunStatus,
        /// Where the other's input came from.
        origin: Origin,
    },
    /// Its turn among those that wait.
    Turn,
    /// A person: its agent asks for a permission.
    Approval {
        /// What is to be decided; of several, the newest.
        approval: ApprovalId,
        /// What the agent asks for.
        title: String,
    },
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
