//! Documents of other formats: keys that this program does not know, and documents that it does not honour.

use model::{
    AutomationId, RunId,
    automation::AutomationState,
    outcome::FailureKind,
    policy::{CatchUp, Policies, SessionMode},
    run::RunStatus,
    schedule::Spec,
    turn::{Begin, Settled},
};
use serde_json::{Value, json};
use store::{
    AutomationEdit, Error, FORMAT, Fired, NewAutomation, Page, Scope,
    database::{Param, Stored},
    params,
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer, at, failed, hourly},
};

/// A format that only later programs honour.
const LATER: i64 = FORMAT + 1;

/// Sets the formats of the rows of a table that a condition finds, as a later program would.
async fn set_formats(db: &TestStore, table: &str, id: impl Into<Param>, needs: i64) {
    let sql = format!("update {table} set format = $1, needs_format = $2 where id = $3");
    let params = vec![LATER.into(), needs.into(), id.into()];
    db.run(Scope::System, &sql, params).await.unwrap();
}

/// Adds keys to a stored document that this program does not know.
async fn add_later_key(db: &TestStore, table: &str, column: &str, id: impl Into<Param> + Copy) {
    let mut document: Value = column_of(db, table, column, id).await;
    document["later_key"] = json!({ "a": 1 });
    let sql = format!("update {table} set {column} = $1 where id = $2");
    db.run(Scope::System, &sql, vec![(&document).into(), id.into()])
        .await
        .unwrap();
}

async fn column_of<T: Stored>(
    db: &TestStore,
    table: &str,
    column: &str,
    id: impl Into<Param>,
) -> T {
    let sql = format!("select {column} as found from {table} where id = $1");
    let rows = db.run(Scope::System, &sql, vec![id.into()]).await.unwrap();
    rows[0].get("found").unwrap()
}

impl Stage {
    /// Makes an automation that is due each hour, and makes it too new.
    async fn too_new(&self, db: &TestStore, mode: SessionMode) -> AutomationId {
        let automation = self.triggered("report", mode, &[hourly()]).await;
        set_formats(db, "automations", automation, LATER).await;
        automation
    }

    /// Edits an automation as a person would who has just read it.
    async fn edit_policies(
        &self,
        id: AutomationId,
        change: impl FnOnce(&mut Policies),
    ) -> Result<(), Error> {
        let automation = self.store.automation(self.scope(), id).await?;
        let triggers = self.store.triggers(self.scope(), id).await?;
        let seen = NewAutomation::of(&automation, &triggers);
        let mut to = seen.clone();
        change(&mut to.policies);
        let (seen, to) = (&seen, &to);
        let reset = false;
        let edit = AutomationEdit { seen, to, reset };
        let edited = self
            .store
            .edit_automation(self.tenant, id, edit, self.now());
        edited.await
    }

    async fn rows_of(&self, automation: AutomationId) -> Vec<String> {
        let runs = self.runs_of(automation).await;
        let line = |run: &model::entity::Run| format!("{} {}", run.status, run.occurrences);
        let mut lines: Vec<_> = runs.iter().map(line).collect();
        lines.sort();
        lines
    }
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::NewerFormat { needed, .. }) => assert_eq!(needed, LATER),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn unknown_key_alone_stops_nothing(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage
        .triggered("report", SessionMode::Continuous, &[hourly()])
        .await;
    add_later_key(db, "automations", "policies", automation).await;
    add_later_key(db, "automations", "settings", automation).await;
    add_later_key(db, "harnesses", "config", stage.harness).await;
    db.run(
        Scope::System,
        "update automation_triggers set spec = $1 where automation_id = $2 and kind = 'cron'",
        params![
            &json!({ "kind": "cron", "expression": "0 * * * *", "zone": "UTC", "later_key": true }),
            automation
        ],
    )
    .await
    .unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    let run = stage.runs_of(automation).await[0].id;
    stage.start(run).await;
    stage.succeed(run).await;
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(found.state, AutomationState::Enabled);
    assert_eq!(found.attention, None);
}

pub(crate) async fn edit_keeps_unknown_keys_and_the_later_format(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    add_later_key(db, "automations", "policies", automation).await;
    set_formats(db, "automations", automation, 1).await;
    let changed = stage
        .edit_policies(automation, |policies| policies.queue_limit = 7)
        .await;
    changed.unwrap();
    let policies: Value = column_of(db, "automations", "policies", automation).await;
    assert_eq!(policies["queue_limit"], 7);
    assert_eq!(policies["later_key"], json!({ "a": 1 }));
    let format: i64 = column_of(db, "automations", "format", automation).await;
    assert_eq!(format, LATER, "keys of that format are still there");
    let needs: i64 = column_of(db, "automations", "needs_format", automation).await;
    assert_eq!(needs, 1);
}

