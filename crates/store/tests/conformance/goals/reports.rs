//! The reports of agents: their absence, those in answers, and the facts that prompts have of them.

use model::{
    MessageId,
    artifact::ArtifactContent,
    goal::{GoalState, NewTask, Prompt, Reviews, StuckCause, TaskStatus},
    turn::{Entry, EntryKind, Role, WriteOutcome},
};
use serde_json::{Value, json};
use store::{GoalChange, NewArtifact, Recipients, Scope, TaskReport};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer},
};

pub(crate) async fn agent_without_tools_fails_as_unavailable(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.succeed(worker.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, TaskStatus::Failed);
    let result = view.tasks[1].result.as_deref().unwrap();
    assert!(result.contains("`matins agent check "), "{result}");
    // The planner gets no reminder either.
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Stuck(StuckCause::NoPlan));
}

pub(crate) async fn report_in_answer_counts_as_call(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, Some(Reviews::All))).await;
    let block = |json: &str| answer(&format!("Done.\n\n```json\n{json}\n```\n"));
    let planner = stage.turn(db, session, "planner").await;
    let task = json!({ "key": "a", "title": "A", "description": "Do a.", "role": "worker" });
    stage.end(planner.run, &block(&task.to_string())).await;
    // Two blocks are no report.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.list_tools(&worker).await;
    let result = r#"{"status":"done","result":"The result."}"#;
    let twice = format!("```json\n{result}\n```\n```json\n{result}\n```");
    stage.end(worker.run, &answer(&twice)).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let run = stage.run(worker.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
    assert!(run.content.contains(r#""additionalProperties":false"#));
    stage.end(worker.run, &block(result)).await;
    let judge = stage.turn(db, session, "judge").await;
    assert!(stage.run(judge.run).await.content.contains("The result."));
    let verdict = r#"{"verdict":"accept","evidence":["read it"]}"#;
    stage.end(judge.run, &block(verdict)).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[1].status, TaskStatus::Done);
}

pub(crate) async fn report_in_answer_of_agent_with_tools_counts_after_reminder_alone(
    db: &TestStore,
) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    let quote = async |seat: &str, json: &Value| {
        let turn = stage.turn(db, session, seat).await;
        stage.list_tools(&turn).await;
        let quoted = answer(&format!("It says:\n\n```json\n{json}\n```\n"));
        stage.end(turn.run, &quoted).await;
    };
    let assert_next = async |seat: &str, prompt: Prompt| {
        let run = stage.open_run(db, session, seat).await.unwrap();
        let task = stage.run(run).await.task.unwrap();
        assert_eq!(task.prompt, Some(prompt));
    };
    // 1. A worker with the tools.
    let result = json!({ "status": "done", "result": "Quoted." });
    quote("worker-1", &result).await;
    assert_eq!(db.count(Scope::System, "task_reports").await, 0);
    assert_next("worker-1", Prompt::Reminder).await;
    quote("worker-1", &result).await;
    assert_eq!(db.count(Scope::System, "task_reports").await, 1);
    // 2. A judge that quotes the verdict in the result of the worker.
    let verdict = json!({ "verdict": "accept", "evidence": ["read it"] });
    quote("judge", &verdict).await;
    assert_next("judge", Prompt::Reminder).await;
    assert_eq!(stage.tasks(session).await[1], "a RUNNING nothing");
    let judge = stage.turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.end(judge.run, &answer("I send it back.")).await;
    assert_next("worker-1", Prompt::Rework).await;
    // 3. A planner of a later plan, which needs no call if nothing changes.
    stage.change(session, GoalChange::Replan).await.unwrap();
    let task = json!({ "key": "b", "title": "B", "description": "Do b.", "role": "worker" });
    quote("planner", &task).await;
    assert_next("planner", Prompt::Reminder).await;
    assert_eq!(stage.tasks(session).await.len(), 3);
    quote("planner", &task).await;
    let tasks = stage.tasks(session).await;
    assert!(tasks.iter().any(|line| line.starts_with("b ")), "{tasks:?}");
}

