//! Documents of other formats: keys that this program does not know, and the columns that record formats.

use model::{
    AutomationId,
    automation::AutomationState,
    policy::{Policies, SessionMode},
};
use serde_json::{Value, json};
use store::{
    AutomationEdit, DOCUMENT_FORMAT, Error, NewAutomation, Scope,
    database::{FromColumn, Param},
    params,
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

/// A format that only later programs support.
pub(crate) const LATER_FORMAT: i64 = DOCUMENT_FORMAT + 1;

/// Sets the format of a row, in the way of a later program.
pub(crate) async fn set_formats(db: &TestStore, table: &str, id: impl Into<Param>, needs: i64) {
    let sql = format!("update {table} set format = $1, needs_format = $2 where id = $3");
    let params = vec![LATER_FORMAT.into(), needs.into(), id.into()];
    db.run(Scope::System, &sql, params).await.unwrap();
}

/// Adds a key that this program does not know to a stored document.
async fn add_later_key(db: &TestStore, table: &str, column: &str, id: impl Into<Param> + Copy) {
    let mut document: Value = column_of(db, table, column, id).await;
    document["later_key"] = json!({ "a": 1 });
    let sql = format!("update {table} set {column} = $1 where id = $2");
    db.run(Scope::System, &sql, vec![(&document).into(), id.into()])
        .await
        .unwrap();
}

async fn column_of<T: FromColumn>(
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
    /// Creates an automation that is due each hour and that needs a later format.
    pub(crate) async fn too_new_automation(
        &self,
        db: &TestStore,
        mode: SessionMode,
    ) -> AutomationId {
        let automation = self
            .automation_with_triggers("report", mode, &[hourly()])
            .await;
        set_formats(db, "automations", automation, LATER_FORMAT).await;
        automation
    }

    /// Edits an automation, based on its present definition.
    pub(crate) async fn edit_policies(
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
        let edit = AutomationEdit {
            expected: seen,
            updated: to,
            detach_session: reset,
        };
        let edited = self
            .store
            .edit_automation(self.tenant, id, edit, self.now());
        edited.await
    }

    pub(crate) async fn run_lines(&self, automation: AutomationId) -> Vec<String> {
        let runs = self.runs_of(automation).await;
        let line =
            |run: &model::entity::Run| format!("{} {}", run.status(), run.state.occurrences());
        let mut lines: Vec<_> = runs.iter().map(line).collect();
        lines.sort();
        lines
    }
}

pub(crate) fn assert_newer_format_refused<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::NewerFormat { needed, .. }) => assert_eq!(needed, LATER_FORMAT),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn unknown_key_alone_does_not_stop_automation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Continuous, &[hourly()])
        .await;
    add_later_key(db, "automations", "policies", automation).await;
    add_later_key(db, "automations", "settings", automation).await;
    add_later_key(db, "harnesses", "config", stage.agent).await;
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

pub(crate) async fn edit_keeps_unknown_keys_and_later_format(db: &TestStore) {
    let stage = Stage::setup(db).await;
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
    assert_eq!(format, LATER_FORMAT, "keys of that format are still stored");
    let needs: i64 = column_of(db, "automations", "needs_format", automation).await;
    assert_eq!(needs, 1);
}

pub(crate) async fn edited_agent_and_budget_keep_unknown_keys(db: &TestStore) {
    let stage = Stage::setup(db).await;
    add_later_key(db, "harnesses", "config", stage.agent).await;
    let before = stage.store.agent(stage.scope(), stage.agent).await.unwrap();
    let mut to = before.config.clone();
    to.start_seconds = 7;
    let (id, now) = (stage.agent, stage.now());
    let edited = stage
        .store
        .edit_agent(stage.tenant, id, &before.config, &to, now);
    edited.await.unwrap();
    let put = stage.store.put_agent(stage.tenant, "agent", &to, None, now);
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
    // A limit that this program does not know stays when all others are removed.
    set(model::budget::Budget::default()).await;
    let stored: Value = column_of(db, "tenants", "budget", stage.tenant).await;
    assert_eq!(stored["day"]["turns"], Value::Null);
    assert_eq!(stored["later_key"], json!({ "a": 1 }));
}

pub(crate) async fn instance_reports_server_format_and_too_new_documents(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (here, worker, now) = (stage.instance, &stage.worker, stage.now());
    stage
        .store
        .claim_instance(here, worker, None, "0.1.0", now)
        .await
        .unwrap();
    stage.too_new_automation(db, SessionMode::Fresh).await;
    let instances = stage.store.instances(stage.scope()).await.unwrap();
    let server = instances[0].server.as_ref().unwrap();
    assert_eq!(
        (server.format, instances[0].unsupported_automations),
        (DOCUMENT_FORMAT, 1)
    );
    let serving = stage.store.instance_server(here).await.unwrap().unwrap();
    assert_eq!(serving.format, DOCUMENT_FORMAT);
}
