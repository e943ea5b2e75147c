//! Questions in goals: those that a task has asked before, and those outside tasks, whose defaults obey the goal as messages
//! between its seats do.

use model::{
    goal::Reviews, question::QuestionStatus, run::Origin, seat_message::SeatMessageStatus,
};
use serde_json::json;
use store::{Error, GoalChange, Scope};

use super::stage::{done, team, verdict, work};
use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn default_of_question_outside_tasks_is_message_of_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, None);
    team.limits.graph.message_turns = 1;
    let session = stage.planned_goal(db, team, &[work("a", &[])]).await;
    stage.turn(db, session, "worker-1").await;
    let ask_and_expire = async || {
        let planner = stage.turn(db, session, "planner").await;
        let asked = stage.ask_person(&planner, "Which tone?").await.unwrap();
        stage.succeed(planner.run).await;
        stage.clock.set(asked.deadline_at);
        assert_eq!(stage.expire_questions(asked.deadline_at).await, 1);
    };
    let last_message = async || {
        let sent = stage
            .store
            .seat_messages(stage.tenant, session, None, 0, 10);
        sent.await.unwrap().pop().unwrap()
    };
    // 1. A person writes to the planner of a paused goal. The default starts no turn.
    stage.change(session, GoalChange::Pause).await.unwrap();
    stage.send_message(session, "Be kind.").await;
    ask_and_expire().await;
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    let message = last_message().await;
    assert_eq!(message.status(), SeatMessageStatus::Blocked);
    assert!(message.content.ends_with("Answer: red"), "{message:?}");
    let shown = stage.transcript(session).await;
    let says =
        format!("The goal `{session}` starts no turn now. Messages to `planner` start no turn.");
    assert!(shown.iter().any(|line| line.contains(&says)), "{shown:#?}");
    // 2. It starts one when the goal goes on, which counts.
    stage.change(session, GoalChange::Resume).await.unwrap();
    let run = stage.open_run(db, session, "planner").await.unwrap();
    assert_eq!(stage.run(run).await.origin, Origin::Message);
    ask_and_expire().await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.messages, view.message_turns), (0, 1));
    // 3. The limit of these turns binds the next default.
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    let message = last_message().await;
    assert_eq!(message.status(), SeatMessageStatus::Blocked);
}

pub(crate) async fn answered_question_of_task_is_not_asked_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, team(1, None), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let colour = stage.ask_person(&worker, "Which colour?").await.unwrap();
    let size = stage.ask_person(&worker, "Which size?").await.unwrap();
    stage.succeed(worker.run).await;
    stage.answer_question(colour.id, "blue").await.unwrap();
    // 1. Another task asks for itself.
    let other = stage.turn(db, session, "worker-1").await;
    let of_other = stage.ask_person(&other, "Which colour?").await.unwrap();
    assert_ne!(of_other.id, colour.id);
    stage.report(&other, &done("B")).await.unwrap();
    stage.succeed(other.run).await;
    // 2. The next turn of the task gets the answer of the person, and asks again what nobody answered.
    stage.clock.set(size.deadline_at);
    assert_eq!(stage.expire_questions(size.deadline_at).await, 1);
    let again = stage.turn(db, session, "worker-1").await;
    let found = stage.ask_person(&again, "Which colour?").await.unwrap();
    assert_eq!(found.id, colour.id);
    assert_eq!(found.state.answer(), Some(&json!("blue")));
    let asked = stage.ask_person(&again, "Which size?").await.unwrap();
    assert_ne!(asked.id, size.id);
    assert_eq!(asked.status(), QuestionStatus::Pending);
}

pub(crate) async fn question_after_report_withdraws_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::All)), &[work("a", &[])])
        .await;
    let assert_waits = async |asked| {
        let waiting = "a RUNNING the answer to a question";
        assert_eq!(stage.tasks(session).await[1], waiting);
        assert_eq!(stage.question_status(asked).await, QuestionStatus::Pending);
        assert_eq!(db.count(Scope::System, "task_reports").await, 0);
        stage.answer_question(asked, "blue").await.unwrap();
    };
    // 1. A worker reports and then asks.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    let asked = stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.succeed(worker.run).await;
    assert_waits(asked.id).await;
    // 2. The server of an attempt that has reported is lost, and the next attempt asks.
    let lost = stage.turn(db, session, "worker-1").await;
    stage.report(&lost, &done("Draft")).await.unwrap();
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [lost.run]);
    stage.advance_seconds(60);
    stage.store.promote_due(stage.now()).await.unwrap();
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which size?").await.unwrap();
    stage.succeed(worker.run).await;
    assert_waits(asked.id).await;
    // 3. A worker repeats an open question after its report.
    let worker = stage.turn(db, session, "worker-1").await;
    let asked = stage.ask_person(&worker, "Which day?").await.unwrap();
    stage.report(&worker, &done("Draft")).await.unwrap();
    let again = stage.ask_person(&worker, "Which day?").await.unwrap();
    assert_eq!(again.id, asked.id);
    stage.succeed(worker.run).await;
    assert_waits(asked.id).await;
    // 4. The answer of a person comes at once, so that the report stays.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("The mail.")).await.unwrap();
    let again = stage.ask_person(&worker, "Which day?").await.unwrap();
    assert_eq!(again.state.answer(), Some(&json!("blue")));
    stage.succeed(worker.run).await;
    // 5. The verdict of a judge is withdrawn, too.
    let judge = stage.turn(db, session, "judge").await;
    stage.report(&judge, &verdict(&["read it"])).await.unwrap();
    let asked = stage.ask_person(&judge, "May it be long?").await.unwrap();
    assert_eq!(db.count(Scope::System, "task_reports").await, 1);
    stage.succeed(judge.run).await;
    assert_eq!(
        stage.question_status(asked.id).await,
        QuestionStatus::Pending
    );
    let waiting = "a RUNNING the answer to a question";
    assert_eq!(stage.tasks(session).await[1], waiting);
}

pub(crate) async fn question_of_turn_that_was_asked_to_stop_keeps_its_report(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.ask_person(&worker, "Which colour?").await.unwrap();
    stage.report(&worker, &done("The mail.")).await.unwrap();
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), worker.run, "enough", stage.now());
    cancelled.await.unwrap();
    stage.ask_person(&worker, "Which colour?").await.unwrap();
    let other = stage.ask_person(&worker, "Which size?").await;
    assert!(matches!(other, Err(Error::RunOver { .. })), "{other:?}");
    assert_eq!(db.count(Scope::System, "task_reports").await, 1);
}
