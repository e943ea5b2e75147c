//! Attempts at turns of tasks that follow a lost one: their prompts have the state that it has left.

use model::{SessionId, goal::Reviews, prompt::fenced};
use store::{GoalChange, StagedCancellation, ToolCaller};

use super::stage::{done, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    /// Loses the worker of a seat's turn, and begins the next attempt. Returns its agent as a caller of tools, and its prompt.
    async fn begin_after_loss(
        &self,
        db: &TestStore,
        session: SessionId,
        (lost, seat): (&ToolCaller, &str),
    ) -> (ToolCaller, String) {
        self.advance_seconds(3600);
        assert_eq!(self.stall().await, [lost.run]);
        self.advance_seconds(60);
        self.store.promote_due(self.now()).await.unwrap();
        let again = self.turn(db, session, seat).await;
        let record = self.store.run_record(self.scope(), again.run).await;
        let record = record.unwrap().unwrap();
        assert_eq!(record.prompt_ref.unwrap().id, "turn.interrupted");
        (again, record.rendered_prompt.unwrap())
    }
}

pub(crate) async fn attempt_after_lost_worker_names_staged_changes(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    // The prompt of the turn was rendered before it staged anything, and so is that of an attempt that stages nothing.
    let (planner, prompt) = stage
        .begin_after_loss(db, session, (&planner, "planner"))
        .await;
    assert!(!prompt.contains("staged"), "{prompt}");
    let mail = stage.stage_task(&planner, &work("mail", &[])).await;
    assert_eq!(mail.unwrap(), 1);
    let now = stage.now();
    let cancelled = stage.store.stage_cancellation(&planner, "b", now).await;
    assert_eq!(cancelled.unwrap(), StagedCancellation::Staged(2));
    let (again, prompt) = stage
        .begin_after_loss(db, session, (&planner, "planner"))
        .await;
    let named =
        "\n\nThe plan makes these tasks:\n- mail: Do mail\n\nThe plan cancels these tasks: `b`\n\n";
    assert!(prompt.contains(named), "{prompt}");
    // An agent with a new memory chooses another key, and withdraws the task of the lost attempt.
    let letter = stage.stage_task(&again, &work("letter", &[])).await;
    assert_eq!(letter.unwrap(), 3);
    let now = stage.now();
    let withdrawn = stage.store.stage_cancellation(&again, "mail", now).await;
    assert_eq!(withdrawn.unwrap(), StagedCancellation::Withdrawn(2));
    stage.succeed(again.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let tasks = view.tasks.iter();
    let tasks: Vec<String> = tasks
        .map(|task| format!("{} {}", task.key, task.status))
        .collect();
    for expected in ["b CANCELLED", "letter READY", "plan#2 DONE"] {
        assert!(tasks.contains(&expected.to_owned()), "{tasks:?}");
    }
    assert!(!tasks.iter().any(|it| it.starts_with("mail")), "{tasks:?}");
}

pub(crate) async fn attempt_after_lost_worker_has_its_report(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    // 1. The worker. Its next attempt reports nothing more, so that the judge gets the result.
    let worker = stage.turn(db, session, "worker").await;
    let result = "The mail.\nIt is short.";
    stage.report(&worker, &done(result)).await.unwrap();
    let (again, prompt) = stage
        .begin_after_loss(db, session, (&worker, "worker"))
        .await;
    let state = "has reported the status `done`. This report counts if the turn reports nothing more. A call of \
        `update_task` replaces all of it.";
    assert!(prompt.contains(state), "{prompt}");
    let report = fenced(&format!("result: {result}"));
    assert!(prompt.contains(&report), "{prompt}");
    stage.succeed(again.run).await;
    // 2. The judge.
    let judge = stage.turn(db, session, "judge").await;
    let content = stage.run(judge.run).await.content;
    assert!(content.contains(&fenced(result)), "{content}");
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    let (again, prompt) = stage.begin_after_loss(db, session, (&judge, "judge")).await;
    let state = "has reported the status `accept`. ";
    assert!(prompt.contains(state), "{prompt}");
    let report = fenced("evidence: read it");
    assert!(prompt.contains(&report), "{prompt}");
    stage.succeed(again.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}
