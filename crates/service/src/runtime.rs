//! The requests of a runtime: it serves one instance, and takes the turns of that instance's runs without the database.
//!
//! **Invariants:** a runtime reads and writes only runs of its own instance. A run of another instance or of another
//! tenant is treated as one that does not exist. Every write is fenced by the worker that the runtime names.

mod tools;

use std::time::Duration;

use model::{
    ApprovalId, InstanceId, QuestionId, RunId, Timestamp, WorkerId,
    approval::{ApprovalRequest, ApprovalStatus},
    budget::Accounts,
    question::{Elicitation, QuestionState, QuestionStatus},
    run::RunState,
    turn::{
        ClaimedRun, DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnAssignment, TurnResult,
        WriteOutcome,
    },
};
use serde_json::Value;
use store::{InstanceServer, ServerHeartbeatReply, Store};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{Error, Service, boxed};

pub use self::tools::RuntimeToolCaller;

/// The shortest pause between two queries of a request that waits. A busy database changes often.
const WAIT_POLL_PAUSE: Duration = Duration::from_millis(200);

/// The requests of the runtime of one instance, in the name of one worker.
#[derive(Clone)]
pub struct Runtime {
    service: Service,
    instance: InstanceId,
    worker: WorkerId,
}

/// The result of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeRegistration {
    /// The runtime serves the instance, which has this name.
    Registered(String),
    /// Another runtime serves the instance.
    InUse(InstanceServer),
}

/// The presence of a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimePresence {
    /// `true` if another runtime serves the instance.
    pub is_replaced: bool,
    /// The runs whose turns should send a heartbeat, because they were cancelled or lost.
    pub disturbed: Vec<RunId>,
}

/// The result of the claim of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeClaim {
    /// The worker has the run.
    Claimed(ClaimedRun),
    /// The file of the run has no purpose any more: the run is over, waits again or does not exist.
    Over,
    /// The run is not over, and another instance has to take it.
    NotOfInstance,
    /// The run waits, or another worker has it.
    NotNow,
}

impl Service {
    /// Returns the requests of the runtime of an instance. The caller must have proved that it is that runtime.
    pub fn runtime(&self, instance: InstanceId, worker: WorkerId) -> Runtime {
        Runtime {
            service: self.clone(),
            instance,
            worker,
        }
    }
}

impl Runtime {
    fn store(&self) -> &Store {
        &self.service.store
    }

    fn now(&self) -> Timestamp {
        self.service.now()
    }

    /// Returns `true` if a run belongs to the runtime.
    async fn owns(&self, run: RunId) -> Result<bool, Error> {
        let (tenant, instance) = (self.service.tenant, self.instance);
        Ok(self
            .store()
            .is_run_of_instance(tenant, instance, run)
            .await?)
    }

    /// Registers the runtime as the server of its instance. `dead` are the workers of its folder that no longer run.
    ///
    /// # Errors
    ///
    /// Returns an error if the tenant has no such instance, or has removed it.
    #[boxed]
    pub async fn register(
        &self,
        version: &str,
        dead: &[WorkerId],
    ) -> Result<RuntimeRegistration, Error> {
        let name = self
            .service
            .instance(&self.instance.to_string())
            .await?
            .name;
        let before = self.store().instance_server(self.instance).await?;
        let now = self.now();
        let is_other = |server: &&InstanceServer| {
            server.worker != self.worker && server.is_online(now) && !dead.contains(&server.worker)
        };
        if let Some(other) = before.as_ref().filter(is_other) {
            return Ok(RuntimeRegistration::InUse(other.clone()));
        }
        let before = before.map(|server| server.worker);
        let claimed = self
            .store()
            .claim_instance(self.instance, &self.worker, before.as_ref(), version, now)
            .await?;
        if claimed {
            return Ok(RuntimeRegistration::Registered(name));
        }
        // Another runtime was faster.
        let other = self.store().instance_server(self.instance).await?;
        Ok(match other {
            Some(other) if other.worker != self.worker => RuntimeRegistration::InUse(other),
            _ => RuntimeRegistration::Registered(name),
        })
    }

    /// Renews the presence of the runtime. Then waits, for at most `wait`, until one of `runs` should send a heartbeat.
    #[boxed]
    pub async fn presence(&self, runs: &[RunId], wait: Duration) -> Result<RuntimePresence, Error> {
        let until = Instant::now() + wait;
        // Subscribe before the first query, so that no cancellation goes unnoticed.
        let mut changes = self.store().changes();
        let renewed = self
            .store()
            .renew_server_heartbeat(self.instance, &self.worker, self.now())
            .await?;
        let is_replaced = renewed == ServerHeartbeatReply::Replaced;
        loop {
            let queried_at = Instant::now();
            let disturbed = self
                .store()
                .disturbed_runs(self.service.tenant, &self.worker, runs)
                .await?;
            if is_replaced || !disturbed.is_empty() {
                return Ok(RuntimePresence {
                    is_replaced,
                    disturbed,
                });
            }
            let next = queried_at + WAIT_POLL_PAUSE;
            let waited = timeout_at(until, async {
                changes.next().await;
                sleep_until(next).await;
            });
            if waited.await.is_err() {
                return Ok(RuntimePresence {
                    is_replaced: false,
                    disturbed,
                });
            }
        }
    }

