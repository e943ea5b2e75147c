//! Seats of goals whose instances come, go or are removed.

use std::time::Duration;

use model::{
    SessionId,
    goal::{GoalState, PauseReason, StuckCause, TaskStatus},
};
use store::{Scope, params};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{
        Stage, instance,
        servers::{presence, serve},
    },
};

/// The line of a task whose turn or checks wait for the server of its seat.
pub(super) const WAITS_FOR_SERVER: &str = "a RUNNING the seat worker, which is offline";
/// The time after which a goal no longer waits for its servers, in seconds.
pub(super) const SEATS_TIMEOUT: u64 = 30 * 60;

impl Stage {
    /// Lets another server look for seats that have come or gone. Returns the number of goals that have moved.
    pub(super) async fn note_presence(&self) -> u32 {
        let now = self.now();
        let noted = self.store.note_seat_presence(instance(99), now);
        noted.await.unwrap()
    }

    pub(super) async fn goal_state(&self, session: SessionId) -> GoalState {
        let view = self.store.goal(self.scope(), session).await;
        view.unwrap().state
    }

    pub(super) async fn pass_goal_deadlines(&self) -> u32 {
        let passed = self.store.pass_goal_deadlines(self.now()).await;
        passed.unwrap()
    }

    /// Loses the server in the first turn of the worker. The retry waits there for the files that the seats share.
    async fn lose_server_of_worker(&self, db: &TestStore, session: SessionId) {
        let lost = self.turn(db, session, "worker").await;
        self.advance_seconds(200);
        assert_eq!(self.stall().await, [lost.run]);
        self.advance_seconds(200);
        let now = self.now();
        self.store.promote_due(now).await.unwrap();
        let (worker, other) = (&self.worker, instance(99));
        let claimed = self.store.claim(worker, other, 9, None, now).await;
        assert!(claimed.unwrap().is_empty(), "its files are elsewhere");
        let status = self.store.scheduler_status(now).await.unwrap();
        assert!(status.has_seat_change);
        assert_eq!(self.note_presence().await, 1);
        assert_eq!(self.presence_of(db, session, "worker").await, "offline");
        assert_eq!(self.tasks(session).await[1], WAITS_FOR_SERVER);
    }

    /// Lets the worker take the turn that has waited for its server.
    async fn take_turn_after_return(&self, db: &TestStore, session: SessionId) {
        let worker = self.turn(db, session, "worker").await;
        self.report(&worker, &done("A")).await.unwrap();
        self.succeed(worker.run).await;
        let view = self.store.goal(self.scope(), session).await.unwrap();
        let task = &view.tasks[1];
        assert_eq!((task.status, task.attempts), (TaskStatus::Done, 0));
    }

    async fn presence_of(&self, db: &TestStore, session: SessionId, seat: &str) -> String {
        let sql = "select presence from agent_definitions where session_id = $1 and name = $2";
        let rows = db.run(Scope::System, sql, params![session, seat]).await;
        rows.unwrap()[0].get("presence").unwrap()
    }
}

pub(crate) async fn task_waits_for_seat_whose_server_is_offline(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let server = serve(&stage, "server").await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker").await;
    assert_eq!(stage.note_presence().await, 0, "the server is online");

    // 1. The server goes while the turn is under way. Its own seats would count as online.
    stage.advance_seconds(121);
    let now = stage.now();
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(status.has_seat_change);
    let own = stage.store.note_seat_presence(stage.instance, now).await;
    assert_eq!(own.unwrap(), 0);
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.note_presence().await, 0, "noted once");
    assert_eq!(stage.presence_of(db, session, "worker").await, "offline");
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    // The next task waits for the seat, until a deadline.
    assert!(stage.open_run(db, session, "worker").await.is_none());
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Active);
    assert!(view.check_at.is_some());

    // 2. The server is back.
    presence(&stage, &server).await;
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.presence_of(db, session, "worker").await, "online");
    assert!(stage.open_run(db, session, "worker").await.is_some());
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(!status.has_seat_change);
}

