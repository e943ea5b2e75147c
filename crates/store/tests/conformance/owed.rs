//! What nobody looked at in time: a row of its own, and nobody else held up.

use model::{policy::SessionMode, run::RunStatus};
use store::{Fired, Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) async fn what_was_due_before_a_pause_or_an_end_has_its_row(db: &TestStore) {
    let stage = Stage::set(db).await;
    for (name, deleted) in [("paused", false), ("deleted", true)] {
        let automation = stage.triggered(name, SessionMode::Fresh, &[hourly()]).await;
        // Nobody looked for three hours, and then somebody held it.
        stage.wait(3 * 60 * 60);
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
        assert_eq!(runs[0].status, RunStatus::Missed);
        assert_eq!(runs[0].occurrences, 3);
        assert_eq!(stage.fire_due().await, Fired::default());
    }
}

pub(crate) async fn a_row_that_cannot_be_read_holds_up_no_other(db: &TestStore) {
    let stage = Stage::set(db).await;
    let broken = stage
        .triggered("broken", SessionMode::Fresh, &[hourly()])
        .await;
    let sound = stage
        .triggered("sound", SessionMode::Fresh, &[hourly()])
        .await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = serde_json::json!({ "of_a_later_version": true });
    let params = params![&policies, broken];
    db.run(Scope::System, sql, params).await.unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(stage.runs_of(sound).await.len(), 1);
    assert_eq!(stage.runs_of(broken).await.len(), 0);
    assert_eq!(stage.fire_due().await, Fired::default());
}
