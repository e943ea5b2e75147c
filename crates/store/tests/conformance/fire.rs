//! Firing on demand, and the sessions in which automations run.

mod by_file;

use futures::future::join_all;
use model::{
    automation::AutomationState,
    policy::SessionMode,
    run::RunStatus::{Cancelled, Deferred, Queued, Running, Succeeded},
    schedule::{QuietHours, Spec},
    session::SessionKind,
};
use store::{Error, NewAutomation};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

pub(crate) use by_file::{
    data_of_file_is_fenced_in_prompt_of_every_attempt,
    file_does_not_fire_automation_of_other_tenant, file_does_not_fire_paused_or_expired_automation,
    file_fires_only_automations_placed_on_its_instance, file_follows_overlap_policy,
    file_with_reserved_input_fires_once,
};

pub(crate) use crate::placement::unclaimed_files::automation_deletion_cancels_file;

pub(crate) async fn fire_of_deleted_automation_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let removed = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    removed.await.unwrap();
    let fired = stage
        .store
        .fire_automation(stage.tenant, automation, None, stage.now());
    let fired = fired.await;
    assert!(matches!(fired, Err(Error::NotFound { .. })), "{fired:?}");
    let triggers = stage.store.triggers(stage.scope(), automation).await;
    assert!(
        matches!(triggers, Err(Error::NotFound { .. })),
        "{triggers:?}"
    );
}

pub(crate) async fn automation_name_is_unique_until_deletion(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage.automation("report", SessionMode::Fresh).await;
    let new = stage.new_automation("report", SessionMode::Continuous);
    let again = stage
        .store
        .create_automation(stage.tenant, None, &new, stage.now());
    let again = again.await.unwrap_err();
    assert!(matches!(again, Error::NameTaken { .. }), "{again:?}");
    let removed = stage
        .store
        .delete_automation(stage.scope(), first, stage.now());
    removed.await.unwrap();
    stage.create(&new).await;
}

pub(crate) async fn automation_with_unknown_agent_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new: NewAutomation = stage.new_automation("report", SessionMode::Fresh);
    new.agent = model::AgentId::from_uuid(crate::fixtures::id());
    let created = stage
        .store
        .create_automation(stage.tenant, None, &new, stage.now());
    let created = created.await;
    assert!(
        matches!(created, Err(Error::NotFound { what: "agent", .. })),
        "{created:?}"
    );
    let listed = stage
        .store
        .automations(stage.scope())
        .await
        .unwrap()
        .readable;
    assert!(listed.is_empty());
}

pub(crate) async fn manual_fire_does_not_change_schedule(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let due = |triggers: Vec<model::entity::Trigger>| {
        let mut due: Vec<_> = triggers.iter().map(|t| t.next_fire_at).collect();
        due.sort();
        due
    };
    let before = stage.store.triggers(stage.scope(), automation).await;
    let fired = stage.fire(automation).await;
    assert_eq!(fired.status, Queued);
    let after = stage.store.triggers(stage.scope(), automation).await;
    assert_eq!(due(before.unwrap()), due(after.unwrap()));
    let run = stage.run(fired.run_id).await;
    assert_eq!(run.scheduled_for, Some(stage.now()));
}

pub(crate) async fn fires_in_same_microsecond_are_separate_occurrences(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fires = (0..8).map(|_| {
        stage
            .store
            .fire_automation(stage.tenant, automation, None, stage.now())
    });
    for fired in join_all(fires).await {
        assert_eq!(fired.unwrap().status, Queued);
    }
    let mut instants: Vec<_> = stage.runs_of(automation).await;
    instants.sort_by_key(|run| run.scheduled_for);
    instants.dedup_by_key(|run| run.scheduled_for);
    assert_eq!(instants.len(), 8);
}

pub(crate) async fn manual_fire_ignores_pause_and_quiet_hours(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.quiet_hours = QuietHours::new(vec!["00:00-23:59".parse().unwrap()]).unwrap();
    let automation = stage.create(&new).await;
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    paused.await.unwrap();
    assert_eq!(stage.fire(automation).await.status, Queued);
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(found.state, AutomationState::Paused);
}

