//! Budgets: the counted usage, the refusal before a turn, and the consequences of a used-up budget.

use model::{
    automation::AutomationState,
    budget::{Account, Budget, RunUsage},
    outcome::{FailureKind, Outcome},
    policy::SessionMode,
    run::RunStatus,
    turn::{StartReply, TurnResult, WriteOutcome},
};
use serde_json::{Value, json};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer, at, failed, hourly},
};

pub(crate) use crate::begin::messages_of_seats_wait_for_budget_of_tenant;

pub(crate) fn budget(limits: &[&str]) -> Budget {
    let mut budget = Budget::default();
    for limit in limits {
        budget.set(limit.parse().unwrap()).unwrap();
    }
    budget
}

/// Returns the usage report of an agent.
fn usage(tokens: u64, micros: u64, currency: &str) -> Value {
    json!({
        "used": tokens, "size": 1000, "cost": { "amount": 0.5, "currency": currency },
        "costs": [{ "amount": "0.5", "currency": currency }],
        "spent": { "tokens": tokens, "cost": { currency: micros } },
    })
}

/// Returns the end of a turn with an answer and this usage.
pub(crate) fn answer_using(tokens: u64, micros: u64) -> TurnResult {
    TurnResult {
        usage: Some(usage(tokens, micros, "USD")),
        ..answer("Done.")
    }
}

/// Returns the tokens, the cost in millionths of a dollar, and the turns of a day and of its month.
fn usage_sums(account: &Account) -> [(u64, u64, u64); 2] {
    [&account.day, &account.month].map(|used| {
        let micros = used.cost.get("USD").copied().unwrap_or(0);
        (used.tokens, micros, used.turns)
    })
}

/// The end of the day on which every stage begins.
const MIDNIGHT: &str = "2026-05-05T00:00:00Z";

pub(crate) async fn usage_without_budget_is_counted_and_unlimited(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    for _ in 0..3 {
        stage.turn_using(id, 100, 7).await;
    }
    let session = stage.session().await;
    let run = stage.send_message(session, "Hello").await.run_id;
    stage.start(run).await;
    stage.end(run, &answer_using(10, 2)).await;
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(300, 21, 3); 2]
    );
    assert_eq!(usage_sums(&stage.tenant_usage().await), [(310, 23, 4); 2]);
    assert_eq!(
        stage.read_automation(id).await.state,
        AutomationState::Enabled
    );
}

pub(crate) async fn run_over_budget_is_deferred_until_next_period(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.budget = budget(&["2 turns/day"]);
    new.triggers = vec![hourly()];
    let id = stage.create(&new).await;
    for _ in 0..2 {
        stage.turn_using(id, 1, 0).await;
    }
    // The whole budget is used, but no further run has been refused.
    assert_eq!(
        stage.read_automation(id).await.state,
        AutomationState::Enabled
    );
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    let message = "the automation's budget of 2 turns a day is used up until 2026-05-05T00:00:00Z";
    stage.assert_paused_by_budget(id, message).await;
    let waiting = stage.run(run).await;
    assert_eq!(waiting.status(), RunStatus::Deferred);
    assert_eq!(waiting.state.not_before(), Some(at(MIDNIGHT)));
    assert_eq!(waiting.state.reason(), Some("budget"));
    assert_eq!(waiting.state.message(), Some(message));
    // Nothing is due while the automation is paused, and nothing starts before the end of the day.
    stage.clock.set(at("2026-05-04T23:59:59Z"));
    stage.fire_due().await;
    stage.assert_nothing_promotable().await;
    assert_eq!(stage.claim().await, None);
    stage.clock.set(at(MIDNIGHT));
    stage.assert_nothing_promotable().await;
    stage.start(run).await;
    let started = stage.run(run).await;
    assert_eq!(
        (started.state.reason(), started.state.message()),
        (None, None)
    );
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(0, 0, 1), (2, 0, 3)]
    );
}

pub(crate) async fn automation_resumed_before_next_period_pauses_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Continuous, &["100 tokens/day"])
        .await;
    stage.turn_using(id, 100, 0).await;
    let message =
        "the automation's budget of 100 tokens a day is used up until 2026-05-05T00:00:00Z";
    stage.assert_paused_by_budget(id, message).await;
    stage.resume(id).await;
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    stage.assert_paused_by_budget(id, message).await;
    // After a resume, the waiting run may be claimed again, and its budget is checked again.
    stage.advance_seconds(60);
    stage.resume(id).await;
    stage.assert_nothing_promotable().await;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    stage.assert_paused_by_budget(id, message).await;
    stage.clock.set(at(MIDNIGHT));
    stage.resume(id).await;
    stage.assert_nothing_promotable().await;
    stage.start(run).await;
}

