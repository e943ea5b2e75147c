//! Documents that need a later format than this program supports.

use model::{
    RunId,
    automation::AutomationState,
    outcome::FailureKind,
    policy::{CatchUp, SessionMode},
    run::RunStatus,
    schedule::Spec,
    turn::{StartReply, WriteOutcome},
};
use serde_json::json;
use store::{DOCUMENT_FORMAT, FireReport, Scope, database::Param, params};

use crate::{
    fixtures::TestStore,
    formats::{LATER_FORMAT, assert_newer_format_refused, set_formats},
    stage::{Stage, answer, at, failed, hourly, new_trigger},
};

pub(crate) async fn too_new_automation_stays_due_for_newer_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.too_new_automation(db, SessionMode::Fresh).await;
    let other = stage
        .automation_with_triggers("other", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T12:00:30Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.triggers, fired.has_more), (1, false));
    assert_eq!(
        stage.run_lines(other).await.len(),
        2,
        "a missed range and a run"
    );
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert!(stage.run_lines(automation).await.is_empty());
    let next = stage.store.scheduler_status(stage.now()).await.unwrap().due;
    assert_eq!(
        next,
        Some(at("2026-05-04T13:00:00Z")),
        "this server does not wait for the instant"
    );
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(
        (found.state, found.attention),
        (AutomationState::Enabled, None)
    );
    assert_eq!(found.needs_format, LATER_FORMAT);

    // On a server that supports the format, the policy decides on the missed instants.
    set_formats(db, "automations", automation, 1).await;
    stage.fire_due().await;
    assert_eq!(stage.run_lines(automation).await, ["missed 2", "queued 1"]);
}

pub(crate) async fn too_new_trigger_stops_its_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    new.policies.catch_up = CatchUp::All;
    let automation = stage.create(&new).await;
    let sql = "update automation_triggers set kind = 'at', spec = $1, format = $2, needs_format = $2 \
               where automation_id = $3 and kind = 'cron'";
    let calendar = json!({ "kind": "calendar", "url": "https://example.com/a.ics" });
    db.run(
        Scope::System,
        sql,
        params![&calendar, LATER_FORMAT, automation],
    )
    .await
    .unwrap();
    stage.clock.set(at("2026-05-04T11:00:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert_newer_format_refused(
        stage
            .store
            .fire_automation(stage.tenant, automation, None, stage.now())
            .await,
    );
    assert_newer_format_refused(stage.edit_policies(automation, |_| ()).await);
    let listed = stage
        .store
        .triggers(stage.scope(), automation)
        .await
        .unwrap();
    let shown: Vec<_> = listed.iter().map(|trigger| &trigger.spec).collect();
    assert_eq!(shown, [&Spec::Manual {}]);
    let sql = "update automation_triggers set spec = $1, needs_format = 1 where automation_id = $2 and kind = 'at'";
    let spec = json!({ "kind": "cron", "expression": "0 * * * *", "zone": "UTC" });
    db.run(Scope::System, sql, params![&spec, automation])
        .await
        .unwrap();
    stage.fire_due().await;
    assert_eq!(stage.run_lines(automation).await.len(), 2);
}

pub(crate) async fn queued_run_of_too_new_document_is_left_to_newer_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut runs = Vec::new();
    for name in ["automation", "trigger", "seat", "agent"] {
        let automation = stage
            .automation_with_triggers(name, SessionMode::Fresh, &[hourly()])
            .await;
        runs.push((name, automation, stage.fire(automation).await.run_id));
    }
    let session = stage.session().await;
    let message_run = stage.send_message(session, "hello").await.run_id;
    for (table, automation, run) in &runs {
        let seat = stage.run(*run).await.seat_id.unwrap();
        let trigger = stage.run(*run).await.trigger_id.unwrap();
        match *table {
            "automation" => set_formats(db, "automations", *automation, LATER_FORMAT).await,
            "trigger" => set_formats(db, "automation_triggers", trigger, LATER_FORMAT).await,
            "seat" => set_formats(db, "agent_definitions", seat, LATER_FORMAT).await,
            _ => {
                let config = model::agent::AgentConfig::new(vec!["other".into()]);
                let (tenant, now) = (stage.tenant, stage.now());
                let other = stage.store.put_agent(tenant, "other", &config, None, now);
                let other = other.await.unwrap().id;
                let sql = "update agent_definitions set harness_id = $1 where id = $2";
                db.run(Scope::System, sql, params![other, seat])
                    .await
                    .unwrap();
                set_formats(db, "harnesses", other, LATER_FORMAT).await;
            }
        }
    }
    for (_, _, run) in &runs {
        let claimed = stage
            .store
            .claim(&stage.worker, stage.instance, 1, Some(*run), stage.now());
        assert_eq!(claimed.await.unwrap().len(), 0);
    }
    assert_eq!(stage.claim_all(10).await, [message_run]);
    for (_, _, run) in &runs {
        assert_eq!(stage.status(*run).await, RunStatus::Queued);
    }
    for table in [
        "automations",
        "automation_triggers",
        "agent_definitions",
        "harnesses",
    ] {
        let sql = format!("update {table} set needs_format = 1");
        db.run(Scope::System, &sql, params![]).await.unwrap();
    }
    let mut claimed = stage.claim_all(10).await;
    claimed.sort();
    let mut expected: Vec<RunId> = runs.iter().map(|(_, _, run)| *run).collect();
    expected.sort();
    assert_eq!(claimed, expected);
}

