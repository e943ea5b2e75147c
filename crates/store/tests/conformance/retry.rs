//! Retries: after failures of the machinery, and after lost workers.

use model::{
    outcome::FailureKind,
    policy::{OnCrash, SessionMode},
    run::RunStatus::{Cancelled, Deferred, Failed, Queued, Stalled},
    turn::{HeartbeatReply, WriteOutcome},
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed},
};

pub(crate) async fn run_with_fresh_heartbeat_is_not_stalled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.advance_seconds(180);
    assert_eq!(
        stage.stall().await,
        [],
        "the heartbeat is just recent enough"
    );
    assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Continue);
    stage.advance_seconds(180);
    assert_eq!(stage.stall().await, []);
    stage.advance_seconds(1);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.stall().await, [], "once");
}

pub(crate) async fn heartbeat_concurrent_with_stall_is_consistent(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    // A heartbeat follows every sweep, whichever transaction comes first.
    for _ in 0..20 {
        let old = stage.now();
        let now = stage.advance_seconds(200);
        let runs = [run];
        let (stalled, beats) = futures::join!(
            stage.store.stall_stale_runs(now, now),
            stage.store.renew_heartbeats(&stage.worker, &runs, now),
        );
        match (stalled.unwrap().as_slice(), beats.unwrap().as_slice()) {
            ([], [HeartbeatReply::Continue]) => assert!(old < now),
            ([lost], [HeartbeatReply::Fenced]) => {
                assert_eq!(*lost, run);
                assert_eq!(stage.status(run).await, Stalled);
                return;
            }
            ([lost], [HeartbeatReply::Continue]) => {
                // The heartbeat came after the sweep's search and before its lock, or the worker got its reply just
                // before the run was stalled. In both cases the next reply says that the run is lost.
                assert_eq!(*lost, run);
                assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Fenced);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn stall_keeps_live_text_and_creates_next_attempt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let written =
        stage
            .store
            .append_live_text(run, &stage.worker, 0, "I was about to", stage.now());
    assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    let attempts = stage.attempts(run).await;
    assert_eq!(
        (attempts[0].status(), attempts[1].status()),
        (Stalled, Deferred)
    );
    assert_eq!(attempts[0].state.reason(), Some("worker_lost"));
    assert_eq!((attempts[1].attempt, attempts[1].failures), (2, 1));
    assert_eq!(attempts[1].interrupted_run_id, Some(run));
    assert!(attempts[1].state.not_before().unwrap() > stage.now());
    let shown = stage.transcript(session).await;
    assert_eq!(shown[1], "assistant: I was about to");
    assert!(shown[2].contains("the worker that executed it was lost. The run will be retried at"));
    assert_eq!(stage.live(run, 0).await, (String::new(), 0));
}

pub(crate) async fn retry_after_interruption_sends_interrupted_prompt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "pay the bill").await.run_id;
    stage.start(run).await;
    stage.advance_seconds(200);
    stage.stall().await;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let second = stage.attempts(run).await[1].id;
    let assignment = stage.start(second).await;
    assert_eq!(assignment.prompt.prompt_ref.id, "turn.interrupted");
    assert!(assignment.prompt.text.contains(&run.to_string()));
    assert!(assignment.prompt.text.contains("pay the bill"));
    let shown = stage.transcript(session).await;
    assert_eq!(shown.last().unwrap(), "system: Attempt 2 begins.");
    assert_eq!(
        shown.iter().filter(|row| row.starts_with("user")).count(),
        1
    );
    // The same holds for attempts after one that could not start.
    stage.end(second, &failed(FailureKind::Start, false)).await;
    let third = stage.attempts(run).await[2].clone();
    assert_eq!(third.interrupted_run_id, Some(run));
}

pub(crate) async fn retry_of_unseen_prompt_sends_it_unchanged(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    // The worker dies after the claim and before its turn begins.
    stage.claim().await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let second = stage.attempts(run).await[1].id;
    let assignment = stage.start(second).await;
    assert_eq!(assignment.prompt.text, "hello");
    let shown = stage.transcript(session).await;
    assert_eq!(
        shown.last().unwrap(),
        "user: hello",
        "the message is visible now"
    );
}

pub(crate) async fn run_fails_when_attempts_are_exhausted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let mut run = stage.send_message(session, "hello").await.run_id;
    for number in 1..=3 {
        assert_eq!(stage.run(run).await.attempt, number);
        stage.start(run).await;
        stage.fail(run, FailureKind::AgentExited).await;
        stage.advance_seconds(3600);
        stage.store.promote_due(stage.now()).await.unwrap();
        run = stage.attempts(run).await.last().unwrap().id;
    }
    assert_eq!(stage.attempts(run).await.len(), 3);
    assert_eq!(stage.status(run).await, Failed);
    let last = stage.transcript(session).await;
    assert_eq!(last.last().unwrap(), "system: The turn failed: it broke.");
}

