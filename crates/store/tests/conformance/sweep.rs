//! The sweep: ended backoffs, and runs that no promotion has started.

use model::{
    outcome::FailureKind,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Deferred, Queued},
    session::SessionEvent,
};
use store::{PromotionReport, Scope, params};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn sweep_starts_unpromoted_runs_and_counts_faults(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        let session = stage.session().await;
        runs.push(stage.send_message(session, "hello").await.run_id);
    }
    db.run(
        Scope::System,
        "update agent_runs set status = 'deferred'",
        params![],
    )
    .await
    .unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(
        swept,
        PromotionReport {
            backoff_ended: 0,
            missed_promotions: 3
        }
    );
    for run in runs {
        assert_eq!(stage.status(run).await, Queued);
    }
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept, PromotionReport::default());
}

pub(crate) async fn sweep_of_ended_backoff_counts_no_fault(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentExited).await;
    let retry = stage.attempts(run).await[1].clone();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(
        swept,
        PromotionReport::default(),
        "the backoff has not ended"
    );
    stage.clock.set(retry.state.not_before().unwrap());
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(
        swept,
        PromotionReport {
            backoff_ended: 1,
            missed_promotions: 0
        }
    );
    assert_eq!(stage.status(retry.id).await, Queued);
}

pub(crate) async fn sweep_keeps_blocked_runs_deferred(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.send_message(session, "one").await;
    let behind = stage.send_message(session, "two").await.run_id;
    let paused = stage.session().await;
    let held = stage.send_message(paused, "one").await.run_id;
    let pause = SessionEvent::Pause;
    let moved = stage
        .store
        .transition_session(stage.scope(), paused, pause, None, stage.now());
    moved.await.unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept, PromotionReport::default());
    assert_eq!(stage.statuses([behind, held]).await, [Deferred, Deferred]);
}

pub(crate) async fn sweep_promotes_more_than_one_batch(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for _ in 0..250 {
        let session = stage.session().await;
        stage.send_message(session, "hello").await;
    }
    db.run(
        Scope::System,
        "update agent_runs set status = 'deferred'",
        params![],
    )
    .await
    .unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept.missed_promotions, 250);
}

pub(crate) async fn sweep_starts_one_run_of_exclusive_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    db.run(
        Scope::System,
        "update agent_runs set status = 'deferred'",
        params![],
    )
    .await
    .unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(
        swept,
        PromotionReport {
            backoff_ended: 0,
            missed_promotions: 1
        }
    );
    assert_eq!(stage.statuses([first, second]).await, [Queued, Deferred]);
}