pub(crate) async fn usage_equal_to_limit_exhausts_budget(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let day = "2026-05-05T00:00:00Z";
    for (name, limits, tokens, micros, message) in [
        ("a", "100 tokens/day", 99, 0, None),
        (
            "b",
            "100 tokens/day",
            100,
            0,
            Some(("100 tokens a day", day)),
        ),
        ("c", "0.5 USD/day", 0, 499_999, None),
        ("d", "0.5 usd/day", 0, 500_000, Some(("0.5 USD a day", day))),
        (
            "e",
            "100 tokens/month",
            150,
            0,
            Some(("100 tokens a month", "2026-06-01T00:00:00Z")),
        ),
        ("f", "0.5 EUR/day", 0, 9_000_000, None),
    ] {
        let id = stage
            .automation_with_budget(name, SessionMode::Fresh, &[limits])
            .await;
        let run = stage.turn_using(id, tokens, micros).await;
        assert_eq!(stage.status(run).await, RunStatus::Succeeded);
        if let Some((limit, until)) = message {
            let message = format!("the automation's budget of {limit} is used up until {until}");
            stage.assert_paused_by_budget(id, &message).await;
        } else {
            let state = stage.read_automation(id).await.state;
            assert_eq!(state, AutomationState::Enabled, "{name}");
        }
    }
    let id = stage
        .automation_with_budget("g", SessionMode::Fresh, &["100 tokens/run"])
        .await;
    stage.turn_using(id, 99, 0).await;
    stage.turn_using(id, 99, 0).await;
    assert_eq!(
        stage.read_automation(id).await.state,
        AutomationState::Enabled
    );
    stage.turn_using(id, 100, 0).await;
    let message = "the automation's budget of 100 tokens a run is used up";
    stage.assert_paused_by_budget(id, message).await;
}

pub(crate) async fn run_stopped_by_budget_pauses_automation_and_is_not_retried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["50 tokens/run"])
        .await;
    let run = stage.fire(id).await.run_id;
    stage.start(run).await;
    let cut = TurnResult {
        usage: Some(usage(60, 0, "USD")),
        ..failed(FailureKind::Budget, true)
    };
    stage.end(run, &cut).await;
    stage
        .assert_paused_by_budget(id, "the automation's budget of 50 tokens a run is used up")
        .await;
    let ended = stage.run(run).await;
    assert_eq!(ended.state.reason(), Some("budget"));
    assert_eq!(stage.attempts(run).await.len(), 1);
    // A turn that is stopped just before midnight finds no used-up budget at its end. Its failure becomes the reason.
    let late = stage.automation("late", SessionMode::Fresh).await;
    let run = stage.fire(late).await.run_id;
    stage.start(run).await;
    stage.end(run, &failed(FailureKind::Budget, true)).await;
    stage.assert_paused_by_budget(late, "it broke").await;
}

pub(crate) async fn repeated_usage_reports_are_counted_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Fresh, &["1000 tokens/day"])
        .await;
    let run = stage.fire(id).await.run_id;
    stage.start(run).await;
    for _ in 0..2 {
        let left = stage.record_usage(run, &usage(40, 5, "USD")).await.unwrap();
        assert_eq!(left.accounts[0].day.tokens, 40);
        assert_eq!(left.counted.tokens, 40);
    }
    // An outdated report does not reduce the counted usage.
    stage.record_usage(run, &usage(60, 5, "USD")).await.unwrap();
    let left = stage.record_usage(run, &usage(40, 5, "USD")).await.unwrap();
    assert_eq!((left.accounts[0].day.tokens, left.counted.tokens), (60, 60));
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(60, 5, 1); 2]
    );
    let end = answer_using(100, 9);
    stage.end(run, &end).await;
    assert_eq!(stage.finish(run, &end).await, WriteOutcome::Fenced);
    assert_eq!(stage.record_usage(run, &usage(500, 5, "USD")).await, None);
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(100, 9, 1); 2]
    );
    assert_eq!(stage.run(run).await.usage, end.usage);
}

