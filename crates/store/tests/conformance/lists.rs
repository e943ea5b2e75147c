//! Lists: what they show, in which order, and to whom.

use model::{
    harness::HarnessConfig,
    policy::SessionMode,
    run::RunStatus::{Deferred, Queued},
    session::SessionType,
};
use store::{RunFilter, Scope};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn lists_hold_nothing_of_another_tenant(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    stage.say(session, "hello").await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let store = &stage.store;
    assert!(
        store
            .sessions(other, None, None, 10)
            .await
            .unwrap()
            .is_empty()
    );
    let runs = store.runs(other, RunFilter::default(), 10).await.unwrap();
    assert!(runs.is_empty());
    assert!(store.automations(other).await.unwrap().is_empty());
    assert!(store.harnesses(other).await.unwrap().is_empty());
    assert!(store.harness(other, stage.harness).await.is_err());
    assert!(store.automation(other, automation).await.is_err());
    assert!(store.triggers(other, automation).await.is_err());
    let tenant = other.tenant().unwrap();
    let found = store.automation_by_name(tenant, "report").await.unwrap();
    assert_eq!(found, None);
    // The system sees all.
    let all = store.automations(Scope::System).await.unwrap();
    assert_eq!(all.len(), 1);
}

pub(crate) async fn sessions_are_listed_by_their_last_change_and_by_type(db: &TestStore) {
    let stage = Stage::set(db).await;
    let first = stage.session().await;
    stage.wait(1);
    let second = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let scheduled = stage.fire(automation).await.run_id;
    let scheduled = stage.session_of(scheduled).await;
    stage.wait(1);
    stage.say(first, "hello").await;
    let list = async |of: Option<SessionType>, limit| -> Vec<_> {
        let listed = stage.store.sessions(stage.scope(), of, None, limit).await;
        listed.unwrap().iter().map(|session| session.id).collect()
    };
    assert_eq!(list(Some(SessionType::Regular), 10).await, [first, second]);
    assert_eq!(list(None, 10).await, [first, scheduled, second]);
    assert_eq!(list(None, 1).await, [first]);
    assert_eq!(list(Some(SessionType::ScheduleCron), 10).await, [scheduled]);
}

pub(crate) async fn runs_are_listed_newest_first_by_session_automation_and_status(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound("standup", "web:1").await;
    let other = stage.bound("digest", "web:nobody").await;
    let said = stage.say(session, "hello").await.run_id;
    let fired = stage.fire(automation).await.run_id;
    let skipped = stage.fire(other).await.run_id;
    let list = async |filter, limit| -> Vec<_> {
        let listed = stage.store.runs(stage.scope(), filter, limit).await;
        listed.unwrap().iter().map(|run| run.id).collect()
    };
    let all = RunFilter::default();
    assert_eq!(list(all, 10).await, [skipped, fired, said]);
    assert_eq!(list(all, 2).await, [skipped, fired]);
    let of_session = RunFilter {
        session: Some(session),
        ..all
    };
    assert_eq!(list(of_session, 10).await, [fired, said]);
    let of_other = RunFilter {
        automation: Some(other),
        ..all
    };
    assert_eq!(list(of_other, 10).await, [skipped]);
    let waiting = RunFilter {
        status: Some(Deferred),
        ..of_session
    };
    assert_eq!(list(waiting, 10).await, [fired]);
    assert_eq!(stage.statuses([said, fired]).await, [Queued, Deferred]);
}

pub(crate) async fn automations_and_harnesses_are_listed_by_name(db: &TestStore) {
    let stage = Stage::set(db).await;
    for name in ["report", "digest", "old"] {
        stage.automation(name, SessionMode::Fresh).await;
    }
    let old = stage.store.automation_by_name(stage.tenant, "old");
    let old = old.await.unwrap().unwrap().id;
    let removed = stage
        .store
        .delete_automation(stage.scope(), old, stage.now());
    removed.await.unwrap();
    let listed = stage.store.automations(stage.scope()).await.unwrap();
    let names: Vec<_> = listed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["digest", "report"]);
    let gone = stage.store.automation_by_name(stage.tenant, "old").await;
    assert_eq!(gone.unwrap(), None);

    let config = HarnessConfig::new(vec!["other".into()]);
    for added in [true, false] {
        let add = stage
            .store
            .add_harness(stage.tenant, "a harness", &config, stage.now());
        assert_eq!(add.await.unwrap(), added);
    }
    // One that is there stays as a person made it.
    let changed = HarnessConfig::new(vec!["changed".into()]);
    let add = stage
        .store
        .add_harness(stage.tenant, "agent", &changed, stage.now());
    assert!(!add.await.unwrap());
    let listed = stage.store.harnesses(stage.scope()).await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|one| (one.name.as_str(), one.config.command[0].as_str()))
        .collect();
    assert_eq!(listed, [("a harness", "other"), ("agent", "agent")]);
    let put = stage
        .store
        .put_harness(stage.tenant, "agent", &changed, None, stage.now());
    assert_eq!(put.await.unwrap().id, stage.harness);
    let found = stage.store.harness(stage.scope(), stage.harness).await;
    assert_eq!(found.unwrap().config, changed);
}

pub(crate) async fn a_tenants_name_gives_the_same_id_each_time(db: &TestStore) {
    let stage = Stage::set(db).await;
    let again = stage.store.ensure_tenant("default", stage.now()).await;
    assert_eq!(again.unwrap(), stage.tenant);
    // An instance that is registered again is the same one.
    let again = stage
        .store
        .register_host(stage.tenant, stage.instance, "host", stage.now());
    again.await.unwrap();
    assert_eq!(db.count(Scope::System, "instances").await, 1);
}

pub(crate) async fn ids_in_a_range_are_the_tenants_own_and_in_order(db: &TestStore) {
    let stage = Stage::set(db).await;
    let (mut sessions, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        stage.wait(1);
        let session = stage.session().await;
        runs.push(stage.say(session, "hello").await.run_id);
        sessions.push(session);
    }
    let (store, scope) = (&stage.store, stage.scope());
    let found = store.run_ids_between(scope, runs[1], runs[2], 10).await;
    assert_eq!(found.unwrap(), runs[1..]);
    let found = store.run_ids_between(scope, runs[0], runs[2], 2).await;
    assert_eq!(found.unwrap(), runs[..2]);
    let found = store.session_ids_between(scope, sessions[0], sessions[1], 10);
    assert_eq!(found.await.unwrap(), sessions[..2]);
    let other = store.ensure_tenant("other", stage.now()).await.unwrap();
    let other = Scope::Tenant(other);
    let theirs = store.run_ids_between(other, runs[0], runs[2], 10).await;
    assert_eq!(theirs.unwrap(), []);
    let theirs = store.session_ids_between(other, sessions[0], sessions[2], 10);
    assert_eq!(theirs.await.unwrap(), []);
}
