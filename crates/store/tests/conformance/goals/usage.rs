//! The usage of goals and of their seats.

use model::budget::Money;
use store::GoalSeat;

use super::stage::{done, team, work};
use crate::{budgets::answer_using, fixtures::TestStore, stage::Stage};

pub(crate) async fn seats_of_goal_have_their_turns_and_usage(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let view = async || stage.store.goal(stage.scope(), session).await.unwrap();
    let counts = |seat: &GoalSeat| {
        let usage = &seat.usage;
        let reported = [usage.reported_runs, usage.unreported_runs];
        (
            seat.turns,
            usage.used.tokens,
            reported,
            usage.runs_without_cost,
        )
    };
    let seats = async || view().await.seats.iter().map(counts).collect::<Vec<_>>();
    assert_eq!(seats().await, [(0, 0, [0, 0], 0); 2]);
    let planner = stage.turn(db, session, "planner").await;
    for task in [work("a", &[]), work("b", &["a"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    stage.end(planner.run, &answer_using(100, 2_000_000)).await;
    let worker = stage.turn(db, session, "worker").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.end(worker.run, &answer_using(10, 0)).await;
    // The turn of a message has begun, and the second turn of the worker has not.
    let message = stage.send_message(session, "How far are you?").await.run_id;
    stage.start(message).await;
    assert_eq!(seats().await, [(2, 100, [1, 0], 0), (1, 10, [1, 0], 1)]);
    let money = [Money::parse("2", "USD").unwrap()];
    let goal = view().await;
    assert_eq!(goal.seats[0].usage.money(), money);
    assert!(goal.seats[1].usage.money().is_empty());
    // The goal has the usage of both.
    assert_eq!(
        (goal.usage.used.tokens, goal.usage.money()),
        (110, money.into())
    );
    assert_eq!(goal.usage.runs_without_cost, 1);
}
