//! Calls of the tools of tasks: staged plans, refused plans, results and verdicts.

use model::{
    goal::{NewTask, PlanError, Refusal, ReportFault, Reviews, TaskRole, TaskStatus},
    lifecycle::InvalidTransition,
    outcome::FailureKind,
    seat_message::{CARRIED_PER_TURN, Sender},
};
use serde_json::json;
use store::{
    Error, GoalChange, NewSeatMessage, Recipients, Scope, StagedCancellation, ToolCaller, params,
};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage, tool_calls::start};

impl Stage {
    async fn cancel_task(
        &self,
        caller: &ToolCaller,
        key: &str,
    ) -> Result<StagedCancellation, Error> {
        let now = self.now();
        self.store.stage_cancellation(caller, key, now).await
    }

    async fn task_role(&self, caller: &ToolCaller) -> TaskRole {
        let turn = self.store.calling_turn(caller, self.now()).await.unwrap();
        let task = self.store.task_of_turn(&turn).await.unwrap();
        let offer = self.store.turn_offer(caller, self.now()).await.unwrap();
        assert_eq!(offer.task, task);
        task.unwrap().role
    }
}

/// Returns the faults for which a plan was refused.
fn faults<T: std::fmt::Debug>(refused: Result<T, Error>) -> Vec<PlanError> {
    match refused {
        Err(Error::Goal(Refusal::Plan(faults))) => faults,
        other => panic!("{other:?}"),
    }
}

fn is_refused_task<T>(refused: &Result<T, Error>) -> bool {
    matches!(
        refused,
        Err(Error::Refused(InvalidTransition { what: "task", .. }))
    )
}

pub(crate) async fn worker_creating_tasks_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &plan)
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    assert_eq!(stage.task_role(&worker).await, TaskRole::Worker);
    let created = stage.stage_task(&worker, &work("c", &[])).await;
    assert!(is_refused_task(&created), "{created:?}");
    let cancelled = stage.cancel_task(&worker, "b").await;
    assert!(is_refused_task(&cancelled), "{cancelled:?}");
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    // The judge is refused, too.
    let judge = stage.turn(db, session, "judge").await;
    assert_eq!(stage.task_role(&judge).await, TaskRole::Judge);
    let created = stage.stage_task(&judge, &work("c", &[])).await;
    assert!(is_refused_task(&created), "{created:?}");
    let reported = stage.report(&judge, &done("A")).await;
    assert!(is_refused_task(&reported), "{reported:?}");
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    stage.succeed(judge.run).await;
    assert_eq!(
        stage.tasks(session).await,
        ["plan#1 DONE nothing", "a DONE nothing", "b RUNNING nothing"]
    );
}

pub(crate) async fn plan_over_limit_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.graph.plan = 3;
    let created = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = created.await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    assert_eq!(stage.task_role(&planner).await, TaskRole::Planner);
    for key in ["a", "b", "c"] {
        stage.stage_task(&planner, &work(key, &[])).await.unwrap();
    }
    let is_limit =
        |faults: &[PlanError]| matches!(faults, [PlanError::TooManyTasks { accepted: 3, .. }]);
    let refused = faults(stage.stage_task(&planner, &work("d", &[])).await);
    assert!(is_limit(&refused), "{refused:?}");
    // The items of one task count, and a repeated key does not.
    let items = NewTask {
        each: (0..500).map(|no| format!("item {no}")).collect(),
        ..work("a", &[])
    };
    let refused = faults(stage.stage_task(&planner, &items).await);
    assert!(is_limit(&refused), "{refused:?}");
    let staged = stage.stage_task(&planner, &work("c", &["a"])).await;
    assert_eq!(staged.unwrap(), 3);
    stage.succeed(planner.run).await;
    assert_eq!(stage.tasks(session).await.len(), 4);
}

