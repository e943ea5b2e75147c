//! The instances on which agents run.

use model::{InstanceId, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// A server or a runtime takes the turns of the instance.
    Online,
    /// No server and no runtime takes the turns of the instance. Runs whose memory is on the instance wait.
    Offline,
}

/// The kind of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceKind {
    /// The data folder of a server, which takes the turns itself.
    #[default]
    Host,
    /// A folder to which servers deliver runs as trigger files. A runtime watches it and takes the turns.
    Directory,
    /// A kind that only a later version knows.
    #[serde(other)]
    Unknown,
}

/// The kind of an instance that a person adds. A host registers itself when a server starts there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AddedInstanceKind {
    /// A folder to which servers deliver runs as trigger files. A runtime watches it and takes the turns.
    Directory,
}

/// A new instance with a folder that a runtime watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstanceRequest {
    /// The name of the instance.
    pub name: String,
    /// The kind of the instance.
    pub kind: AddedInstanceKind,
    /// The absolute path of the folder at which servers write trigger files.
    pub folder: String,
    /// The absolute path of the same folder on the machine of the runtime. Null: the same path.
    #[serde(default)]
    pub runtime_folder: Option<String>,
}

/// A new instance, or a new token of its runtime. The response is the only one that has the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RuntimeToken {
    /// The instance.
    pub instance: Instance,
    /// The secret of the token with which the runtime of the instance calls the API. Null if the response repeats the one
    /// to an earlier request with the same idempotency key.
    pub secret: Option<String>,
}

/// The result of a check of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceCheck {
    /// The instance.
    pub instance: Instance,
    /// The findings, in the order of the checks.
    pub findings: Vec<InstanceFinding>,
}

/// One finding about an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstanceFinding {
    /// The subject of the check: `folder`, `clock`, `runtime`, `version` or `files`.
    pub check: String,
    /// `false` if runs of the instance do not go on before a person mends it.
    pub ok: bool,
    /// The finding, as text for people.
    pub message: String,
    /// The next step. Null if there is nothing to do.
    pub hint: Option<String>,
}

/// An instance: a folder in which agents run and keep their memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instance {
    /// The ID of the instance.
    pub id: InstanceId,
    /// The name of the instance.
    pub name: String,
    /// The kind of the instance. A server of an earlier version sends none, and has hosts alone.
    #[serde(default)]
    pub kind: InstanceKind,
    /// The absolute path of the folder at which servers write trigger files. Null if the instance has none.
    #[serde(default)]
    pub folder: Option<String>,
    /// The absolute path of the same folder on the machine of the runtime. Null if it is the same path.
    #[serde(default)]
    pub runtime_folder: Option<String>,
    /// The state of the instance.
    pub state: InstanceState,
    /// The worker of the present or the last server or runtime of the instance. Null if there was none.
    #[serde(default)]
    pub worker: Option<WorkerId>,
    /// The version of that program. Null if there was none.
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
    /// The number of waiting runs that only this instance may take: they are placed on it, or it holds the memory of their
    /// agents.
    #[schema(minimum = 0)]
    pub waiting_runs: i64,
    /// The number of those runs whose trigger files wait in the folder of the instance.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub delivered_runs: i64,
}
