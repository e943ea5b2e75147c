//! The cause of a run's wait.

use model::{
    ApprovalId, InstanceId, QuestionId, RunId, Timestamp,
    run::{Origin, RunStatus},
    session::SessionStatus,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The cause of a run's wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum BlockedOn {
    /// The run waits for a worker.
    Worker,
    /// The run waits for an instance that no server serves: its turns are placed there, or the memory of its agent is
    /// there.
    Instance {
        /// The ID of the instance.
        instance: InstanceId,
        /// The name of the instance.
        name: String,
    },
    /// The run waits until a server has written its trigger file into the folder of its instance.
    Delivery {
        /// The ID of the instance.
        instance: InstanceId,
        /// The name of the instance.
        name: String,
        /// The error of the last attempt, as text for people. Null if there was none.
        reason: Option<String>,
        /// The instant of the next attempt. Null if there was no attempt.
        until: Option<Timestamp>,
    },
    /// The trigger file of the run is in the folder of its instance, and waits for the runtime there.
    Runtime {
        /// The ID of the instance.
        instance: InstanceId,
        /// The name of the instance.
        name: String,
        /// `true` if a runtime watches the folder now.
        online: bool,
        /// The instant at which the file was written.
        delivered_at: Timestamp,
    },
    /// The run waits for a server that has the directory of its session.
    Directory {
        /// The directory that is not there, as text for people.
        reason: String,
    },
    /// The run waits for the end of its backoff.
    Backoff {
        /// The end of the backoff.
        until: Timestamp,
    },
    /// The run waits because a budget is used up.
    Budget {
        /// The instant at which the budget is available again.
        until: Timestamp,
        /// The budget that is used up, as text for people.
        reason: String,
    },
    /// The run waits because its session is a draft or is paused.
    Session {
        /// The state of the session.
        state: SessionStatus,
    },
    /// The run waits for another run on the same seat, or of the same automation.
    Run {
        /// The ID of the other run.
        run: RunId,
        /// The status of the other run.
        status: RunStatus,
        /// The source of the other run's input.
        origin: Origin,
    },
    /// The run waits for its position in the queue.
    Turn,
    /// The run waits for a person to decide on a permission request of the agent.
    Approval {
        /// The approval to decide. If several wait, the newest.
        approval: ApprovalId,
        /// The line that the agent shows for the tool call.
        title: String,
    },
    /// The run waits for a person to answer a question of the agent.
    Answer {
        /// The question to answer. If several wait, the newest.
        question: QuestionId,
        /// The text of the question.
        text: String,
    },
}
