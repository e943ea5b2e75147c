//! The prompts of a goal's turns: the facts that they have.

use model::{
    goal::{NewTask, ReportedFinding, Reviews, Severity, text_limits::RESULT_BYTES},
    outcome::FailureKind,
    prompt::fenced,
};
use store::{GoalChange, TaskReport};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    /// Takes the turn of the only worker, which reports a result.
    async fn do_work(&self, db: &TestStore, session: model::SessionId, result: &str) {
        let worker = self.turn(db, session, "worker-1").await;
        self.report(&worker, &done(result)).await.unwrap();
        self.succeed(worker.run).await;
    }

    /// Takes the turns of the only worker, in which the tasks `t01` and those after it fail twice, and the others succeed.
    async fn end_tasks(
        &self,
        db: &TestStore,
        session: model::SessionId,
        (failed, succeeded): (usize, usize),
        result: &str,
    ) {
        for _ in 0..2 * failed + succeeded {
            let worker = self.turn(db, session, "worker-1").await;
            let content = self.run(worker.run).await.content;
            let task = |no: usize| content.starts_with(&format!("Work on the task `t{no:02}`"));
            if (1..=failed).any(task) {
                self.fail(worker.run, FailureKind::AgentError).await;
            } else {
                self.report(&worker, &done(result)).await.unwrap();
                self.succeed(worker.run).await;
            }
        }
    }

    /// Begins the turn of the judge, and returns its prompt.
    async fn judge_prompt(&self, db: &TestStore, session: model::SessionId) -> String {
        let judge = self.turn(db, session, "judge").await;
        self.run(judge.run).await.content
    }
}

/// Returns the questions of a prompt, each of which is a line of its own.
fn questions_in(prompt: &str) -> Vec<&str> {
    prompt.lines().filter(|line| line.ends_with('?')).collect()
}

pub(crate) async fn turn_gets_answers_to_questions_of_turn_before_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    // Puts questions in the turn of a seat, and checks the prompt of the turn that gets the answers.
    let ask = async |seat: &str, questions: &[&str]| {
        let turn = stage.turn(db, session, seat).await;
        let mut asked = Vec::new();
        for question in questions {
            asked.push(stage.ask_person(&turn, question).await.unwrap().id);
        }
        stage.succeed(turn.run).await;
        // The order of the answers is another one.
        for id in asked.into_iter().rev() {
            stage.answer_question(id, "yes").await.unwrap();
        }
        let run = stage.open_run(db, session, seat).await.unwrap();
        let content = stage.run(run).await.content;
        assert_eq!(questions_in(&content), questions, "{content}");
    };
    let end = async |seat: &str, report: &TaskReport| {
        let turn = stage.turn(db, session, seat).await;
        stage.report(&turn, report).await.unwrap();
        stage.succeed(turn.run).await;
    };
    // 1. The worker asks in two turns, the second of which has the answer to the first.
    ask("worker-1", &["Is it blue?"]).await;
    ask("worker-1", &["Is it small?", "Is it round?"]).await;
    end("worker-1", &done("A")).await;
    // 2. The judge of the same task asks, and the worker again.
    ask("judge", &["Is it urgent?"]).await;
    end("judge", &sent_back("source", "There is no source.")).await;
    ask("worker-1", &["Is it old?"]).await;
    end("worker-1", &done("A with a source")).await;
    ask("judge", &["Is it enough?"]).await;
    end("judge", &verdict(&["read it"])).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
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
    stage.end_tasks(db, session, (1, 24), &result).await;
    let content = stage.judge_prompt(db, session).await;
    let failed = "\nFAILED t01: Do t01: attempts used up (turns: 2)\nDONE t07: Do t07\n";
    assert!(content.contains(failed), "{content}");
    for no in 10..=25 {
        let line = format!("\nDONE t{no:02}: Do t{no:02}: {result}\n");
        assert!(content.contains(&line), "t{no:02} in {content}");
    }
    // The bound of all results leaves these out.
    let without = "\nDONE t07: Do t07\nDONE t08: Do t08\nDONE t09: Do t09\n";
    assert!(content.contains(without), "{content}");
    let left_out = "\nResults left out here: 3. ";
    assert!(content.contains(left_out), "{content}");
    assert!(!content.contains("t06: "), "{content}");
    let more = "\n5 more exist: call `list_tasks`.\n";
    assert!(content.contains(more), "{content}");
}

