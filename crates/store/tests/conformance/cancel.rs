//! Cancelling runs: at once while they wait, by request while they execute.

use futures::future::join;
use model::{
    policy::SessionMode,
    run::RunStatus::{Cancelled, Delivered, Queued, Running, Skipped, Succeeded},
    turn::StartReply,
};
use store::{Error, Scope};

use crate::{
    fixtures::TestStore,
    locks::{claim_without_commit, wait_for_waiters},
    stage::Stage,
};

pub(crate) use crate::placement::unclaimed_files::close_of_session_cancels_its_file;

impl Stage {
    async fn cancel(&self, run: model::RunId) -> Result<model::run::RunStatus, Error> {
        let cancelled = self
            .store
            .cancel_run(self.scope(), run, "enough", self.now());
        cancelled.await
    }
}

pub(crate) async fn cancel_of_ended_run_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let bound = stage.bound_automation("standup", "web:nobody").await;
    let skipped = stage.fire(bound).await.run_id;
    for (run, state) in [(run, Succeeded), (skipped, Skipped)] {
        match stage.cancel(run).await {
            Err(Error::Refused(refused)) => assert_eq!(refused.state, state.as_str()),
            other => panic!("{other:?}"),
        }
        assert_eq!(stage.status(run).await, state);
    }
}

pub(crate) async fn run_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let cancelled = stage.store.cancel_run(other, run, "x", stage.now()).await;
    assert!(
        matches!(cancelled, Err(Error::NotFound { .. })),
        "{cancelled:?}"
    );
    let found = stage.store.run(other, run).await;
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
    let record = stage.store.run_record(other, run).await.unwrap();
    assert_eq!(record, None);
    assert_eq!(stage.status(run).await, Queued);
}

pub(crate) async fn waiting_run_is_cancelled_at_once_and_frees_its_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    let third = stage.send_message(session, "three").await.run_id;
    assert_eq!(stage.cancel(second).await.unwrap(), Cancelled);
    assert_eq!(stage.cancel(first).await.unwrap(), Cancelled);
    assert_eq!(
        stage.statuses([first, second, third]).await,
        [Cancelled, Cancelled, Queued]
    );
    assert_eq!(
        stage.transcript(session).await,
        vec!["system: The turn was cancelled: enough."; 2]
    );
}

pub(crate) async fn cancel_of_claimed_or_running_run_is_only_requested(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.claim().await;
    assert_eq!(stage.cancel(run).await.unwrap(), Delivered);
    let requested_at = stage.run(run).await.state.cancel_requested_at();
    assert_eq!(requested_at, Some(stage.now()));

    let other = stage.session().await;
    let run = stage.send_message(other, "hello").await.run_id;
    stage.start(run).await;
    assert_eq!(stage.cancel(run).await.unwrap(), Running);
    assert_eq!(stage.run(run).await.state.ended_at(), None);
}

pub(crate) async fn cancel_of_session_runs_starts_no_deferred_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("standup", "web:1").await;
    let runs = stage.send_message(session, "one").await.run_id;
    let waits = stage.send_message(session, "two").await.run_id;
    let fired = stage.fire(automation).await.run_id;
    stage.start(runs).await;
    let cancelled = stage
        .store
        .cancel_session_runs(stage.scope(), session, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), 3);
    assert_eq!(
        stage.statuses([runs, waits, fired]).await,
        [Running, Cancelled, Cancelled]
    );
    let idle = stage.session().await;
    let queued = stage.send_message(idle, "one").await.run_id;
    let deferred = stage.send_message(idle, "two").await.run_id;
    let cancelled = stage
        .store
        .cancel_session_runs(stage.scope(), idle, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), 2);
    assert_eq!(
        stage.statuses([queued, deferred]).await,
        [Cancelled, Cancelled]
    );
}

pub(crate) async fn cancel_starts_next_run_of_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_overlap(SessionMode::Fresh, model::policy::Overlap::Queue)
        .await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    assert_eq!(stage.cancel(first).await.unwrap(), Cancelled);
    assert_eq!(stage.status(second).await, Queued);
}

pub(crate) async fn cancel_that_meets_claim_is_requested(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    let claimed = claim_without_commit(db, &stage, run).await;
    let committing = async {
        wait_for_waiters(db, 1).await;
        claimed.commit().await.unwrap();
    };
    let (cancelled, ()) = Box::pin(join(stage.cancel(run), committing)).await;
    assert_eq!(cancelled.unwrap(), Delivered);
    let reply = stage.begin(run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    assert_eq!(stage.status(run).await, Cancelled);
}