pub(crate) async fn edited_harness_and_budget_keep_unknown_keys(db: &TestStore) {
    let stage = Stage::set(db).await;
    add_later_key(db, "harnesses", "config", stage.harness).await;
    let before = stage
        .store
        .harness(stage.scope(), stage.harness)
        .await
        .unwrap();
    let mut to = before.config.clone();
    to.start_seconds = 7;
    let (id, now) = (stage.harness, stage.now());
    let edited = stage
        .store
        .edit_harness(stage.tenant, id, &before.config, &to, now);
    edited.await.unwrap();
    let put = stage
        .store
        .put_harness(stage.tenant, "agent", &to, None, now);
    assert_eq!(put.await.unwrap().id, id);
    let config: Value = column_of(db, "harnesses", "config", id).await;
    assert_eq!(config["config"]["start_seconds"], 7);
    assert_eq!(config["later_key"], json!({ "a": 1 }));

    let budget = |limit: &str| {
        let mut budget = model::budget::Budget::default();
        budget.set(limit.parse().unwrap()).unwrap();
        budget
    };
    let set = async |budget| {
        let set = stage
            .store
            .set_tenant_budget(stage.tenant, None, &budget, stage.now());
        set.await.unwrap();
    };
    set(budget("5 turns/day")).await;
    add_later_key(db, "tenants", "budget", stage.tenant).await;
    set(budget("6 turns/day")).await;
    let stored: Value = column_of(db, "tenants", "budget", stage.tenant).await;
    assert_eq!(stored["day"]["turns"], 6);
    assert_eq!(stored["later_key"], json!({ "a": 1 }));
    // A limit that this program does not know stays where all others go.
    set(model::budget::Budget::default()).await;
    let stored: Value = column_of(db, "tenants", "budget", stage.tenant).await;
    assert_eq!(stored["day"]["turns"], Value::Null);
    assert_eq!(stored["later_key"], json!({ "a": 1 }));
}

pub(crate) async fn too_new_automation_stays_due_for_a_server_that_honours_it(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.too_new(db, SessionMode::Fresh).await;
    let other = stage
        .triggered("other", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T12:00:30Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.triggers, fired.more), (1, false));
    assert_eq!(
        stage.rows_of(other).await.len(),
        2,
        "a missed stretch and a run"
    );
    assert_eq!(stage.fire_due().await, Fired::default());
    assert!(stage.rows_of(automation).await.is_empty());
    let next = stage.store.outlook(stage.now()).await.unwrap().due;
    assert_eq!(
        next,
        Some(at("2026-05-04T13:00:00Z")),
        "this server need not wake for it"
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
    assert_eq!(found.needs_format, LATER);

    // A server that honours it: its policy decides about the instants between.
    set_formats(db, "automations", automation, 1).await;
    stage.fire_due().await;
    assert_eq!(stage.rows_of(automation).await, ["missed 2", "queued 1"]);
}

