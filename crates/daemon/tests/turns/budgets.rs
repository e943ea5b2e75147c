//! Budgets during a turn: an agent whose reported usage reaches a limit is stopped.

use std::time::Duration;

use daemon::Daemon;
use model::{automation::AutomationState, budget::Budget, run::RunStatus};
use serde_json::json;
use testkit::scripted::{Event, Step};

use crate::world::{World, create_file, eventually, on_demand, prompt_log, wait_for_file};

/// Returns a step that reports the size of the context and the cost of the session.
fn usage_step(used: u64, cost: f64) -> Step {
    usage_step_in("USD", used, cost)
}

fn usage_step_in(currency: &str, used: u64, cost: f64) -> Step {
    Step::Update(json!({
        "sessionUpdate": "usage_update", "used": used, "size": 1000,
        "cost": { "amount": cost, "currency": currency },
    }))
}

fn budget(limits: &[&str]) -> Budget {
    let mut budget = Budget::default();
    for limit in limits {
        budget.set(limit.parse().unwrap()).unwrap();
    }
    budget
}

async fn tokens_today(world: &World) -> u64 {
    let now = model::Clock::now(&*world.clock);
    let spending = world.store().tenant_usage(world.scope(), world.tenant, now);
    spending.await.unwrap().day.tokens
}

pub(crate) async fn turn_over_budget_is_stopped_and_pauses_automation(world: &World) {
    let script = world.script().prompt([
        usage_step(40, 0.1),
        Step::text("Half of it."),
        usage_step(60, 0.1),
        Step::Stall,
    ]);
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.budget = budget(&["50 tokens/run"]);
    let id = world.create_automation(&new).await;
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    let said = "the automation's budget of 50 tokens a run is used up";
    assert_eq!(
        (run.status(), run.state.reason()),
        (RunStatus::Failed, Some("budget"))
    );
    assert_eq!(
        run.state.message().unwrap(),
        format!("The turn failed: {said}.")
    );
    let cancelled = prompt_log(&script)
        .events()
        .filter(|it| **it == Event::Cancel)
        .count();
    assert_eq!(cancelled, 1, "the agent got one cancellation");
    let words = world.messages(run.session_id.unwrap()).await;
    assert_eq!(
        words[1].1, "Half of it.",
        "the text before the stop is kept"
    );
    let paused = world.automation_of(id).await;
    assert_eq!(paused.state, AutomationState::Paused);
    assert_eq!(paused.pause_reason.as_deref(), Some("budget"));
    assert_eq!(paused.attention.unwrap(), format!("paused itself: {said}"));
    assert_eq!(tokens_today(world).await, 60);
    assert_eq!(world.attempts(fired).await.len(), 1);
}

pub(crate) async fn answer_finished_before_budget_cancel_succeeds(world: &World) {
    let script = world.script().prompt([
        usage_step(60, 0.1),
        Step::UntilCancelled,
        Step::text("Done."),
    ]);
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.budget = budget(&["0.1 USD/day"]);
    let id = world.create_automation(&new).await;
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    assert_eq!(run.status(), RunStatus::Succeeded);
    let paused = world.automation_of(id).await;
    assert_eq!(paused.pause_reason.as_deref(), Some("budget"));
    assert!(paused.attention.unwrap().contains("0.1 USD a day"));
}

pub(crate) async fn turn_over_minutes_is_stopped_and_pauses_automation(world: &World) {
    let (started, go_on) = (world.path("started"), world.path("go on"));
    let script = world
        .script()
        .prompt([Step::Touch(started.clone()), Step::WaitFor(go_on.clone())])
        .prompt([Step::Stall]);
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.budget = budget(&["1 minute/day"]);
    let id = world.create_automation(&new).await;
    // The first turn leaves half a second.
    let fired = world.fire(id).await;
    let (first, ()) = tokio::join!(world.take_turn(fired), async {
        wait_for_file(&started).await;
        world.clock.advance(Duration::from_millis(59_500));
        create_file(&go_on);
    });
    assert_eq!(first.status(), RunStatus::Succeeded, "{first:#?}");
    assert_eq!(
        world.automation_of(id).await.state,
        AutomationState::Enabled
    );
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    assert_eq!(
        (run.status(), run.state.reason()),
        (RunStatus::Failed, Some("budget"))
    );
    let paused = world.automation_of(id).await;
    assert_eq!(paused.pause_reason.as_deref(), Some("budget"));
    let text = paused.attention.unwrap();
    assert!(text.contains("1 minute a day"), "{text}");
}