pub(crate) async fn fresh_automation_gets_new_session_for_each_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    assert_eq!(stage.statuses([first, second]).await, [Queued, Queued]);
    let (one, two) = (
        stage.session_of(first).await,
        stage.session_of(second).await,
    );
    assert_ne!(one, two);
    let listed = stage
        .store
        .sessions(stage.scope(), None, Some(automation), 10);
    let listed: Vec<_> = listed
        .await
        .unwrap()
        .iter()
        .map(|session| session.id)
        .collect();
    assert_eq!(listed, [two, one], "newest first");
}

pub(crate) async fn continuous_automation_keeps_its_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await;
    assert_eq!(second.status, Deferred);
    let session = stage.session_of(first).await;
    assert_eq!(stage.session_of(second.run_id).await, session);
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(found.kind, SessionKind::Automation);
    stage.start(first).await;
    stage.succeed(first).await;
    let assignment = stage.start(second.run_id).await;
    let memory = assignment.seat.acp_session_id.unwrap();
    assert_eq!(memory.as_str(), "memory-1", "the memory of the first turn");
}

pub(crate) async fn concurrent_fires_create_one_continuous_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    let fired = join_all((0..8).map(|_| stage.fire(automation))).await;
    let seats: std::collections::BTreeSet<_> = fired.iter().map(|fired| fired.seat_id).collect();
    assert_eq!(seats.len(), 1);
    let queued = fired.iter().filter(|fired| fired.status == Queued).count();
    assert_eq!(queued, 1);
}

pub(crate) async fn run_after_reset_starts_new_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    let first = stage.fire(automation).await.run_id;
    stage.start(first).await;
    let reset = stage
        .store
        .reset_automation(stage.scope(), automation, stage.now());
    reset.await.unwrap();
    let second = stage.fire(automation).await;
    // The second run has another seat. Runs of one automation still do not overlap.
    assert_eq!(second.status, Deferred);
    stage.assert_nothing_promotable().await;
    stage.succeed(first).await;
    assert_eq!(
        stage.statuses([first, second.run_id]).await,
        [Succeeded, Queued]
    );
    let (old, new) = (
        stage.session_of(first).await,
        stage.session_of(second.run_id).await,
    );
    assert_ne!(old, new);
    for session in [old, new] {
        let found = stage.store.session(stage.scope(), session).await.unwrap();
        assert_eq!(
            found.schedule_id,
            Some(automation),
            "the automation's history has both sessions"
        );
    }
    let assignment = stage.start(second.run_id).await;
    assert_eq!(assignment.seat.acp_session_id, None);
}

pub(crate) async fn automation_deletion_cancels_waiting_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("watch", SessionMode::Continuous);
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let runs = stage.fire(automation).await.run_id;
    let waits = stage.fire(automation).await.run_id;
    stage.start(runs).await;
    let removed = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    removed.await.unwrap();
    assert_eq!(stage.statuses([runs, waits]).await, [Running, Cancelled]);
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.triggers, 0);
    // The running turn ends normally, and is not retried.
    stage
        .fail(runs, model::outcome::FailureKind::AgentExited)
        .await;
    assert_eq!(stage.runs_of(automation).await.len(), 2);
    let session = stage.session_of(runs).await;
    stage.store.session(stage.scope(), session).await.unwrap();
}

pub(crate) async fn every_automation_has_manual_trigger(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let triggers = stage.store.triggers(stage.scope(), automation);
    let mut kinds: Vec<_> = triggers
        .await
        .unwrap()
        .iter()
        .map(|trigger| trigger.spec.kind())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [Spec::kind(&hourly()), "manual"]);
}

pub(crate) async fn pause_and_resume_keep_continuous_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("watch", SessionMode::Continuous).await;
    let first = stage.fire(automation).await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    let (store, scope, now) = (&stage.store, stage.scope(), stage.now());
    let paused = store.pause_automation(scope, automation, "holidays", now);
    paused.await.unwrap();
    store
        .resume_automation(scope, automation, now)
        .await
        .unwrap();
    let second = stage.fire(automation).await.run_id;
    assert_eq!(
        stage.session_of(second).await,
        stage.session_of(first).await
    );
    let memory = stage.start(second).await.seat.acp_session_id.unwrap();
    assert_eq!(memory.as_str(), "memory-1", "the memory of the first turn");
}