pub(crate) async fn agent_error_or_timeout_is_not_retried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for kind in [
        FailureKind::AgentError,
        FailureKind::Timeout,
        FailureKind::RestoreGone,
    ] {
        let session = stage.session().await;
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        stage.fail(run, kind).await;
        assert_eq!(stage.attempts(run).await.len(), 1, "{kind}");
    }
}

pub(crate) async fn on_crash_fail_does_not_retry_prompted_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("payments", SessionMode::Fresh);
    new.policies.on_crash = OnCrash::Fail;
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.attempts(run).await.len(), 1);
    // An attempt whose prompt cannot have reached the agent is retried nevertheless.
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    stage.end(run, &failed(FailureKind::Start, false)).await;
    assert_eq!(stage.attempts(run).await.len(), 2);
}

pub(crate) async fn backoff_does_not_occupy_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].clone();
    let until = retry.state.not_before().unwrap();
    assert_eq!(
        stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .next_work_at(),
        Some(until)
    );
    let other = stage.send_message(session, "two").await;
    assert_eq!(other.status, Queued);
    stage.start(other.run_id).await;
    stage.clock.set(until);
    // The backoff has ended, and the run waits for the seat, so no timer is needed.
    assert_eq!(
        stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .next_work_at(),
        None
    );
    stage.assert_nothing_promotable().await;
    stage.succeed(other.run_id).await;
    let retry = stage.run(retry.id).await;
    assert_eq!((retry.status(), retry.state.not_before()), (Queued, None));
}

pub(crate) async fn ended_backoff_precedes_later_message_without_sweep(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].id;
    stage.advance_seconds(3600);
    let second = stage.send_message(session, "two").await;
    assert_eq!(second.status, Deferred);
    assert_eq!(
        stage.statuses([retry, second.run_id]).await,
        [Queued, Deferred]
    );
    stage.assert_nothing_promotable().await;
}

pub(crate) async fn requeued_run_uses_no_attempt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let mut run = stage.send_message(session, "hello").await.run_id;
    for number in 1..=5 {
        stage.start(run).await;
        stage.fail(run, FailureKind::Requeued).await;
        let next = stage.attempts(run).await.last().unwrap().clone();
        assert_eq!((next.attempt, next.failures), (number + 1, 0));
        assert_eq!((next.status(), next.state.not_before()), (Queued, None));
        run = next.id;
    }
    let shown = stage.transcript(session).await;
    assert!(
        shown[1].ends_with("the input was requeued. The run will be retried."),
        "{shown:?}"
    );
}

pub(crate) async fn requeued_run_waits_behind_people(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("standup", "web:1").await;
    let fired = stage.fire(automation).await.run_id;
    stage.start(fired).await;
    let message_run = stage.send_message(session, "hello").await.run_id;
    stage.fail(fired, FailureKind::Requeued).await;
    let next = stage.attempts(fired).await[1].id;
    assert_eq!(
        stage.statuses([message_run, next]).await,
        [Queued, Deferred]
    );
}

pub(crate) async fn run_of_dead_worker_is_stalled_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    let executing = || stage.store.runs_executing_on(stage.instance);
    stage.start(run).await;
    assert_eq!(executing().await.unwrap(), [(run, stage.worker.clone())]);
    let elsewhere = stage.store.runs_executing_on(crate::stage::instance(2));
    assert_eq!(elsewhere.await.unwrap(), []);
    let other = model::WorkerId::from_stored("host-2-bbbbbbbb".into());
    let stall = |worker| stage.store.stall_run(run, worker, stage.now());
    assert!(
        !stall(&other).await.unwrap(),
        "the run belongs to another worker"
    );
    assert!(stall(&stage.worker).await.unwrap());
    assert!(!stall(&stage.worker).await.unwrap(), "once");
    assert_eq!(stage.status(run).await, Stalled);
    assert_eq!(stage.attempts(run).await.len(), 2);
    assert_eq!(executing().await.unwrap(), []);
}

pub(crate) async fn stalled_run_with_cancel_request_is_not_retried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    cancelled.await.unwrap();
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    let attempts = stage.attempts(run).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].status(), Cancelled);
    assert_eq!(attempts[0].state.reason(), Some("enough"));
}

pub(crate) async fn retry_waits_for_other_run_of_exclusive_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, model::policy::Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].id;
    assert_eq!(stage.statuses([retry, second]).await, [Deferred, Queued]);
    stage.advance_seconds(3600);
    stage.assert_nothing_promotable().await;
    stage.start(second).await;
    stage.succeed(second).await;
    assert_eq!(stage.status(retry).await, Queued);
}

pub(crate) async fn lost_workers_exhaust_attempts(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let mut run = stage.fire(automation).await.run_id;
    for number in 1..=3 {
        assert_eq!(stage.run(run).await.attempt, number);
        stage.start(run).await;
        stage.advance_seconds(200);
        assert_eq!(stage.stall().await, [run]);
        assert_eq!(stage.status(run).await, Stalled);
        stage.advance_seconds(3600);
        stage.store.promote_due(stage.now()).await.unwrap();
        run = stage.attempts(run).await.last().unwrap().id;
    }
    assert_eq!(stage.attempts(run).await.len(), 3);
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().consecutive_failures, 1);
}