    /// Records that the runtime has shut down.
    #[boxed]
    pub async fn stop(&self) -> Result<(), Error> {
        let (instance, now) = (self.instance, self.now());
        Ok(self
            .store()
            .record_server_stop(instance, &self.worker, now)
            .await?)
    }

    /// Gives up the runs of workers of the runtime's folder that no longer run. Returns the runs.
    #[boxed]
    pub async fn give_up(&self, workers: &[WorkerId]) -> Result<Vec<RunId>, Error> {
        let (tenant, instance) = (self.service.tenant, self.instance);
        let mut given_up = Vec::new();
        for worker in workers {
            let stalled = self
                .store()
                .stall_runs_of_worker(tenant, instance, worker, self.now())
                .await?;
            given_up.extend(stalled);
        }
        Ok(given_up)
    }

    /// Creates the run that a file in the trigger folder of the instance requests, as [`Service::fire_by_file`] does.
    ///
    /// # Errors
    ///
    /// Returns a refusal if the file may not fire the automation.
    #[boxed]
    pub async fn fire_by_file(
        &self,
        automation: &str,
        payload: &str,
        key: &str,
    ) -> Result<RunId, Error> {
        self.service
            .fire_by_file(self.instance, automation, payload, key)
            .await
    }

    /// Claims a run. A repetition by the same worker before the turn has begun claims it again, and renews its heartbeat,
    /// because the lease of the worker counts from the repetition.
    #[boxed]
    pub async fn claim(&self, run: RunId) -> Result<RuntimeClaim, Error> {
        if !self.owns(run).await? {
            let elsewhere = self.store().is_open_on_other_instance(self.instance, run);
            return Ok(if elsewhere.await? {
                RuntimeClaim::NotOfInstance
            } else {
                RuntimeClaim::Over
            });
        }
        let claimed = self
            .store()
            .claim(&self.worker, self.instance, 1, Some(run), self.now())
            .await?;
        if let Some(claimed) = claimed.into_iter().next() {
            return Ok(RuntimeClaim::Claimed(claimed));
        }
        let found = match self.store().run(self.service.scope(), run).await {
            Err(store::Error::NotFound { .. }) => return Ok(RuntimeClaim::Over),
            found => found?,
        };
        match &found.state {
            // The reply to the first claim was lost.
            RunState::Delivered { worker_id, .. } if *worker_id == self.worker => {
                let renewed = self.store().renew_heartbeat(run, &self.worker, self.now());
                if renewed.await? == HeartbeatReply::Fenced {
                    return Ok(RuntimeClaim::NotNow);
                }
                let claimed = self.store().runs_claimed_by(&self.worker).await?;
                let claimed = claimed.into_iter().find(|claimed| claimed.run == run);
                Ok(claimed.map_or(RuntimeClaim::NotNow, RuntimeClaim::Claimed))
            }
            // A run that is deferred gets another file when it is queued again.
            RunState::Deferred(_) => Ok(RuntimeClaim::Over),
            state if state.status().is_over() => Ok(RuntimeClaim::Over),
            _ => Ok(RuntimeClaim::NotNow),
        }
    }

    /// Begins the turn of a claimed run, as [`Store::begin`] does. Refuses the run if `directory_missing` is set.
    #[boxed]
    pub async fn begin(
        &self,
        run: RunId,
        secret_hash: [u8; 32],
        directory_missing: bool,
    ) -> Result<StartReply<TurnAssignment>, Error> {
        if !self.owns(run).await? {
            return Ok(StartReply::Fenced);
        }
        let (worker, instance, now) = (&self.worker, self.instance, self.now());
        let reply = if directory_missing {
            self.store()
                .refuse_directory(run, worker, instance, now)
                .await?
        } else {
            self.store()
                .begin(run, worker, instance, now, Some(secret_hash))
                .await?
        };
        Ok(reply.for_turn())
    }

    /// Begins the turn of a run whose precheck has run and has not declined.
    #[boxed]
    pub async fn begin_after_precheck(
        &self,
        run: RunId,
        secret_hash: [u8; 32],
    ) -> Result<StartReply<TurnAssignment>, Error> {
        if !self.owns(run).await? {
            return Ok(StartReply::Fenced);
        }
        let now = self.now();
        let reply = self
            .store()
            .begin_after_precheck(run, &self.worker, self.instance, now, Some(secret_hash))
            .await?;
        Ok(reply.for_turn())
    }

