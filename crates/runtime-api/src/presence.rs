//! The runtime as the server of its instance: registration, presence, the claim of a run, and dead workers.

use std::time::Duration;

use model::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

/// The request to register a runtime as the server of its instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterRequest {
    /// The version of the runtime's program.
    pub version: String,
    /// The workers of the runtime's folder that no longer run.
    #[serde(default)]
    pub dead_workers: Vec<String>,
}

/// The response to a registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum RegisterReply {
    /// The runtime serves its instance from now on.
    Registered(Registration),
    /// Another runtime serves the instance.
    InUse {
        /// The worker of the other runtime.
        worker: String,
        /// The instant at which it counts as offline if it is not seen again.
        offline_at: Timestamp,
    },
}

/// The conditions under which a registered runtime takes turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The name of the instance.
    pub instance_name: String,
    /// The version of the protocol that the server speaks.
    pub protocol: u32,
    /// The version of the server's program.
    pub version: String,
    /// The instant of the response.
    pub now: Timestamp,
    /// The period of heartbeats, in milliseconds.
    pub heartbeat_millis: u64,
    /// The time that an agent may live after a heartbeat, in milliseconds. It is shorter than the age from which the
    /// server gives a run up.
    pub lease_millis: u64,
}

impl Registration {
    /// Returns the period of heartbeats.
    pub const fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat_millis)
    }

    /// Returns the time that an agent may live after a heartbeat.
    pub const fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_millis)
    }
}

/// The request to renew the presence of a runtime, and to wait until one of its turns should send a heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PresenceRequest {
    /// The runs of the turns that are under way, without those whose disturbance the runtime has noticed.
    pub runs: Vec<RunId>,
    /// The longest wait, in milliseconds. The server waits for at most [`MAX_WAIT_MILLIS`](crate::MAX_WAIT_MILLIS).
    pub wait_millis: u64,
}

/// The response to a renewal of the presence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresenceReply {
    /// Whether the runtime may continue.
    pub status: PresenceStatus,
    /// The instant of the response.
    pub now: Timestamp,
    /// The time for which the server has waited before it responded, in milliseconds, so that the runtime can tell it from
    /// the time on the network.
    #[serde(default)]
    pub waited_millis: u64,
    /// Those of the given runs whose turns should send a heartbeat now, because they were cancelled or lost.
    #[serde(default)]
    pub disturbed: Vec<RunId>,
}

/// Whether a runtime may continue to serve its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresenceStatus {
    /// Another runtime serves the instance.
    Replaced,
    /// The runtime may continue.
    #[serde(other)]
    Continue,
}

/// The response to the claim of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ClaimReply {
    /// The worker has the run.
    Claimed {
        /// The directory that a person gave the session. Null if the session has a folder of its own.
        #[serde(default)]
        directory: Option<String>,
        /// The number of the attempt at its input, from 1.
        attempt: i64,
        /// The instant of the response.
        now: Timestamp,
    },
    /// The file of the run has no purpose any more: the run is over, waits again or does not exist.
    Over,
    /// The run is not over, and another instance has to take it. Earlier runtimes read the word as [`Self::NotNow`], and
    /// earlier servers send [`Self::Over`].
    NotOfInstance,
    /// The run cannot be claimed now: it waits, or another worker has it.
    #[serde(other)]
    NotNow,
}

/// The workers of the runtime's folder that no longer run, and whose runs are given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiveUpRequest {
    /// The names of the workers.
    pub workers: Vec<String>,
}

/// The runs that were given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GiveUpReply {
    /// The runs.
    pub runs: Vec<RunId>,
}
