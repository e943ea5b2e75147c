//! Lists: their content, their order, and their isolation.

use model::{
    AutomationId,
    agent::{AgentConfig, OfferedCapabilities},
    policy::SessionMode,
    run::RunStatus::{Deferred, Queued},
    session::SessionType,
};
use store::{Error, RunFilter, Scope};
use testkit::clock::SeededEntropy;

pub(crate) use crate::sessions::seats::seats_are_listed_with_names_of_their_objects;
use crate::{
    fixtures::TestStore,
    stage::{Stage, hourly},
};

pub(crate) async fn lists_contain_no_row_of_other_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.send_message(session, "hello").await;
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
    assert!(store.automations(other).await.unwrap().readable.is_empty());
    assert!(store.agents(other).await.unwrap().is_empty());
    assert!(store.agent(other, stage.agent).await.is_err());
    assert!(store.automation(other, automation).await.is_err());
    assert!(store.triggers(other, automation).await.is_err());
    let tenant = other.tenant().unwrap();
    let found = store.automation_by_name(tenant, "report").await.unwrap();
    assert_eq!(found, None);
    // The system scope sees all tenants.
    let all = store.automations(Scope::System).await.unwrap().readable;
    assert_eq!(all.len(), 1);
}

pub(crate) async fn sessions_are_listed_by_last_change_and_type(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage.session().await;
    stage.advance_seconds(1);
    let second = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let scheduled = stage.fire(automation).await.run_id;
    let scheduled = stage.session_of(scheduled).await;
    stage.advance_seconds(1);
    stage.send_message(first, "hello").await;
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
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("standup", "web:1").await;
    let other = stage.bound_automation("digest", "web:nobody").await;
    let sent = stage.send_message(session, "hello").await.run_id;
    let fired = stage.fire(automation).await.run_id;
    let skipped = stage.fire(other).await.run_id;
    let list = async |filter, limit| -> Vec<_> {
        let listed = stage.store.runs(stage.scope(), filter, limit).await;
        listed.unwrap().iter().map(|run| run.id).collect()
    };
    let all = RunFilter::default();
    assert_eq!(list(all.clone(), 10).await, [skipped, fired, sent]);
    assert_eq!(list(all.clone(), 2).await, [skipped, fired]);
    let of_session = RunFilter {
        session: Some(session),
        ..all.clone()
    };
    assert_eq!(list(of_session.clone(), 10).await, [fired, sent]);
    let of_other = RunFilter {
        automation: Some(other),
        ..all
    };
    assert_eq!(list(of_other, 10).await, [skipped]);
    let waiting = RunFilter {
        statuses: vec![Deferred],
        ..of_session
    };
    assert_eq!(list(waiting, 10).await, [fired]);
    assert_eq!(stage.statuses([sent, fired]).await, [Queued, Deferred]);
}

pub(crate) async fn automations_and_agents_are_listed_by_name(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for name in ["report", "digest", "old"] {
        stage.automation(name, SessionMode::Fresh).await;
    }
    let old = stage.store.automation_by_name(stage.tenant, "old");
    let old = old.await.unwrap().unwrap().id;
    let removed = stage
        .store
        .delete_automation(stage.scope(), old, stage.now());
    removed.await.unwrap();
    let listed = stage
        .store
        .automations(stage.scope())
        .await
        .unwrap()
        .readable;
    let names: Vec<_> = listed
        .iter()
        .map(|automation| automation.name.as_str())
        .collect();
    assert_eq!(names, ["digest", "report"]);
    let deleted = stage.store.automation_by_name(stage.tenant, "old").await;
    assert_eq!(deleted.unwrap(), None);

    let config = AgentConfig::new(vec!["other".into()]);
    for added in [true, false] {
        let add = stage
            .store
            .add_agent(stage.tenant, "a second agent", &config, stage.now());
        assert_eq!(add.await.unwrap(), added);
    }
    // An existing agent keeps the changes of a person.
    let changed = AgentConfig::new(vec!["changed".into()]);
    let add = stage
        .store
        .add_agent(stage.tenant, "agent", &changed, stage.now());
    assert!(!add.await.unwrap());
    let listed = stage.store.agents(stage.scope()).await.unwrap();
    let listed: Vec<_> = listed
        .iter()
        .map(|agent| (agent.name.as_str(), agent.config.command[0].as_str()))
        .collect();
    assert_eq!(listed, [("a second agent", "other"), ("agent", "agent")]);
    let put = stage
        .store
        .put_agent(stage.tenant, "agent", &changed, None, stage.now());
    assert_eq!(put.await.unwrap().id, stage.agent);
    let found = stage.store.agent(stage.scope(), stage.agent).await;
    assert_eq!(found.unwrap().config, changed);
}