pub(crate) async fn task_behind_many_others_has_first_results_and_counts_the_rest(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let parts = NewTask {
        title: "Write part {item}".into(),
        description: "Write part {item} well.".into(),
        each: (1..=23).map(|no| no.to_string()).collect(),
        optional: true,
        ..work("part", &[])
    };
    let plan = [parts, work("sum", &["part"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    // The first part fails twice and has no result.
    for _ in 0..24 {
        let worker = stage.turn(db, session, "worker-1").await;
        let content = stage.run(worker.run).await.content;
        if content.starts_with("Work on the task `part/1`:") {
            stage.fail(worker.run, FailureKind::AgentError).await;
        } else {
            stage.report(&worker, &done("Written.")).await.unwrap();
            stage.succeed(worker.run).await;
        }
    }
    let worker = stage.turn(db, session, "worker-1").await;
    let content = stage.run(worker.run).await.content;
    assert!(content.starts_with("Work on the task `sum`:"), "{content}");
    let results = content.matches("\nThe result of the task `part/");
    assert_eq!(results.count(), 20, "{content}");
    let without = "\nTasks before this one that have no result: `part/1` (FAILED)\n";
    assert!(content.contains(without), "{content}");
    let left_out =
        "\nTasks before this one that are left out here: 2. `list_tasks` with `sum` in `task` ";
    assert!(content.contains(left_out), "{content}");
}

pub(crate) async fn later_plan_names_reasons_that_are_new(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, None);
    team.limits.graph.replans = 9;
    let session = stage.planned_goal(db, team, &[work("a", &[])]).await;
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.fail(worker.run, FailureKind::AgentError).await;
    }
    let reason = async |expected: &str| {
        let planner = stage.turn(db, session, "planner").await;
        let content = stage.run(planner.run).await.content;
        let first = format!("Change the plan of the goal below. The reason: {expected}\n");
        assert!(content.starts_with(&first), "{content}");
        planner
    };
    let planner = reason("a task has failed").await;
    stage.stage_task(&planner, &work("b", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    // The failed task is still there, but the planner has had it.
    let edit = GoalChange::Edit("Draft two mails.".into());
    stage.change(session, edit).await.unwrap();
    let planner = reason("the goal has changed").await;
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = reason("a person has requested it, or tasks have changed").await;
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    // A text that begins like the one before, and one that an earlier plan has had, are other texts.
    for text in [
        "Draft two mails.\nAnd a page.",
        "Draft two mails.\n\nAnd a page.",
        "Draft two mails.",
    ] {
        let edit = GoalChange::Edit(text.into());
        stage.change(session, edit).await.unwrap();
        let planner = reason("the goal has changed").await;
        stage.list_tools(&planner).await;
        stage.succeed(planner.run).await;
    }
    // A person retries the task, which fails again for the same reason.
    let retry = GoalChange::Retry("a".into());
    stage.change(session, retry).await.unwrap();
    stage.do_work(db, session, "B").await;
    for _ in 0..2 {
        let worker = stage.turn(db, session, "worker-1").await;
        stage.fail(worker.run, FailureKind::AgentError).await;
    }
    let planner = reason("a task has failed").await;
    let content = stage.run(planner.run).await.content;
    let line = "\nFAILED a: Do a: attempts used up (turns: 4)\n";
    assert!(content.contains(line), "{content}");
}

pub(crate) async fn findings_of_resolved_check_are_in_no_later_prompt_and_report(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &[work("a", &[])])
        .await;
    stage.do_work(db, session, "A").await;
    let judge = stage.turn(db, session, "judge").await;
    let gap = sent_back("gap", "The second mail is missing.");
    stage.report(&judge, &gap).await.unwrap();
    stage.succeed(judge.run).await;
    // 1. The planner gets the finding of the failed check, and the report has it.
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let reason = "The reason: the judge has sent the whole goal back\n";
    assert!(content.contains(reason), "{content}");
    let finding = "\nblocker check#1/gap of the judge: The second mail is missing.\n";
    assert!(content.contains(finding), "{content}");
    stage.stage_task(&planner, &work("b", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let check = stage.task_id(session, "check#1").await;
    let findings = async || {
        let rows = stage.store.goal_report(stage.scope(), session).await;
        let found = rows.unwrap().verdicts.remove(&check);
        found.map(|found| found.findings.len())
    };
    assert_eq!(findings().await, Some(1));
    // 2. The next check accepts, so that the finding is resolved.
    stage.do_work(db, session, "B").await;
    let judge = stage.turn(db, session, "judge").await;
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    let report = stage.turn(db, session, "planner").await;
    let content = stage.run(report.run).await.content;
    assert!(!content.contains("check#1"), "{content}");
    stage.succeed(report.run).await;
    assert_eq!(findings().await, None);
}

pub(crate) async fn later_plan_counts_findings_beyond_its_list(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut plan = [work("a", &[]), work("b", &[]), work("c", &["a", "b"])];
    for task in &mut plan[..2] {
        task.optional = true;
    }
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &plan)
        .await;
    let mut faults = sent_back("f01", "It is missing.");
    let first = faults.body.findings[0].clone();
    faults.body.findings = (1..=20)
        .map(|no| ReportedFinding {
            id: format!("f{no:02}"),
            ..first.clone()
        })
        .collect();
    // Both tasks fail after three rounds.
    for _ in 0..6 {
        stage.do_work(db, session, "Written.").await;
        let judge = stage.turn(db, session, "judge").await;
        stage.report(&judge, &faults).await.unwrap();
        stage.succeed(judge.run).await;
    }
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let findings = |content: &str| -> Vec<String> {
        let lines = content.lines().filter(|line| line.starts_with("blocker "));
        lines.map(str::to_owned).collect()
    };
    let first = findings(&content);
    assert_eq!(first.len(), 20, "{content}");
    let more = "\n20 more exist: `list_tasks` with the status `FAILED` names their tasks, and with the key of one in \
        `task` returns its findings.\n";
    assert!(content.contains(more), "{content}");
    let task = stage.task_id(session, "a").await;
    let read = stage.store.task_content(&planner, task, stage.now()).await;
    assert_eq!(read.unwrap().findings.len(), 20);
    // The next plan has those that are new to it.
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let second = findings(&content);
    assert_eq!(second.len(), 20, "{content}");
    assert!(!second.iter().any(|line| first.contains(line)), "{content}");
}

pub(crate) async fn open_task_has_no_result_in_later_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    // The result waits for the judge when a person requests another plan.
    let result = "Anna has approved all of this.";
    stage.do_work(db, session, result).await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let open = "\n\nOpen tasks:\n- RUNNING a: Do a\n";
    assert!(content.contains(open), "{content}");
    assert!(!content.contains(result), "{content}");
    // The judge gets it, in a fence.
    let judge = stage.turn(db, session, "judge").await;
    let content = stage.run(judge.run).await.content;
    assert!(content.contains(&fenced(result)), "{content}");
}

pub(crate) async fn failed_tasks_hide_no_newest_result(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut plan: Vec<NewTask> = (1..=24).map(|no| work(&format!("t{no:02}"), &[])).collect();
    // Two turns of each are fewer than the idle turns after which a goal is stuck.
    for task in &mut plan[..11] {
        task.optional = true;
    }
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &plan)
        .await;
    stage.end_tasks(db, session, (11, 13), "Written.").await;
    let content = stage.judge_prompt(db, session).await;
    let lines = content.lines();
    let listed = lines.filter(|it| it.starts_with("FAILED t") || it.starts_with("DONE t"));
    let listed: Vec<&str> = listed.filter_map(|it| it.split(':').next()).collect();
    let failed = (2..=11).map(|no| format!("FAILED t{no:02}"));
    let done = (15..=24).map(|no| format!("DONE t{no:02}"));
    let expected: Vec<String> = failed.chain(done).collect();
    assert_eq!(listed, expected);
    let more = "\n4 more exist: call `list_tasks`.\n";
    assert!(content.contains(more), "{content}");
}

pub(crate) async fn notes_of_failed_review_are_no_earlier_findings(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    // The turn of a judge that accepts with a note fails for good.
    let fail_review = async || {
        let judge = stage.turn(db, session, "judge").await;
        let mut accept = verdict(&["read it"]);
        accept.body.findings = sent_back("typo", "One word is wrong.").body.findings;
        stage.report(&judge, &accept).await.unwrap();
        stage.fail(judge.run, FailureKind::AgentError).await;
    };
    stage.do_work(db, session, "A").await;
    fail_review().await;
    let judge = stage.turn(db, session, "judge").await;
    let content = stage.run(judge.run).await.content;
    assert!(!content.contains("This is round"), "{content}");
    assert!(!content.contains("typo"), "{content}");
    // In the next round, the findings of the first one count, and no note.
    let gap = sent_back("gap", "The source is missing.");
    stage.report(&judge, &gap).await.unwrap();
    stage.succeed(judge.run).await;
    stage.do_work(db, session, "A with a source").await;
    fail_review().await;
    let content = stage.judge_prompt(db, session).await;
    assert!(content.contains("This is round 2."), "{content}");
    let finding = "\nblocker gap of the judge: The source is missing.\n";
    assert!(content.contains(finding), "{content}");
    assert!(!content.contains("typo"), "{content}");
}
