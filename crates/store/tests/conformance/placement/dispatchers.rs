//! The claims of dispatchers on due files.

use model::{limits::TRIGGER_FILE_LEASE, run::RunStatus, turn::WriteOutcome};
use store::TriggerFileWrite;

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
