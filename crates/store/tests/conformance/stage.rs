//! A tenant with one agent, one instance and one worker, and a clock that only the test moves.

mod approvals;
mod budgets;
mod due;
mod feed;
pub(crate) mod history;
pub(crate) mod servers;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use model::{
    AcpSessionId, AgentId, AutomationId, Clock as _, InstanceId, RunId, SeatId, SessionId,
    TenantId, Timestamp, WorkerId,
    agent::AgentConfig,
    entity::{Run, SeatSettings},
    limits,
    outcome::{FailureKind, Outcome, RunFailure, StopReason},
    permission::PermissionRules,
    policy::{Overlap, Policies, SessionMode},
    run::RunStatus,
    schedule::Spec,
    seat_message::Sender,
    session::{SessionKind, SessionType},
    turn::{Assignment, HeartbeatReply, StartReply, SubmittedRun, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::{
    Database, NewAutomation, NewSeat, NewSeatMessage, NewSession, NewTrigger, Page, Recipients,
    RunFilter, Scope, Store,
};
use testkit::clock::{FakeClock, SeededEntropy};
use uuid::Uuid;

use crate::fixtures::TestStore;

/// A Monday morning, at which every stage begins.
pub(crate) const STAGE_START: &str = "2026-05-04T09:00:00Z";

/// The objects and the clock of one behaviour.
pub(crate) struct Stage {
    pub(crate) store: Store,
    pub(crate) clock: FakeClock,
    pub(crate) tenant: TenantId,
    pub(crate) agent: AgentId,
    pub(crate) instance: InstanceId,
    pub(crate) worker: WorkerId,
}

/// Returns a store over a database, with its own source of IDs.
pub(crate) fn store_over(database: &Database) -> Store {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed);
    let entropy = Arc::new(SeededEntropy::new(seed));
    Store::new(database.clone(), entropy, PathBuf::from("/data/sessions"))
}

/// Returns the ID of an instance.
pub(crate) fn instance(number: u128) -> InstanceId {
    InstanceId::from_uuid(Uuid::from_u128(number))
}

impl Stage {
    pub(crate) async fn setup(db: &TestStore) -> Self {
        Self::setup_on(store_over(&db.database)).await
    }

    pub(crate) async fn setup_on(store: Store) -> Self {
        Self::setup_tenant("default", store).await
    }

