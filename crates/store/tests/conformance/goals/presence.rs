//! Seats of goals whose instances come, go or are removed.

use model::goal::GoalState;
use store::{Scope, params};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{
        Stage, instance,
        servers::{presence, serve},
    },
};

impl Stage {
    /// Lets another server look for seats that have come or gone. Returns the number of goals that have moved.
    async fn note_presence(&self) -> u32 {
        let now = self.now();
        let noted = self.store.note_seat_presence(instance(99), now);
        noted.await.unwrap()
    }

    async fn presence_of(&self, db: &TestStore, session: model::SessionId, seat: &str) -> String {
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
