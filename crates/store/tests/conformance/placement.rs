//! Automations and sessions that people place on an instance.

pub(crate) mod dispatchers;
pub(crate) mod runtimes;
mod trigger_files;
pub(crate) mod unclaimed_files;

use model::{
    RunId, SessionId, Timestamp, outcome::FailureKind, policy::SessionMode, run::RunStatus,
};
use store::{AutomationEdit, Error, NewAutomation, Scope, database::FromColumn, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance, servers::two_tenants},
};

pub(crate) use dispatchers::{files_are_claimed_for_one_instance, lease_of_dispatcher_ends};
pub(crate) use runtimes::{
    cancelled_and_lost_runs_are_disturbed, run_belongs_to_its_instance_and_tenant_alone,
    runs_of_dead_worker_are_stalled_on_its_instance_alone,
};
pub(crate) use trigger_files::{
    added_instance_has_one_token, cancelled_file_ends_at_once, claim_fences_dispatcher,
    delivered_run_is_claimed_once, delivered_run_never_stalls, failed_write_is_retried,
    removal_fails_delivered_runs, requeued_run_gets_new_file,
    run_is_delivered_after_confirmed_write, runtime_is_no_server, seat_has_one_file,
};

/// The format that a placement needs.
const PLACEMENT_FORMAT: i64 = 5;

impl Stage {
    /// Claims at an instance, and returns the runs.
    async fn claim_at(&self, instance: model::InstanceId) -> Vec<RunId> {
        let claimed = self
            .store
            .claim(&self.worker, instance, 9, None, self.now());
        let claimed = claimed.await.unwrap();
        claimed.iter().map(|claimed| claimed.run).collect()
    }

    /// Creates a session that is placed on an instance.
    async fn placed_session(&self, placed_on: model::InstanceId) -> SessionId {
        let mut new = self.new_session(None);
        new.placed_on = Some(placed_on);
        let created = self.store.create_session(self.tenant, &new, self.now());
        created.await.unwrap().0
    }
}

async fn column<T: FromColumn>(db: &TestStore, sql: &str) -> T {
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    rows[0].get("found").unwrap()
}

pub(crate) async fn placed_runs_are_claimed_on_their_instance_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage.second_instance().await;
    let mut expected = Vec::new();
    for (name, mode) in [
        ("each", SessionMode::Fresh),
        ("same", SessionMode::Continuous),
    ] {
        let mut new = stage.new_automation(name, mode);
        new.placed_on = Some(other);
        let automation = stage.create(&new).await;
        expected.push(stage.fire(automation).await.run_id);
    }
    let session = stage.placed_session(other).await;
    expected.push(stage.send_message(session, "hello").await.run_id);
    let free = stage.session().await;
    let free = stage.send_message(free, "anywhere").await.run_id;
    assert_eq!(stage.claim_at(stage.instance).await, [free]);
    for run in &expected {
        let one = stage
            .store
            .claim(&stage.worker, stage.instance, 1, Some(*run), stage.now());
        assert_eq!(one.await.unwrap(), [], "{run} is placed elsewhere");
    }
    let listed = stage.store.instances(stage.scope()).await.unwrap();
    let queued = listed.iter().map(|it| (it.id, it.queued_runs));
    assert_eq!(
        queued.collect::<Vec<_>>(),
        [(stage.instance, 0), (other, 3)]
    );
    assert_eq!(stage.claim_at(other).await, expected);
}

pub(crate) async fn retry_of_placed_run_stays_on_its_instance(db: &TestStore) {
    let mut stage = Stage::setup(db).await;
    let (here, other) = (stage.instance, stage.second_instance().await);
    let placed = stage.placed_session(other).await;
    let free = stage.session().await;
    stage.instance = other;
    for session in [placed, free] {
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
    }
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await.len(), 2);
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    // The retry that nobody placed may move, because no turn of its seat has ended.
    let moved = stage.claim_at(here).await;
    assert_eq!(stage.run(moved[0]).await.session_id, Some(free));
    assert_eq!(moved.len(), 1);
    let stayed = stage.claim_at(other).await;
    assert_eq!(stage.run(stayed[0]).await.session_id, Some(placed));
}

