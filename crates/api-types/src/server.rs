//! The server, and the instances on which agents run.

use model::{InstanceId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerInfo {
    /// The version of the program.
    pub version: String,
    /// `true` if the server runs turns and fires triggers. `false` if it only serves the API.
    pub serves: bool,
    /// The current time of the server's clock.
    pub now: Timestamp,
    /// `true` if unified mode is on, so that automations of web chats go to one shared session.
    #[serde(default)]
    pub unified_session: bool,
}

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// A server runs the turns of the instance.
    Online,
    /// No server runs the turns of the instance. Runs whose memory is on the instance wait.
    Offline,
}

/// An instance: the data folder of one machine, in which agents keep their memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instance {
    /// The ID of the instance.
    pub id: InstanceId,
    /// The name of the instance.
    pub name: String,
    /// The state of the instance.
    pub state: InstanceState,
    /// The worker of the present or the last server of the instance. Null if there was none.
    #[serde(default)]
    pub worker: Option<WorkerId>,
    /// The version of that server. Null if there was none.
    #[serde(default)]
    pub version: Option<String>,
    /// The highest document format that the server supports. Null if there was no server.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub format: Option<i64>,
    /// The number of automations that need a later document format than the server supports. The server neither fires
    /// them nor starts their runs.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub automations_too_new: i64,
    /// The instant at which a command or a server last used the instance.
    pub last_seen_at: Option<Timestamp>,
    /// The number of queued runs that only this instance may take: they are placed on it, or it holds the memory of their
    /// agents.
    #[schema(minimum = 0)]
    pub waiting_runs: i64,
}
