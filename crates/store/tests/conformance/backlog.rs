//! Missed instants: their own row, and no effect on other work.

use model::{policy::SessionMode, run::RunStatus};
use store::{FireReport, Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) async fn backlog_before_pause_or_deletion_is_recorded_as_missed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for (name, deleted) in [("paused", false), ("deleted", true)] {
        let automation = stage
            .automation_with_triggers(name, SessionMode::Fresh, &[hourly()])
            .await;
        // The scheduler did not poll for three hours, and then a transaction held the lock.
        stage.advance_seconds(3 * 60 * 60);
        let (scope, now) = (stage.scope(), stage.now());
        if deleted {
            let done = stage.store.delete_automation(scope, automation, now);
            done.await.unwrap();
        } else {
            let done = stage.store.pause_automation(scope, automation, "x", now);
            done.await.unwrap();
        }
        let runs = stage.runs_of(automation).await;
        assert_eq!(runs.len(), 1, "{name}");
        assert_eq!(runs[0].status(), RunStatus::Missed);
        assert_eq!(runs[0].state.occurrences(), 3);
        assert_eq!(stage.fire_due().await, FireReport::default());
    }
}

pub(crate) async fn corrupt_automation_does_not_block_others(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let broken = stage
        .automation_with_triggers("broken", SessionMode::Fresh, &[hourly()])
        .await;
    let sound = stage
        .automation_with_triggers("sound", SessionMode::Fresh, &[hourly()])
        .await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = serde_json::json!({ "overlap": "a corrupt word" });
    let params = params![&policies, broken];
    db.run(Scope::System, sql, params).await.unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(stage.runs_of(sound).await.len(), 1);
    assert_eq!(stage.runs_of(broken).await.len(), 0);
    assert_eq!(stage.fire_due().await, FireReport::default());
}

pub(crate) async fn corrupt_automation_can_be_deleted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let broken = stage
        .automation_with_triggers("broken", SessionMode::Continuous, &[hourly()])
        .await;
    let first = stage.fire(broken).await.run_id;
    let session = stage.session_of(first).await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = serde_json::json!({ "overlap": "a corrupt word" });
    db.run(Scope::System, sql, params![&policies, broken])
        .await
        .unwrap();
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let remove = |scope| stage.store.delete_automation(scope, broken, stage.now());
    assert!(matches!(
        remove(other).await,
        Err(store::Error::NotFound { .. })
    ));
    remove(stage.scope()).await.unwrap();
    assert!(matches!(
        remove(stage.scope()).await,
        Err(store::Error::NotFound { .. })
    ));
    let listed = stage.store.automations(stage.scope()).await.unwrap();
    assert!(listed.readable.is_empty() && listed.corrupt.is_empty());
    assert_eq!(
        stage.status(first).await,
        RunStatus::Cancelled,
        "the waiting run is cancelled"
    );
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    // The seat is free again.
    let message_run = stage.send_message(session, "hello").await.run_id;
    stage.start(message_run).await;
    stage.succeed(message_run).await;
}