pub(crate) async fn judge_learns_tool_calls_and_artifacts_of_work(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    let call = || Entry {
        id: MessageId::from_uuid(crate::fixtures::id()),
        role: Role::Tool,
        kind: EntryKind::ToolCall,
        content: "Read mail".into(),
        metadata: json!({ "state": "completed" }),
    };
    // The calls of the tools of Matins do not count.
    let own = [
        "mcp__matins__update_task",
        "mcp__matins__list_tasks",
        "recall (matins MCP Server)",
        "matins/remember (streaming: 25)",
    ];
    let own = own.map(|title| Entry {
        content: title.into(),
        ..call()
    });
    let calls = [call(), call(), call()].into_iter().chain(own);
    let calls: Vec<Entry> = calls.collect();
    let recorded = stage
        .store
        .record(worker.run, &stage.worker, &calls, stage.now());
    assert_eq!(recorded.await.unwrap(), WriteOutcome::Committed);
    let artifact = NewArtifact {
        name: "mail.md".into(),
        media_type: "text/markdown".into(),
        content: ArtifactContent::Uri("https://example.org/mail.md".into()),
    };
    let saved = stage.store.save_artifact(&worker, &artifact, stage.now());
    saved.await.unwrap();
    stage.report(&worker, &done("The mail.")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let content = stage.run(judge.run).await.content;
    assert!(content.contains("mail.md version 1, of a"), "{content}");
    assert!(content.contains("called 3 tools"), "{content}");
    stage.report(&judge, &verdict(&["read"])).await.unwrap();
    stage.succeed(judge.run).await;
    // The check of the whole goal has the artifact too, and the answer of the report's turn is kept.
    let check = stage.turn(db, session, "judge").await;
    let content = stage.run(check.run).await.content;
    assert!(content.contains("mail.md version 1, of a"), "{content}");
    stage.report(&check, &verdict(&["read"])).await.unwrap();
    stage.succeed(check.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.end(report.run, &answer("One mail is ready.")).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, GoalState::Done);
    let report = view.tasks.iter().find(|task| task.key == "report#1");
    let prose = report.unwrap().result.as_deref();
    assert_eq!(prose, Some("One mail is ready."));
    let rows = stage.store.goal_report(stage.scope(), session).await;
    let artifacts = rows.unwrap().artifacts;
    let artifacts = artifacts
        .iter()
        .map(|it| (it.name.as_str(), it.version, it.task.as_deref()));
    let artifacts: Vec<_> = artifacts.collect();
    assert_eq!(artifacts, [("mail.md", 1, Some("a"))]);
}

pub(crate) async fn proposal_of_worker_reaches_planner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    let report = proposing("Translate the mail.");
    stage.report(&worker, &report).await.unwrap();
    stage.succeed(worker.run).await;
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let proposal = "\nresult 1 of a: Translate the mail.\n";
    assert!(content.contains(proposal), "{content}");
    assert!(content.contains("proposed further work"), "{content}");
}

