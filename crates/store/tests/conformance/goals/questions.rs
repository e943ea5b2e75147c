//! Questions in goals: those that a task has asked before, and those outside tasks, whose defaults obey the goal as messages
//! between its seats do.

use model::{question::QuestionStatus, run::Origin, seat_message::SeatMessageStatus};
use serde_json::json;
use store::GoalChange;

use super::stage::{done, team, work};
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
