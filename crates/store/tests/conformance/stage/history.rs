//! A history of runs for lists.

use model::{
    AutomationId, SessionId, entity::Run, outcome::FailureKind, policy::SessionMode,
    session::SessionEvent,
};
use store::RunFilter;

use super::Stage;

/// The IDs of a history.
pub(crate) struct History {
    pub(crate) sessions: [SessionId; 3],
    pub(crate) automations: [AutomationId; 2],
}

/// Creates runs of every origin and of most statuses.
pub(crate) async fn history(stage: &Stage) -> History {
    let talk = stage.keyed_session(Some("web:100%_Talk")).await;
    let report = stage.automation("report", SessionMode::Fresh).await;
    let standup = stage.bound_automation("Stand-up", "web:nobody").await;
    stage.fire(standup).await;
    let failing = stage.send_message(talk, "one").await.run_id;
    stage.start(failing).await;
    stage.fail(failing, FailureKind::AgentError).await;
    let again = stage
        .store
        .retry_run(stage.scope(), failing, None, stage.now());
    let again = again.await.unwrap().run_id;
    stage.start(again).await;
    stage.succeed(again).await;
    let fired = stage.fire(report).await.run_id;
    let fired_in = stage.session_of(fired).await;
    stage.start(fired).await;
    stage
        .end(fired, &super::failed(FailureKind::Start, false))
        .await;
    let quiet = stage.session().await;
    let running = stage.send_message(talk, "two").await.run_id;
    stage.start(running).await;
    for words in ["three", "four", "five"] {
        stage.send_message(talk, words).await;
    }
    stage.send_message(quiet, "hello").await;
    let closed = stage.store.transition_session(
        stage.scope(),
        quiet,
        SessionEvent::Complete,
        None,
        stage.now(),
    );
    closed.await.unwrap();
    stage.send_message(stage.session().await, "queued").await;
    History {
        sessions: [talk, fired_in, quiet],
        automations: [report, standup],
    }
}

/// Returns `true` if a list with the filter shows the run.
pub(crate) fn matches_filter(filter: &RunFilter, run: &Run) -> bool {
    filter.session.is_none_or(|id| run.session_id == Some(id))
        && filter
            .automation
            .is_none_or(|id| run.automation_id == Some(id))
        && (filter.statuses.is_empty() || filter.statuses.contains(&run.status()))
        && filter.origin.is_none_or(|origin| run.origin == origin)
        && (!filter.occurrences_only || run.trigger_id.is_some())
}