pub(crate) async fn run_of_tenant_with_too_new_budget_is_not_claimed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = Stage::setup_tenant("other", crate::stage::store_over(&db.database)).await;
    let held = stage
        .send_message(stage.session().await, "hello")
        .await
        .run_id;
    let free = other
        .send_message(other.session().await, "hello")
        .await
        .run_id;
    set_formats(db, "tenants", stage.tenant, LATER_FORMAT).await;
    assert_eq!(stage.claim_all(10).await, [free]);
    assert_eq!(stage.status(held).await, RunStatus::Queued);
    let budget = model::budget::Budget::default();
    let (store, now) = (&stage.store, stage.now());
    assert_newer_format_refused(
        store
            .set_tenant_budget(stage.tenant, None, &budget, now)
            .await,
    );
}

pub(crate) async fn claimed_run_with_too_new_document_is_requeued(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Continuous).await;
    for (table, id) in [
        ("automations", Param::from(automation)),
        ("harnesses", Param::from(stage.agent)),
        ("agent_definitions", Param::from(stage.agent)),
        ("automation_triggers", Param::from(stage.agent)),
        ("tenants", Param::from(stage.tenant)),
    ] {
        let run = stage.fire(automation).await.run_id;
        assert_eq!(stage.claim().await, Some(run), "{table}");
        let claimed = stage.run(run).await;
        let id = match table {
            "agent_definitions" => claimed.seat_id.unwrap().into(),
            "automation_triggers" => claimed.trigger_id.unwrap().into(),
            _ => id,
        };
        if table == "tenants" {
            let mut budget = model::budget::Budget::default();
            budget.set("5 turns/day".parse().unwrap()).unwrap();
            let (tenant, now) = (stage.tenant, stage.now());
            let set = stage.store.set_tenant_budget(tenant, None, &budget, now);
            set.await.unwrap();
        }
        set_formats(db, table, id.clone(), LATER_FORMAT).await;
        assert!(
            matches!(stage.begin(run).await, StartReply::Deferred),
            "{table}"
        );
        let found = stage.run(run).await;
        assert_eq!(found.status(), RunStatus::Queued);
        assert_eq!(stage.claim().await, None, "{table}");
        set_formats(db, table, id, 1).await;
        stage.start(run).await;
        stage.succeed(run).await;
    }
}

pub(crate) async fn fire_and_edit_of_too_new_automation_are_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.too_new_automation(db, SessionMode::Continuous).await;
    let (store, tenant, scope, now) = (&stage.store, stage.tenant, stage.scope(), stage.now());
    let fired = store.fire_automation(tenant, automation, None, now).await;
    let text = fired.as_ref().unwrap_err().to_string();
    assert!(text.contains(&format!("format {LATER_FORMAT}")), "{text}");
    assert!(
        text.contains(&format!("formats up to {DOCUMENT_FORMAT}")),
        "{text}"
    );
    assert_newer_format_refused(fired);
    assert_newer_format_refused(
        stage
            .edit_policies(automation, |policies| policies.queue_limit = 1)
            .await,
    );
    assert_newer_format_refused(store.reset_automation(scope, automation, now).await);
    assert_newer_format_refused(
        store
            .add_trigger(scope, automation, new_trigger(&Spec::Webhook {}), now)
            .await,
    );
    let trigger = store.triggers(scope, automation).await.unwrap()[1].id;
    assert_newer_format_refused(store.remove_trigger(scope, trigger, None, now).await);
    let agent = stage.store.agent(scope, stage.agent).await.unwrap();
    set_formats(db, "harnesses", stage.agent, LATER_FORMAT).await;
    let edited = store.edit_agent(tenant, agent.id, &agent.config, &agent.config, now);
    assert_newer_format_refused(edited.await);
    let put = store.put_agent(tenant, "agent", &agent.config, None, now);
    assert_newer_format_refused(put.await);
    assert!(stage.run_lines(automation).await.is_empty());
}

