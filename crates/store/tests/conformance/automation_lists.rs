//! The list of automations for people: names, triggers and outcomes of a whole page at once.

use model::{
    AutomationId,
    automation::AutomationState,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Failed, Skipped, Succeeded},
    schedule::Spec,
};
use store::{
    AutomationFilter, AutomationNumbers, AutomationRank, AutomationSort, OverviewPeriods,
    PAUSED_BY_PERSON, Page, RunOutcome, Scope, params,
};
use uuid::Uuid;

use crate::{
    fixtures::TestStore,
    run_lists::FEW,
    stage::{Stage, hourly},
};

async fn items(stage: &Stage, outcomes: u32) -> store::AutomationItems {
    let filter = AutomationFilter::default();
    let listed = stage
        .store
        .automation_items(stage.tenant, &filter, Page::first(50), outcomes);
    listed.await.unwrap()
}

pub(crate) async fn automation_list_has_agent_session_triggers_and_outcomes(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let talk = stage.keyed_session(Some("web:1")).await;
    let standup = stage.bound_automation("standup", "web:1").await;
    let unbound = stage.bound_automation("unbound", "web:nobody").await;
    let daily = stage
        .automation_with_triggers("daily", SessionMode::Continuous, &[hourly()])
        .await;
    let first = stage.fire_and_start(daily).await;
    stage.fail(first, FailureKind::AgentError).await;
    let retried = stage
        .store
        .retry_run(stage.scope(), first, None, stage.now());
    let retried = retried.await.unwrap().run_id;
    stage.start(retried).await;
    stage.succeed(retried).await;
    stage.advance_seconds(60);
    let second = stage.fire_and_start(daily).await;
    stage.fail(second, FailureKind::SignIn).await;
    stage.fire(unbound).await;

    let listed = items(&stage, 30).await;
    assert!(listed.corrupt.is_empty());
    let [of_daily, of_unbound, of_standup] = listed.readable.as_slice() else {
        panic!("{listed:?}");
    };
    assert_eq!(of_daily.automation.id, daily);
    assert_eq!(of_unbound.automation.id, unbound);
    assert_eq!(of_standup.automation.id, standup);
    assert_eq!(of_standup.session, Some(talk));
    assert_eq!(of_unbound.session, None);
    assert_eq!(
        of_daily.session,
        stage.read_automation(daily).await.current_session_id
    );
    let agent = stage
        .store
        .agent(stage.scope(), of_daily.automation.agent_id);
    assert_eq!(of_daily.agent, agent.await.unwrap().name);
    let specs = |triggers: &[model::entity::Trigger]| -> Vec<Spec> {
        triggers
            .iter()
            .map(|trigger| trigger.spec.clone())
            .collect()
    };
    let read = stage.store.triggers(stage.scope(), daily).await.unwrap();
    assert_eq!(specs(&of_daily.triggers), specs(&read));
    assert_eq!(read.len(), 2);
    let outcomes = |outcomes: &[RunOutcome]| -> Vec<_> {
        outcomes.iter().map(|it| (it.run, it.status)).collect()
    };
    assert_eq!(
        outcomes(&of_daily.outcomes),
        [(second, Failed), (retried, Succeeded)]
    );
    assert_eq!(of_daily.outcomes[0].reason.as_deref(), Some("sign_in"));
    assert!(of_daily.outcomes[0].started_at <= of_daily.outcomes[0].ended_at);
    assert_eq!(of_unbound.outcomes[0].status, Skipped);
    assert_eq!(of_standup.outcomes, []);

    let one = items(&stage, 1).await;
    assert_eq!(outcomes(&one.readable[0].outcomes), [(second, Failed)]);
    let none = items(&stage, 0).await;
    assert_eq!(none.readable[0].outcomes, []);
}

pub(crate) async fn automation_with_corrupt_trigger_hides_no_other(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let sound = stage.automation("sound", SessionMode::Fresh).await;
    let broken = stage
        .automation_with_triggers("broken", SessionMode::Fresh, &[hourly()])
        .await;
    let trigger = stage.timed_trigger(broken).await;
    let change = "update automation_triggers set spec = '{\"kind\":7}' where id = $1";
    db.run(Scope::System, change, params![trigger.id])
        .await
        .unwrap();

    let listed = items(&stage, 1).await;
    assert_eq!(listed.readable.len(), 1);
    assert_eq!(listed.readable[0].automation.id, sound);
    assert_eq!(listed.corrupt.len(), 1);
    assert_eq!(listed.corrupt[0].id, broken);
    assert_eq!(listed.corrupt[0].name, "broken");
}