pub(crate) async fn planner_mends_its_staged_plan(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    // A key that no task has yet is named at once, and refused only with the plan.
    let now = stage.now();
    let new = work("b", &["a"]);
    let staged = stage.store.create_task(&planner, &new, now).await;
    let unresolved = staged.unwrap().unresolved;
    assert!(
        matches!(&unresolved[..], [PlanError::UnknownKey { named, .. }] if named == "a"),
        "{unresolved:?}"
    );
    let mut unknown = work("c", &["b"]);
    unknown.replaces = vec!["z".into()];
    let refused = faults(stage.stage_task(&planner, &unknown).await);
    assert!(
        matches!(
            refused[..],
            [PlanError::UnknownKey {
                field: "replaces",
                ..
            }]
        ),
        "{refused:?}"
    );
    for key in ["a", "bad"] {
        stage.stage_task(&planner, &work(key, &[])).await.unwrap();
    }
    let withdrawn = stage.cancel_task(&planner, "bad").await.unwrap();
    assert_eq!(withdrawn, StagedCancellation::Withdrawn(2));
    let refused = faults(stage.cancel_task(&planner, "bad").await);
    assert!(
        matches!(refused[..], [PlanError::UnknownKey { .. }]),
        "{refused:?}"
    );
    let listed = stage.store.list_tasks(&planner, now).await.unwrap();
    let keys: Vec<_> = listed
        .staged
        .tasks
        .iter()
        .map(|it| it.key.as_str())
        .collect();
    assert_eq!((listed.plan_version, keys), (0, vec!["b", "a"]));
    stage.succeed(planner.run).await;
    assert_eq!(
        stage.tasks(session).await,
        ["plan#1 DONE nothing", "b PENDING a", "a RUNNING nothing"]
    );
}

pub(crate) async fn cancellation_of_task_that_ended_is_withdrawn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(2, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let staged = stage.cancel_task(&planner, "a").await.unwrap();
    assert_eq!(staged, StagedCancellation::Staged(1));
    let again = stage.cancel_task(&planner, "a").await.unwrap();
    assert_eq!(again, StagedCancellation::Staged(1));
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    // The task is DONE, so that the plan would be refused. Other calls do not fail for it.
    let staged = stage.stage_task(&planner, &work("c", &[])).await;
    assert_eq!(staged.unwrap(), 2);
    let withdrawn = stage.cancel_task(&planner, "a").await.unwrap();
    assert_eq!(withdrawn, StagedCancellation::Withdrawn(1));
    let refused = faults(stage.cancel_task(&planner, "a").await);
    assert!(
        matches!(
            refused[..],
            [PlanError::Status {
                status: TaskStatus::Done,
                ..
            }]
        ),
        "{refused:?}"
    );
    // A task that is equal to a finished one is refused.
    let equal = NewTask {
        key: "a2".into(),
        ..work("a", &[])
    };
    let refused = faults(stage.stage_task(&planner, &equal).await);
    assert!(
        matches!(&refused[..], [PlanError::Duplicate { finished, .. }] if finished == "a"),
        "{refused:?}"
    );
    stage.succeed(planner.run).await;
    let tasks = stage.tasks(session).await;
    assert!(tasks.contains(&"c RUNNING nothing".to_owned()), "{tasks:?}");
}

pub(crate) async fn verdict_without_evidence_is_refused_and_changes_nothing(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut task = work("a", &[]);
    task.acceptance = vec!["It has a source.".into(), "It is short.".into()];
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[task])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let refused = stage.report(&judge, &verdict(&["read it"])).await;
    let is_evidence = |refused: &Result<String, Error>| {
        matches!(
            refused,
            Err(Error::Goal(Refusal::Evidence {
                given: 1,
                needed: 2
            }))
        )
    };
    assert!(is_evidence(&refused), "{refused:?}");
    let mut empty = sent_back("source", "There is no source.");
    empty.body.findings.clear();
    let refused = stage.report(&judge, &empty).await;
    assert!(
        matches!(refused, Err(Error::Goal(Refusal::NoFindings))),
        "{refused:?}"
    );
    // The task has two acceptance lines.
    for given in [0, 42] {
        let mut finding = sent_back("source", "There is no source.");
        finding.body.findings[0].criterion = Some(given);
        let refused = stage.report(&judge, &finding).await;
        let expected = ReportFault::Criterion { given, accepted: 2 };
        assert!(
            matches!(&refused, Err(Error::Goal(Refusal::Report(fault))) if *fault == expected),
            "{refused:?}"
        );
    }
    // A refused verdict does not replace an earlier one.
    let now = stage.now();
    let finding = sent_back("source", "There is no source.");
    let stored = stage.store.report_task(&judge, &finding, now).await;
    let stored = stored.unwrap();
    assert_eq!((stored.round, stored.counted), (1, vec!["source".into()]));
    let refused = stage.report(&judge, &verdict(&["read it"])).await;
    assert!(is_evidence(&refused), "{refused:?}");
    stage.succeed(judge.run).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A, B")).await.unwrap();
    stage.succeed(worker.run).await;
    // In the second round, a new finding is a note.
    let judge = stage.turn(db, session, "judge").await;
    let note = sent_back("length", "It is long.");
    let stored = stage.store.report_task(&judge, &note, now).await.unwrap();
    assert_eq!((stored.round, stored.counted), (2, Vec::new()));
    let content = stage
        .store
        .task_content(&judge, stage.task_id(session, "a").await, now);
    let content = content.await.unwrap();
    assert_eq!(
        (content.role.as_str(), content.acceptance.len()),
        ("worker", 2)
    );
    stage.succeed(judge.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1], "a DONE nothing");
}

