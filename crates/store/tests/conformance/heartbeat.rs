//! Heartbeats and their replies: continue, cancel, or lost.

use model::{
    WorkerId, limits,
    turn::{HeartbeatReply, StartReply, WriteOutcome},
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

pub(crate) async fn heartbeat_of_foreign_or_unclaimed_run_is_lost(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(
        stage.heartbeat(run).await,
        HeartbeatReply::Fenced,
        "no worker has claimed the run"
    );
    stage.start(run).await;
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let beats = stage
        .store
        .renew_heartbeats(&other, &[run], stage.now())
        .await;
    assert_eq!(beats.unwrap(), [HeartbeatReply::Fenced]);
}

pub(crate) async fn heartbeat_of_ended_run_is_lost(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Fenced);
    assert_eq!(stage.store.oldest_heartbeat().await.unwrap(), None);
}

pub(crate) async fn heartbeat_of_cancelled_run_returns_first_reason(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Continue);
    for reason in ["enough", "really"] {
        let cancelled = stage
            .store
            .cancel_run(stage.scope(), run, reason, stage.now());
        cancelled.await.unwrap();
    }
    let beat = stage.heartbeat(run).await;
    assert_eq!(
        beat,
        HeartbeatReply::Cancel("enough".into()),
        "the first result stays"
    );
    // If the agent finishes before it receives the cancellation, the run has succeeded.
    assert_eq!(
        stage.finish(run, &answer("42")).await,
        WriteOutcome::Committed
    );
    assert_eq!(stage.status(run).await, model::run::RunStatus::Succeeded);
}

pub(crate) async fn heartbeat_replies_for_each_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.session().await, stage.session().await);
    let first = stage.send_message(one, "hello").await.run_id;
    let second = stage.send_message(two, "hello").await.run_id;
    stage.start(first).await;
    stage.start(second).await;
    stage.succeed(first).await;
    stage.advance_seconds(20);
    let runs = [first, second];
    let beats = stage
        .store
        .renew_heartbeats(&stage.worker, &runs, stage.now());
    assert_eq!(
        beats.await.unwrap(),
        [HeartbeatReply::Fenced, HeartbeatReply::Continue]
    );
    let oldest = stage.store.oldest_heartbeat().await.unwrap();
    assert_eq!(oldest, Some(stage.now()));
}

pub(crate) async fn begin_long_after_claim_renews_heartbeat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.claim().await, Some(run));
    // The worker was frozen, and no sweep has run when it continues.
    stage.clock.advance(2 * limits::HEARTBEAT_STALE_AFTER);
    assert!(matches!(stage.begin(run).await, StartReply::Started(_)));
    assert_eq!(
        stage.stall().await,
        [],
        "the agent may live until the lease ends"
    );
    assert_eq!(stage.heartbeat(run).await, HeartbeatReply::Continue);
    stage.succeed(run).await;
}