    /// Sets up a stage for the tenant with a name.
    pub(crate) async fn setup_tenant(tenant: &str, store: Store) -> Self {
        let clock = FakeClock::at(STAGE_START);
        let now = clock.now();
        let tenant = store.ensure_tenant(tenant, now).await.unwrap();
        let here = instance(1);
        let config = AgentConfig::new(vec!["agent".into()]);
        let agent = store.put_agent(tenant, "agent", &config, None, now);
        let agent = agent.await.unwrap().id;
        let registered = store.register_instance(tenant, here, "host", now);
        registered.await.unwrap();
        Self {
            store,
            clock,
            tenant,
            agent,
            instance: here,
            worker: WorkerId::from_stored("host-1-aaaaaaaa".into()),
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Advances the clock.
    pub(crate) fn advance_seconds(&self, seconds: u64) -> Timestamp {
        self.clock.advance(Duration::from_secs(seconds))
    }

    /// Advances the clock by a millisecond, so that later objects sort later.
    pub(crate) fn tick(&self) -> Timestamp {
        self.clock.advance(Duration::from_millis(1))
    }

    /// Returns the settings of a new session.
    pub(crate) fn new_session(&self, key: Option<&str>) -> NewSession {
        let id = SessionId::generate(self.now(), &SeededEntropy::new(unique()));
        NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: key.map(str::to_owned),
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(self.agent, SeatSettings::default()),
            other_seats: Vec::new(),
        }
    }

    /// Creates a chat session.
    pub(crate) async fn session(&self) -> SessionId {
        self.keyed_session(None).await
    }

    /// Creates a chat session with a key.
    pub(crate) async fn keyed_session(&self, key: Option<&str>) -> SessionId {
        let new = self.new_session(key);
        let created = self.store.create_session(self.tenant, &new, self.now());
        created.await.unwrap().0
    }

    /// Returns the only seat of a session.
    pub(crate) async fn seat(&self, session: SessionId) -> SeatId {
        self.store.seats(self.scope(), session).await.unwrap()[0].id
    }

    /// Returns the definition of an automation without triggers.
    pub(crate) fn new_automation(&self, name: &str, mode: SessionMode) -> NewAutomation {
        NewAutomation {
            name: name.into(),
            prompt: format!("Do the {name}."),
            agent: self.agent,
            cwd: None,
            placed_on: None,
            session_mode: mode,
            bound_session_key: None,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers: Vec::new(),
        }
    }

    pub(crate) async fn create(&self, new: &NewAutomation) -> AutomationId {
        let created = self
            .store
            .create_automation(self.tenant, None, new, self.now());
        created.await.unwrap()
    }

    /// Creates an automation without triggers.
    pub(crate) async fn automation(&self, name: &str, mode: SessionMode) -> AutomationId {
        self.create(&self.new_automation(name, mode)).await
    }

    /// Creates an automation without triggers, with an overlap policy.
    pub(crate) async fn automation_with_overlap(
        &self,
        mode: SessionMode,
        overlap: Overlap,
    ) -> AutomationId {
        let mut new = self.new_automation("report", mode);
        new.policies.overlap = Some(overlap);
        self.create(&new).await
    }

    /// Creates an automation that is bound to the session with a key.
    pub(crate) async fn bound_automation(&self, name: &str, key: &str) -> AutomationId {
        let mut new = self.new_automation(name, SessionMode::Bound);
        new.bound_session_key = Some(key.into());
        self.create(&new).await
    }

    pub(crate) async fn send_message(&self, session: SessionId, words: &str) -> SubmittedRun {
        let sent = self
            .store
            .send_message(self.tenant, session, None, words, self.tick());
        sent.await.unwrap()
    }

    /// Queues a run that carries a message to the only seat of a session.
    pub(crate) async fn send_seat_message(&self, session: SessionId) -> RunId {
        let seat = self.seat(session).await;
        let new = NewSeatMessage {
            from: Sender::Seat(seat),
            to: Recipients::Seat(seat),
            content: "hello".into(),
            metadata: json!({}),
        };
        let (tenant, now) = (self.tenant, self.tick());
        let published = self
            .store
            .publish_seat_message(tenant, session, None, &new, now);
        published.await.unwrap();
        let filter = RunFilter {
            session: Some(session),
            ..RunFilter::default()
        };
        let runs = self.store.run_page(self.scope(), &filter, Page::first(1));
        runs.await.unwrap()[0].id
    }

    pub(crate) async fn fire(&self, automation: AutomationId) -> SubmittedRun {
        let fired = self
            .store
            .fire_automation(self.tenant, automation, None, self.tick());
        fired.await.unwrap()
    }

    pub(crate) async fn fire_due(&self) -> store::FireReport {
        let fired = self.store.fire_due(Scope::System, self.now());
        fired.await.unwrap()
    }

    /// Claims the next run.
    pub(crate) async fn claim(&self) -> Option<RunId> {
        let claimed = self.claim_all(1).await;
        claimed.first().copied()
    }

    pub(crate) async fn claim_all(&self, limit: u32) -> Vec<RunId> {
        let claimed = self
            .store
            .claim(&self.worker, self.instance, limit, None, self.now());
        let claimed = claimed.await.unwrap();
        claimed.iter().map(|claimed| claimed.run).collect()
    }

    pub(crate) async fn begin(&self, run: RunId) -> StartReply {
        let reply = self
            .store
            .begin(run, &self.worker, self.instance, self.now(), None);
        reply.await.unwrap()
    }

    /// Claims a run and begins its turn.
    pub(crate) async fn start(&self, run: RunId) -> Assignment {
        let claimed = self
            .store
            .claim(&self.worker, self.instance, 1, Some(run), self.now());
        assert_eq!(claimed.await.unwrap().len(), 1, "{run} cannot be claimed");
        match self.begin(run).await {
            StartReply::Started(assignment) => *assignment,
            other => panic!("{run} did not begin: {other:?}"),
        }
    }

    pub(crate) async fn finish(&self, run: RunId, finished: &TurnResult) -> WriteOutcome {
        let settled = self.store.finish(run, &self.worker, finished, self.now());
        settled.await.unwrap()
    }

    /// Fires an automation and begins its turn.
    pub(crate) async fn fire_and_start(&self, automation: AutomationId) -> RunId {
        let run = self.fire(automation).await.run_id;
        self.start(run).await;
        run
    }

    /// Pauses an automation.
    pub(crate) async fn pause(&self, id: AutomationId) {
        let paused = self
            .store
            .pause_automation(self.scope(), id, "by hand", self.now());
        paused.await.unwrap();
    }

    /// Resumes an automation.
    pub(crate) async fn resume(&self, id: AutomationId) {
        let resumed = self.store.resume_automation(self.scope(), id, self.now());
        resumed.await.unwrap();
    }

    /// Renews the heartbeat of one run.
    pub(crate) async fn heartbeat(&self, run: RunId) -> HeartbeatReply {
        let runs = [run];
        let beats = self.store.renew_heartbeats(&self.worker, &runs, self.now());
        beats.await.unwrap().remove(0)
    }

    /// Stalls the runs without a heartbeat in the last three minutes.
    pub(crate) async fn stall(&self) -> Vec<RunId> {
        let stale_before = self.now().saturating_sub(limits::HEARTBEAT_STALE_AFTER);
        let stalled = self.store.stall_stale_runs(stale_before, self.now());
        stalled.await.unwrap()
    }

    /// Returns the attempts at a run's input.
    pub(crate) async fn attempts(&self, run: RunId) -> Vec<Run> {
        let input = self.run(run).await.input_id;
        let attempts = self.store.attempts(self.scope(), input);
        attempts.await.unwrap()
    }

    /// Ends a running turn of the worker.
    pub(crate) async fn end(&self, run: RunId, finished: &TurnResult) {
        assert_eq!(self.finish(run, finished).await, WriteOutcome::Committed);
    }

    /// Ends a turn with success.
    pub(crate) async fn succeed(&self, run: RunId) {
        self.end(run, &answer("Done.")).await;
    }

    /// Ends a turn with a failure.
    pub(crate) async fn fail(&self, run: RunId, kind: FailureKind) {
        self.end(run, &failed(kind, true)).await;
    }

    pub(crate) async fn run(&self, id: RunId) -> Run {
        self.store.run(self.scope(), id).await.unwrap()
    }

    pub(crate) async fn status(&self, id: RunId) -> RunStatus {
        self.run(id).await.status()
    }

    /// Returns the session of a run.
    pub(crate) async fn session_of(&self, run: RunId) -> SessionId {
        self.run(run).await.session_id.unwrap()
    }

    /// Returns the statuses of runs, in the order of `ids`.
    pub(crate) async fn statuses<const N: usize>(&self, ids: [RunId; N]) -> [RunStatus; N] {
        let mut statuses = [RunStatus::Missed; N];
        for (status, id) in statuses.iter_mut().zip(ids) {
            *status = self.status(id).await;
        }
        statuses
    }

    /// Lists an automation's runs, the oldest first.
    pub(crate) async fn runs_of(&self, automation: AutomationId) -> Vec<Run> {
        let filter = RunFilter {
            automation: Some(automation),
            ..RunFilter::default()
        };
        let runs = self.store.runs(self.scope(), filter, 10_000);
        let mut runs = runs.await.unwrap();
        runs.reverse();
        runs
    }

    /// Returns a transcript as lines of `role: content`.
    pub(crate) async fn transcript(&self, session: SessionId) -> Vec<String> {
        let rows = self.store.messages(self.scope(), session, 0, 10_000);
        let rows = rows.await.unwrap();
        rows.iter()
            .map(|row| format!("{}: {}", row.role, row.content))
            .collect()
    }

    /// Fails if a run that could start is still waiting.
    pub(crate) async fn assert_nothing_promotable(&self) {
        let swept = self.store.promote_due(self.now()).await.unwrap();
        assert_eq!(
            swept.missed_promotions, 0,
            "a run that could start is still waiting"
        );
    }
}

pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Returns an hourly schedule.
pub(crate) fn hourly() -> Spec {
    Spec::Cron {
        expression: "0 * * * *".into(),
        zone: "UTC".into(),
    }
}

/// Parses an instant.
pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Returns the end of a turn with an answer.
pub(crate) fn answer(text: &str) -> TurnResult {
    TurnResult {
        answer: text.into(),
        acp_session_id: Some(AcpSessionId::new("memory-1")),
        turn_ended: true,
        ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
    }
}

/// Returns the end of a turn with a failure.
pub(crate) fn failed(kind: FailureKind, prompted: bool) -> TurnResult {
    TurnResult::with_outcome(Outcome::Failed(RunFailure {
        kind,
        prompted,
        message: "it broke".into(),
    }))
}

/// Returns a trigger without a reserved ID.
pub(crate) fn new_trigger(spec: &Spec) -> NewTrigger<'_> {
    NewTrigger {
        reserved: None,
        spec,
        expected: None,
    }
}