pub(crate) async fn report_about_cancelled_task_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(2, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let cancel = GoalChange::CancelTask("a".into());
    stage.change(session, cancel).await.unwrap();
    let late = stage.report(&worker, &done("A")).await;
    assert!(
        matches!(
            late,
            Err(Error::Goal(Refusal::Task {
                status: TaskStatus::Cancelled,
                ..
            }))
        ),
        "{late:?}"
    );
}

pub(crate) async fn seats_of_goal_send_messages(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let planner = seats.iter().find(|seat| seat.role == "planner").unwrap();
    let to = Recipients::Seat(planner.id);
    let now = stage.now();
    let sent = stage
        .store
        .send_seat_message(&worker, to, "Which tone?", now);
    assert_eq!(sent.await.unwrap().len(), 1);
    let receiver = stage.turn(db, session, "planner").await;
    // The turn of a message has no task: it lists all tasks, and changes none.
    let assert_lists_alone = async |caller: &ToolCaller| {
        let turn = stage.store.calling_turn(caller, now).await.unwrap();
        assert_eq!(stage.store.task_of_turn(&turn).await.unwrap(), None);
        let offer = stage.store.turn_offer(caller, now).await.unwrap();
        assert!(offer.is_of_goal);
        let listed = stage.store.list_tasks(caller, now).await.unwrap();
        let keys: Vec<_> = listed.tasks.iter().map(|it| it.key.as_str()).collect();
        assert_eq!((listed.plan_version, keys), (1, vec!["plan#1", "a", "b"]));
        let task = stage.task_id(session, "b").await;
        let content = stage.store.task_content(caller, task, now).await;
        assert_eq!(content.unwrap().depends_on, ["a"]);
        let staged = stage.stage_task(caller, &work("c", &[])).await;
        assert!(matches!(staged, Err(Error::Refused(_))), "{staged:?}");
    };
    assert_lists_alone(&receiver).await;
    stage.succeed(receiver.run).await;
    let person = stage.send_message(session, "How far are you?").await;
    let receiver = start(&stage, person.run_id).await;
    assert_lists_alone(&receiver).await;
    stage.succeed(receiver.run).await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let tasks = stage.tasks(session).await;
    assert_eq!(tasks[1..], ["a DONE nothing", "b RUNNING nothing"]);
}

