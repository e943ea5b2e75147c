//! Seats of goals whose instances come, go or are removed.

use std::time::Duration;

use model::{
    SessionId, Timestamp, WorkerId,
    goal::{Directory, GoalState, PauseReason, StuckCause, TaskStatus},
    run::RunStatus,
    team::MemoryScope,
    turn::HeartbeatReply,
};
use store::{GoalChange, Scope, params};

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
/// A time after which a server without a heartbeat is offline, in seconds.
const OFFLINE_AFTER: u64 = 121;
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

    /// Returns the instant of the deadline of a goal.
    async fn goal_deadline(&self, session: SessionId) -> Option<Timestamp> {
        let view = self.store.goal(self.scope(), session).await;
        view.unwrap().check_at
    }

    /// Lets the server of all seats return, and checks that its goal notes that.
    async fn return_server(&self, server: &WorkerId, session: SessionId) {
        presence(self, server).await;
        assert_eq!(self.note_presence().await, 1);
        assert_eq!(self.goal_state(session).await, GoalState::Active);
    }

    /// Lets the server of all seats go, and checks that its goal notes that.
    async fn lose_server(&self) {
        self.advance_seconds(OFFLINE_AFTER);
        assert_eq!(self.note_presence().await, 1);
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
    stage.advance_seconds(OFFLINE_AFTER);
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

pub(crate) async fn retry_in_backoff_does_not_end_wait_for_lost_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    serve(&stage, "server").await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let lost = stage.turn(db, session, "worker").await;
    stage.lose_server().await;
    let deadline = stage.goal_deadline(session).await.unwrap();
    // The worker of the turn is lost, too. The retry waits for its backoff, and then for the same server.
    stage.advance_seconds(79);
    assert_eq!(stage.stall().await, [lost.run]);
    let retry = stage.attempts(lost.run).await[1].id;
    for status in [RunStatus::Deferred, RunStatus::Queued] {
        assert_eq!(stage.status(retry).await, status);
        let pending = stage.store.scheduler_status(stage.now()).await.unwrap();
        assert!(!pending.has_seat_change, "{status}");
        assert_eq!(stage.note_presence().await, 0, "{status}");
        assert_eq!(stage.presence_of(db, session, "worker").await, "offline");
        let now = stage.advance_seconds(200);
        stage.store.promote_due(now).await.unwrap();
    }
    assert_eq!(stage.goal_deadline(session).await, Some(deadline));
    let left = deadline.since(stage.now()).as_secs();
    stage.advance_seconds(left);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(stage.goal_state(session).await, stuck);
}

pub(crate) async fn server_that_comes_and_goes_is_awaited_until_one_deadline(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let server = serve(&stage, "server").await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker").await;
    // 1. The wait begins once, although the server returns for a while.
    stage.lose_server().await;
    let deadline = stage.goal_deadline(session).await.unwrap();
    for _ in 0..3 {
        stage.return_server(&server, session).await;
        stage.lose_server().await;
        assert_eq!(stage.goal_deadline(session).await, Some(deadline));
    }
    // 2. The deadline passes while the server is there, so that the next loss pauses the goal.
    let left = deadline.since(stage.now()).as_secs();
    stage.advance_seconds(left);
    stage.return_server(&server, session).await;
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    for _ in 0..2 {
        stage.lose_server().await;
        assert_eq!(stage.goal_state(session).await, stuck);
        stage.return_server(&server, session).await;
    }
    // 3. The turn ends. The next loss is another one.
    let reply = stage.heartbeat(worker.run).await;
    assert_eq!(reply, HeartbeatReply::Continue);
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    stage.turn(db, session, "worker").await;
    stage.lose_server().await;
    assert_eq!(stage.goal_state(session).await, GoalState::Active);
    let anew = stage.now() + Duration::from_secs(SEATS_TIMEOUT);
    assert_eq!(stage.goal_deadline(session).await, Some(anew));
}