pub(crate) async fn agent_edit_with_stale_version_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (store, tenant, id) = (&stage.store, stage.tenant, stage.agent);
    let seen = store.agent(stage.scope(), id).await.unwrap().config;
    let to = |program: &str| AgentConfig::new(vec![program.into()]);
    let offers = OfferedCapabilities {
        resume: true,
        ..OfferedCapabilities::default()
    };
    let noted = store.store_agent_offers(tenant, id, &seen, &offers, stage.now());
    assert_eq!(noted.await.unwrap().offers.as_ref(), Some(&offers));
    let edit = |program| {
        let (seen, to, now) = (seen.clone(), to(program), stage.now());
        async move { store.edit_agent(tenant, id, &seen, &to, now).await }
    };
    let edited = edit("one").await.unwrap();
    assert_eq!(
        (edited.id, edited.config, edited.offers),
        (id, to("one"), None)
    );
    let late = edit("two").await;
    assert!(matches!(late, Err(Error::StaleVersion { .. })), "{late:?}");
    // Offers of another configuration are not stored for this one.
    let noted = store.store_agent_offers(tenant, id, &seen, &offers, stage.now());
    let noted = noted.await.unwrap();
    assert_eq!((noted.config, noted.offers), (to("one"), None));
    let other = store.ensure_tenant("other", stage.now()).await.unwrap();
    let (one, two) = (to("one"), to("two"));
    let foreign = store.edit_agent(other, id, &one, &two, stage.now());
    assert!(matches!(foreign.await, Err(Error::NotFound { .. })));
}

pub(crate) async fn ensure_tenant_returns_same_id_for_same_name(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let again = stage.store.ensure_tenant("default", stage.now()).await;
    assert_eq!(again.unwrap(), stage.tenant);
    // A repeated registration returns the same instance.
    let again = stage
        .store
        .register_instance(stage.tenant, stage.instance, "host", stage.now());
    again.await.unwrap();
    assert_eq!(db.count(Scope::System, "instances").await, 1);
}

pub(crate) async fn run_and_session_ids_are_found_by_range_within_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (mut sessions, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        stage.advance_seconds(1);
        let session = stage.session().await;
        sessions.push(session);
        runs.push(stage.send_message(session, "hello").await.run_id);
    }
    let scope = stage.scope();
    let found_runs = async |scope, first, last, limit| {
        let found = stage.store.run_ids_between(scope, first, last, limit).await;
        found.unwrap()
    };
    assert_eq!(found_runs(scope, runs[0], runs[1], 9).await, runs[..2]);
    assert_eq!(found_runs(scope, runs[1], runs[2], 1).await, runs[1..2]);
    let found_sessions = async |scope, first, last, limit| {
        let found = stage.store.session_ids_between(scope, first, last, limit);
        found.await.unwrap()
    };
    let of_two = found_sessions(scope, sessions[0], sessions[1], 9).await;
    assert_eq!(of_two, sessions[..2]);
    let of_one = found_sessions(scope, sessions[1], sessions[2], 1).await;
    assert_eq!(of_one, sessions[1..2]);

    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    assert!(found_runs(other, runs[0], runs[2], 9).await.is_empty());
    let others = found_sessions(other, sessions[0], sessions[2], 9).await;
    assert!(others.is_empty());
}

