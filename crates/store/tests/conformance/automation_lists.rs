//! The list of automations for people: names, triggers and outcomes of a whole page at once.

use model::{
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Failed, Skipped, Succeeded},
    schedule::Spec,
};
use store::{AutomationFilter, Page, RunOutcome, Scope, params};

use crate::{
    fixtures::TestStore,
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
