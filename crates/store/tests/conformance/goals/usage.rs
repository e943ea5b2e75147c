//! The usage of goals: that of each seat, and that of each goal among the spenders of a day.

use model::{SessionId, budget::Money, policy::SessionMode};
use serde_json::json;
use store::{
    GoalChange, GoalSeat, ListedSpender, OverviewLimits, OverviewPeriods, SpenderUsage, params,
};

use super::stage::{done, team, work};
use crate::{
    budgets::answer_using,
    fixtures::TestStore,
    run_lists::FEW,
    stage::{Stage, at, store_over},
};

impl Stage {
    /// Returns the spenders of the day, each with its cost in millionths, its tokens and its turns.
    async fn spenders(&self, limit: u32) -> Vec<String> {
        let now = self.now();
        let periods = OverviewPeriods {
            since: now,
            failures_since: now,
            today: now,
        };
        let limits = OverviewLimits {
            spenders: limit,
            ..FEW
        };
        let read = self.store.overview(self.tenant, periods, limits, now).await;
        let line = |item: SpenderUsage| {
            let name = match item.spender {
                ListedSpender::Automation { name, .. } => name,
                ListedSpender::Goal { title, .. } => title,
                ListedSpender::Conversations => "conversations".to_owned(),
            };
            format!("{name} {} {} {}", item.cost, item.tokens, item.turns)
        };
        read.unwrap().spenders.into_iter().map(line).collect()
    }

    /// Takes the turn of a message in a session.
    async fn message_using(&self, session: SessionId, tokens: u64, micros: u64) {
        let run = self.send_message(session, "How far are you?").await.run_id;
        self.start(run).await;
        self.end(run, &answer_using(tokens, micros)).await;
    }
}

pub(crate) async fn goals_are_spenders_apart_from_conversations(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let report = stage.automation("report", SessionMode::Fresh).await;
    stage.turn_using(report, 10, 2_600_000).await;
    stage.message_using(stage.session().await, 3, 250_000).await;
    // 1. The turns of the tasks of a goal, one of which goes on, and that of a message of a person.
    let session = stage.goal(team(1, None)).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.end(planner.run, &answer_using(20, 2_000_000)).await;
    let worker = stage.turn(db, session, "worker").await;
    let usage = json!({ "spent": { "tokens": 7, "cost": { "USD": 500_000 } } });
    stage.record_usage(worker.run, &usage).await;
    stage.message_using(session, 1, 0).await;
    let expected = [
        "report 2600000 10 1",
        "Campaign 2500000 28 3",
        "conversations 250000 3 1",
    ];
    assert_eq!(stage.spenders(3).await, expected);
    assert_eq!(stage.spenders(1).await, expected[..1]);
    // 2. A goal that has ended stays among them, and one without a title has the beginning of its text.
    stage.change(session, GoalChange::Cancel).await.unwrap();
    assert_eq!(stage.spenders(3).await, expected);
    let untitled = "update agent_sessions set title = null where id = $1";
    db.run(stage.scope(), untitled, params![session])
        .await
        .unwrap();
    assert_eq!(
        stage.spenders(2).await[1],
        "Draft the campaign. 2500000 28 3"
    );
    // 3. Those of another tenant are its own.
    let other = Stage::setup_tenant("other", store_over(&db.database)).await;
    other.message_using(other.session().await, 1, 1).await;
    assert_eq!(other.spenders(3).await, ["conversations 1 1 1"]);
    // 4. The run of a turn that goes on after midnight does not tell how much it used on each day.
    stage.clock.set(at("2026-05-05T00:00:00Z"));
    assert!(stage.spenders(3).await.is_empty());
    let usage = json!({ "spent": { "tokens": 9, "cost": { "USD": 600_000 } } });
    stage.record_usage(worker.run, &usage).await;
    assert_eq!(stage.spenders(3).await, ["conversations 100000 2 0"]);
}

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