pub(crate) async fn goal_whose_retry_waits_for_lost_server_pauses_and_goes_on(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let server = serve(&stage, "server").await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    stage.lose_server_of_worker(db, session).await;
    stage.advance_seconds(SEATS_TIMEOUT - 1);
    assert_eq!(stage.pass_goal_deadlines().await, 0);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    stage.advance_seconds(1);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(stage.goal_state(session).await, stuck);
    assert_eq!(stage.tasks(session).await[1], WAITS_FOR_SERVER);

    presence(&stage, &server).await;
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    assert_eq!(stage.tasks(session).await[1], "a RUNNING nothing");
    stage.take_turn_after_return(db, session).await;
    assert!(stage.open_run(db, session, "worker").await.is_some());
}

pub(crate) async fn goal_with_lost_server_pauses_after_end_of_its_time(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let server = serve(&stage, "server").await;
    let mut new = stage.new_goal(team(1, None));
    new.until = Some(stage.now() + Duration::from_mins(10));
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let plan = [work("a", &[]), work("b", &["a"])];
    stage.plan(db, session, &plan).await;
    stage.lose_server_of_worker(db, session).await;
    // The server may only restart, so that the goal waits for the end of the turn before it pauses.
    stage.advance_seconds(200);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    stage.advance_seconds(SEATS_TIMEOUT - 200);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(stage.goal_state(session).await, paused);
    assert_eq!(stage.tasks(session).await[1], WAITS_FOR_SERVER);

    // The turn that has waited may end, and no other starts.
    presence(&stage, &server).await;
    assert_eq!(stage.note_presence().await, 1);
    stage.take_turn_after_return(db, session).await;
    assert_eq!(stage.goal_state(session).await, paused);
    assert!(stage.open_run(db, session, "worker").await.is_none());
}

pub(crate) async fn task_of_removed_instance_moves_to_another_seat(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[])])
        .await;
    let lost = stage.turn(db, session, "worker-1").await;
    assert!(stage.open_run(db, session, "worker-2").await.is_none());
    let removed = stage
        .store
        .remove_instance(stage.tenant, stage.instance, stage.now());
    removed.await.unwrap();
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.presence_of(db, session, "worker-1").await, "removed");
    assert_eq!(stage.presence_of(db, session, "worker-2").await, "online");
    assert!(stage.open_run(db, session, "worker-2").await.is_some());
    assert_eq!(stage.note_presence().await, 0);
    // The end of the lost turn is no attempt at the task.
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [lost.run]);
    assert_eq!(stage.tasks(session).await[1], "a RUNNING nothing");
    // The moved turn waits for no removed instance, so that another server begins it after the sweep.
    let now = stage.now();
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(!status.has_removed_instance);
    let failed = stage.store.fail_runs_of_removed_instances(now).await;
    assert_eq!(failed.unwrap(), 0);
    let other = instance(77);
    let host = stage
        .store
        .register_instance(stage.tenant, other, "host 77", now);
    host.await.unwrap();
    stage.instance = other;
    let moved = stage.turn(db, session, "worker-2").await;
    stage.report(&moved, &done("A")).await.unwrap();
    stage.succeed(moved.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}

pub(crate) async fn seat_that_takes_task_over_gets_its_text(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[])])
        .await;
    // The seat that asked is removed, so that the other one gets the answer.
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.succeed(worker.run).await;
    let removed = stage
        .store
        .remove_instance(stage.tenant, stage.instance, stage.now());
    removed.await.unwrap();
    assert_eq!(stage.note_presence().await, 1);
    stage.answer_question(asked.id, "blue").await.unwrap();
    let run = stage.open_run(db, session, "worker-2").await.unwrap();
    let content = stage.run(run).await.content;
    let parts = ["take it over", "Do a well.", "blue"];
    let at: Vec<_> = parts.iter().map(|part| content.find(part)).collect();
    assert!(
        at.iter().all(Option::is_some) && at.is_sorted(),
        "{content}"
    );
}
