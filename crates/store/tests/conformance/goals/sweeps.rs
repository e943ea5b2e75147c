//! Goals that the scheduler moves.

use std::time::Duration;

use model::goal::{
    GoalState,
    TaskStatus::{Failed, Running},
};
use store::{GoalChange, Scope, params};

use super::stage::{done, team, work};
use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn idle_goal_is_found_and_its_lost_turn_fails(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(!status.has_idle_goal, "a turn is open");
    assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 0);
    for attempt in 1..=2 {
        let lost = stage.open_run(db, session, "worker").await.unwrap();
        // A fault of the program: the run of the turn is lost, and the graph still waits for its end.
        let sql = "delete from agent_runs where id = $1";
        db.run(Scope::System, sql, params![lost]).await.unwrap();
        let status = stage.store.scheduler_status(stage.now()).await.unwrap();
        assert!(status.has_idle_goal);
        assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 1);
        assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 0);
        let view = stage.store.goal(stage.scope(), session).await.unwrap();
        let expected = if attempt == 1 { Running } else { Failed };
        assert_eq!(view.tasks[1].status, expected);
    }
    // The failed task requests a plan, so that the goal goes on.
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(!status.has_idle_goal);
    assert!(stage.open_run(db, session, "planner").await.is_some());
}

pub(crate) async fn idle_goal_whose_question_is_lost_goes_on(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker").await;
    stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.succeed(worker.run).await;
    assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 0);
    let sql = "delete from questions where session_id = $1";
    db.run(Scope::System, sql, params![session]).await.unwrap();
    assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 1);
    let again = stage.turn(db, session, "worker").await;
    stage.report(&again, &done("A")).await.unwrap();
    stage.succeed(again.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    assert_eq!(stage.store.move_idle_goals(stage.now()).await.unwrap(), 0);
}

pub(crate) async fn end_of_goals_time_wakes_scheduler(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let until = stage.now() + Duration::from_hours(1);
    let mut new = stage.new_goal(team(1, None));
    new.until = Some(until);
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    let deadline = async || {
        let status = stage.store.scheduler_status(stage.now()).await;
        status.unwrap().goal_deadline
    };
    assert_eq!(deadline().await, Some(until));
    stage.advance_seconds(3600);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await;
    assert_eq!(passed.unwrap(), 1);
    assert_eq!(deadline().await, None, "the scheduler would spin");
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[0].status, Running, "the turn goes on");
}

pub(crate) async fn turn_of_cancelled_goal_ends_with_lease_of_lost_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let lost = stage.turn(db, session, "worker").await;
    let cancelled = stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(cancelled, GoalState::Cancelled, "no server is waited for");
    // The server of the turn never returns.
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    assert_eq!(stage.attempts(lost.run).await.len(), 1, "no retry follows");
    assert!(stage.open_run(db, session, "worker").await.is_none());
}