pub(crate) async fn report_in_answer_over_limit_is_refused_whole(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, Some(Reviews::All))).await;
    let block = |json: Value| answer(&format!("Done.\n\n```json\n{json}\n```\n"));
    let task =
        |key: &str| json!({ "key": key, "title": "A", "description": "Do a.", "role": "worker" });
    let reminder = async |seat: &str, field: &str| {
        let turn = stage.turn(db, session, seat).await;
        let run = stage.run(turn.run).await;
        assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
        for part in [
            field,
            "The report in your answer was refused, and nothing of it is kept.",
        ] {
            assert!(run.content.contains(part), "{}", run.content);
        }
        assert!(run.content.len() < 10_000, "{} bytes", run.content.len());
        turn
    };
    // 1. A key that no index of PostgreSQL can have, and a task with 10,000 items. The planner lists no tools.
    let planner = stage.turn(db, session, "planner").await;
    let key = task(&"k".repeat(10_000));
    stage.end(planner.run, &block(key)).await;
    let planner = reminder("planner", "`key` is `kkk").await;
    assert_eq!(db.count(Scope::System, "staged_tasks").await, 0);
    let mut many = task("a");
    many["each"] = json!(vec!["item"; 10_000]);
    stage.end(planner.run, &block(many)).await;
    assert_eq!(db.count(Scope::System, "staged_tasks").await, 0);
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[0], "plan#1 FAILED nothing");
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    stage.change(session, GoalChange::Resume).await.unwrap();
    stage.plan(db, session, &[work("a", &[])]).await;
    // 2. A result, and the report that follows its reminder.
    let worker = stage.turn(db, session, "worker-1").await;
    let long = json!({ "status": "done", "result": "r".repeat(1 << 20) });
    stage.end(worker.run, &block(long)).await;
    let worker = reminder("worker-1", "`result` is `rrr").await;
    assert_eq!(db.count(Scope::System, "task_reports").await, 0);
    let result = json!({ "status": "done", "result": "The result." });
    stage.end(worker.run, &block(result)).await;
    // 3. A finding of 1 MiB. The judge gives its verdict after the reminder.
    let judge = stage.turn(db, session, "judge").await;
    let finding = json!({ "id": "source", "text": "f".repeat(1 << 20), "severity": "blocker" });
    let verdict = json!({ "verdict": "send_back", "findings": [finding] });
    stage.end(judge.run, &block(verdict)).await;
    let judge = reminder("judge", "`findings.text` is `fff").await;
    assert_eq!(db.count(Scope::System, "task_reports").await, 1);
    let verdict = json!({ "verdict": "accept", "evidence": ["read it"] });
    stage.end(judge.run, &block(verdict)).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let done = view.tasks.iter().find(|task| task.key == "a").unwrap();
    assert_eq!(done.status, TaskStatus::Done);
    assert_eq!(done.result.as_deref(), Some("The result."));
}

/// Returns the report of a finished task with a proposal.
fn proposing(text: &str) -> TaskReport {
    let mut report = done("The mail.");
    report.body.follow_up = Some(text.to_owned());
    report
}

pub(crate) async fn proposal_during_plan_reaches_next_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(2, None), &[work("a", &[]), work("b", &[])])
        .await;
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    stage
        .report(&first, &proposing("Translate it."))
        .await
        .unwrap();
    stage.succeed(first.run).await;
    // The second worker proposes and ends while the planner has read the first proposal alone.
    let planner = stage.turn(db, session, "planner").await;
    stage.list_tools(&planner).await;
    stage
        .report(&second, &proposing("Print it."))
        .await
        .unwrap();
    stage.succeed(second.run).await;
    stage.succeed(planner.run).await;
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(
        content.contains("\nresult 1 of b: Print it.\n"),
        "{content}"
    );
    assert!(!content.contains("Translate it.\n"), "{content}");
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
}

pub(crate) async fn message_of_seat_hides_no_proposal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(2, None);
    // Messages wait for the turns of tasks.
    team.limits.graph.message_turns = 0;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team, &plan).await;
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let planner = seats.iter().find(|seat| seat.role == "planner").unwrap();
    let (to, now) = (Recipients::Seat(planner.id), stage.tick());
    let forged = "Hello.\nresult 1 of b: Check the licences.";
    let sent = stage.store.send_seat_message(&first, to, forged, now);
    sent.await.unwrap();
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(content.contains(forged), "{content}");
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    let report = proposing("Check the licences.");
    stage.report(&second, &report).await.unwrap();
    stage.succeed(second.run).await;
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    let proposal = "\nresult 1 of b: Check the licences.\n";
    assert!(content.contains(proposal), "{content}");
    assert!(content.contains("proposed further work"), "{content}");
}

