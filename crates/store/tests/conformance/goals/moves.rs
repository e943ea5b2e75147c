//! The moves of goals in the logs of their sessions.

use model::{
    SessionId,
    event::Change,
    goal::{
        GoalState::{self, Active, Cancelled, Done},
        PauseReason,
    },
    session::SessionEvent,
};
use store::GoalChange;

use super::stage::{done, team, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    /// Returns the states of the goal in the log of its session.
    async fn logged_states(&self, session: SessionId) -> Vec<GoalState> {
        let log = self.store.events(self.scope(), session, 0, 1000).await;
        let states = log.unwrap().into_iter().filter_map(|event| {
            let Change::Goal { session_id, state } = event.change else {
                return None;
            };
            assert_eq!(session_id, session);
            Some(state)
        });
        states.collect()
    }
}

pub(crate) async fn each_move_of_goal_is_in_its_log_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // 1. A draft, which is no move, and the moves of a person.
    let mut new = stage.new_goal(team(1, None));
    new.draft = true;
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    assert!(stage.logged_states(session).await.is_empty());
    for change in [GoalChange::Start, GoalChange::Pause, GoalChange::Resume] {
        stage.change(session, change).await.unwrap();
    }
    // A refused move and a move that keeps the state are not in the log.
    stage.change(session, GoalChange::Resume).await.ok();
    stage.change(session, GoalChange::Replan).await.ok();
    stage.change(session, GoalChange::Cancel).await.unwrap();
    let paused = GoalState::Paused(PauseReason::Person);
    let moves = [Active, paused, Active, Cancelled];
    assert_eq!(stage.logged_states(session).await, moves);
    // 2. The end of a turn ends the goal.
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    assert_eq!(stage.logged_states(session).await, [Active, Done]);
    // 3. A person closes the session, which cancels the goal.
    let session = stage.goal(team(1, None)).await;
    let closed = stage.store.transition_session(
        stage.scope(),
        session,
        SessionEvent::Fail,
        None,
        stage.now(),
    );
    closed.await.unwrap();
    assert_eq!(stage.logged_states(session).await, [Active, Cancelled]);
}