    /// Skips a run that its precheck has declined.
    #[boxed]
    pub async fn decline(&self, run: RunId, diagnostics: &Value) -> Result<DeclineOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(DeclineOutcome::Fenced);
        }
        let now = self.now();
        Ok(self
            .store()
            .decline(run, &self.worker, diagnostics, now)
            .await?)
    }

    /// Renews the heartbeat of a run.
    #[boxed]
    pub async fn heartbeat(&self, run: RunId) -> Result<HeartbeatReply, Error> {
        if !self.owns(run).await? {
            return Ok(HeartbeatReply::Fenced);
        }
        let now = self.now();
        Ok(self.store().renew_heartbeat(run, &self.worker, now).await?)
    }

    /// Writes rows of the transcript.
    #[boxed]
    pub async fn record(&self, run: RunId, entries: &[Entry]) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let now = self.now();
        Ok(self.store().record(run, &self.worker, entries, now).await?)
    }

    /// Appends to the live text for viewers, at a position in bytes.
    #[boxed]
    pub async fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        text: &str,
    ) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let now = self.now();
        Ok(self
            .store()
            .append_live_text(run, &self.worker, position, text, now)
            .await?)
    }

    /// Writes the usage of a turn so far. Returns the budgets that limit the turn from now on, and `None` if the runtime
    /// does not have the run.
    #[boxed]
    pub async fn record_usage(&self, run: RunId, usage: &Value) -> Result<Option<Accounts>, Error> {
        if !self.owns(run).await? {
            return Ok(None);
        }
        let now = self.now();
        Ok(self
            .store()
            .record_usage(run, &self.worker, usage, now)
            .await?)
    }

    /// Requests a person's approval. A repetition with the same ID changes nothing.
    #[boxed]
    pub async fn request_approval(
        &self,
        run: RunId,
        id: ApprovalId,
        request: &ApprovalRequest,
        timeout: Duration,
    ) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let now = self.now();
        Ok(self
            .store()
            .request_approval(run, &self.worker, id, request, now + timeout, now)
            .await?)
    }

    /// Waits for the decision about an approval of a run, for at most `wait`. If `expire` is set, the approval expires
    /// without a decision. Returns the state of the approval; an approval of another run counts as void.
    #[boxed]
    pub async fn approval_state(
        &self,
        run: RunId,
        id: ApprovalId,
        wait: Duration,
        expire: bool,
    ) -> Result<ApprovalStatus, Error> {
        let found = match self.store().approval(self.service.scope(), id).await {
            Err(store::Error::NotFound { .. }) => return Ok(ApprovalStatus::Void),
            found => found?,
        };
        if found.run_id != run || !self.owns(run).await? {
            return Ok(ApprovalStatus::Void);
        }
        if expire {
            return Ok(self.store().expire_approval(id, self.now()).await?);
        }
        let until = Instant::now() + wait;
        Ok(self.store().wait_for_decision(id, until).await?)
    }

    /// Asks a person a question. A repetition with the same ID changes nothing.
    #[boxed]
    pub async fn request_answer(
        &self,
        run: RunId,
        id: QuestionId,
        question: &Elicitation,
        timeout: Duration,
    ) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let now = self.now();
        Ok(self
            .store()
            .request_answer(run, &self.worker, id, question, now + timeout, now)
            .await?)
    }

    /// Waits for the answer to a question of a run, for at most `wait`. If `expire` is set, the question expires without
    /// an answer. Returns the state of the question; a question of another run counts as void.
    #[boxed]
    pub async fn question_state(
        &self,
        run: RunId,
        id: QuestionId,
        wait: Duration,
        expire: bool,
    ) -> Result<QuestionState, Error> {
        let void = QuestionState::Void { at: self.now() };
        let found = match self.store().question(self.service.scope(), id).await {
            Err(store::Error::NotFound { .. }) => return Ok(void),
            found => found?,
        };
        if found.run_id != run || !self.owns(run).await? {
            return Ok(void);
        }
        if expire && found.status() == QuestionStatus::Pending {
            return Ok(self.store().expire_question(id, self.now()).await?.state);
        }
        let until = Instant::now() + wait;
        Ok(self.store().wait_for_answer(id, until).await?)
    }

    /// Withdraws the open requests of a run, because its agent no longer waits for the answers.
    #[boxed]
    pub async fn withdraw_approvals(&self, run: RunId) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let now = self.now();
        Ok(self
            .store()
            .withdraw_approvals(run, &self.worker, now)
            .await?)
    }

    /// Finishes a run, or requeues a run that has not begun.
    #[boxed]
    pub async fn finish(&self, run: RunId, finished: &TurnResult) -> Result<WriteOutcome, Error> {
        if !self.owns(run).await? {
            return Ok(WriteOutcome::Fenced);
        }
        let now = self.now();
        Ok(self
            .store()
            .finish(run, &self.worker, finished, now)
            .await?)
    }
}
