//! Budgets of minutes, and budgets in currencies that do not exist.

use std::time::Duration;

use model::{
    RunId,
    automation::AutomationState,
    budget::{Accounts, Amount, Budget, Limit, Money, Period},
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus,
    turn::{HeartbeatReply, StartReply},
};
use serde_json::json;

use crate::{
    budgets::answer_using,
    fixtures::TestStore,
    stage::{Stage, failed},
};

const USED_UP: &str =
    "the automation's budget of 10 minutes a day is used up until 2026-05-05T00:00:00Z";

pub(crate) async fn minutes_of_turns_count_when_they_end(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["10 minutes/day"])
        .await;
    let mut runs = Vec::new();
    for seconds in [200, 399] {
        let run = stage.fire(id).await.run_id;
        stage.start(run).await;
        stage.advance_seconds(seconds);
        stage.end(run, &answer_using(0, 0)).await;
        runs.push(run);
    }
    let used = stage.automation_usage(id).await;
    assert_eq!(used.day.time, Duration::from_secs(599));
    assert_eq!((used.day.minutes(), used.month.minutes()), (9, 9));
    assert_eq!(stage.tenant_usage().await.day.time, used.day.time);
    // A failed turn counts, too, and the last second of the budget pauses the automation.
    let run = stage.fire(id).await.run_id;
    stage.start(run).await;
    stage.advance_seconds(1);
    stage.end(run, &failed(FailureKind::AgentError, true)).await;
    stage.assert_paused_by_budget(id, USED_UP).await;
    stage.resume(id).await;
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    stage.assert_paused_by_budget(id, USED_UP).await;
}

pub(crate) async fn budget_of_minutes_needs_its_format(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for (limit, needed) in [("5 turns/day", 1), ("5 minutes/month", 2)] {
        let id = stage
            .automation_with_budget(limit, SessionMode::Fresh, &[limit])
            .await;
        let found = stage.read_automation(id).await;
        assert_eq!(found.needs_format, needed, "{limit}");
        assert_eq!(found.policies.budget.to_string(), limit);
    }
}

/// Returns the seconds that each account has for the day. The clock of the stage adds a millisecond now and then.
fn seconds_of_day(accounts: &Accounts) -> Vec<u64> {
    let accounts = accounts.accounts.iter();
    accounts.map(|account| account.day.time.as_secs()).collect()
}

pub(crate) async fn minutes_of_running_turns_count_for_other_turns(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["10 minutes/day"])
        .await;
    stage.limit_tenant(&["60 minutes/month"]).await;
    let first = stage.fire(id).await.run_id;
    stage.start(first).await;
    stage.advance_seconds(100);
    let second = stage.fire(id).await.run_id;
    stage.start(second).await;
    stage.advance_seconds(10);
    beat(&stage, &[first, second]).await;
    // The accounts of a turn have the time of the other turns, and not its own.
    let accounts = stage.record_usage(second, &json!({})).await.unwrap();
    assert_eq!(seconds_of_day(&accounts), [110, 110]);
    let accounts = stage.record_usage(first, &json!({})).await.unwrap();
    assert_eq!(seconds_of_day(&accounts)[0], 10);
    // A message of a person counts for the tenant alone.
    let session = stage.session().await;
    let message = stage.send_message(session, "Hello").await.run_id;
    stage.start(message).await;
    stage.advance_seconds(480);
    beat(&stage, &[first, second, message]).await;
    let accounts = stage.record_usage(message, &json!({})).await.unwrap();
    assert_eq!(seconds_of_day(&accounts)[0], 590 + 490);
    let accounts = stage.record_usage(first, &json!({})).await.unwrap();
    assert_eq!(seconds_of_day(&accounts), [490, 490 + 480]);
    let third = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(third).await,
        StartReply::Deferred
    ));
    stage.assert_paused_by_budget(id, USED_UP).await;
    assert_eq!(stage.status(third).await, RunStatus::Deferred);
}

/// Renews the heartbeats of runs.
async fn beat(stage: &Stage, runs: &[RunId]) {
    for run in runs {
        assert!(matches!(
            stage.heartbeat(*run).await,
            HeartbeatReply::Continue
        ));
    }
}

pub(crate) async fn downtime_uses_no_minutes_up(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.limit_tenant(&["1200 minutes/month"]).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["2000 minutes/month"])
        .await;
    let lost = stage.fire(id).await.run_id;
    stage.start(lost).await;
    stage.advance_seconds(60);
    beat(&stage, &[lost]).await;
    // The machine is off for a weekend. Another turn begins before the lost one is given up.
    stage.advance_seconds(62 * 3600);
    let session = stage.session().await;
    let message = stage.send_message(session, "Hello").await.run_id;
    stage.start(message).await;
    let accounts = stage.record_usage(message, &json!({})).await.unwrap();
    let months = accounts.accounts.iter().map(|it| it.month.time.as_secs());
    assert_eq!(months.collect::<Vec<_>>(), [60]);
    assert_eq!(stage.stall().await, [lost]);
    let used = stage.automation_usage(id).await;
    let limit = stage.read_automation(id).await.policies.timeout();
    assert_eq!(used.month.time, limit);
    assert_eq!(stage.tenant_usage().await.month.time, limit);
}

pub(crate) async fn turn_of_deleted_session_counts_its_minutes(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "Hello").await.run_id;
    stage.start(run).await;
    stage.advance_seconds(300);
    beat(&stage, &[run]).await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    deleted.await.unwrap();
    assert_eq!(stage.tenant_usage().await.day.time.as_secs(), 300);
}

pub(crate) async fn cancelled_waiting_run_pauses_no_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["10 minutes/day"])
        .await;
    let waiting = stage.fire(id).await.run_id;
    // Other work has used the tenant's budget up meanwhile.
    let session = stage.session().await;
    let message = stage.send_message(session, "Hello").await.run_id;
    stage.start(message).await;
    stage.advance_seconds(400);
    stage.end(message, &answer_using(0, 0)).await;
    stage.limit_tenant(&["5 minutes/day"]).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), waiting, "not needed", stage.now());
    cancelled.await.unwrap();
    assert_eq!(stage.status(waiting).await, RunStatus::Cancelled);
    let found = stage.read_automation(id).await;
    assert_eq!(found.state, AutomationState::Enabled);
}

pub(crate) async fn budget_in_unknown_currency_pauses_and_requests_attention(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut budget = Budget::default();
    // Earlier versions stored `3 runs/day` as an amount of money.
    let limit = Limit {
        amount: Amount::Cost(Money::parse("3", "runs").unwrap()),
        period: Period::Day,
    };
    budget.set(limit).unwrap();
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.budget = budget.clone();
    let id = stage.create(&new).await;
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    let found = stage.read_automation(id).await;
    assert_eq!(found.state, AutomationState::Paused);
    let text = found.attention.unwrap();
    assert!(
        text.contains("the automation's budget of 3 runs a day has the unknown currency `runs`"),
        "{text}"
    );
    // A tenant's budget lets no turn begin, either, and a person learns the reason at once.
    let set = stage
        .store
        .set_tenant_budget(stage.tenant, None, &budget, stage.now());
    set.await.unwrap();
    let session = stage.session().await;
    let message = stage.send_message(session, "Hello").await.run_id;
    let StartReply::Refused(failure) = stage.claim_and_begin(message).await else {
        panic!("the turn began");
    };
    assert!(failure.message.contains("`runs`"), "{failure:?}");
}
