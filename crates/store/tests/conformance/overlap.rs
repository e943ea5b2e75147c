//! Overlap policies: an occurrence while an earlier run of its automation is not finished.

use model::{
    outcome::FailureKind,
    policy::{
        Overlap::{Allow, CancelRunning, Queue, Skip},
        SessionMode::{Continuous, Fresh},
    },
    run::RunStatus::{Cancelled, Deferred, Delivered, Queued, Running, Skipped, Succeeded},
    turn::{HeartbeatReply, StartReply},
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed},
};

pub(crate) use crate::placement::unclaimed_files::file_counts_as_waiting_run;

pub(crate) async fn overlap_skip_records_its_reason(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for mode in [Fresh, Continuous] {
        let mut new = stage.new_automation(mode.as_str(), mode);
        new.policies.overlap = Some(Skip);
        let automation = stage.create(&new).await;
        let first = stage.fire(automation).await.run_id;
        let second = stage.fire(automation).await;
        assert_eq!(second.status, Skipped);
        let run = stage.run(second.run_id).await;
        assert_eq!(run.state.reason(), Some("overlap"));
        stage.start(first).await;
        stage.succeed(first).await;
        assert_eq!(stage.fire(automation).await.status, Queued);
    }
}

pub(crate) async fn fire_beyond_queue_limit_is_skipped(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("watch", Continuous);
    new.policies.queue_limit = 2;
    let automation = stage.create(&new).await;
    let first = stage.fire(automation).await.run_id;
    stage.start(first).await;
    assert_eq!(stage.fire(automation).await.status, Deferred);
    assert_eq!(stage.fire(automation).await.status, Deferred);
    let full = stage.fire(automation).await;
    assert_eq!(full.status, Skipped);
    let run = stage.run(full.run_id).await;
    assert_eq!(run.state.reason(), Some("queue full"));
}

pub(crate) async fn overlap_queue_serializes_runs_across_sessions(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_overlap(Fresh, Queue).await;
    let mut fired = Vec::new();
    for _ in 0..4 {
        fired.push(stage.fire(automation).await.run_id);
    }
    let mut order = Vec::new();
    while let Some(run) = stage.claim().await {
        assert_eq!(
            stage.claim().await,
            None,
            "two runs of the automation occupy seats"
        );
        stage.begin(run).await;
        stage.succeed(run).await;
        stage.assert_nothing_promotable().await;
        order.push(run);
    }
    assert_eq!(order, fired);
}

pub(crate) async fn overlap_allow_runs_concurrently(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_overlap(Fresh, Allow).await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    stage.start(first).await;
    stage.start(second).await;
    assert_eq!(stage.statuses([first, second]).await, [Running, Running]);
}

pub(crate) async fn overlap_cancel_running_cancels_earlier_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for mode in [Fresh, Continuous] {
        let mut new = stage.new_automation(mode.as_str(), mode);
        new.policies.overlap = Some(CancelRunning);
        let automation = stage.create(&new).await;
        let first = stage.fire(automation).await.run_id;
        stage.start(first).await;
        let second = stage.fire(automation).await.run_id;
        let third = stage.fire(automation).await.run_id;
        assert_eq!(
            stage.statuses([first, second, third]).await,
            [Running, Cancelled, Deferred]
        );
        let reason = "replaced by a later occurrence".to_owned();
        assert_eq!(stage.heartbeat(first).await, HeartbeatReply::Cancel(reason));
        stage.assert_nothing_promotable().await;
        // An agent that is killed by the cancellation ends with a failure, but the run counts as cancelled.
        let end = failed(FailureKind::AgentExited, true);
        let _ = stage.finish(first, &end).await;
        assert_eq!(
            stage.statuses([first, third]).await,
            [Cancelled, Queued],
            "{mode}"
        );
    }
}

pub(crate) async fn superseded_claimed_run_does_not_begin(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_overlap(Fresh, CancelRunning).await;
    let first = stage.fire(automation).await.run_id;
    stage.claim().await;
    let second = stage.fire(automation).await.run_id;
    assert_eq!(stage.statuses([first, second]).await, [Delivered, Deferred]);
    assert!(matches!(stage.begin(first).await, StartReply::Cancelled));
    assert_eq!(stage.statuses([first, second]).await, [Cancelled, Queued]);
}

pub(crate) async fn overlap_ignores_runs_of_people(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let mut new = stage.new_automation("standup", model::policy::SessionMode::Bound);
    new.bound_session_key = Some("web:1".into());
    new.policies.overlap = Some(Skip);
    let automation = stage.create(&new).await;
    let message_run = stage.send_message(session, "hello").await.run_id;
    stage.start(message_run).await;
    let fired = stage.fire(automation).await;
    assert_eq!(
        fired.status, Deferred,
        "a seat that is busy with a message defers the run"
    );
    stage.succeed(message_run).await;
    assert_eq!(
        stage.statuses([message_run, fired.run_id]).await,
        [Succeeded, Queued]
    );
}

pub(crate) async fn run_in_backoff_does_not_block_next_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", Continuous).await;
    let first = stage.fire(automation).await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::Start).await;
    let input = stage.run(first).await.input_id;
    let retry = stage.store.attempts(stage.scope(), input).await.unwrap()[1].id;
    assert_eq!(stage.status(retry).await, Deferred);
    let second = stage.fire(automation).await;
    assert_eq!(second.status, Queued);
    stage.assert_nothing_promotable().await;
    stage.advance_seconds(3600);
    stage.assert_nothing_promotable().await;
    stage.start(second.run_id).await;
    stage.succeed(second.run_id).await;
    assert_eq!(stage.status(retry).await, Queued);
}

pub(crate) async fn seat_taken_by_person_does_not_block_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_overlap(Fresh, Queue).await;
    let active = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    let third = stage.fire(automation).await.run_id;
    // The person's message waits for the end of its backoff on the seat of the second run.
    let message = stage
        .send_message(stage.session_of(second).await, "hello")
        .await;
    stage.start(message.run_id).await;
    stage.fail(message.run_id, FailureKind::AgentExited).await;
    let again = stage.attempts(message.run_id).await[1].id;
    stage.start(active).await;
    stage.advance_seconds(600);
    stage.succeed(active).await;
    assert_eq!(
        stage.statuses([again, second, third]).await,
        [Queued, Deferred, Queued]
    );
    stage.assert_nothing_promotable().await;
}