pub(crate) async fn goal_whose_server_comes_and_goes_is_given_up(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let server = serve(&stage, "server").await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.give_up_after_hours = 3;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &[work("a", &[])]).await;
    stage.turn(db, session, "worker").await;
    stage.lose_server().await;
    stage.advance_seconds(SEATS_TIMEOUT);
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(stage.goal_state(session).await, stuck);
    // A person who resumes the goal lets the time count anew.
    stage.advance_seconds(60);
    let resumed = stage.change(session, GoalChange::Resume).await;
    assert_eq!(resumed.unwrap(), stuck);
    let deadline = stage.now() + Duration::from_hours(3);
    assert_eq!(stage.goal_deadline(session).await, Some(deadline));
    // The returns of a server do not, because nothing gets on.
    for _ in 0..3 {
        stage.return_server(&server, session).await;
        stage.lose_server().await;
        assert_eq!(stage.goal_state(session).await, stuck);
        assert_eq!(stage.goal_deadline(session).await, Some(deadline));
    }
    // A person who resumes it while the server is there does, although the turn still holds its seat.
    stage.return_server(&server, session).await;
    for change in [GoalChange::Pause, GoalChange::Resume] {
        stage.change(session, change).await.unwrap();
    }
    stage.lose_server().await;
    assert_eq!(stage.goal_state(session).await, stuck);
    let deadline = stage.now() + Duration::from_hours(3);
    assert_eq!(stage.goal_deadline(session).await, Some(deadline));
    stage.advance_seconds(deadline.since(stage.now()).as_secs());
    assert_eq!(stage.pass_goal_deadlines().await, 1);
    assert_eq!(stage.goal_state(session).await, GoalState::GivenUp);
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
    stage.remove_instance(stage.instance).await;
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.presence_of(db, session, "worker-1").await, "removed");
    assert_eq!(stage.presence_of(db, session, "worker-2").await, "online");
    assert!(stage.open_run(db, session, "worker-2").await.is_some());
    assert_eq!(stage.note_presence().await, 0);
    // The end of the lost turn is no attempt at the task, and no retry follows, which any server could take.
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [lost.run]);
    assert_eq!(stage.status(lost.run).await, RunStatus::Cancelled);
    assert_eq!(stage.attempts(lost.run).await.len(), 1);
    assert_eq!(stage.tasks(session).await[1], "a RUNNING nothing");
    // The moved turn waits for no removed instance, so that another server begins it after the sweep.
    let now = stage.now();
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(!status.has_removed_instance);
    let failed = stage.store.end_waits_for_removed_instances(now).await;
    assert_eq!(failed.unwrap(), 0);
    stage.instance = stage.second_instance().await;
    let moved = stage.turn(db, session, "worker-2").await;
    stage.report(&moved, &done("A")).await.unwrap();
    stage.succeed(moved.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}

pub(crate) async fn retry_on_removed_seat_is_cancelled_as_its_task_moves(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(2, None));
    new.team.seats[1].directory = Directory::Own;
    new.team.seats[1].memory = MemoryScope::Seat;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let plan = [work("a", &[]), work("b", &["a"])];
    stage.plan(db, session, &plan).await;
    // 1. The retry of a task waits for its backoff, and then for the memory of the seat.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let lost = stage.turn(db, session, "worker-1").await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    let retry = stage.attempts(lost.run).await[1].id;
    assert_eq!(stage.status(retry).await, RunStatus::Deferred);
    stage.remove_instance(stage.instance).await;
    // 2. The retry ends as the task moves.
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.presence_of(db, session, "worker-1").await, "removed");
    assert_eq!(stage.status(retry).await, RunStatus::Cancelled);
    let moved = stage.open_run(db, session, "worker-2").await.unwrap();
    // 3. Another server gets the task once.
    let now = stage.advance_seconds(200);
    stage.store.promote_due(now).await.unwrap();
    stage.instance = stage.second_instance().await;
    assert_eq!(stage.claim_all(9).await, [moved]);
}

pub(crate) async fn seats_of_removed_instance_take_no_task_of_each_other(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(3, None), &plan).await;
    let lost = stage.turn(db, session, "worker-1").await;
    // The second seat is free, and its memory is on the same instance.
    let worker = stage.turn(db, session, "worker-2").await;
    stage.report(&worker, &done("B")).await.unwrap();
    stage.succeed(worker.run).await;
    stage.remove_instance(stage.instance).await;
    assert_eq!(stage.note_presence().await, 1);
    for seat in ["worker-1", "worker-2"] {
        assert_eq!(stage.presence_of(db, session, seat).await, "removed");
    }
    assert!(stage.open_run(db, session, "worker-2").await.is_none());
    assert!(stage.open_run(db, session, "worker-3").await.is_some());
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    assert_eq!(stage.attempts(lost.run).await.len(), 1);
    assert_eq!(stage.tasks(session).await[1], "a RUNNING nothing");
}

pub(crate) async fn turn_that_waits_for_files_of_removed_instance_begins_on_another(
    db: &TestStore,
) {
    let mut stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    // The first turn of the worker waits for the files of the planner.
    let waits = stage.open_run(db, session, "worker").await.unwrap();
    let now = stage.now();
    let other = stage.store.claim(&stage.worker, instance(99), 9, None, now);
    assert!(other.await.unwrap().is_empty(), "its files are elsewhere");
    stage.remove_instance(stage.instance).await;
    assert_eq!(stage.note_presence().await, 1);
    assert_eq!(stage.presence_of(db, session, "planner").await, "removed");
    assert_eq!(stage.presence_of(db, session, "worker").await, "online");
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(status.has_removed_instance);
    let ended = stage.store.end_waits_for_removed_instances(now).await;
    assert_eq!(ended.unwrap(), 1);
    assert_eq!(stage.status(waits).await, RunStatus::Queued);
    let status = stage.store.scheduler_status(now).await.unwrap();
    assert!(!status.has_removed_instance);
    // Another server begins the same run, and no attempt at the task has failed.
    stage.instance = stage.second_instance().await;
    assert_eq!(stage.open_run(db, session, "worker").await, Some(waits));
    stage.take_turn_after_return(db, session).await;
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
    stage.remove_instance(stage.instance).await;
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