pub(crate) async fn session_keys_in_form_of_id_are_listed_within_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let uuid = AutomationId::generate(stage.now(), &SeededEntropy::new(31)).uuid();
    let create = async |key: String| {
        stage.advance_seconds(1);
        let new = stage.new_session(Some(&key));
        let created = stage.store.create_session(stage.tenant, &new, stage.now());
        (created.await.unwrap().0, key)
    };
    for key in [
        format!("web:{uuid}"),
        format!("cli:{}", uuid.simple()),
        "telegram".to_owned(),
        "ses_1".to_owned(),
        "x".repeat(40),
    ] {
        create(key).await;
    }
    let mut expected = Vec::new();
    for key in [
        format!("aut_{}", uuid.simple()),
        format!("SES_{}", uuid.simple()).to_uppercase(),
        uuid.to_string(),
        uuid.simple().to_string(),
        format!("urn:uuid:{uuid}"),
        "ses_01a222ad".to_owned(),
    ] {
        expected.push(create(key).await);
    }
    for scope in [stage.scope(), Scope::System] {
        let found = stage.store.session_keys_in_id_form(scope).await;
        assert_eq!(found.unwrap(), expected);
    }
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    let found = stage.store.session_keys_in_id_form(other).await;
    assert!(found.unwrap().is_empty());
}

pub(crate) async fn manual_trigger_is_listed_first(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // IDs that were generated in one instant have no particular order.
    for name in ["a", "b", "c", "d", "e", "f"] {
        let mut new = stage.new_automation(name, SessionMode::Fresh);
        new.triggers = vec![hourly()];
        let automation = stage.create(&new).await;
        let triggers = stage.store.triggers(stage.scope(), automation).await;
        let kinds: Vec<_> = triggers
            .unwrap()
            .iter()
            .map(|trigger| trigger.spec.kind())
            .collect();
        assert_eq!(kinds, ["manual", hourly().kind()]);
    }
}

pub(crate) async fn transcript_is_read_backward_without_loss_or_repeat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let page = async |before, limit| {
        let page = stage
            .store
            .messages_before(stage.scope(), session, before, limit)
            .await
            .unwrap();
        let rows: Vec<_> = page.messages.into_iter().map(|row| row.content).collect();
        (rows, page.previous)
    };
    assert_eq!(page(None, 10).await, (vec![], None));
    assert_eq!(page(None, 0).await, (vec![], None));
    for words in ["one", "two"] {
        let run = stage.send_message(session, words).await.run_id;
        stage.start(run).await;
        stage.succeed(run).await;
    }
    let all = ["one", "Done.", "two", "Done."];
    assert_eq!(page(Some(0), 10).await, (vec![], None));
    assert_eq!(page(None, 9).await, (all.map(String::from).to_vec(), None));
    // A page of exactly all rows has no previous page.
    assert_eq!(page(None, 4).await.1, None);
    // A page without rows still says where earlier rows are.
    let (none, previous) = page(None, 0).await;
    assert_eq!(
        (none.len(), page(previous, 1).await.0),
        (0, vec!["Done.".into()])
    );
    for limit in [1, 2, 3] {
        let (mut before, mut read) = (None, Vec::new());
        loop {
            let (mut rows, previous) = page(before, limit).await;
            assert!(rows.len() <= limit as usize && !rows.is_empty(), "{rows:?}");
            rows.append(&mut read);
            read = rows;
            match previous {
                Some(previous) => before = Some(previous),
                None => break,
            }
        }
        assert_eq!(read, all, "pages of {limit}");
    }
    let count = async |before| {
        let counted = stage
            .store
            .count_messages_before(stage.scope(), session, before);
        counted.await.unwrap()
    };
    assert_eq!((count(0).await, count(i64::MAX).await), (0, 4));
}

pub(crate) async fn messages_of_run_are_found_by_start_number(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for words in ["one", "two"] {
        let run = stage.send_message(session, words).await.run_id;
        let before = stage
            .store
            .seq_before_run(stage.scope(), run)
            .await
            .unwrap();
        stage.start(run).await;
        stage.succeed(run).await;
        let after = stage
            .store
            .seq_before_run(stage.scope(), run)
            .await
            .unwrap();
        assert!(
            before <= after,
            "the order of pages follows the order of IDs"
        );
        let rows = stage.store.messages(stage.scope(), session, before, 10);
        let rows = rows.await.unwrap();
        assert!(rows.iter().all(|row| row.run_id == Some(run)));
        assert_eq!(rows.len(), 2);
    }
}
