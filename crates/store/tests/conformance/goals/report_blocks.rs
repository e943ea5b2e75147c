//! Blocks in answers, which are refused for what the tools refuse, and the prose of a report, which is cut.

use model::{
    artifact::ArtifactContent,
    goal::{Reviews, text_limits::PROSE_BYTES},
};
use serde_json::{Value, json};
use store::{NewArtifact, ToolCaller};

use super::stage::{done, team, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

impl Stage {
    /// Ends a turn by an answer with a block.
    async fn end_with_block(&self, turn: &ToolCaller, block: &Value) {
        let text = format!("Here it is.\n\n```json\n{block}\n```\n");
        self.end(turn.run, &answer(&text)).await;
    }
}

pub(crate) async fn cancelled_in_answer_completes_no_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, None);
    team.seats[1].accept_answers = true;
    let session = stage.planned_goal(db, team, &[work("a", &[])]).await;
    let block = json!({ "status": "cancelled", "result": "There is no access." });
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.end_with_block(&worker, &block).await;
    }
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(stage.tasks(session).await[1], "a FAILED nothing");
    let result = view.tasks[1].result.as_deref();
    assert_eq!(result, Some("There is no access."));
}

pub(crate) async fn blank_proposal_in_answer_requests_no_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    let block = json!({ "status": "done", "result": "A", "follow_up": "" });
    stage.end_with_block(&worker, &block).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1], "a DONE nothing");
    assert!(
        !tasks.iter().any(|it| it.starts_with("plan#2")),
        "{tasks:?}"
    );
}

pub(crate) async fn block_is_refused_for_what_tools_refuse(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut task = work("a", &[]);
    task.acceptance = vec!["It is short.".into()];
    let plan = [task, work("b", &["a"])];
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &plan)
        .await;
    let refuse = async |seat: &str, block: Value, reason: &str| {
        let turn = stage.turn(db, session, seat).await;
        stage.end_with_block(&turn, &block).await;
        let turn = stage.turn(db, session, seat).await;
        let run = stage.run(turn.run).await;
        assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
        assert!(run.content.contains(reason), "{}", run.content);
        turn
    };
    // 1. Another task.
    let other = json!({ "status": "done", "task": "b" });
    let reason = "`task` is `b`, and the task of this turn is `a`";
    let worker = refuse("worker-1", other, reason).await;
    let own = json!({ "status": "done", "task": "a", "result": "A" });
    stage.end_with_block(&worker, &own).await;
    // 2. An acceptance line that the task does not have.
    let finding =
        json!({ "id": "length", "text": "It is long.", "severity": "blocker", "criterion": 42 });
    let verdict = json!({ "verdict": "send_back", "findings": [finding] });
    let judge = refuse("judge", verdict, "`findings.criterion` is 42").await;
    let accept = json!({ "verdict": "accept", "evidence": ["read it"] });
    stage.end_with_block(&judge, &accept).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
    // 3. An artifact that the session does not have.
    let named = json!({ "status": "done", "artifacts": ["mail.md"] });
    let reason = "`artifacts` names `mail.md`";
    let worker = refuse("worker-1", named.clone(), reason).await;
    let artifact = NewArtifact {
        name: "mail.md".into(),
        media_type: "text/markdown".into(),
        content: ArtifactContent::Uri("https://example.org/mail.md".into()),
    };
    let saved = stage.store.save_artifact(&worker, &artifact, stage.now());
    saved.await.unwrap();
    stage.end_with_block(&worker, &named).await;
    assert!(stage.open_run(db, session, "judge").await.is_some());
}

pub(crate) async fn long_prose_of_report_is_cut(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.turn(db, session, "planner").await;
    let prose = "x".repeat(PROSE_BYTES + 1);
    stage.end(report.run, &answer(&prose)).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let report = view.tasks.iter().find(|task| task.key == "report#1");
    let kept = report.unwrap().result.as_deref().unwrap();
    assert_eq!(kept.len(), PROSE_BYTES);
    assert!(kept.ends_with("x…"));
}
