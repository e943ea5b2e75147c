//! Further attempts: after failures of the machinery, and after workers that were lost.

use model::{
    outcome::FailureKind,
    policy::{OnCrash, SessionMode},
    run::RunStatus::{Cancelled, Deferred, Failed, Queued, Stalled},
    turn::{Beat, Settled},
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed},
};

pub(crate) async fn a_fresh_heartbeat_is_not_stalled(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    stage.wait(180);
    assert_eq!(stage.stall().await, [], "it is just old enough to live");
    assert_eq!(stage.beat(run).await, Beat::GoOn);
    stage.wait(180);
    assert_eq!(stage.stall().await, []);
    stage.wait(1);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.stall().await, [], "once");
}

pub(crate) async fn a_heartbeat_between_the_look_and_the_lock_saves_the_run(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    // Every look is followed by a beat, whichever comes first.
    for _ in 0..20 {
        let old = stage.now();
        let now = stage.wait(200);
        let runs = [run];
        let (stalled, beats) = futures::join!(
            stage.store.stall(now, now),
            stage.store.heartbeat(&stage.worker, &runs, now),
        );
        match (stalled.unwrap().as_slice(), beats.unwrap().as_slice()) {
            ([], [Beat::GoOn]) => assert!(old < now),
            ([lost], [Beat::Lost]) => {
                assert_eq!(*lost, run);
                assert_eq!(stage.status(run).await, Stalled);
                return;
            }
            ([lost], [Beat::GoOn]) => {
                // The beat came after the look and before the lock was asked for, or the run was
                // stalled after a beat that its worker had already been answered: then the next
                // one says so.
                assert_eq!(*lost, run);
                assert_eq!(stage.beat(run).await, Beat::Lost);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn a_lost_worker_leaves_its_text_and_the_next_attempt(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    let written = stage
        .store
        .write_live(run, &stage.worker, 0, "I was about to", stage.now());
    assert_eq!(written.await.unwrap(), Settled::Written);
    stage.wait(200);
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
    assert!(shown[2].contains("the worker that executed it was lost. It will be tried again at"));
    assert_eq!(stage.live(run, 0).await, (String::new(), 0));
}

pub(crate) async fn an_interrupted_prompt_is_never_sent_again_blindly(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "pay the bill").await.run_id;
    stage.start(run).await;
    stage.wait(200);
    stage.stall().await;
    stage.wait(3600);
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
    // It stays so for the attempts after one that could not even start.
    stage.end(second, &failed(FailureKind::Start, false)).await;
    let third = stage.attempts(run).await[2].clone();
    assert_eq!(third.interrupted_run_id, Some(run));
}

pub(crate) async fn what_the_agent_never_saw_is_sent_as_it_was(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    // Claimed by a worker that dies before its turn begins.
    stage.claim().await;
    stage.wait(200);
    assert_eq!(stage.stall().await, [run]);
    stage.wait(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let second = stage.attempts(run).await[1].id;
    let assignment = stage.start(second).await;
    assert_eq!(assignment.prompt.text, "hello");
    let shown = stage.transcript(session).await;
    assert_eq!(shown.last().unwrap(), "user: hello", "it is shown now");
}

pub(crate) async fn attempts_are_used_up(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let mut run = stage.say(session, "hello").await.run_id;
    for number in 1..=3 {
        assert_eq!(stage.run(run).await.attempt, number);
        stage.start(run).await;
        stage.fail(run, FailureKind::AgentExited).await;
        stage.wait(3600);
        stage.store.promote_due(stage.now()).await.unwrap();
        run = stage.attempts(run).await.last().unwrap().id;
    }
    assert_eq!(stage.attempts(run).await.len(), 3);
    assert_eq!(stage.status(run).await, Failed);
    let last = stage.transcript(session).await;
    assert_eq!(last.last().unwrap(), "system: The turn failed: it broke.");
}

pub(crate) async fn an_answer_is_never_tried_again(db: &TestStore) {
    let stage = Stage::set(db).await;
    for kind in [
        FailureKind::AgentError,
        FailureKind::Timeout,
        FailureKind::RestoreGone,
    ] {
        let session = stage.session().await;
        let run = stage.say(session, "hello").await.run_id;
        stage.start(run).await;
        stage.fail(run, kind).await;
        assert_eq!(stage.attempts(run).await.len(), 1, "{kind}");
    }
}

pub(crate) async fn on_crash_fail_gives_up_what_may_have_been_prompted(db: &TestStore) {
    let stage = Stage::set(db).await;
    let mut new = stage.new_automation("payments", SessionMode::Fresh);
    new.policies.on_crash = OnCrash::Fail;
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    stage.wait(200);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.attempts(run).await.len(), 1);
    // One that cannot have been is tried again all the same.
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    stage.end(run, &failed(FailureKind::Start, false)).await;
    assert_eq!(stage.attempts(run).await.len(), 2);
}

pub(crate) async fn a_backoff_does_not_hold_the_seat(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let first = stage.say(session, "one").await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].clone();
    let until = retry.state.not_before().unwrap();
    assert_eq!(
        stage.store.outlook(stage.now()).await.unwrap().next(),
        Some(until)
    );
    let other = stage.say(session, "two").await;
    assert_eq!(other.status, Queued);
    stage.start(other.run_id).await;
    stage.clock.set(until);
    // It is over, and waits for the seat: nobody needs to look at the clock for it.
    assert_eq!(stage.store.outlook(stage.now()).await.unwrap().next(), None);
    stage.nothing_is_left_behind().await;
    stage.succeed(other.run_id).await;
    let retry = stage.run(retry.id).await;
    assert_eq!((retry.status(), retry.state.not_before()), (Queued, None));
}

pub(crate) async fn a_backoff_that_is_over_goes_first_though_no_sweep_saw_it(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let first = stage.say(session, "one").await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].id;
    stage.wait(3600);
    let second = stage.say(session, "two").await;
    assert_eq!(second.status, Deferred);
    assert_eq!(
        stage.statuses([retry, second.run_id]).await,
        [Queued, Deferred]
    );
    stage.nothing_is_left_behind().await;
}

pub(crate) async fn a_run_that_is_handed_back_uses_up_no_attempt(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let mut run = stage.say(session, "hello").await.run_id;
    for number in 1..=5 {
        stage.start(run).await;
        stage.fail(run, FailureKind::HandedBack).await;
        let next = stage.attempts(run).await.last().unwrap().clone();
        assert_eq!((next.attempt, next.failures), (number + 1, 0));
        assert_eq!((next.status(), next.state.not_before()), (Queued, None));
        run = next.id;
    }
    let shown = stage.transcript(session).await;
    assert!(
        shown[1].ends_with("handed it back. It will be taken up again."),
        "{shown:?}"
    );
}

pub(crate) async fn a_handed_back_run_waits_behind_people(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound("standup", "web:1").await;
    let fired = stage.fire(automation).await.run_id;
    stage.start(fired).await;
    let said = stage.say(session, "hello").await.run_id;
    stage.fail(fired, FailureKind::HandedBack).await;
    let next = stage.attempts(fired).await[1].id;
    assert_eq!(stage.statuses([said, next]).await, [Queued, Deferred]);
}

pub(crate) async fn a_worker_that_is_known_to_be_gone_is_not_waited_for(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    let executing = || stage.store.executing_on(stage.instance);
    stage.start(run).await;
    assert_eq!(executing().await.unwrap(), [(run, stage.worker.clone())]);
    let elsewhere = stage.store.executing_on(crate::stage::instance(2));
    assert_eq!(elsewhere.await.unwrap(), []);
    let other = model::WorkerId::from_stored("host-2-bbbbbbbb".into());
    let stall = |worker| stage.store.stall_run(run, worker, stage.now());
    assert!(!stall(&other).await.unwrap(), "it is not that worker's");
    assert!(stall(&stage.worker).await.unwrap());
    assert!(!stall(&stage.worker).await.unwrap(), "once");
    assert_eq!(stage.status(run).await, Stalled);
    assert_eq!(stage.attempts(run).await.len(), 2);
    assert_eq!(executing().await.unwrap(), []);
}

pub(crate) async fn a_lost_run_that_was_called_off_is_not_tried_again(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    cancelled.await.unwrap();
    stage.wait(200);
    assert_eq!(stage.stall().await, [run]);
    let attempts = stage.attempts(run).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].status(), Cancelled);
    assert_eq!(attempts[0].state.reason(), Some("enough"));
}

pub(crate) async fn a_retry_of_an_exclusive_automation_waits_for_its_other_run(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage
        .overlapping(SessionMode::Fresh, model::policy::Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let retry = stage.attempts(first).await[1].id;
    assert_eq!(stage.statuses([retry, second]).await, [Deferred, Queued]);
    stage.wait(3600);
    stage.nothing_is_left_behind().await;
    stage.start(second).await;
    stage.succeed(second).await;
    assert_eq!(stage.status(retry).await, Queued);
}

pub(crate) async fn workers_that_are_lost_use_up_the_attempts(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let mut run = stage.fire(automation).await.run_id;
    for number in 1..=3 {
        assert_eq!(stage.run(run).await.attempt, number);
        stage.start(run).await;
        stage.wait(200);
        assert_eq!(stage.stall().await, [run]);
        assert_eq!(stage.status(run).await, Stalled);
        stage.wait(3600);
        stage.store.promote_due(stage.now()).await.unwrap();
        run = stage.attempts(run).await.last().unwrap().id;
    }
    assert_eq!(stage.attempts(run).await.len(), 3);
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().consecutive_failures, 1);
}