pub(crate) async fn pause_of_too_new_automation_loses_no_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.too_new_automation(db, SessionMode::Fresh).await;
    let scope = stage.scope();
    stage.clock.set(at("2026-05-04T11:30:00Z"));
    stage.pause(automation).await;
    let found = stage.store.automation(scope, automation).await.unwrap();
    assert_eq!(found.state, AutomationState::Paused);
    assert_newer_format_refused(
        stage
            .store
            .resume_automation(scope, automation, stage.now())
            .await,
    );
    assert!(stage.run_lines(automation).await.is_empty());

    // A server that supports the format records the missed instants until the pause, and none after it.
    set_formats(db, "automations", automation, 1).await;
    stage.clock.set(at("2026-05-04T14:30:00Z"));
    stage.fire_due().await;
    assert_eq!(stage.run_lines(automation).await, ["missed 2"]);
    stage.resume(automation).await;
    assert_eq!(stage.fire_due().await, FireReport::default());

    // The same if a person resumes the automation before the server polls.
    set_formats(db, "automations", automation, LATER_FORMAT).await;
    stage.clock.set(at("2026-05-04T15:30:00Z"));
    stage.pause(automation).await;
    set_formats(db, "automations", automation, 1).await;
    stage.clock.set(at("2026-05-04T17:30:00Z"));
    stage.resume(automation).await;
    assert_eq!(stage.run_lines(automation).await, ["missed 1", "missed 2"]);
}

pub(crate) async fn too_new_automation_can_be_deleted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.too_new_automation(db, SessionMode::Fresh).await;
    let unreadable = stage.automation("unreadable", SessionMode::Fresh).await;
    set_formats(db, "automations", unreadable, LATER_FORMAT).await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = json!({ "overlap": "a later word" });
    db.run(Scope::System, sql, params![&policies, unreadable])
        .await
        .unwrap();
    let listed = stage.store.automations(stage.scope()).await.unwrap();
    assert_eq!((listed.readable.len(), listed.corrupt.len()), (2, 0));
    stage.clock.set(at("2026-05-04T10:30:00Z"));
    for id in [automation, unreadable] {
        let deleted = stage
            .store
            .delete_automation(stage.scope(), id, stage.now());
        deleted.await.unwrap();
        stage.store.automation(stage.scope(), id).await.unwrap_err();
    }
    set_formats(db, "automations", automation, 1).await;
    stage.fire_due().await;
    assert_eq!(stage.run_lines(automation).await, ["missed 1"]);
}

pub(crate) async fn started_run_of_too_new_automation_ends_as_usual(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.policies.pause_after_failures = 1;
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    set_formats(db, "automations", automation, LATER_FORMAT).await;
    // A later server may have written a word that this program cannot read.
    let sql = "update automations set policies = $1 where id = $2";
    let policies = json!({ "overlap": "a later word", "pause_after_failures": 1 });
    db.run(Scope::System, sql, params![&policies, automation])
        .await
        .unwrap();
    let stalled = failed(FailureKind::WorkerLost, false);
    assert_eq!(stage.finish(run, &stalled).await, WriteOutcome::Committed);
    let attempts = stage.attempts(run).await;
    assert_eq!(attempts.len(), 2, "a retry follows");
    assert_eq!(attempts[0].status(), RunStatus::Stalled);

    let sql = "update automations set policies = $1, needs_format = 1 where id = $2";
    let policies = json!({ "pause_after_failures": 1 });
    db.run(Scope::System, sql, params![&policies, automation])
        .await
        .unwrap();
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let next = attempts[1].id;
    stage.start(next).await;
    set_formats(db, "automations", automation, LATER_FORMAT).await;
    let ended = stage
        .finish(next, &failed(FailureKind::SignIn, false))
        .await;
    assert_eq!(ended, WriteOutcome::Committed);
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(found.consecutive_failures, 1);
    assert_eq!(
        found.state,
        AutomationState::Enabled,
        "an old server does not pause the automation"
    );

    let waiting = stage
        .send_message(stage.session().await, "hello")
        .await
        .run_id;
    stage.start(waiting).await;
    assert_eq!(
        stage.finish(waiting, &answer("Hello.")).await,
        WriteOutcome::Committed
    );
}