pub(crate) async fn turn_usage_is_growth_of_session_totals(world: &World) {
    let script = world
        .script()
        .prompt([usage_step(100, 0.5), usage_step(120, 0.5)])
        .prompt([
            usage_step(150, 0.75),
            usage_step(30, 0.75),
            usage_step(35, 0.8),
        ])
        // This agent reports no usage.
        .prompt([Step::Echo])
        .prompt([usage_step(45, 0.1)]);
    let agent = world.agent(&script).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let mut spent = Vec::new();
    for _ in 0..4 {
        let fired = world.fire(id).await;
        let usage = world.take_turn(fired).await.usage;
        spent.push(usage.map(|usage| usage["spent"].clone()));
    }
    let of =
        |tokens: u64, micros: u64| Some(json!({ "tokens": tokens, "cost": { "USD": micros } }));
    // The last session starts its cost at zero.
    let expected = [of(120, 500_000), of(35, 300_000), None, of(10, 100_000)];
    assert_eq!(spent, expected);
    assert_eq!(tokens_today(world).await, 165);
}

pub(crate) async fn usage_before_first_report_is_not_charged(world: &World) {
    let script = world
        .script()
        // The session has a memory without a report of usage, as from a version that did not record usage.
        .prompt([Step::Echo])
        .prompt([usage_step(90_000, 12.5), usage_step(90_040, 12.75)])
        .prompt([usage_step(90_050, 13.0)]);
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.budget = budget(&["1000 tokens/run", "1 USD/run"]);
    let id = world.create_automation(&new).await;
    let mut spent = Vec::new();
    for _ in 0..3 {
        let fired = world.fire(id).await;
        let run = world.take_turn(fired).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
        spent.push(run.usage.map(|usage| usage["spent"].clone()));
    }
    let of =
        |tokens: u64, micros: u64| Some(json!({ "tokens": tokens, "cost": { "USD": micros } }));
    assert_eq!(spent, [None, of(40, 250_000), of(10, 250_000)]);
    assert_eq!(tokens_today(world).await, 50);
}

pub(crate) async fn alternating_currencies_are_each_charged_once(world: &World) {
    let script = world
        .script()
        .prompt([
            usage_step_in("USD", 10, 5.0),
            usage_step_in("EUR", 10, 3.0),
            usage_step_in("USD", 10, 5.5),
            usage_step_in("EUR", 10, 3.0),
        ])
        .prompt([
            usage_step_in("USD", 10, 5.75),
            usage_step_in("EUR", 10, 3.25),
        ]);
    let agent = world.agent(&script).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let mut spent = Vec::new();
    for _ in 0..2 {
        let fired = world.fire(id).await;
        let usage = world.take_turn(fired).await.usage.unwrap();
        spent.push(usage["spent"]["cost"].clone());
    }
    let expected = [
        json!({ "USD": 5_500_000, "EUR": 3_000_000 }),
        json!({ "USD": 250_000, "EUR": 250_000 }),
    ];
    assert_eq!(spent, expected);
}

pub(crate) async fn running_turn_stops_when_other_turns_exhaust_budget(world: &World) {
    let go_on = world.path("go on");
    let long = world.script().prompt([
        usage_step(40, 0.0),
        Step::WaitFor(go_on.clone()),
        usage_step(41, 0.0),
        Step::Stall,
    ]);
    let short = testkit::scripted::Script::new(world.path("other agent"));
    let short = short.prompt([usage_step(59, 0.0), Step::Echo]);
    let long = world.session(world.agent_named("long", &long).await).await;
    let short = world
        .session(world.agent_named("short", &short).await)
        .await;
    let now = model::Clock::now(&*world.clock);
    let limit = budget(&["100 tokens/day"]);
    let set = world
        .store()
        .set_tenant_budget(world.tenant, None, &limit, now);
    set.await.unwrap();
    // The usage of a turn is written four times per heartbeat.
    let host = world.host_with(|settings, _| {
        settings.heartbeat = Duration::from_millis(400);
    });
    let run = world.send_message(long, "Work").await;
    let daemon = Daemon::start(host);
    eventually("the usage of the turn so far", async || {
        (tokens_today(world).await == 40).then_some(())
    })
    .await;
    let other = world.send_message(short, "Hello").await;
    daemon.signals().wake();
    assert_eq!(
        world.wait_until_over(other).await.status(),
        RunStatus::Succeeded
    );
    create_file(&go_on);
    let ended = world.wait_until_over(run).await;
    assert_eq!(ended.state.reason(), Some("budget"));
    assert!(ended.state.message().unwrap().contains("100 tokens a day"));
    assert_eq!(tokens_today(world).await, 100);
    daemon.stop().await;
}