pub(crate) async fn concurrent_turns_are_all_counted_against_budget(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    let (one, other) = (stage.fire(id).await.run_id, stage.fire(id).await.run_id);
    stage.start(one).await;
    stage.start(other).await;
    let (first, second) = (answer_using(10, 1), answer_using(20, 2));
    tokio::join!(stage.end(one, &first), stage.end(other, &second));
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(30, 3, 2); 2]
    );
    // The tenant's budget allows one more turn, and two runs compete for it.
    stage.limit_tenant(&["3 turns/day"]).await;
    let next = stage.automation("next", SessionMode::Fresh).await;
    let runs = [stage.fire(id).await.run_id, stage.fire(next).await.run_id];
    assert_eq!(stage.claim_all(2).await.len(), 2);
    let (one, other) = tokio::join!(stage.begin(runs[0]), stage.begin(runs[1]));
    let started = [&one, &other].map(|started| matches!(started, StartReply::Started(_)));
    let deferred = [&one, &other].map(|started| matches!(started, StartReply::Deferred));
    assert_eq!(
        (started[0] ^ started[1], deferred[0] ^ deferred[1]),
        (true, true)
    );
    let pair = [id, next];
    let mut paused = 0;
    for (id, deferred) in pair.into_iter().zip(deferred) {
        let state = stage.read_automation(id).await.state;
        assert_eq!(state == AutomationState::Paused, deferred);
        paused += u32::from(deferred);
    }
    assert_eq!(paused, 1);
    assert_eq!(stage.tenant_usage().await.day.turns, 3);
}

pub(crate) async fn usage_reported_by_lost_worker_stays_counted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget("report", SessionMode::Continuous, &["100 tokens/day"])
        .await;
    stage.turn_using(id, 10, 0).await;
    let run = stage.fire(id).await.run_id;
    stage.start(run).await;
    stage.record_usage(run, &usage(45, 0, "USD")).await.unwrap();
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.automation_usage(id).await.day.tokens, 55);
    // The next attempt continues the agent's session from its last report, so nothing is counted twice.
    let next = stage.attempts(run).await[1].clone();
    stage.clock.set(next.state.not_before().unwrap());
    stage.assert_nothing_promotable().await;
    let assignment = stage.start(next.id).await;
    let kept = assignment.seat.usage.unwrap();
    assert_eq!(kept["used"], 45);
    assert_eq!(kept["costs"][0]["amount"], "0.5");
    assert_eq!(assignment.accounts.accounts[0].day.tokens, 55);
    assert_eq!(assignment.accounts.counted, RunUsage::default());
    stage.end(next.id, &answer_using(45, 0)).await;
    stage
        .assert_paused_by_budget(
            id,
            "the automation's budget of 100 tokens a day is used up until 2026-05-05T00:00:00Z",
        )
        .await;
}

pub(crate) async fn seat_without_memory_has_no_usage(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "Hello").await.run_id;
    stage.start(run).await;
    let broken = TurnResult {
        usage: Some(usage(45, 0, "USD")),
        ..TurnResult::with_outcome(Outcome::Cancelled("enough".into()))
    };
    stage.end(run, &broken).await;
    let run = stage.send_message(session, "Again").await.run_id;
    assert_eq!(stage.start(run).await.seat.usage, None);
    stage.end(run, &answer_using(7, 0)).await;
    let run = stage.send_message(session, "And again").await.run_id;
    assert_eq!(stage.start(run).await.seat.usage.unwrap()["used"], 7);
    assert_eq!(stage.tenant_usage().await.day.tokens, 52);
}

