//! The sweep: backoffs that are over, and whatever was left behind.

use model::{
    outcome::FailureKind,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Deferred, Queued},
    session::SessionEvent,
};
use store::{Scope, Swept, params};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn sweep_starts_unpromoted_runs_and_counts_faults(db: &TestStore) {
    let stage = Stage::set(db).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        let session = stage.session().await;
        runs.push(stage.say(session, "hello").await.run_id);
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
        Swept {
            backoffs: 0,
            faults: 3
        }
    );
    for run in runs {
        assert_eq!(stage.status(run).await, Queued);
    }
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept, Swept::default());
}

pub(crate) async fn sweep_of_ended_backoff_counts_no_fault(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentExited).await;
    let retry = stage.attempts(run).await[1].clone();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept, Swept::default(), "it is not over yet");
    stage.clock.set(retry.state.not_before().unwrap());
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(
        swept,
        Swept {
            backoffs: 1,
            faults: 0
        }
    );
    assert_eq!(stage.status(retry.id).await, Queued);
}

pub(crate) async fn sweep_keeps_blocked_runs_deferred(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    stage.say(session, "one").await;
    let behind = stage.say(session, "two").await.run_id;
    let paused = stage.session().await;
    let held = stage.say(paused, "one").await.run_id;
    let pause = SessionEvent::Pause;
    let moved = stage
        .store
        .move_session(stage.scope(), paused, pause, None, stage.now());
    moved.await.unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept, Swept::default());
    assert_eq!(stage.statuses([behind, held]).await, [Deferred, Deferred]);
}

pub(crate) async fn sweep_promotes_more_than_one_batch(db: &TestStore) {
    let stage = Stage::set(db).await;
    for _ in 0..250 {
        let session = stage.session().await;
        stage.say(session, "hello").await;
    }
    db.run(
        Scope::System,
        "update agent_runs set status = 'deferred'",
        params![],
    )
    .await
    .unwrap();
    let swept = stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(swept.faults, 250);
}

pub(crate) async fn sweep_starts_one_run_of_exclusive_automation(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.overlapping(SessionMode::Fresh, Overlap::Queue).await;
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
        Swept {
            backoffs: 0,
            faults: 1
        }
    );
    assert_eq!(stage.statuses([first, second]).await, [Queued, Deferred]);
}
