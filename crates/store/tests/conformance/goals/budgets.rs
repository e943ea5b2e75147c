//! The budgets and the time of goals.

use std::time::Duration;

use model::{
    budget::Money,
    goal::{GoalBudget, GoalState, PauseReason, TaskStatus},
    turn::{StartReply, TurnResult},
};
use serde_json::json;
use store::{GoalChange, GoalFilter, Page, ToolCaller};

use super::stage::{done, team, work};
use crate::{
    budgets::answer_using,
    fixtures::TestStore,
    stage::{Stage, answer},
};

const PAUSED: GoalState = GoalState::Paused(PauseReason::Budget);

fn tokens(tokens: u64) -> GoalBudget {
    GoalBudget {
        tokens: Some(tokens),
        cost: None,
    }
}

pub(crate) async fn goal_reports_and_pauses_at_ninety_percent_of_budget(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.budget = tokens(1000);
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let content = stage.run(planner.run).await.content;
    assert!(content.contains("1000 tokens"), "{content}");
    for task in [work("a", &[]), work("b", &["a"])] {
        stage.stage_task(&planner, &task).await.unwrap();
    }
    stage.end(planner.run, &answer_using(100, 0)).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.end(worker.run, &answer_using(800, 0)).await;
    // The reserve pays for the report, and no work starts.
    assert!(stage.open_run(db, session, "worker-1").await.is_none());
    let report = stage.turn(db, session, "planner").await;
    let content = stage.run(report.run).await.content;
    assert!(content.contains("900 tokens"), "{content}");
    stage.end(report.run, &answer_using(50, 0)).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, PAUSED);
    assert_eq!(view.budget, tokens(1000));
    // A budget that is still too low changes nothing, and a higher one lets the goal go on.
    let low = GoalChange::Budget(tokens(1001));
    assert_eq!(stage.change(session, low).await.unwrap(), PAUSED);
    let enough = GoalChange::Budget(tokens(5000));
    let resumed = stage.change(session, enough).await.unwrap();
    assert_eq!(resumed, GoalState::Active);
    let again = stage.change(session, GoalChange::Resume).await.unwrap();
    assert_eq!(again, GoalState::Active);
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("B")).await.unwrap();
    stage.end(worker.run, &answer_using(100, 0)).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.tasks[2].status, TaskStatus::Done);
}

pub(crate) async fn goal_reports_and_pauses_at_end_of_its_time(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.hours = 2;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage
        .plan(db, session, &[work("a", &[]), work("b", &["a"])])
        .await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let until = view.until.unwrap();
    assert_eq!(until.since(stage.now()), Duration::from_hours(2));
    let passed = stage.store.pass_goal_deadlines(stage.now()).await.unwrap();
    assert_eq!(passed, 0);
    stage.advance_seconds(2 * 3600);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await.unwrap();
    assert_eq!(passed, 1);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await.unwrap();
    assert_eq!(passed, 0, "the goal has noted the end of its time");
    // The turn that had started may run, and the next one does not start.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.state, PAUSED);
    let later = stage.now() + Duration::from_hours(1);
    let resumed = stage.change(session, GoalChange::Until(later)).await;
    assert_eq!(resumed.unwrap(), GoalState::Active);
    assert!(stage.open_run(db, session, "worker-1").await.is_some());
    stage.advance_seconds(3600);
    let passed = stage.store.pass_goal_deadlines(stage.now()).await.unwrap();
    assert_eq!(passed, 1);
}

pub(crate) async fn turn_waits_for_budget_of_tenant_until_time_of_goal_is_over(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.hours = 2;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.plan(db, session, &[work("a", &[])]).await;
    // 1. The turn waits, and the task says for what.
    stage.limit_tenant(&["1 turn/month"]).await;
    let run = stage.open_run(db, session, "worker-1").await.unwrap();
    let reply = stage.claim_and_begin(run).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    let tasks = stage.tasks(session).await;
    let waits = "a RUNNING a later period: the tenant's budget of 1 turn a month is used up until ";
    assert!(tasks[1].starts_with(waits), "{tasks:?}");
    // 2. It waits no longer than the goal. Neither does the report.
    let now = stage.advance_seconds(2 * 3600);
    assert_eq!(stage.store.pass_goal_deadlines(now).await.unwrap(), 1);
    stage.store.promote_due(now).await.unwrap();
    let reply = stage.claim_and_begin(run).await;
    assert!(matches!(reply, StartReply::Refused(_)), "{reply:?}");
    let report = stage.open_run(db, session, "planner").await.unwrap();
    let reply = stage.claim_and_begin(report).await;
    assert!(matches!(reply, StartReply::Refused(_)), "{reply:?}");
    assert_eq!(stage.goal_state(session).await, PAUSED);
    // 3. With more time and a higher budget the goal goes on.
    stage.limit_tenant(&["9 turns/month"]).await;
    let later = stage.now() + Duration::from_hours(1);
    let resumed = stage.change(session, GoalChange::Until(later)).await;
    assert_eq!(resumed.unwrap(), GoalState::Active);
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    assert_eq!(stage.tasks(session).await[1], "a DONE nothing");
}

