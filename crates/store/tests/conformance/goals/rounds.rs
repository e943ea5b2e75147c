//! The rounds of tasks: the runs of judges with their verdicts, as they count.

use model::{
    RunId, SessionId,
    goal::{NewTask, Reviews, TaskStatus},
};
use store::{GoalChange, TaskRunRow};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

impl Stage {
    /// Ends a turn with success, a second later, because the IDs of runs follow the clock.
    async fn succeed_later(&self, run: RunId) {
        self.advance_seconds(1);
        self.succeed(run).await;
    }

    /// Returns the runs of a task as lines of prompt, status, and the verdict with its evidence and its findings.
    async fn runs_with_verdicts(&self, session: SessionId, key: &str) -> Vec<String> {
        let task = self.task_id(session, key).await;
        let details = self.store.task_details(self.scope(), task).await.unwrap();
        let line = |run: &TaskRunRow| {
            let verdict = run.verdict.as_ref().map(|it| {
                let findings = it.findings.iter();
                let findings = findings.map(|it| (it.id.as_str(), it.criterion));
                let findings: Vec<_> = findings.collect();
                format!("{} {:?} {findings:?}", it.verdict, it.evidence)
            });
            let verdict = verdict.unwrap_or_else(|| "-".into());
            let prompt = run.prompt.as_deref().unwrap_or("-");
            format!("{prompt} {} {verdict}", run.status)
        };
        details.runs.iter().map(line).collect()
    }
}

pub(crate) async fn runs_of_judge_have_the_verdicts_that_count(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let task = NewTask {
        acceptance: vec!["It has a source.".into(), "It is short.".into()],
        ..work("a", &[])
    };
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[task])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.succeed_later(worker.run).await;
    // 1. The turn of the first verdict is lost. The next attempt at its input has the verdict.
    let judge = stage.turn(db, session, "judge").await;
    let mut finding = sent_back("source", "There is no source.");
    finding.body.findings[0].criterion = Some(1);
    stage.report(&judge, &finding).await.unwrap();
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [judge.run]);
    stage.advance_seconds(60);
    stage.store.promote_due(stage.now()).await.unwrap();
    let again = stage.turn(db, session, "judge").await;
    let open = ["work succeeded -", "review stalled -", "review running -"];
    assert_eq!(stage.runs_with_verdicts(session, "a").await, open);
    stage.succeed_later(again.run).await;
    // 2. The second round has a verdict with too little evidence in an answer, and the one after the reminder.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("With a source")).await.unwrap();
    stage.succeed_later(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    stage.advance_seconds(1);
    let short = "```json\n{\"verdict\":\"accept\",\"evidence\":[\"read it\"]}\n```";
    stage.end(judge.run, &answer(short)).await;
    let judge = stage.turn(db, session, "judge").await;
    let accepted = verdict(&["read it", "counted it"]);
    stage.report(&judge, &accepted).await.unwrap();
    stage.succeed_later(judge.run).await;
    assert_eq!(
        stage.runs_with_verdicts(session, "a").await,
        [
            "work succeeded -",
            "review stalled -",
            "review succeeded send_back [] [(\"source\", Some(1))]",
            "rework succeeded -",
            "review succeeded -",
            "reminder succeeded accept [\"read it\", \"counted it\"] []",
        ]
    );
}

pub(crate) async fn verdict_of_run_is_as_the_task_moved(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let reviewed = || team(1, Some(Reviews::All));
    let session = stage.planned_goal(db, reviewed(), &[work("a", &[])]).await;
    // 1. No finding of the second round counts, so that its verdict accepts.
    for id in ["source", "style"] {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.report(&worker, &done("Draft")).await.unwrap();
        stage.succeed_later(worker.run).await;
        let judge = stage.turn(db, session, "judge").await;
        stage.report(&judge, &sent_back(id, "No.")).await.unwrap();
        stage.succeed_later(judge.run).await;
    }
    assert_eq!(
        stage.runs_with_verdicts(session, "a").await,
        [
            "work succeeded -",
            "review succeeded send_back [] [(\"source\", None)]",
            "rework succeeded -",
            "review succeeded accept [] [(\"style\", None)]",
        ]
    );
    // 2. A person accepts the task during the turn of the judge, whose verdict moves nothing then.
    let session = stage.planned_goal(db, reviewed(), &[work("a", &[])]).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.succeed_later(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    let accept = GoalChange::Accept("a".into());
    stage.change(session, accept).await.unwrap();
    stage.succeed_later(judge.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(
        (view.tasks[1].status, view.tasks[1].reason),
        (TaskStatus::Done, Some("person"))
    );
    let runs = stage.runs_with_verdicts(session, "a").await;
    assert_eq!(runs, ["work succeeded -", "review succeeded -"]);
}