pub(crate) async fn run_of_removed_too_new_trigger_is_not_claimed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    let trigger = stage.run(run).await.trigger_id.unwrap();
    let sql = "update automation_triggers set format = $1, needs_format = $1, deleted_at = $2 where id = $3";
    db.run(
        Scope::System,
        sql,
        params![LATER_FORMAT, stage.now(), trigger],
    )
    .await
    .unwrap();
    assert_eq!(stage.claim().await, None);
    assert_eq!(stage.status(run).await, RunStatus::Queued);
}

pub(crate) async fn instants_after_pause_of_too_new_automation_are_not_due(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let scope = stage.scope();
    let automation = stage.too_new_automation(db, SessionMode::Fresh).await;
    stage.clock.set(at("2026-05-04T10:30:00Z"));
    stage.pause(automation).await;
    stage.clock.set(at("2026-05-04T14:30:00Z"));
    let deleted = stage
        .store
        .delete_automation(scope, automation, stage.now());
    deleted.await.unwrap();
    set_formats(db, "automations", automation, 1).await;
    stage.fire_due().await;
    assert_eq!(stage.run_lines(automation).await, ["missed 1"]);

    let other = stage
        .automation_with_triggers("other", SessionMode::Fresh, &[hourly()])
        .await;
    set_formats(db, "automations", other, LATER_FORMAT).await;
    stage.clock.set(at("2026-05-04T15:30:00Z"));
    stage.pause(other).await;
    set_formats(db, "automations", other, 1).await;
    stage.clock.set(at("2026-05-04T18:30:00Z"));
    let trigger = stage.store.triggers(scope, other).await.unwrap()[1].id;
    let removed = stage
        .store
        .remove_trigger(scope, trigger, None, stage.now());
    removed.await.unwrap();
    assert_eq!(stage.run_lines(other).await, ["missed 1"]);
}

pub(crate) async fn run_ends_despite_unreadable_tenant_budget(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire_and_start(automation).await;
    let sql = "update tenants set budget = $1, format = $2, needs_format = $2 where id = $3";
    let budget = json!({ "day": { "tokens": "a later word" } });
    db.run(
        Scope::System,
        sql,
        params![&budget, LATER_FORMAT, stage.tenant],
    )
    .await
    .unwrap();
    let used = model::turn::TurnResult {
        usage: Some(json!({ "used": 5, "size": 10, "spent": { "tokens": 5, "cost": {} } })),
        ..answer("Done.")
    };
    assert_eq!(stage.finish(run, &used).await, WriteOutcome::Committed);
    let tenant = stage.store.tenant(stage.scope(), stage.tenant).await;
    assert!(
        tenant.unwrap().budget.is_none(),
        "the tenant is still readable"
    );
}

pub(crate) async fn unreadable_agent_hides_no_other(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let config = model::agent::AgentConfig::new(vec!["other".into()]);
    let (tenant, now) = (stage.tenant, stage.now());
    let other = stage.store.put_agent(tenant, "other", &config, None, now);
    let other = other.await.unwrap().id;
    let write = async |needs: i64| {
        let sql = "update harnesses set config = $1, format = $2, needs_format = $3 where id = $4";
        let later = json!({ "config": { "command": ["a"], "restore": "a later word" } });
        db.run(
            Scope::System,
            sql,
            params![&later, LATER_FORMAT, needs, other],
        )
        .await
        .unwrap();
    };
    write(LATER_FORMAT).await;
    let listed = stage.store.agents(stage.scope()).await.unwrap();
    let names: Vec<_> = listed.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["agent"]);
    assert_newer_format_refused(stage.store.agent(stage.scope(), other).await);
    // A corrupt document can be replaced.
    write(1).await;
    let put = stage.store.put_agent(tenant, "other", &config, None, now);
    assert_eq!(put.await.unwrap().config, config);
}

pub(crate) async fn settings_edit_of_too_new_seat_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Continuous).await;
    let run = stage.fire_and_start(automation).await;
    stage.succeed(run).await;
    let seat = stage.run(run).await.seat_id.unwrap();
    set_formats(db, "agent_definitions", seat, LATER_FORMAT).await;
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    let triggers = stage
        .store
        .triggers(stage.scope(), automation)
        .await
        .unwrap();
    let seen = store::NewAutomation::of(&found, &triggers);
    let mut to = seen.clone();
    to.settings.mode = Some("plan".into());
    let edit = store::AutomationEdit {
        expected: &seen,
        updated: &to,
        detach_session: false,
    };
    let edited = stage
        .store
        .edit_automation(stage.tenant, automation, edit, stage.now());
    assert_newer_format_refused(edited.await);
}