pub(crate) async fn automations_are_sorted_in_pages_and_counted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let timed = async |name: &str, expression: &str| {
        let spec = Spec::Cron {
            expression: expression.into(),
            zone: "UTC".into(),
        };
        stage
            .automation_with_triggers(name, SessionMode::Fresh, &[spec])
            .await
    };
    let beta = timed("beta", "0 0 1 1 *").await;
    let alpha = timed("Alpha", "* * * * *").await;
    let gamma = stage.automation("gamma", SessionMode::Fresh).await;
    let delta = timed("delta", "* * * * *").await;
    stage.advance_seconds(1);
    let failed = stage.fire_and_start(gamma).await;
    stage.fail(failed, FailureKind::AgentError).await;
    stage.advance_seconds(1);
    let succeeded = stage.fire_and_start(beta).await;
    stage.succeed(succeeded).await;
    stage.advance_seconds(1);
    let (scope, now) = (stage.scope(), stage.now());
    let paused = stage
        .store
        .pause_automation(scope, delta, PAUSED_BY_PERSON, now);
    paused.await.unwrap();

    let filter = AutomationFilter::default();
    let read = async |filter: &AutomationFilter, attention, sort| {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = stage.store.sorted_automation_items(
                stage.tenant,
                filter,
                attention,
                (sort, after),
                2,
                1,
            );
            let page = page.await.unwrap();
            listed.extend(page.items.readable.iter().map(|item| item.automation.id));
            let Some(next) = page.next else {
                return (listed, page.numbers);
            };
            // A cursor is the same after it was sent to a client.
            after = Some(AutomationRank::parse(&next.to_string(), sort).unwrap());
        }
    };
    for (sort, order) in [
        (AutomationSort::Name, [alpha, beta, delta, gamma]),
        (AutomationSort::Next, [alpha, beta, delta, gamma]),
        (AutomationSort::Last, [beta, gamma, alpha, delta]),
        (AutomationSort::Failures, [gamma, alpha, beta, delta]),
    ] {
        let (listed, numbers) = read(&filter, false, sort).await;
        assert_eq!(listed, order, "{sort:?}");
        let expected = AutomationNumbers {
            all: 4,
            enabled: 3,
            paused: 1,
            attention: 0,
        };
        assert_eq!(numbers, expected);
    }
    let (by_change, _) = read(&filter, false, AutomationSort::Changed).await;
    assert_eq!(by_change[0], delta);
    let paused = AutomationFilter {
        state: Some(AutomationState::Paused),
        ..AutomationFilter::default()
    };
    assert_eq!(read(&paused, false, AutomationSort::Name).await.0, [delta]);
    let named = AutomationFilter {
        text: Some("ALPH".into()),
        ..AutomationFilter::default()
    };
    let (listed, numbers) = read(&named, false, AutomationSort::Name).await;
    assert_eq!((listed, numbers.all), (vec![alpha], 1));

    // A pause by something else than a person needs one.
    let stopped = stage
        .store
        .pause_automation(stage.scope(), alpha, "broken", stage.now());
    stopped.await.unwrap();
    let (listed, numbers) = read(&filter, true, AutomationSort::Name).await;
    assert_eq!((listed, numbers.attention), (vec![alpha], 1));
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let page = stage.store.sorted_automation_items(
        other,
        &filter,
        false,
        (AutomationSort::Name, None),
        9,
        1,
    );
    let page = page.await.unwrap();
    assert!(page.items.readable.is_empty());
    assert_eq!(page.numbers, AutomationNumbers::default());
}

pub(crate) async fn automations_by_id_keep_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage.automation("first", SessionMode::Fresh).await;
    let second = stage.automation("second", SessionMode::Fresh).await;
    let deleted = stage.automation("deleted", SessionMode::Fresh).await;
    for _ in 0..2 {
        let run = stage.fire_and_start(first).await;
        stage.succeed(run).await;
    }
    let newest = stage.fire_and_start(second).await;
    let deletion = stage
        .store
        .delete_automation(stage.scope(), deleted, stage.now());
    deletion.await.unwrap();
    let missing = AutomationId::from_uuid(Uuid::from_u128(7));
    let ids = [second, missing, first, deleted, second];
    let read = stage.store.automation_items_by_id(stage.tenant, &ids, 1);
    let read = read.await.unwrap();
    let found: Vec<_> = read
        .readable
        .iter()
        .map(|item| (item.automation.id, item.triggers.len(), item.outcomes.len()))
        .collect();
    assert_eq!(found, [(second, 1, 1), (first, 1, 1)]);
    assert_eq!(read.readable[0].outcomes[0].run, newest);
}

pub(crate) async fn overview_knows_recoveries(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let from = stage.now();
    let fail = async |automation| {
        let run = stage.fire_and_start(automation).await;
        stage.fail(run, FailureKind::AgentError).await;
        stage.advance_seconds(1);
        run
    };
    let succeed = async |automation| {
        let run = stage.fire_and_start(automation).await;
        stage.succeed(run).await;
        stage.advance_seconds(1);
    };
    let send = async |session| {
        let run = stage.send_message(session, "one").await.run_id;
        stage.start(run).await;
        run
    };
    let broken = stage.automation("broken", SessionMode::Fresh).await;
    succeed(broken).await;
    let broken_runs = [fail(broken).await, fail(broken).await];
    let mended = stage.automation("mended", SessionMode::Fresh).await;
    let mended_runs = [fail(mended).await, fail(mended).await];
    succeed(mended).await;
    let (talk, other) = (stage.session().await, stage.session().await);
    let unanswered = send(other).await;
    stage.fail(unanswered, FailureKind::AgentError).await;
    stage.advance_seconds(1);
    let answered = send(talk).await;
    stage.fail(answered, FailureKind::AgentError).await;
    stage.advance_seconds(1);
    let answer = send(talk).await;
    stage.succeed(answer).await;

    let periods = OverviewPeriods {
        since: from,
        failures_since: from,
        today: from,
    };
    let overview = stage
        .store
        .overview(stage.tenant, periods, FEW, stage.now());
    let read = overview.await.unwrap().failures.outcomes;
    let failed: Vec<_> = read.iter().map(|failure| failure.outcome.run).collect();
    let recovered = stage.store.recovered_runs(stage.tenant, &failed);
    let recovered = recovered.await.unwrap();
    let found = failed.iter().map(|run| (*run, recovered.contains(run)));
    let found: Vec<_> = found.collect();
    assert_eq!(
        found,
        [
            (answered, true),
            (unanswered, false),
            (mended_runs[1], true),
            (mended_runs[0], true),
            (broken_runs[1], false),
            (broken_runs[0], false),
        ]
    );
}
