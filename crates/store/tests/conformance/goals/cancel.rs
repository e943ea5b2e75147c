//! The end of a goal by a person or by its deadline: its turns are asked to stop, and their tools refuse.

use futures::future::join;
use model::{
    MessageId, RunId, SessionId,
    artifact::ArtifactContent,
    automation::AutomationState,
    goal::GoalState,
    run::RunStatus,
    session::{SessionEvent, SessionStatus},
    turn::{HeartbeatReply, StartReply},
};
use store::{Error, GoalChange, NewArtifact, Scope, ToolCaller};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    locks::{claim_without_commit, wait_for_waiters},
    memory::entry,
    stage::Stage,
    tool_calls::{cron, make, start},
};

impl Stage {
    /// Creates a goal with one task that its worker has under way.
    async fn goal_at_work(&self, db: &TestStore, workers: u32) -> (SessionId, ToolCaller) {
        let plan = [work("a", &[])];
        let session = self.planned_goal(db, team(workers, None), &plan).await;
        (session, self.turn(db, session, "worker-1").await)
    }

    async fn is_asked_to_stop(&self, run: RunId, because: &str) -> bool {
        let reply = self.heartbeat(run).await;
        reply == HeartbeatReply::Cancel(because.to_owned())
    }

    /// Calls each tool that writes for the goal, and returns the refusals. The session has an automation `mail` of an agent.
    async fn refused_writes(&self, caller: &ToolCaller, message: MessageId) -> [Error; 6] {
        let (store, now) = (&self.store, self.now());
        let artifact = NewArtifact {
            name: "mail.md".into(),
            media_type: "text/markdown".into(),
            content: ArtifactContent::Uri("https://example.org/mail.md".into()),
        };
        let remembered = store.remember(caller, &entry("tone", "loud"), now).await;
        let forgotten = store.forget(caller, "tone", now).await;
        let saved = store.save_artifact(caller, &artifact, now).await;
        let read = store
            .acknowledge_messages_of_turn(caller, &[message], now)
            .await;
        let made = make(self, caller, &cron(self, "news")).await;
        let removed = store.delete_agent_automation(caller, "mail", now).await;
        [
            remembered.unwrap_err(),
            forgotten.unwrap_err(),
            saved.unwrap_err(),
            read.unwrap_err(),
            made.unwrap_err(),
            removed.unwrap_err(),
        ]
    }
}

pub(crate) async fn cancelled_goal_cancels_its_turns_and_closes_its_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[]), work("c", &["a"])];
    let session = stage.planned_goal(db, team(2, None), &plan).await;
    let running = stage.turn(db, session, "worker-1").await;
    let waiting = stage.open_run(db, session, "worker-2").await.unwrap();
    let cancelled = stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(cancelled, GoalState::Cancelled);
    let statuses = stage.statuses([waiting, running.run]).await;
    assert_eq!(statuses, [RunStatus::Cancelled, RunStatus::Running]);
    assert!(
        stage
            .run(running.run)
            .await
            .state
            .cancel_requested_at()
            .is_some()
    );
    let session_row = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(session_row.status(), SessionStatus::Failed);
    // The tools refuse, and the end of the turn changes nothing.
    let late = stage.report(&running, &done("late")).await;
    assert!(matches!(late, Err(Error::Refused(_))), "{late:?}");
    stage.succeed(running.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(
        tasks[1..],
        [
            "a CANCELLED nothing",
            "b CANCELLED nothing",
            "c CANCELLED nothing"
        ]
    );
    assert!(stage.claim().await.is_none());
    let again = stage.change(session, GoalChange::Resume).await;
    assert!(matches!(again, Err(Error::Goal(_))), "{again:?}");
    // The session of a draft is closed, too.
    let mut new = stage.new_goal(team(1, None));
    new.draft = true;
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let draft = created.await.unwrap();
    let status = async || stage.store.session(stage.scope(), draft).await.unwrap();
    assert_eq!(status().await.status(), SessionStatus::Draft);
    stage.change(draft, GoalChange::Cancel).await.unwrap();
    assert_eq!(status().await.status(), SessionStatus::Failed);
}

pub(crate) async fn closed_session_cancels_its_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[]), work("b", &[])])
        .await;
    let running = stage.turn(db, session, "worker-1").await;
    let (scope, now) = (stage.scope(), stage.now());
    let event = SessionEvent::Fail;
    let closed = stage
        .store
        .transition_session(scope, session, event, None, now);
    closed.await.unwrap();
    let view = stage.store.goal(scope, session).await.unwrap();
    assert_eq!(view.state, GoalState::Cancelled);
    stage.succeed(running.run).await;
    assert!(stage.claim().await.is_none());
}

