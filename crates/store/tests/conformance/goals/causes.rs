//! The causes of failed tasks, as people see them.

use model::{
    SessionId,
    goal::{GoalState, ReportBody, ReportStatus, StuckCause, TaskStatus},
    outcome::FailureKind,
    run::RunStatus,
};
use serde_json::json;
use store::{GoalChange, TaskReport};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

impl Stage {
    /// Returns the reason of a task with the text behind it.
    async fn cause(&self, session: SessionId, key: &str) -> (Option<&'static str>, Option<String>) {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        let found = view.tasks.into_iter().find(|task| task.key == key);
        let task = found.unwrap();
        let details = self.store.task_details(self.scope(), task.id).await;
        assert_eq!(details.unwrap().task, task);
        (task.reason, task.cause)
    }
}

/// Returns the report of a failed task.
fn failed(result: Option<&str>) -> TaskReport {
    TaskReport {
        status: ReportStatus::Failed,
        body: ReportBody {
            result: result.map(str::to_owned),
            ..ReportBody::default()
        },
    }
}

pub(crate) async fn plan_that_fails_names_its_cause(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // 1. The planner makes no task.
    let session = stage.goal(team(1, None)).await;
    for words in ["Let me think.", "The folder is empty."] {
        assert_eq!(stage.cause(session, "plan#1").await, (None, None));
        let planner = stage.turn(db, session, "planner").await;
        stage.list_tools(&planner).await;
        stage.end(planner.run, &answer(words)).await;
    }
    let cause = stage.cause(session, "plan#1").await;
    let words = "The folder is empty.".to_owned();
    assert_eq!(cause, (Some("no plan"), Some(words)));
    // 2. The plan is refused twice.
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    for task in [work("a", &["b"]), work("b", &["a"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    stage.succeed(planner.run).await;
    assert_eq!(stage.cause(session, "plan#1").await, (None, None));
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    let (reason, faults) = stage.cause(session, "plan#1").await;
    assert_eq!(reason, Some("plan refused"));
    let faults = faults.unwrap();
    assert!(faults.contains("makes the cycle"), "{faults}");
}

pub(crate) async fn work_that_fails_names_its_cause(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b", "c", "d"].map(|key| work(key, &[]));
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let used_up = |cause: &str| (Some("attempts used up"), Some(cause.to_owned()));
    // 1. The turns fail.
    for _ in 0..2 {
        assert_eq!(stage.cause(session, "a").await, (None, None));
        let worker = stage.turn(db, session, "worker-1").await;
        stage.fail(worker.run, FailureKind::Settings).await;
    }
    let cause = stage.cause(session, "a").await;
    assert_eq!(cause, used_up("The turn failed: it broke."));
    // 2. The agent reports that it has failed, and the report has its reason.
    for result in ["Once more.", "I may not."] {
        let worker = stage.turn(db, session, "worker-1").await;
        let report = failed(Some(result));
        stage.report(&worker, &report).await.unwrap();
        stage.succeed(worker.run).await;
    }
    assert_eq!(stage.cause(session, "b").await, used_up("I may not."));
    // 3. Only the answer has the reason.
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.report(&worker, &failed(None)).await.unwrap();
        stage.end(worker.run, &answer("A file is missing.")).await;
    }
    let cause = stage.cause(session, "c").await;
    assert_eq!(cause, used_up("A file is missing."));
    // The details have it, too, until a person accepts the task.
    let task = stage.task_id(session, "c").await;
    let details = stage.store.task_details(stage.scope(), task).await.unwrap();
    assert_eq!((details.task.reason, details.task.cause), cause);
    let accept = GoalChange::Accept("c".into());
    stage.change(session, accept).await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let accepted = view.tasks.iter().find(|task| task.key == "c").unwrap();
    assert_eq!(accepted.status, TaskStatus::Done);
    assert_eq!(accepted.cause, None);
    // 4. The last turn has no report, so the faults of the report before are not the cause.
    let long = json!({ "status": "done", "result": "r".repeat(1 << 20) });
    let long = answer(&format!("Done.\n\n```json\n{long}\n```\n"));
    let worker = stage.turn(db, session, "worker-1").await;
    stage.end(worker.run, &long).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.list_tools(&worker).await;
    stage
        .end(worker.run, &answer("I may not write there."))
        .await;
    let words = "I may not write there.".to_owned();
    let cause = stage.cause(session, "d").await;
    assert_eq!(cause, (Some("no result reported"), Some(words)));
}

pub(crate) async fn task_whose_turn_is_cancelled_waits_for_person(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b", "c"].map(|key| work(key, &[]));
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let scope = stage.scope();
    let cancel = |run| stage.store.cancel_run(scope, run, "enough", stage.now());
    let text = "The turn was cancelled: enough.".to_owned();
    let cancelled = (Some("turn cancelled"), Some(text));
    // 1. A turn under way, and one that waits.
    let worker = stage.turn(db, session, "worker-1").await;
    assert_eq!(cancel(worker.run).await.unwrap(), RunStatus::Running);
    stage.fail(worker.run, FailureKind::AgentError).await;
    assert_eq!(stage.cause(session, "a").await, cancelled);
    let run = stage.open_run(db, session, "worker-1").await.unwrap();
    assert_eq!(cancel(run).await.unwrap(), RunStatus::Cancelled);
    assert_eq!(stage.cause(session, "b").await, cancelled);
    // 2. One that has reported its result.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Half of it")).await.unwrap();
    assert_eq!(cancel(worker.run).await.unwrap(), RunStatus::Running);
    stage.fail(worker.run, FailureKind::AgentError).await;
    assert_eq!(stage.cause(session, "c").await, cancelled);
    // 3. No plan follows, because the person decides. A plan that the person requests leaves the tasks to them.
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(stage.goal_state(session).await, stuck);
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let prompt = stage.run(planner.run).await.content;
    assert!(!prompt.contains("a task has failed"), "{prompt}");
    let line = "FAILED a: Do a: turn cancelled (turns: 1). A person decides about it, so no new task replaces it.";
    assert!(prompt.contains(line), "{prompt}");
    // 4. A retry starts it again, and says that work may be done.
    let retried = stage.change(session, GoalChange::Retry("a".into())).await;
    assert_eq!(retried.unwrap(), GoalState::Active);
    let worker = stage.turn(db, session, "worker-1").await;
    let prompt = stage.run(worker.run).await.content;
    let again = "This task starts again. Some of the work may already be done";
    assert!(prompt.contains(again), "{prompt}");
    assert!(
        prompt.contains("The turn was cancelled: enough."),
        "{prompt}"
    );
    // 5. The result that was reported is that of the accepted task.
    stage
        .change(session, GoalChange::Accept("c".into()))
        .await
        .unwrap();
    let accepted = stage.task_id(session, "c").await;
    let accepted = stage.store.task_details(scope, accepted).await.unwrap();
    assert_eq!(accepted.task.result.as_deref(), Some("Half of it"));
}
