//! The link of a runtime to its server: the registration of its instance, its presence, and the claim of runs.

use std::{sync::Arc, time::Duration};

use client::{Error, RuntimeClient};
use model::{RunId, Timestamp, WorkerId};
use runtime_api::presence::{
    ClaimReply, GiveUpRequest, PresenceRequest, PresenceStatus, RegisterReply, RegisterRequest,
    Registration,
};

use crate::{ServerClock, boxed};

/// The link of a runtime to its server. Cheap to clone.
#[derive(Clone)]
pub struct ServerLink {
    client: RuntimeClient,
    clock: Arc<ServerClock>,
}

/// The result of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registered {
    /// The runtime serves its instance, under these conditions.
    Accepted(Registration),
    /// Another runtime serves the instance.
    InUse {
        /// The worker of the other runtime.
        worker: String,
        /// The instant at which it counts as offline if it is not seen again.
        offline_at: Timestamp,
    },
}

/// The presence of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// `true` if another runtime serves the instance, so that this one must stop.
    pub is_replaced: bool,
    /// The runs whose turns should send a heartbeat now, because they were cancelled or lost.
    pub disturbed: Vec<RunId>,
}

/// The result of the claim of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The worker has the run.
    Claimed(ClaimedRun),
    /// The run is over, waits again or does not exist: its file can be removed.
    Over,
    /// The run is not over, and another instance has to take it.
    NotOfInstance,
    /// The run cannot be claimed now: it waits, or another worker has it.
    NotNow,
}

/// A run that the worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The run.
    pub run: RunId,
    /// The number of the attempt at its input, from 1.
    pub attempt: i64,
    /// The directory that a person gave the session. `None` if the session has a folder of its own.
    pub directory: Option<String>,
}

impl ServerLink {
    /// Returns the link of a client. Responses set `clock`.
    pub fn new(client: RuntimeClient, clock: Arc<ServerClock>) -> Self {
        Self { client, clock }
    }

    /// Returns the client of the link.
    pub const fn client(&self) -> &RuntimeClient {
        &self.client
    }

    /// Registers the runtime as the server of its instance. `dead_workers` are the workers of its folder that no longer
    /// run.
    ///
    /// # Errors
    ///
    /// Returns an error if the server is away, or if it refuses the token or the version of the protocol.
    #[boxed]
    pub async fn register(
        &self,
        version: &str,
        dead_workers: &[WorkerId],
    ) -> Result<Registered, Error> {
        let request = RegisterRequest {
            version: version.to_owned(),
            dead_workers: names(dead_workers),
        };
        let sent = self.clock.uptime();
        Ok(match self.client.register(&request).await? {
            RegisterReply::Registered(registration) => {
                self.clock.follow(sent, registration.now);
                Registered::Accepted(registration)
            }
            RegisterReply::InUse { worker, offline_at } => Registered::InUse { worker, offline_at },
        })
    }

    /// Renews the presence of the runtime. Then waits, for at most `wait` and at most 20 s, until one of `runs` should
    /// send a heartbeat.
    #[boxed]
    pub async fn presence(&self, runs: Vec<RunId>, wait: Duration) -> Result<Presence, Error> {
        let request = PresenceRequest {
            runs,
            wait_millis: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        let sent = self.clock.uptime();
        let reply = self.client.presence(&request).await?;
        // The server has read its clock after the wait.
        let waited = Duration::from_millis(reply.waited_millis);
        self.clock.follow(sent + waited, reply.now);
        Ok(Presence {
            is_replaced: reply.status == PresenceStatus::Replaced,
            disturbed: reply.disturbed,
        })
    }

    /// Records that the runtime has shut down.
    #[boxed]
    pub async fn stop(&self) -> Result<(), Error> {
        self.client.stop().await
    }

    /// Gives up the runs of workers that no longer run. Returns the runs.
    #[boxed]
    pub async fn give_up(&self, workers: &[WorkerId]) -> Result<Vec<RunId>, Error> {
        let request = GiveUpRequest {
            workers: names(workers),
        };
        Ok(self.client.give_up(&request).await?.runs)
    }

    /// Claims a run.
    #[boxed]
    pub async fn claim(&self, run: RunId) -> Result<Claim, Error> {
        let sent = self.clock.uptime();
        Ok(match self.client.claim(run).await? {
            ClaimReply::Claimed {
                directory,
                attempt,
                now,
            } => {
                self.clock.follow(sent, now);
                Claim::Claimed(ClaimedRun {
                    run,
                    attempt,
                    directory,
                })
            }
            ClaimReply::Over => Claim::Over,
            ClaimReply::NotOfInstance => Claim::NotOfInstance,
            ClaimReply::NotNow => Claim::NotNow,
        })
    }
}

fn names(workers: &[WorkerId]) -> Vec<String> {
    workers.iter().map(ToString::to_string).collect()
}