pub(crate) async fn cancelled_goal_stops_turns_with_messages(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_at_work(db, 2).await;
    let person = stage.send_message(session, "How far are you?").await;
    let person = start(&stage, person.run_id).await;
    let sent = stage.write_to(session, &worker, "worker-2", "Which tone?");
    sent.await.unwrap();
    let seat = stage.turn(db, session, "worker-2").await;
    assert_eq!(stage.heartbeat(seat.run).await, HeartbeatReply::Continue);
    stage.change(session, GoalChange::Cancel).await.unwrap();
    for (run, because) in [
        (worker.run, "the task no longer needs the turn"),
        (seat.run, "the goal was cancelled"),
        (person.run, "the goal was cancelled"),
    ] {
        assert!(stage.is_asked_to_stop(run, because).await, "{because}");
    }
    // The runs end when their agents have stopped, and nothing follows.
    for caller in [worker, seat, person] {
        assert_eq!(stage.status(caller.run).await, RunStatus::Running);
        stage.succeed(caller.run).await;
    }
    assert!(stage.claim().await.is_none());
}

pub(crate) async fn goal_that_is_given_up_stops_turn_with_message(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.stuck_goal(db).await;
    let message = stage.send_message(session, "What is missing?").await;
    let message = start(&stage, message.run_id).await;
    stage.advance_seconds(3 * 3600);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await;
    assert_eq!(passed.unwrap(), 1);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::GivenUp);
    let because = "the goal was given up";
    assert!(stage.is_asked_to_stop(message.run, because).await);
}

pub(crate) async fn turn_with_message_outlives_goal_that_is_done(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_at_work(db, 1).await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.turn(db, session, "planner").await;
    let question = "Where is it?";
    stage.write_as_person(session, "worker", question).await;
    let message = stage.turn(db, session, "worker").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
    assert_eq!(stage.heartbeat(message.run).await, HeartbeatReply::Continue);
    stage.succeed(message.run).await;
    assert_eq!(stage.status(message.run).await, RunStatus::Succeeded);
}

pub(crate) async fn tools_that_write_are_refused_after_cancellation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_at_work(db, 1).await;
    let kept = entry("tone", "calm");
    let remembered = stage.store.remember(&worker, &kept, stage.now()).await;
    remembered.unwrap();
    // 1. A person cancels the turn of a message alone.
    let message = stage.send_message(session, "How far are you?").await;
    let message = start(&stage, message.run_id).await;
    let mail = make(&stage, &message, &cron(&stage, "mail")).await.unwrap();
    let sent = stage.write_to(session, &worker, "planner", "Which tone?");
    let sent = sent.await.unwrap();
    let (scope, now) = (stage.scope(), stage.now());
    let cancelled = stage.store.cancel_run(scope, message.run, "enough", now);
    assert_eq!(cancelled.await.unwrap(), RunStatus::Running);
    for refused in stage.refused_writes(&message, sent.id).await {
        assert!(
            matches!(refused, Error::RunOver { run } if run == message.run),
            "{refused:?}"
        );
    }
    // Its agent reads on.
    let turn = stage.store.calling_turn(&message, now).await.unwrap();
    let unread = stage.store.unread_messages_of_turn(&turn, 10).await;
    let unread: Vec<MessageId> = unread.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(unread, [sent.id]);
    // 2. The session of a goal that is over takes nothing either.
    stage.change(session, GoalChange::Cancel).await.unwrap();
    for refused in stage.refused_writes(&worker, sent.id).await {
        assert!(matches!(refused, Error::Refused(_)), "{refused:?}");
    }
    let kept = stage.store.automation(stage.scope(), mail).await.unwrap();
    assert_eq!(kept.state, AutomationState::Enabled);
    assert_eq!(db.count(Scope::System, "agent_memory_entries").await, 1);
    assert_eq!(db.count(Scope::System, "agent_artifacts").await, 0);
}

pub(crate) async fn cancelled_session_starts_next_task_and_leaves_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b"].map(|key| work(key, &[]));
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    // The next attempt at the turn waits for its backoff, so that it is cancelled before those that hold a seat.
    let lost = stage.turn(db, session, "worker-1").await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    let cancelled = stage
        .store
        .cancel_session_runs(stage.scope(), session, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), 1);
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1..], ["a FAILED nothing", "b RUNNING nothing"]);
    stage.turn(db, session, "worker-1").await;
}

pub(crate) async fn turn_that_is_claimed_during_cancel_of_its_task_does_not_begin(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let run = stage.open_run(db, session, "worker-1").await.unwrap();
    let claimed = claim_without_commit(db, &stage, run).await;
    let committing = async {
        wait_for_waiters(db, 1).await;
        claimed.commit().await.unwrap();
    };
    let cancel = stage.change(session, GoalChange::CancelTask("a".into()));
    let (cancelled, ()) = Box::pin(join(cancel, committing)).await;
    assert_eq!(cancelled.unwrap(), GoalState::Active);
    // The seat is free once the worker knows.
    assert_eq!(stage.open_run(db, session, "worker-1").await, Some(run));
    let reply = stage.begin(run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    assert_eq!(stage.status(run).await, RunStatus::Cancelled);
    let next = stage.turn(db, session, "worker-1").await;
    stage.report(&next, &done("B")).await.unwrap();
    stage.succeed(next.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1..3], ["a CANCELLED nothing", "b DONE nothing"]);
}
