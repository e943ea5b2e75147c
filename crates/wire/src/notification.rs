//! The text of notifications: the JSON that endpoints receive.

use model::{
    AutomationId, EndpointId, InputId, RunId, SessionId, Timestamp, TriggerId, entity,
    notification::NotificationKind,
    run::{Origin, RunStatus},
    session::{SessionStatus, SessionType},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{TraceEvent, runs::FlatState};

/// A notification, as an endpoint receives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// The kind of the notification.
    #[serde(rename = "type")]
    pub kind: NotificationKind,
    /// The ID of the event. An endpoint gets one notification for each event.
    pub id: String,
    /// When the event was logged.
    pub timestamp: Timestamp,
    /// The event, and the things that it is about.
    pub data: NotificationData,
}

/// The event of a notification, and the things that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationData {
    /// The event. Null in `endpoint.test`.
    pub event: Option<TraceEvent>,
    /// The session, as it is when the notification is written.
    pub session: Option<NotificationSession>,
    /// The automation, as it is when the notification is written. In `message.published`: the automation that
    /// asked, with the name that it had then; null if a person asked.
    pub automation: Option<NotificationAutomation>,
    /// The run that the event is about, as it is when the notification is written.
    pub run: Option<NotificationRun>,
    /// The endpoint. Null in all but `endpoint.test`.
    pub endpoint: Option<NotificationEndpoint>,
}

/// A session in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationSession {
    /// Its ID.
    pub id: SessionId,
    /// Its type.
    #[serde(rename = "type")]
    pub session_type: SessionType,
    /// Its stable external name.
    pub key: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its state.
    pub state: SessionStatus,
    /// The reason for its state.
    pub state_reason: Option<String>,
    /// The program outside in which people talk in it, such as `slack`.
    pub channel: Option<String>,
    /// The room there.
    pub chat_id: Option<String>,
    /// The thread in that room.
    pub thread: Option<String>,
}

/// An automation in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationAutomation {
    /// Its ID.
    pub id: AutomationId,
    /// Its name.
    pub name: String,
    /// The reason for its pause.
    pub pause_reason: Option<String>,
    /// The text that asks for a person's attention.
    pub attention: Option<String>,
}

/// A run in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationRun {
    /// Its ID.
    pub id: RunId,
    /// The input.
    pub input_id: InputId,
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// Its status.
    pub status: RunStatus,
    /// Where the input came from.
    pub origin: Origin,
    /// Its automation.
    pub automation_id: Option<AutomationId>,
    /// Its trigger.
    pub trigger_id: Option<TriggerId>,
    /// The due instant.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant, if it stands for more than one.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants that it stands for.
    pub occurrences: i64,
    /// The reason for its end, in one word.
    pub reason: Option<String>,
    /// The reason for its end, as text for people.
    pub message: Option<String>,
    /// The stop reason of the agent.
    pub stop_reason: Option<String>,
    /// When its turn began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl From<entity::Run> for NotificationRun {
    fn from(run: entity::Run) -> Self {
        let flat = FlatState::of(&run.state);
        Self {
            id: run.id,
            input_id: run.input_id,
            attempt: run.attempt,
            status: flat.status,
            origin: run.origin,
            automation_id: run.automation_id,
            trigger_id: run.trigger_id,
            scheduled_for: run.scheduled_for,
            missed_until: flat.missed_until,
            occurrences: flat.occurrences,
            reason: flat.reason,
            message: flat.message,
            stop_reason: flat.stop_reason,
            started_at: flat.started_at,
            ended_at: flat.ended_at,
        }
    }
}

/// An endpoint in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationEndpoint {
    /// Its ID.
    pub id: EndpointId,
    /// Its name.
    pub name: String,
}