pub(crate) async fn placement_names_instance_of_tenant(db: &TestStore) {
    let [stage, foreign] = two_tenants(db).await;
    let theirs = foreign.second_instance().await;
    let gone = instance(3);
    let registered = stage
        .store
        .register_instance(stage.tenant, gone, "gone", stage.now());
    registered.await.unwrap();
    stage.remove_instance(gone).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let before = stage.new_automation("report", SessionMode::Fresh);
    for unknown in [theirs, gone, instance(9)] {
        let is_unknown = |refused: Result<(), Error>| {
            assert!(
                matches!(
                    refused,
                    Err(Error::NotFound {
                        what: "instance",
                        ..
                    })
                ),
                "{unknown}: {refused:?}"
            );
        };
        let mut new = stage.new_automation("other", SessionMode::Fresh);
        new.placed_on = Some(unknown);
        let created = stage
            .store
            .create_automation(stage.tenant, None, &new, stage.now());
        is_unknown(created.await.map(|_| ()));
        let mut new = stage.new_session(None);
        new.placed_on = Some(unknown);
        let created = stage.store.create_session(stage.tenant, &new, stage.now());
        is_unknown(created.await.map(|_| ()));
        let updated = NewAutomation {
            placed_on: Some(unknown),
            ..before.clone()
        };
        is_unknown(edit(&stage, automation, &before, &updated).await);
    }
}

pub(crate) async fn placement_of_current_session_is_fixed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage.second_instance().await;
    let before = stage.new_automation("report", SessionMode::Continuous);
    let automation = stage.create(&before).await;
    stage.fire(automation).await;
    let placed = NewAutomation {
        placed_on: Some(other),
        ..before.clone()
    };
    let refused = edit(&stage, automation, &before, &placed).await;
    assert!(
        matches!(
            refused,
            Err(Error::FixedBySession {
                what: "instance",
                ..
            })
        ),
        "{refused:?}"
    );
    stage
        .store
        .reset_automation(stage.scope(), automation, stage.now())
        .await
        .unwrap();
    edit(&stage, automation, &before, &placed).await.unwrap();
    let stored = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(stored.unwrap().placed_on, Some(other));
}

pub(crate) async fn removal_of_instance_fails_placed_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage.second_instance().await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.placed_on = Some(other);
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    stage.remove_instance(other).await;
    let failed = stage.store.end_waits_for_removed_instances(stage.now());
    assert_eq!(failed.await.unwrap(), 1);
    let run = stage.run(run).await;
    assert_eq!(run.state.reason(), Some(FailureKind::InstanceGone.as_str()));
    // The automation and its sessions are marked by the name of the instance.
    let marks = async || {
        let filter = store::AutomationFilter::default();
        let page = store::Page::first(10);
        let items = stage.store.automation_items(stage.tenant, &filter, page, 0);
        let item = items.await.unwrap().readable.remove(0);
        let named = stage.store.removed_instance(stage.scope(), other).await;
        assert_eq!(named.unwrap(), item.removed_instance);
        for mark in stage.marks_of_sessions().await {
            assert_eq!(mark, item.removed_instance);
        }
        item.removed_instance
    };
    assert_eq!(marks().await.as_deref(), Some("pod"));
    // A later one fails as well: the person's choice stands until somebody changes it.
    let later = stage.fire(automation).await.run_id;
    let failed = stage.store.end_waits_for_removed_instances(stage.now());
    assert_eq!(failed.await.unwrap(), 1);
    assert_eq!(stage.status(later).await, RunStatus::Failed);
    // A host that is served again loses the mark.
    let served = stage
        .store
        .claim_instance(other, &stage.worker, None, "1", stage.now());
    assert!(served.await.unwrap());
    assert_eq!(marks().await, None);
}

pub(crate) async fn placement_keeps_older_servers_away(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let other = stage.second_instance().await;
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.placed_on = Some(other);
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    let stored = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(stored.unwrap().needs_format, PLACEMENT_FORMAT);
    let needed = "select needs_format as found from agent_definitions";
    assert_eq!(column::<i64>(db, needed).await, PLACEMENT_FORMAT);
    // An edit of the settings writes the documents of both again.
    let mut updated = new.clone();
    updated.settings.mode = Some("plan".into());
    edit(&stage, automation, &new, &updated).await.unwrap();
    let stored = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(stored.unwrap().needs_format, PLACEMENT_FORMAT);
    assert_eq!(column::<i64>(db, needed).await, PLACEMENT_FORMAT);
    assert_eq!(stage.status(run).await, RunStatus::Queued);
}

async fn edit(
    stage: &Stage,
    automation: model::AutomationId,
    expected: &NewAutomation,
    updated: &NewAutomation,
) -> Result<(), Error> {
    let edit = AutomationEdit {
        expected,
        updated,
        detach_session: false,
    };
    let now: Timestamp = stage.now();
    stage
        .store
        .edit_automation(stage.tenant, automation, edit, now)
        .await
}
