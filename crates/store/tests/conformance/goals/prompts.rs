//! The prompts of a goal's turns: the facts that they have.

use model::{
    goal::{NewTask, ReportedFinding, Reviews, Severity, text_limits::RESULT_BYTES},
    outcome::FailureKind,
};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    /// Takes the turn of the only worker, which reports a result.
    async fn do_work(&self, db: &TestStore, session: model::SessionId, result: &str) {
        let worker = self.turn(db, session, "worker-1").await;
        self.report(&worker, &done(result)).await.unwrap();
        self.succeed(worker.run).await;
    }
}

pub(crate) async fn later_check_has_findings_of_earlier_one_and_its_round(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &[work("a", &[])])
        .await;
    stage.do_work(db, session, "A").await;
    let check = stage.turn(db, session, "judge").await;
    let content = stage.run(check.run).await.content;
    assert!(!content.contains("This is round"), "{content}");
    let mut gap = sent_back("gap", "The second mail is missing.");
    gap.body.findings.push(ReportedFinding {
        id: "typo".into(),
        text: "One word is wrong.".into(),
        severity: Severity::Minor,
        regression: false,
        criterion: None,
    });
    stage.report(&check, &gap).await.unwrap();
    stage.succeed(check.run).await;
    stage.plan(db, session, &[work("b", &[])]).await;
    stage.do_work(db, session, "B").await;
    // The second check is another task with a memory of its own.
    let check = stage.turn(db, session, "judge").await;
    let content = stage.run(check.run).await.content;
    assert!(content.contains("This is round 2,"), "{content}");
    let finding = "\nblocker gap of the judge: The second mail is missing.\n";
    assert!(content.contains(finding), "{content}");
    assert!(
        !content.contains("typo"),
        "a note does not count: {content}"
    );
    let judge = async |id: &str| {
        let report = sent_back(id, "It is still missing.");
        let stored = stage.store.report_task(&check, &report, stage.now());
        let stored = stored.await.unwrap();
        (stored.key, stored.round, stored.counted)
    };
    assert_eq!(judge("other").await, ("check#2".into(), 2, Vec::new()));
    let counted = vec!["gap".to_owned()];
    assert_eq!(judge("gap").await, ("check#2".into(), 2, counted));
    stage.report(&check, &verdict(&["read it"])).await.unwrap();
    stage.succeed(check.run).await;
    let tasks = stage.tasks(session).await;
    assert!(
        tasks.contains(&"check#2 DONE nothing".to_owned()),
        "{tasks:?}"
    );
}

pub(crate) async fn long_list_has_failed_and_newest_tasks_with_whole_results(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut plan: Vec<NewTask> = (1..=25).map(|no| work(&format!("t{no:02}"), &[])).collect();
    plan[0].optional = true;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &plan)
        .await;
    let result = "r".repeat(RESULT_BYTES);
    // The first task fails twice, and the others succeed.
    for _ in 0..26 {
        let worker = stage.turn(db, session, "worker-1").await;
        let content = stage.run(worker.run).await.content;
        if content.starts_with("Work on the task `t01`") {
            stage.fail(worker.run, FailureKind::AgentError).await;
        } else {
            stage.report(&worker, &done(&result)).await.unwrap();
            stage.succeed(worker.run).await;
        }
    }
    let check = stage.turn(db, session, "judge").await;
    let content = stage.run(check.run).await.content;
    let failed = "\nFAILED t01: Do t01: attempts used up\nDONE t07: ";
    assert!(content.contains(failed), "{content}");
    for no in 7..=25 {
        let line = format!("\nDONE t{no:02}: Do t{no:02}: {result}\n");
        assert!(content.contains(&line), "t{no:02} in {content}");
    }
    assert!(!content.contains("t06: "), "{content}");
    let more = "\n5 more exist: call `list_tasks`.\n";
    assert!(content.contains(more), "{content}");
}