pub(crate) async fn time_of_draft_counts_from_its_start(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    (new.draft, new.team.limits.hours) = (true, 2);
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.until, None);
    // The draft waits longer than its hours last.
    stage.advance_seconds(3 * 3600);
    let started = stage.change(session, GoalChange::Start).await.unwrap();
    assert_eq!(started, GoalState::Active);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    let until = stage.now() + Duration::from_hours(2);
    assert_eq!(view.until, Some(until));
    assert!(stage.open_run(db, session, "planner").await.is_some());
    // A later move does not begin the hours anew.
    stage.advance_seconds(60);
    stage.change(session, GoalChange::Pause).await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.until, Some(until));
}

pub(crate) async fn draft_that_pauses_at_its_start_has_its_time(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    (new.draft, new.team.limits.hours) = (true, 2);
    new.budget = tokens(0);
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let started = stage.change(session, GoalChange::Start).await.unwrap();
    assert_eq!(started, PAUSED);
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.until, Some(stage.now() + Duration::from_hours(2)));
}

pub(crate) async fn time_that_person_gave_to_draft_stays(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let given = stage.now() + Duration::from_hours(8);
    let mut new = stage.new_goal(team(1, None));
    (new.draft, new.until) = (true, Some(given));
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    stage.advance_seconds(3600);
    stage.change(session, GoalChange::Start).await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!(view.until, Some(given));
}

pub(crate) async fn question_without_time_has_that_of_team(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.team.limits.question_hours = 3;
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    let offer = async |caller: &ToolCaller| {
        let offer = stage.store.turn_offer(caller, stage.now()).await.unwrap();
        (offer.task.is_some(), offer.question_hours)
    };
    assert_eq!(offer(&planner).await, (true, Some(3)));
    // It counts in turns with messages, too.
    stage.write_as_person(session, "worker", "Be kind.").await;
    let worker = stage.turn(db, session, "worker").await;
    assert_eq!(offer(&worker).await, (false, Some(3)));
    let chat = stage.session().await;
    let caller = crate::tool_calls::start_message(&stage, chat).await;
    assert_eq!(offer(&caller).await, (false, None));
}

pub(crate) async fn turns_without_cost_do_not_reach_budget_of_money(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, None));
    new.budget = GoalBudget {
        tokens: None,
        cost: Money::parse("6", "USD").ok(),
    };
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    // 1. A plan without usage, and work with tokens alone.
    stage
        .plan(db, session, &[work("a", &[]), work("b", &["a"])])
        .await;
    let usage = async || {
        let view = stage.store.goal(stage.scope(), session).await.unwrap();
        let all = stage
            .store
            .goal_page(stage.tenant, GoalFilter::default(), Page::first(10));
        assert_eq!(all.await.unwrap()[0].usage, view.usage);
        view.usage
    };
    let worker = stage.turn(db, session, "worker-1").await;
    let tokens = json!({ "spent": { "tokens": 3100 } });
    stage.record_usage(worker.run, &tokens).await;
    assert_eq!(
        usage().await.runs_without_cost,
        1,
        "a running turn may still report"
    );
    stage.report(&worker, &done("A")).await.unwrap();
    let only_tokens = TurnResult {
        usage: Some(tokens),
        ..answer("Done.")
    };
    stage.end(worker.run, &only_tokens).await;
    let used = usage().await;
    assert_eq!((used.unreported_runs, used.runs_without_cost), (1, 2));
    assert_eq!((used.used.tokens, used.money()), (3100, Vec::new()));
    // 2. The budget stops no turn, until a turn reports a cost.
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("B")).await.unwrap();
    stage.end(worker.run, &answer_using(10, 5_000_000)).await;
    let used = usage().await;
    assert_eq!((used.unreported_runs, used.runs_without_cost), (1, 2));
    assert_eq!(used.money(), [Money::parse("5", "USD").unwrap()]);
}
