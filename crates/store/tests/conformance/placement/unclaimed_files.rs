//! Requests of people that meet a run whose trigger file waits: it has not begun, so it is treated as a queued one.

use model::{
    SessionId, WorkerId,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Cancelled, Deferred, Delivered, Queued, Skipped},
    session::SessionEvent,
    turn::WriteOutcome,
};
use store::{Error, SessionDeletion, TriggerFileWrite};

use super::column;
use crate::{fixtures::TestStore, stage::Stage};

fn runtime() -> WorkerId {
    WorkerId::from_stored("runtime-1-00000001".into())
}

impl Stage {
    /// Fires an automation that is placed on an instance, and delivers the file of the run.
    async fn delivered_occurrence(
        &self,
        on: model::InstanceId,
        change: impl FnOnce(&mut store::NewAutomation),
    ) -> (model::AutomationId, model::RunId) {
        let mut new = self.new_automation("report", SessionMode::Fresh);
        new.placed_on = Some(on);
        change(&mut new);
        let automation = self.create(&new).await;
        let run = self.fire(automation).await.run_id;
        let file = self.file().await;
        self.deliver(&file, TriggerFileWrite::Written).await;
        assert_eq!(self.status(run).await, Delivered);
        (automation, run)
    }

    async fn delete(&self, session: SessionId) -> SessionDeletion {
        let deleted = self
            .store
            .delete_session(self.tenant, session, false, self.now());
        deleted.await.unwrap()
    }
}

pub(crate) async fn pause_takes_file_back(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (session, run, first) = stage.delivered(there).await;
    stage.advance_seconds(1);
    stage.move_on(session, SessionEvent::Pause).await;
    assert_eq!(stage.status(run).await, Deferred);
    assert!(!stage.runtime_claims(&runtime(), there, run).await);
    assert_eq!(stage.files().await, []);
    // The next look for the file would be in ten minutes. A resumed run does not wait for it.
    stage.move_on(session, SessionEvent::Resume).await;
    assert_eq!(stage.status(run).await, Queued);
    let second = stage.file().await;
    assert_eq!((second.run, second.named_at), (run, stage.now()));
    let late = stage.confirm(&first, TriggerFileWrite::Written).await;
    assert_eq!(late, WriteOutcome::Fenced);
    stage.deliver(&second, TriggerFileWrite::Written).await;
    assert_eq!(stage.status(run).await, Delivered);
    // A dispatcher that is writing a file meanwhile changes nothing.
    let (session, run) = stage.message_to(there).await;
    let writing = stage.file().await;
    stage.move_on(session, SessionEvent::Pause).await;
    let late = stage.confirm(&writing, TriggerFileWrite::Written).await;
    assert_eq!(late, WriteOutcome::Fenced);
    assert_eq!(stage.status(run).await, Deferred);
    stage.advance_seconds(1);
    stage.move_on(session, SessionEvent::Resume).await;
    assert_eq!(stage.file().await.run, run);
}

pub(crate) async fn close_of_session_cancels_its_file(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    for event in [SessionEvent::Complete, SessionEvent::Fail] {
        let (session, run, _) = stage.delivered(there).await;
        let next = stage.send_message(session, "next").await.run_id;
        stage.move_on(session, event).await;
        assert_eq!(stage.statuses([run, next]).await, [Cancelled, Cancelled]);
        assert!(!stage.runtime_claims(&runtime(), there, run).await);
        assert_eq!(stage.files().await, []);
        // The search for the next file does not read it any more.
        let untaken = "select count(*) as found from trigger_files where taken_attempt <> attempt";
        assert_eq!(column::<i64>(db, untaken).await, 0);
    }
}

pub(crate) async fn automation_deletion_cancels_file(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (automation, run) = stage.delivered_occurrence(there, |_| {}).await;
    let deleted = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    deleted.await.unwrap();
    assert_eq!(stage.status(run).await, Cancelled);
    assert!(!stage.runtime_claims(&runtime(), there, run).await);
}

pub(crate) async fn deletion_counts_no_turn_for_file(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (session, run, _) = stage.delivered(there).await;
    let SessionDeletion::Deleted {
        cancelled_turns, ..
    } = stage.delete(session).await
    else {
        panic!("the session still exists");
    };
    assert_eq!(cancelled_turns, 0);
    let found = stage.store.run(stage.scope(), run).await;
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
    assert!(!stage.runtime_claims(&runtime(), there, run).await);
    assert_eq!(stage.files().await, []);
    // A turn that a runtime has counts.
    let (session, run, _) = stage.delivered(there).await;
    assert!(stage.runtime_claims(&runtime(), there, run).await);
    let deleted = stage.delete(session).await;
    let is_counted =
        matches!(deleted, SessionDeletion::Deleted { cancelled_turns, .. } if cancelled_turns == 1);
    assert!(is_counted, "{deleted:?}");
}

pub(crate) async fn edit_rewrites_file_of_message(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run, first) = stage.delivered(there).await;
    let edit = async |seen: &str, to: &str| {
        let scope = stage.scope();
        let edited = stage.store.edit_message(scope, run, seen, to, stage.now());
        edited.await
    };
    // 1. The file is due at once, with the new text under the same name.
    stage.advance_seconds(1);
    edit("hello", "goodbye").await.unwrap();
    let found = stage.run(run).await;
    assert_eq!(
        (found.status(), found.content.as_str()),
        (Delivered, "goodbye")
    );
    let second = stage.file().await;
    assert_eq!((second.run, second.named_at), (run, first.named_at));
    assert_eq!(second.content.task, "goodbye");
    // 2. An edit while the file is written makes another write due.
    edit("goodbye", "hello again").await.unwrap();
    let late = stage.confirm(&second, TriggerFileWrite::Written).await;
    assert_eq!(late, WriteOutcome::Fenced);
    let third = stage.file().await;
    assert_eq!(third.content.task, "hello again");
    stage.deliver(&third, TriggerFileWrite::Written).await;
    // 3. A claimed run is no longer edited.
    assert!(stage.runtime_claims(&runtime(), there, run).await);
    let refused = edit("hello again", "late").await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    assert_eq!(stage.run(run).await.content, "hello again");
}

pub(crate) async fn file_counts_as_waiting_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let limit = |new: &mut store::NewAutomation| {
        new.policies.overlap = Some(Overlap::Allow);
        new.policies.queue_limit = 1;
    };
    let (automation, run) = stage.delivered_occurrence(there, limit).await;
    let full = stage.fire(automation).await;
    assert_eq!(full.status, Skipped);
    let skipped = stage.run(full.run_id).await;
    assert_eq!(skipped.state.reason(), Some("queue full"));
    // A run that a runtime has leaves the queue.
    assert!(stage.runtime_claims(&runtime(), there, run).await);
    assert_eq!(stage.fire(automation).await.status, Queued);
}