pub(crate) async fn waiting_message_is_in_next_turn_of_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let worker = seats.iter().find(|seat| seat.role == "worker").unwrap().id;
    let (to, now) = (Recipients::Seat(worker), stage.now());
    let sent = stage
        .store
        .send_seat_message(&planner, to, "Use plain words.", now);
    assert_eq!(sent.await.unwrap().len(), 1);
    let undelivered = async || {
        let sql = "select count(*) as n from agent_messages where to_seat_id = $1 and delivered_at is null";
        let rows = db.run(Scope::System, sql, params![worker]).await.unwrap();
        rows[0].get::<i64>("n").unwrap()
    };
    let chain = async || {
        let sql = "select coalesce(chain_length, 1) as n from agent_messages where to_seat_id = $1";
        let rows = db.run(Scope::System, sql, params![worker]).await.unwrap();
        rows[0].get::<i64>("n").unwrap()
    };
    // The turn of the message fails, so that the message waits.
    let receiver = stage.turn(db, session, "worker-1").await;
    stage.fail(receiver.run, FailureKind::AgentError).await;
    assert_eq!(undelivered().await, 1);
    for task in [work("a", &[]), work("b", &["a"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    stage.succeed(planner.run).await;
    // Each attempt at the task carries it until one succeeds, and none uses up its chain.
    for is_last in [false, true] {
        let worker = stage.turn(db, session, "worker-1").await;
        let run = stage.run(worker.run).await;
        assert_eq!(run.prompt_ref.unwrap().id, "goal.work");
        for part in ["from the seat `planner`", "Use plain words."] {
            assert!(run.content.contains(part), "{}", run.content);
        }
        assert_eq!((undelivered().await, chain().await), (1, 1));
        if is_last {
            stage.report(&worker, &done("A")).await.unwrap();
            stage.succeed(worker.run).await;
        } else {
            stage.fail(worker.run, FailureKind::AgentError).await;
        }
    }
    assert_eq!(undelivered().await, 0);
    // No turn of the message follows, and the next task does not carry it.
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
    let next = stage.turn(db, session, "worker-1").await;
    let run = stage.run(next.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.work");
    assert!(!run.content.contains("Use plain words."), "{}", run.content);
}

pub(crate) async fn message_behind_those_of_open_task_is_carried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let worker = seats.iter().find(|seat| seat.role == "worker").unwrap().id;
    // 1. A whole turn of messages fails, and the turn of a task carries them until it is lost.
    for number in 0..CARRIED_PER_TURN {
        let (to, now) = (Recipients::Seat(worker), stage.tick());
        let text = format!("Message {number}.");
        let sent = stage.store.send_seat_message(&planner, to, &text, now);
        assert_eq!(sent.await.unwrap().len(), 1);
    }
    let receiver = stage.turn(db, session, "worker-1").await;
    stage.fail(receiver.run, FailureKind::AgentError).await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let lost = stage.turn(db, session, "worker-1").await;
    assert!(stage.run(lost.run).await.content.contains("Message 19."));
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost.run]);
    // 2. The message of a person begins while the next attempt waits, and its turn is offered no other message.
    let new = NewSeatMessage {
        from: Sender::Person("Ann".into()),
        to: Recipients::Seat(worker),
        content: "Stop at noon.".into(),
        metadata: json!({}),
    };
    let sent = stage
        .store
        .publish_seat_message(stage.tenant, session, None, &new, stage.now());
    assert_eq!(sent.await.unwrap().len(), 1);
    let turn = stage.turn(db, session, "worker-1").await;
    let offer = stage.store.turn_offer(&turn, stage.now()).await.unwrap();
    assert_eq!(offer.unread, 0);
    stage.succeed(turn.run).await;
    let sql =
        "select count(*) as n from agent_messages where to_seat_id = $1 and delivered_at is null";
    let rows = db.run(Scope::System, sql, params![worker]).await.unwrap();
    let undelivered: i64 = rows[0].get("n").unwrap();
    assert_eq!(usize::try_from(undelivered).unwrap(), CARRIED_PER_TURN);
}

pub(crate) async fn messages_beyond_bound_of_task_turn_wait_for_next_one(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let worker = seats.iter().find(|seat| seat.role == "worker").unwrap().id;
    let long = "x".repeat(8000);
    for number in 0..9 {
        let (to, now) = (Recipients::Seat(worker), stage.tick());
        let text = format!("Message {number}. {long}");
        let sent = stage.store.send_seat_message(&planner, to, &text, now);
        assert_eq!(sent.await.unwrap().len(), 1);
    }
    // The turn of the messages fails, so that the turn of a task carries them.
    let receiver = stage.turn(db, session, "worker-1").await;
    stage.fail(receiver.run, FailureKind::AgentError).await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let turn = stage.turn(db, session, "worker-1").await;
    let content = stage.run(turn.run).await.content;
    for number in 0..8 {
        assert!(content.contains(&format!("Message {number}. ")), "{number}");
    }
    assert!(!content.contains("Message 8. "));
    stage.report(&turn, &done("A")).await.unwrap();
    stage.succeed(turn.run).await;
    let sql = "select content from agent_messages where to_seat_id = $1 and delivered_at is null";
    let rows = db.run(Scope::System, sql, params![worker]).await.unwrap();
    let left: Vec<String> = rows.iter().map(|row| row.get("content").unwrap()).collect();
    assert_eq!(left, [format!("Message 8. {long}")]);
}