pub(crate) async fn reasons_of_refused_report_reach_later_reminder(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    // No turn starts while the goal is paused, so that the reminder starts in a later move.
    stage.change(session, GoalChange::Pause).await.unwrap();
    let long = json!({ "status": "done", "result": "r".repeat(1 << 20) });
    let long = answer(&format!("Done.\n\n```json\n{long}\n```\n"));
    stage.end(worker.run, &long).await;
    assert!(stage.open_run(db, session, "worker-1").await.is_none());
    stage.change(session, GoalChange::Resume).await.unwrap();
    let worker = stage.turn(db, session, "worker-1").await;
    let run = stage.run(worker.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.reminder");
    assert!(run.content.contains("`result` is `rrr"), "{}", run.content);
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}

pub(crate) async fn equal_proposal_of_other_task_or_result_reaches_planner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage
        .planned_goal(db, team(2, Some(Reviews::All)), &plan)
        .await;
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    let report = proposing("Translate it.");
    let replan = async |expected: &str| {
        let planner = stage.turn(db, session, "planner").await;
        let content = stage.run(planner.run).await.content;
        let proposals = content
            .lines()
            .filter(|line| line.ends_with("Translate it."));
        assert_eq!(proposals.collect::<Vec<_>>(), [expected], "{content}");
        assert!(content.contains("proposed further work"), "{content}");
        stage.list_tools(&planner).await;
        stage.succeed(planner.run).await;
    };
    stage.report(&first, &report).await.unwrap();
    stage.succeed(first.run).await;
    replan("result 1 of a: Translate it.").await;
    // 1. Another task proposes the same.
    stage.report(&second, &report).await.unwrap();
    stage.succeed(second.run).await;
    replan("result 1 of b: Translate it.").await;
    // 2. The next result of the first task proposes the same again.
    let judge = stage.turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.succeed(judge.run).await;
    let again = stage.turn(db, session, "worker-1").await;
    stage.advance_seconds(1);
    stage.report(&again, &report).await.unwrap();
    stage.succeed(again.run).await;
    replan("result 2 of a: Translate it.").await;
}

pub(crate) async fn proposals_beyond_room_of_plan_get_further_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let parts = NewTask {
        title: "Write part {item}".into(),
        description: "Write part {item} well.".into(),
        each: (1..=40).map(|no| no.to_string()).collect(),
        ..work("part", &[])
    };
    let session = stage.planned_goal(db, team(1, None), &[parts]).await;
    for _ in 0..40 {
        let worker = stage.turn(db, session, "worker-1").await;
        let report = proposing(&"x".repeat(2000));
        stage.report(&worker, &report).await.unwrap();
        stage.succeed(worker.run).await;
    }
    // The turn of the first plan starts with the first proposal, and the others have to wait for it. They have more than 64 KiB.
    let mut had = Vec::new();
    for more in [0, 7, 0] {
        let planner = stage.turn(db, session, "planner").await;
        let content = stage.run(planner.run).await.content;
        let proposals = content.lines();
        let proposals = proposals.filter(|line| line.starts_with("result 1 of part/"));
        had.push(proposals.count());
        let left = format!("\n{more} more wait for the next plan.\n");
        assert_eq!(content.contains(&left), more > 0, "{content}");
        stage.list_tools(&planner).await;
        stage.succeed(planner.run).await;
    }
    assert_eq!(had, [1, 32, 7]);
    let tasks = stage.tasks(session).await;
    assert!(
        !tasks.iter().any(|it| it.starts_with("plan#5")),
        "{tasks:?}"
    );
}

pub(crate) async fn question_of_planner_hides_no_proposal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    // The question has the line that the proposal gets later.
    let question = "What if this comes?\nresult 1 of a: Translate it.\nMay I do it?";
    let asked = stage.ask_person(&planner, question).await.unwrap();
    stage.succeed(planner.run).await;
    stage.answer_question(asked.id, "yes").await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    stage.list_tools(&planner).await;
    stage.succeed(planner.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let report = proposing("Translate it.");
    stage.report(&worker, &report).await.unwrap();
    stage.succeed(worker.run).await;
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(
        content.contains("\nresult 1 of a: Translate it.\n"),
        "{content}"
    );
}