pub(crate) async fn too_new_trigger_stops_its_automation_alone(db: &TestStore) {
    let stage = Stage::set(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    new.policies.catch_up = CatchUp::All;
    let automation = stage.create(&new).await;
    let sql = "update automation_triggers set kind = 'at', spec = $1, format = $2, needs_format = $2 \
               where automation_id = $3 and kind = 'cron'";
    let calendar = json!({ "kind": "calendar", "url": "https://example.com/a.ics" });
    db.run(Scope::System, sql, params![&calendar, LATER, automation])
        .await
        .unwrap();
    stage.clock.set(at("2026-05-04T11:00:00Z"));
    assert_eq!(stage.fire_due().await, Fired::default());
    is_refused(
        stage
            .store
            .fire(stage.tenant, automation, stage.now())
            .await,
    );
    is_refused(stage.edit_policies(automation, |_| ()).await);
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
    assert_eq!(stage.rows_of(automation).await.len(), 2);
}

pub(crate) async fn queued_run_of_a_too_new_document_is_left_to_a_server_that_honours_it(
    db: &TestStore,
) {
    let stage = Stage::set(db).await;
    let mut runs = Vec::new();
    for name in ["automation", "trigger", "seat", "harness"] {
        let automation = stage.triggered(name, SessionMode::Fresh, &[hourly()]).await;
        runs.push((name, automation, stage.fire(automation).await.run_id));
    }
    let session = stage.session().await;
    let said = stage.say(session, "hello").await.run_id;
    for (table, automation, run) in &runs {
        let seat = stage.run(*run).await.seat_id.unwrap();
        let trigger = stage.run(*run).await.trigger_id.unwrap();
        match *table {
            "automation" => set_formats(db, "automations", *automation, LATER).await,
            "trigger" => set_formats(db, "automation_triggers", trigger, LATER).await,
            "seat" => set_formats(db, "agent_definitions", seat, LATER).await,
            _ => {
                let config = model::harness::HarnessConfig::new(vec!["other".into()]);
                let (tenant, now) = (stage.tenant, stage.now());
                let other = stage.store.put_harness(tenant, "other", &config, None, now);
                let other = other.await.unwrap().id;
                let sql = "update agent_definitions set harness_id = $1 where id = $2";
                db.run(Scope::System, sql, params![other, seat])
                    .await
                    .unwrap();
                set_formats(db, "harnesses", other, LATER).await;
            }
        }
    }
    for (_, _, run) in &runs {
        let claimed = stage
            .store
            .claim(&stage.worker, stage.instance, 1, Some(*run), stage.now());
        assert_eq!(claimed.await.unwrap().len(), 0);
    }
    assert_eq!(stage.claim_all(10).await, [said]);
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

pub(crate) async fn run_of_a_tenant_with_a_too_new_budget_is_not_claimed(db: &TestStore) {
    let stage = Stage::set(db).await;
    let other = Stage::of("other", crate::stage::store_over(&db.database)).await;
    let held = stage.say(stage.session().await, "hello").await.run_id;
    let free = other.say(other.session().await, "hello").await.run_id;
    set_formats(db, "tenants", stage.tenant, LATER).await;
    assert_eq!(stage.claim_all(10).await, [free]);
    assert_eq!(stage.status(held).await, RunStatus::Queued);
    let budget = model::budget::Budget::default();
    let (store, now) = (&stage.store, stage.now());
    is_refused(
        store
            .set_tenant_budget(stage.tenant, None, &budget, now)
            .await,
    );
}

pub(crate) async fn claimed_run_whose_document_became_too_new_goes_back_to_the_queue(
    db: &TestStore,
) {
    let stage = Stage::set(db).await;
    let automation = stage.automation("report", SessionMode::Continuous).await;
    for (table, id) in [
        ("automations", Param::from(automation)),
        ("harnesses", Param::from(stage.harness)),
        ("tenants", Param::from(stage.tenant)),
    ] {
        let run = stage.fire(automation).await.run_id;
        assert_eq!(stage.claim().await, Some(run), "{table}");
        if table == "tenants" {
            let mut budget = model::budget::Budget::default();
            budget.set("5 turns/day".parse().unwrap()).unwrap();
            let (tenant, now) = (stage.tenant, stage.now());
            let set = stage.store.set_tenant_budget(tenant, None, &budget, now);
            set.await.unwrap();
        }
        set_formats(db, table, id.clone(), LATER).await;
        assert!(matches!(stage.begin(run).await, Begin::Held), "{table}");
        let found = stage.run(run).await;
        assert_eq!((found.status, found.worker_id), (RunStatus::Queued, None));
        assert_eq!(stage.claim().await, None, "{table}");
        set_formats(db, table, id, 1).await;
        stage.start(run).await;
        stage.succeed(run).await;
    }
}

pub(crate) async fn fire_and_edit_of_a_too_new_automation_are_refused(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.too_new(db, SessionMode::Continuous).await;
    let (store, tenant, scope, now) = (&stage.store, stage.tenant, stage.scope(), stage.now());
    let fired = store.fire(tenant, automation, now).await;
    let text = fired.as_ref().unwrap_err().to_string();
    assert!(text.contains(&format!("format {LATER}")), "{text}");
    assert!(text.contains(&format!("formats up to {FORMAT}")), "{text}");
    is_refused(fired);
    is_refused(
        stage
            .edit_policies(automation, |policies| policies.queue_limit = 1)
            .await,
    );
    is_refused(store.reset_automation(scope, automation, now).await);
    is_refused(
        store
            .add_trigger(scope, automation, &Spec::Webhook {}, now)
            .await,
    );
    let trigger = store.triggers(scope, automation).await.unwrap()[1].id;
    is_refused(store.remove_trigger(scope, trigger, None, now).await);
    let harness = stage.store.harness(scope, stage.harness).await.unwrap();
    set_formats(db, "harnesses", stage.harness, LATER).await;
    let edited = store.edit_harness(tenant, harness.id, &harness.config, &harness.config, now);
    is_refused(edited.await);
    let put = store.put_harness(tenant, "agent", &harness.config, None, now);
    is_refused(put.await);
    assert!(stage.rows_of(automation).await.is_empty());
}

pub(crate) async fn person_pauses_and_resumes_a_too_new_automation_and_no_instant_is_lost(
    db: &TestStore,
) {
    let stage = Stage::set(db).await;
    let automation = stage.too_new(db, SessionMode::Fresh).await;
    let scope = stage.scope();
    stage.clock.set(at("2026-05-04T11:30:00Z"));
    let paused = stage
        .store
        .pause_automation(scope, automation, "by hand", stage.now());
    paused.await.unwrap();
    let found = stage.store.automation(scope, automation).await.unwrap();
    assert_eq!(found.state, AutomationState::Paused);
    is_refused(
        stage
            .store
            .resume_automation(scope, automation, stage.now())
            .await,
    );
    assert!(stage.rows_of(automation).await.is_empty());

    // A server that honours it makes the row of what was due until the pause, and of nothing after it.
    set_formats(db, "automations", automation, 1).await;
    stage.clock.set(at("2026-05-04T14:30:00Z"));
    stage.fire_due().await;
    assert_eq!(stage.rows_of(automation).await, ["missed 2"]);
    let resumed = stage
        .store
        .resume_automation(scope, automation, stage.now());
    resumed.await.unwrap();
    assert_eq!(stage.fire_due().await, Fired::default());

    // The same where a person resumes it before the server looks.
    set_formats(db, "automations", automation, LATER).await;
    stage.clock.set(at("2026-05-04T15:30:00Z"));
    let paused = stage
        .store
        .pause_automation(scope, automation, "by hand", stage.now());
    paused.await.unwrap();
    set_formats(db, "automations", automation, 1).await;
    stage.clock.set(at("2026-05-04T17:30:00Z"));
    let resumed = stage
        .store
        .resume_automation(scope, automation, stage.now());
    resumed.await.unwrap();
    assert_eq!(stage.rows_of(automation).await, ["missed 1", "missed 2"]);
}

pub(crate) async fn person_deletes_a_too_new_automation(db: &TestStore) {
    let stage = Stage::set(db).await;
    let automation = stage.too_new(db, SessionMode::Fresh).await;
    let unreadable = stage.automation("unreadable", SessionMode::Fresh).await;
    set_formats(db, "automations", unreadable, LATER).await;
    let sql = "update automations set policies = $1 where id = $2";
    let policies = json!({ "overlap": "a later word" });
    db.run(Scope::System, sql, params![&policies, unreadable])
        .await
        .unwrap();
    let listed = stage.store.automations(stage.scope()).await.unwrap();
    assert_eq!((listed.readable.len(), listed.unreadable.len()), (2, 0));
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
    assert_eq!(stage.rows_of(automation).await, ["missed 1"]);
}

pub(crate) async fn run_that_began_before_its_automation_became_too_new_ends_as_usual(
    db: &TestStore,
) {
    let stage = Stage::set(db).await;
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.policies.pause_after_failures = 1;
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    stage.start(run).await;
    set_formats(db, "automations", automation, LATER).await;
    // A later server may have written a word that cannot be read here.
    let sql = "update automations set policies = $1 where id = $2";
    let policies = json!({ "overlap": "a later word", "pause_after_failures": 1 });
    db.run(Scope::System, sql, params![&policies, automation])
        .await
        .unwrap();
    let stalled = failed(FailureKind::WorkerLost, false);
    assert_eq!(stage.finish(run, &stalled).await, Settled::Written);
    let attempts = stage.attempts(run).await;
    assert_eq!(attempts.len(), 2, "an attempt follows");
    assert_eq!(attempts[0].status, RunStatus::Stalled);

    let sql = "update automations set policies = $1, needs_format = 1 where id = $2";
    let policies = json!({ "pause_after_failures": 1 });
    db.run(Scope::System, sql, params![&policies, automation])
        .await
        .unwrap();
    stage.wait(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let next = attempts[1].id;
    stage.start(next).await;
    set_formats(db, "automations", automation, LATER).await;
    let ended = stage
        .finish(next, &failed(FailureKind::SignIn, false))
        .await;
    assert_eq!(ended, Settled::Written);
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(found.consecutive_failures, 1);
    assert_eq!(
        found.state,
        AutomationState::Enabled,
        "it is not paused by a server that is too old"
    );

    let waiting = stage.say(stage.session().await, "hello").await.run_id;
    stage.start(waiting).await;
    assert_eq!(
        stage.finish(waiting, &answer("Hello.")).await,
        Settled::Written
    );
}

pub(crate) async fn instance_shows_the_format_of_its_server_and_what_it_cannot_honour(
    db: &TestStore,
) {
    let stage = Stage::set(db).await;
    let (here, worker, now) = (stage.instance, &stage.worker, stage.now());
    stage
        .store
        .serve(here, worker, None, "0.1.0", now)
        .await
        .unwrap();
    stage.too_new(db, SessionMode::Fresh).await;
    let instances = stage.store.instances(stage.scope()).await.unwrap();
    let server = instances[0].server.as_ref().unwrap();
    assert_eq!((server.format, instances[0].too_new), (FORMAT, 1));
    let page = Page {
        after: None,
        limit: 10,
    };
    let instances = stage.store.instance_page(stage.tenant, page).await.unwrap();
    assert_eq!(instances[0].too_new, 1);
    let serving = stage.store.serving(here).await.unwrap().unwrap();
    assert_eq!(serving.format, FORMAT);
}
