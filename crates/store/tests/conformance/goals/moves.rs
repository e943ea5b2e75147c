//! The moves of goals in the logs of their sessions.

use model::{
    SessionId,
    event::Change,
    goal::{
        GoalState::{self, Active, Cancelled, Done},
        PauseReason, Refusal, Reviews,
    },
    run::RunStatus,
    session::{SessionEvent, SessionStatus},
};
use store::{Error, GoalChange, Scope, params};

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

    /// Returns the messages of people to a session, each with the name of its seat.
    async fn comments(&self, db: &TestStore, session: SessionId) -> Vec<(String, String)> {
        let sql = "select r.content, d.name from agent_runs r join agent_definitions d on d.id = r.seat_id \
            where r.session_id = $1 and r.origin = 'person' order by r.id";
        let rows = db.run(Scope::System, sql, params![session]).await.unwrap();
        let comment =
            |row: &store::database::Row| (row.get("content").unwrap(), row.get("name").unwrap());
        rows.iter().map(comment).collect()
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

pub(crate) async fn inputs_to_draft_goal_wait_for_its_start(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let draft = async || {
        let mut new = stage.new_goal(team(1, None));
        new.draft = true;
        let created = stage.store.create_goal(stage.tenant, &new, stage.now());
        let session = created.await.unwrap();
        let message = stage.send_message(session, "hello").await;
        assert_eq!(message.status, RunStatus::Deferred);
        (session, message.run_id)
    };
    // 1. Nothing starts, and no plan can be requested.
    let (session, message) = draft().await;
    stage.assert_nothing_promotable().await;
    assert!(stage.claim().await.is_none());
    let replan = stage.change(session, GoalChange::Replan).await;
    assert!(
        matches!(replan, Err(Error::Goal(Refusal::Draft))),
        "{replan:?}"
    );
    // 2. With the start the message comes first, and then the plan.
    let started = stage.change(session, GoalChange::Start).await;
    assert_eq!(started.unwrap(), Active);
    let planner = stage.turn(db, session, "planner").await;
    assert_eq!(planner.run, message);
    stage.succeed(planner.run).await;
    stage.plan(db, session, &[work("a", &[])]).await;
    assert!(stage.open_run(db, session, "worker-1").await.is_some());
    // 3. A person who enables the session starts the goal.
    let (session, message) = draft().await;
    stage.move_on(session, SessionEvent::Enable).await;
    assert_eq!(stage.status(message).await, RunStatus::Queued);
    assert_eq!(stage.logged_states(session).await, [Active]);
    // 4. A cancelled draft leaves no message behind.
    let (session, message) = draft().await;
    stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(stage.status(message).await, RunStatus::Cancelled);
}

pub(crate) async fn comment_on_move_of_task_commits_with_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    // The worker has no tools, so that its task fails.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.succeed(worker.run).await;
    assert_eq!(stage.tasks(session).await[1], "a FAILED nothing");
    let accept = || GoalChange::Accept("a".into());
    // 1. Without the entry seat no message can be sent, and the move does not happen either.
    let swap = "update agent_definitions set is_entry = not is_entry \
        where session_id = $1 and name = 'planner'";
    db.run(Scope::System, swap, params![session]).await.unwrap();
    let refused = stage
        .change_with_comment(session, accept(), "Good enough.")
        .await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );
    assert_eq!(stage.tasks(session).await[1], "a FAILED nothing");
    db.run(Scope::System, swap, params![session]).await.unwrap();
    // 2. The planner gets the comment of the move, and none of a refused one.
    let moved = stage
        .change_with_comment(session, accept(), "Good enough.")
        .await;
    assert_eq!(moved.unwrap(), Active);
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
    let refused = stage.change_with_comment(session, accept(), "Again.").await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    let expected = ("Good enough.".to_owned(), "planner".to_owned());
    assert_eq!(stage.comments(db, session).await, [expected]);
    // 3. A goal that is over by the move takes no message. It has no turn left for a report.
    let mut last = team(1, Some(Reviews::Goal));
    last.limits.graph.turns = 3;
    let session = stage.planned_goal(db, last, &[work("a", &[])]).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let accept = GoalChange::Accept("check#1".into());
    let moved = stage.change_with_comment(session, accept, "Good.").await;
    assert_eq!(moved.unwrap(), Done);
    assert!(stage.comments(db, session).await.is_empty());
}

pub(crate) async fn session_of_goal_has_no_pause_of_its_own(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let goal = stage.goal(team(1, None)).await;
    let (scope, now) = (stage.scope(), stage.now());
    let paused = stage
        .store
        .transition_session(scope, goal, SessionEvent::Pause, None, now);
    let refused = paused.await.unwrap_err().to_string();
    assert!(refused.contains("`matins goal pause`"), "{refused}");
    let session = stage.store.session(scope, goal).await.unwrap();
    assert_eq!(session.status(), SessionStatus::Active);
}