pub(crate) async fn budget_periods_begin_at_midnight_utc(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_budget(
            "report",
            SessionMode::Fresh,
            &["9 turns/day", "3 turns/month"],
        )
        .await;
    let on = |day: &str| stage.clock.set(at(day));
    stage.turn_using(id, 1, 1).await;
    on("2026-05-30T23:59:59Z");
    stage.turn_using(id, 2, 2).await;
    on("2026-05-31T00:00:00Z");
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(0, 0, 0), (3, 3, 2)]
    );
    stage.turn_using(id, 4, 4).await;
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(4, 4, 1), (7, 7, 3)]
    );
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    let until = at("2026-06-01T00:00:00Z");
    assert_eq!(stage.run(run).await.state.not_before(), Some(until));
    on("2026-06-01T00:00:00Z");
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(0, 0, 0); 2]
    );
    stage.assert_nothing_promotable().await;
    // A turn belongs to the day on which it began; its usage belongs to the day on which it is reported.
    stage.start(run).await;
    on("2026-06-02T00:00:00Z");
    stage.end(run, &answer_using(8, 8)).await;
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(8, 8, 0), (8, 8, 1)]
    );
    // A clock that was set back finds the rest of that period's budget.
    on("2026-05-31T12:00:00Z");
    assert_eq!(
        usage_sums(&stage.automation_usage(id).await),
        [(4, 4, 1), (7, 7, 3)]
    );
}

pub(crate) async fn tenant_budget_limits_all_runs_of_its_tenant_only(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    stage.limit_tenant(&["100 tokens/month"]).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "Hello").await.run_id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.accounts.accounts.len(), 1);
    stage.end(run, &answer_using(100, 0)).await;
    // A person who sends a message gets the reason at once.
    let run = stage.send_message(session, "And now?").await.run_id;
    let refused = stage.claim_and_begin(run).await;
    assert!(matches!(refused, StartReply::Refused(failure) if failure.kind == FailureKind::Budget));
    let until = "2026-06-01T00:00:00Z";
    let message = format!("the tenant's budget of 100 tokens a month is used up until {until}");
    let ended = stage.run(run).await;
    assert_eq!(
        (ended.status(), ended.state.reason()),
        (RunStatus::Failed, Some("budget"))
    );
    assert_eq!(stage.attempts(run).await.len(), 1);
    let shown = stage.transcript(session).await;
    assert_eq!(
        shown.last().unwrap(),
        &format!("system: The turn failed: {message}.")
    );
    // An automation pauses itself.
    let run = stage.fire(id).await.run_id;
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    stage.assert_paused_by_budget(id, &message).await;
    // Another tenant has a separate budget.
    let store = stage.store.clone();
    let now = stage.now();
    let other = store.ensure_tenant("other", now).await.unwrap();
    assert!(
        store
            .tenant(store::Scope::System, other)
            .await
            .unwrap()
            .budget
            .is_none()
    );
    let account = store.tenant_usage(store::Scope::Tenant(other), other, now);
    assert_eq!(usage_sums(&account.await.unwrap()), [(0, 0, 0); 2]);
    // A larger budget releases the waiting runs.
    stage.limit_tenant(&["200 tokens/month"]).await;
    stage.assert_nothing_promotable().await;
    stage.start(run).await;
    stage.end(run, &answer_using(1, 0)).await;
    stage.limit_tenant(&[]).await;
    assert!(stage.tenant_usage().await.budget.is_none());
    let unknown = model::TenantId::from_uuid(uuid::Uuid::from_u128(77));
    let none = Budget::default();
    let set = store.set_tenant_budget(unknown, None, &none, now);
    assert!(matches!(set.await, Err(store::Error::NotFound { .. })));
}

pub(crate) async fn usage_of_deleted_automation_stays_in_tenant_usage(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    stage.turn_using(id, 10, 1).await;
    let deleted = stage
        .store
        .delete_automation(stage.scope(), id, stage.now());
    deleted.await.unwrap();
    assert_eq!(usage_sums(&stage.tenant_usage().await), [(10, 1, 1); 2]);
}

pub(crate) async fn run_deferred_by_budget_does_not_block_its_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let mut new = stage.new_automation("bound", SessionMode::Bound);
    new.bound_session_key = Some("web:1".into());
    new.policies.budget = budget(&["1 turn/day"]);
    let id = stage.create(&new).await;
    stage.turn_using(id, 1, 0).await;
    let run = stage.fire(id).await.run_id;
    let words = stage.send_message(session, "Hello").await;
    assert_eq!(words.status, RunStatus::Deferred);
    assert!(matches!(
        stage.claim_and_begin(run).await,
        StartReply::Deferred
    ));
    assert_eq!(stage.status(words.run_id).await, RunStatus::Queued);
    stage.start(words.run_id).await;
    stage.succeed(words.run_id).await;
    stage.assert_nothing_promotable().await;
    assert_eq!(stage.status(run).await, RunStatus::Deferred);
}
