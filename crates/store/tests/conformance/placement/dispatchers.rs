//! The claims of dispatchers on due files.

use model::{
    Timestamp,
    limits::{REDELIVER_AFTER, TRIGGER_FILE_LEASE},
    run::RunStatus,
    session::SessionEvent,
    turn::WriteOutcome,
};
use store::{Scope, TriggerFileWrite, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance},
};

pub(crate) async fn files_are_claimed_for_one_instance(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (there, other) = (stage.directory(7).await, stage.directory(8).await);
    for _ in 0..3 {
        stage.message_to(there).await;
    }
    stage.advance_seconds(1);
    let (_, run) = stage.message_to(other).await;
    let due = stage.store.next_trigger_files().await.unwrap();
    let due: Vec<_> = due.into_iter().collect();
    assert_eq!(due.len(), 2, "{due:?}");
    assert!(due.contains(&(other, stage.now())), "{due:?}");
    // The backlog of one instance, which comes first, hides no file of the other one.
    let claimed = stage.files_of(other, 1).await;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    assert_eq!((claimed[0].run, claimed[0].instance), (run, other));
    assert_eq!(stage.files_of(there, 2).await.len(), 2);
    assert_eq!(stage.files_of(there, 2).await.len(), 1);
    assert_eq!(stage.files_of(instance(9), 2).await, []);
}

pub(crate) async fn lease_of_dispatcher_ends(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run) = stage.message_to(there).await;
    let lost = stage.file().await;
    stage.advance_seconds(TRIGGER_FILE_LEASE.as_secs());
    let taken_over = stage.file().await;
    assert_eq!((taken_over.run, taken_over.attempt), (run, 2));
    assert_eq!(taken_over.named_at, lost.named_at);
    let late = stage.confirm(&lost, TriggerFileWrite::Written).await;
    assert_eq!(
        (late, stage.status(run).await),
        (WriteOutcome::Fenced, RunStatus::Queued)
    );
    stage
        .deliver(&taken_over, TriggerFileWrite::AlreadyThere)
        .await;
    assert_eq!(stage.status(run).await, RunStatus::Delivered);
}

/// Servers of earlier versions count attempts, and do not record which attempt of a runtime took a file.
pub(crate) async fn files_of_earlier_servers_are_looked_for_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (there, other) = (stage.directory(7).await, stage.directory(8).await);
    let (session, run, _) = stage.delivered(there).await;
    let resume = async || {
        stage.move_on(session, SessionEvent::Pause).await;
        stage.move_on(session, SessionEvent::Resume).await;
    };
    let change = async |sql: &str, at: Timestamp| {
        let params = params![run, at];
        db.run(Scope::System, sql, params).await.unwrap();
    };
    // 1. The pause takes the file back, and an earlier server delivers it again.
    resume().await;
    let claim =
        "update trigger_files set attempt = attempt + 1, next_attempt_at = $2 where run_id = $1";
    let lease = stage.now() + TRIGGER_FILE_LEASE;
    change(claim, lease).await;
    let next = stage.store.next_trigger_files().await.unwrap();
    assert!(next.into_iter().eq([(there, lease)]));
    let deliver = "update agent_runs set status = 'delivered', worker_id = 'trigger-file', claimed_at = $2 where id = $1";
    change(deliver, stage.now()).await;
    stage.advance_seconds(REDELIVER_AFTER.as_secs());
    let again = stage.file().await;
    assert_eq!((again.run, again.instance), (run, there));
    stage.deliver(&again, TriggerFileWrite::Written).await;
    // 2. An earlier server takes the file back, and the run is queued again for another instance.
    resume().await;
    let take = "update trigger_files set taken_attempt = 0, next_attempt_at = $2 where run_id = $1";
    change(take, stage.now()).await;
    let next = stage.store.next_trigger_files().await.unwrap();
    assert!(next.into_iter().eq([(there, stage.now())]));
    db.run(
        Scope::System,
        "update agent_runs set instance_id = $1 where id = $2",
        params![other, run],
    )
    .await
    .unwrap();
    let moved = stage.file().await;
    assert_eq!((moved.run, moved.instance), (run, other));
}
