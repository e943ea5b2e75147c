//! Another attempt on request of a person.

use model::{
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Deferred, Failed, Queued, Succeeded},
    session::SessionEvent,
};
use store::Error;

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed},
};

impl Stage {
    async fn retry_manually(&self, run: model::RunId) -> Result<model::turn::SubmittedRun, Error> {
        self.store
            .retry_run(self.scope(), run, None, self.now())
            .await
    }

    async fn retry_refusal(&self, run: model::RunId) -> String {
        match self.retry_manually(run).await.unwrap_err() {
            Error::Refused(refused) => refused.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn retry_of_run_without_failure_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert!(stage.retry_refusal(run).await.contains("is queued"));
    stage.start(run).await;
    assert!(stage.retry_refusal(run).await.contains("is running"));
    stage.succeed(run).await;
    assert!(stage.retry_refusal(run).await.contains("has succeeded"));
    let skipped = stage.bound_automation("standup", "web:nobody").await;
    let skipped = stage.fire(skipped).await.run_id;
    assert!(stage.retry_refusal(skipped).await.contains("was skipped"));
    let other = stage
        .store
        .ensure_tenant("other", stage.now())
        .await
        .unwrap();
    let foreign = stage
        .store
        .retry_run(store::Scope::Tenant(other), run, None, stage.now());
    assert!(matches!(foreign.await, Err(Error::NotFound { .. })));
}

pub(crate) async fn failed_run_is_retried_once_with_interrupted_prompt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    assert_eq!(stage.status(run).await, Failed);

    let again = stage.retry_manually(run).await.unwrap();
    assert_eq!(again.status, Queued);
    let message = stage.retry_refusal(run).await;
    assert!(message.contains(&again.run_id.to_string()), "{message}");
    let attempts = stage.attempts(run).await;
    assert_eq!(attempts.len(), 2);
    assert_eq!((attempts[1].attempt, attempts[1].failures), (2, 1));
    let prompt = stage.start(again.run_id).await.prompt;
    assert_eq!(prompt.prompt_ref.id, "turn.interrupted");
    assert!(prompt.text.contains(&run.to_string()));
    stage.succeed(again.run_id).await;
    assert_eq!(
        stage.statuses([run, again.run_id]).await,
        [Failed, Succeeded]
    );
    assert!(stage.retry_refusal(run).await.contains("succeeded"));
}

pub(crate) async fn manual_retry_of_unseen_prompt_sends_it_unchanged(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.end(run, &failed(FailureKind::SignIn, false)).await;
    let again = stage.retry_manually(run).await.unwrap().run_id;
    assert_eq!(stage.start(again).await.prompt.text.trim_end(), "hello");
    // The agent has not seen the input of a run that was cancelled before it began.
    let waits = stage.send_message(session, "later").await.run_id;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), waits, "x", stage.now());
    cancelled.await.unwrap();
    stage.succeed(again).await;
    let again = stage.retry_manually(waits).await.unwrap().run_id;
    let attempts = stage.attempts(waits).await;
    assert_eq!(attempts[1].failures, 0, "a cancellation is no failure");
    assert_eq!(stage.start(again).await.prompt.text.trim_end(), "later");
}

pub(crate) async fn manual_retry_is_allowed_after_attempts_are_exhausted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Continuous).await;
    let mut run = stage.fire(automation).await.run_id;
    for _ in 0..3 {
        stage.advance_seconds(60 * 60);
        stage.store.promote_due(stage.now()).await.unwrap();
        stage.start(run).await;
        stage.end(run, &failed(FailureKind::Start, false)).await;
        run = stage.attempts(run).await.last().unwrap().id;
    }
    assert_eq!(stage.attempts(run).await.len(), 3);
    let again = stage.retry_manually(run).await.unwrap().run_id;
    stage.start(again).await;
    stage.end(again, &failed(FailureKind::Start, false)).await;
    assert_eq!(
        stage.attempts(run).await.len(),
        4,
        "no automatic retry follows"
    );
    // When a manual attempt succeeds, it resets the automation's consecutive failures.
    let last = stage.retry_manually(again).await.unwrap().run_id;
    stage.start(last).await;
    stage.succeed(last).await;
    let automation = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(automation.unwrap().consecutive_failures, 0);
}

pub(crate) async fn retry_in_closed_session_or_deleted_automation_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    let closed = stage.store.transition_session(
        stage.scope(),
        session,
        SessionEvent::Complete,
        None,
        stage.now(),
    );
    closed.await.unwrap();
    assert!(stage.retry_refusal(run).await.contains("session is done"));
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    let removed = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    removed.await.unwrap();
    let message = stage.retry_refusal(run).await;
    assert!(
        message.contains("is deleted, so it cannot run again"),
        "{message}"
    );
    assert_eq!(stage.attempts(run).await.len(), 1);
}

pub(crate) async fn manual_retry_waits_for_busy_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    let other = stage.send_message(session, "other").await.run_id;
    stage.start(other).await;
    let again = stage.retry_manually(run).await.unwrap();
    assert_eq!(again.status, Deferred);
    stage.succeed(other).await;
    assert_eq!(stage.status(again.run_id).await, Queued);
}

pub(crate) async fn concurrent_manual_retries_create_one_attempt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    let replies = futures::future::join_all((0..8).map(|_| stage.retry_manually(run))).await;
    assert_eq!(replies.iter().filter(|reply| reply.is_ok()).count(), 1);
    assert_eq!(stage.attempts(run).await.len(), 2);
}
