//! What serves, and where agents live.

use model::{InstanceId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whom one talks to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerInfo {
    /// The version of the program.
    pub version: String,
    /// Whether it takes turns and fires triggers by itself.
    pub serves: bool,
    /// The present, by its clock.
    pub now: Timestamp,
    /// Whether automations of the web are bound to one conversation, which every web chat shows.
    #[serde(default)]
    pub unified_session: bool,
}

/// Whether an instance can take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// A server serves it.
    Online,
    /// Nobody does: runs whose memory lies there wait.
    Offline,
}

/// A place where agents run and keep their own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Its name.
    pub name: String,
    /// Whether a server serves it now.
    pub state: InstanceState,
    /// The worker of the server that serves it, or did last; absent where none ever has.
    #[serde(default)]
    pub worker: Option<WorkerId>,
    /// The version of that server's program.
    #[serde(default)]
    pub version: Option<String>,
    /// The highest document format that the server honours.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub format: Option<i64>,
    /// How many automations need a later document format than the server honours: it neither fires them nor begins
    /// their runs.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub automations_too_new: i64,
    /// When a command or a server last used it.
    pub last_seen_at: Option<Timestamp>,
    /// How many queued runs wait for it, because their memory lies there.
    #[schema(minimum = 0)]
    pub waiting: i64,
}
