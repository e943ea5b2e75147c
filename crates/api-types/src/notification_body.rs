//! The JSON body of a notification.

use model::{
    AutomationId, EndpointId, InputId, QuestionId, RunId, SessionId, Timestamp, TriggerId, entity,
    goal::GoalStatus,
    notification::NotificationKind,
    question::{QuestionKind, QuestionStatus},
    run::{Origin, RunStatus},
    session::{SessionStatus, SessionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{GoalReason, TaskCounts, TraceEvent, runs::FlatState};

/// The body of a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Notification {
    /// The kind of the notification.
    #[serde(rename = "type")]
    pub kind: NotificationKind,
    /// The ID of the event. An endpoint gets one notification for each event.
    pub id: String,
    /// The instant at which the event was logged.
    pub timestamp: Timestamp,
    /// The event, and the resources that it is about.
    pub data: NotificationData,
}

/// The event of a notification, and the resources that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationData {
    /// The event. Null in `endpoint.test`.
    pub event: Option<TraceEvent>,
    /// The session, as it was when the notification was written. Null if the event has none.
    pub session: Option<NotificationSession>,
    /// The automation, as it was when the notification was written. In `message.published`: the automation that sent
    /// the prompt, with the name that it had then. Null if the event has none.
    pub automation: Option<NotificationAutomation>,
    /// The run, as it was when the notification was written. Null if the event has none.
    pub run: Option<NotificationRun>,
    /// The goal of the session, as it was when the notification was written. Null in all but `goal.done`, `goal.failed`,
    /// `goal.paused`, `goal.stuck` and, if an agent of a goal asks, `question.asked`.
    #[serde(default)]
    pub goal: Option<NotificationGoal>,
    /// The question, as it was when the notification was written. Null in all but `question.asked`.
    #[serde(default)]
    pub question: Option<NotificationQuestion>,
    /// The endpoint. Null in all but `endpoint.test`.
    pub endpoint: Option<NotificationEndpoint>,
}

/// A session in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationSession {
    /// The ID of the session.
    pub id: SessionId,
    /// The source of the session.
    #[serde(rename = "type")]
    pub session_type: SessionType,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title of the session.
    pub title: Option<String>,
    /// The state of the session.
    pub state: SessionStatus,
    /// The reason for the state.
    pub state_reason: Option<String>,
    /// The program of the chat that the session belongs to, such as `slack`.
    pub channel: Option<String>,
    /// The room in that program.
    pub chat_id: Option<String>,
    /// The thread in that room.
    pub thread: Option<String>,
}

/// An automation in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationAutomation {
    /// The ID of the automation.
    pub id: AutomationId,
    /// The name of the automation.
    pub name: String,
    /// The reason for the pause. Null if the automation is not paused.
    pub pause_reason: Option<String>,
    /// A problem that needs a person's attention. Null if there is none.
    pub attention: Option<String>,
}

/// A run in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationRun {
    /// The ID of the run.
    pub id: RunId,
    /// The input of the run.
    pub input_id: InputId,
    /// The number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub attempt: i64,
    /// The status of the run.
    pub status: RunStatus,
    /// The source of the input.
    pub origin: Origin,
    /// The automation of the run. Null if there is none.
    pub automation_id: Option<AutomationId>,
    /// The trigger of the run.
    pub trigger_id: Option<TriggerId>,
    /// The due instant of the occurrence.
    pub scheduled_for: Option<Timestamp>,
    /// The last due instant, if the run stands for more than one.
    pub missed_until: Option<Timestamp>,
    /// The number of due instants that the run stands for.
    pub occurrences: i64,
    /// The reason for the end of the run, in one word.
    pub reason: Option<String>,
    /// The reason for the end of the run, as text for people.
    pub message: Option<String>,
    /// The stop reason of the agent.
    pub stop_reason: Option<String>,
    /// The instant at which the turn began.
    pub started_at: Option<Timestamp>,
    /// The instant at which the run ended.
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

/// A goal in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationGoal {
    /// The ID of the goal and of its session.
    pub id: SessionId,
    /// The beginning of the text of the goal, on one line of up to 500 characters.
    pub objective: String,
    /// The state of the goal.
    pub state: GoalStatus,
    /// The reason of a goal that is paused or has failed. Null otherwise.
    pub reason: Option<GoalReason>,
    /// The cause for which the goal is stuck. Null otherwise.
    pub cause: Option<String>,
    /// The numbers of tasks of the plan.
    pub tasks: TaskCounts,
    /// The number of questions that wait for a person.
    #[schema(minimum = 0)]
    pub open_questions: u32,
    /// The path of the report in the API.
    pub report: String,
}

/// A question in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationQuestion {
    /// The ID of the question.
    pub id: QuestionId,
    /// The session of the agent.
    pub session_id: SessionId,
    /// The way in which the agent asked.
    pub kind: QuestionKind,
    /// The state of the question.
    pub state: QuestionStatus,
    /// The beginning of the question, on one line of up to 2,048 characters.
    pub text: String,
    /// Answers that the agent proposes. Another answer is accepted, too.
    pub options: Vec<String>,
    /// The answer that counts at the deadline without an answer of a person. Null if the question then has no answer.
    pub default: Option<Value>,
    /// The instant at which the default counts.
    pub deadline_at: Timestamp,
}

/// An endpoint in a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationEndpoint {
    /// The ID of the endpoint.
    pub id: EndpointId,
    /// The name of the endpoint.
    pub name: String,
}
