//! Lists that are read page by page, from the newest to the oldest.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use model::{
    AutomationId, RunId, SessionId,
    automation::AutomationState,
    entity::Session,
    outcome::FailureKind,
    policy::SessionMode,
    run::{Origin, RunStatus},
    session::{SessionKind, SessionStatus, SessionType},
    turn::Role,
};
use store::{
    AutomationFilter, ChangeCursor, Page, RunFilter, Scope, SessionFilter, SessionOrder,
    SessionSelector,
};

use crate::{
    fixtures::TestStore,
    stage::{
        Stage, answer,
        history::{History, history, matches_filter},
        hourly, instance,
    },
};

/// Reads a list to its end, two items per page, and returns its IDs.
macro_rules! to_its_end {
    (|$page:ident| $read:expr) => {{
        let mut found = Vec::new();
        let mut $page = Page::first(2);
        loop {
            let next = $read.await.unwrap();
            assert!(next.len() <= 2);
            if next.is_empty() {
                assert!(found.is_sorted_by(|id, next| id > next), "newest first");
                break found;
            }
            found.extend(next.iter().map(|item| item.id));
            $page.after = found.last().copied();
        }
    }};
}

pub(crate) async fn run_pages_match_every_filter(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let History {
        sessions,
        automations,
    } = history(&stage).await;
    let every = stage.store.runs(Scope::System, RunFilter::default(), 1000);
    let every = every.await.unwrap();
    assert_eq!(
        i64::try_from(every.len()).unwrap(),
        db.count(Scope::System, "agent_runs").await
    );
    let statuses: BTreeSet<_> = every.iter().map(|run| run.status().as_str()).collect();
    assert!(statuses.len() >= 6, "{statuses:?}");

    let some = |ids: &[SessionId]| -> Vec<Option<SessionId>> {
        let none = std::iter::once(None);
        none.chain(ids.iter().copied().map(Some)).collect()
    };
    let mut found = 0;
    for session in some(&sessions[..2]) {
        for automation in [None, Some(automations[0]), Some(automations[1])] {
            let each = RunStatus::ALL.iter().map(|status| vec![*status]);
            let several = vec![RunStatus::Failed, RunStatus::Running, RunStatus::Succeeded];
            for statuses in each.chain([vec![], several]) {
                for (origin, occurrences) in [
                    (None, false),
                    (Some(Origin::Person), false),
                    (Some(Origin::Occurrence), true),
                    (None, true),
                ] {
                    let filter = RunFilter {
                        session,
                        automation,
                        statuses: statuses.clone(),
                        origin,
                        occurrences_only: occurrences,
                        ..RunFilter::default()
                    };
                    let expected = every.iter().filter(|run| matches_filter(&filter, run));
                    let expected: Vec<RunId> = expected.map(|run| run.id).collect();
                    for scope in [stage.scope(), Scope::System] {
                        let listed = to_its_end!(|page| stage.store.run_page(scope, &filter, page));
                        assert_eq!(listed, expected, "{filter:?}");
                        found += listed.len();
                    }
                }
            }
        }
    }
    assert!(found > 100);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    for statuses in [vec![], vec![RunStatus::Queued], vec![RunStatus::Skipped]] {
        for session in some(&sessions) {
            let filter = RunFilter {
                session,
                statuses: statuses.clone(),
                ..RunFilter::default()
            };
            let read = stage.store.run_page(other, &filter, Page::first(9)).await;
            assert!(read.unwrap().is_empty());
        }
    }
}

async fn read_sessions(stage: &Stage, filter: &SessionFilter) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    loop {
        let after = sessions.last().map(|session| session.id);
        let page = list(stage, filter, SessionOrder::Created { after }).await;
        if page.is_empty() {
            assert!(sessions.is_sorted_by(|one, next| one.id > next.id));
            return sessions;
        }
        sessions.extend(page);
    }
}

/// Reads a list in the order of changes to its end.
async fn read_by_change(stage: &Stage, filter: &SessionFilter) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    loop {
        let after = sessions.last().map(|session| ChangeCursor {
            at: session.updated_at,
            id: session.id,
        });
        let page = list(stage, filter, SessionOrder::Changed { after }).await;
        if page.is_empty() {
            return sessions;
        }
        sessions.extend(page);
    }
}

/// Reads a page of two sessions.
async fn list(stage: &Stage, filter: &SessionFilter, order: SessionOrder) -> Vec<Session> {
    let read = stage.store.session_items(stage.tenant, filter, order, 2, 9);
    let page = read.await.unwrap();
    assert!(page.len() <= 2);
    page.into_iter().map(|item| item.session).collect()
}

async fn with_text(stage: &Stage, text: &str) -> Vec<Session> {
    let filter = SessionFilter {
        text: Some(text.into()),
        ..SessionFilter::default()
    };
    read_sessions(stage, &filter).await
}

async fn names_with(stage: &Stage, text: &str) -> Vec<String> {
    let name = |session: Session| session.title.or(session.session_key).unwrap_or_default();
    let found = with_text(stage, text).await;
    found.into_iter().map(name).collect()
}

async fn ids_with(stage: &Stage, text: &str) -> Vec<SessionId> {
    let found = with_text(stage, text).await;
    found.iter().map(|item| item.id).collect()
}

pub(crate) async fn session_pages_match_every_filter(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let History { automations, .. } = history(&stage).await;
    for title in ["Über 50%", "über_alles", "plain"] {
        let mut new = stage.new_session(None);
        new.title = Some(title.into());
        if title == "plain" {
            new.session_type = SessionType::ChannelSlack;
            new.kind = SessionKind::Background;
        }
        stage.advance_seconds(1);
        let created = stage.store.create_session(stage.tenant, &new, stage.now());
        created.await.unwrap();
    }
    let every = read_sessions(&stage, &SessionFilter::default()).await;
    assert_eq!(
        i64::try_from(every.len()).unwrap(),
        db.count(Scope::System, "agent_sessions").await
    );
    let types: [&[SessionType]; 5] = [
        &[],
        &[SessionType::Regular],
        &[SessionType::ScheduleCron, SessionType::ScheduleCron],
        &[SessionType::ChannelSlack, SessionType::Regular],
        SessionType::ALL,
    ];
    for types in types {
        for kind in std::iter::once(None).chain(SessionKind::ALL.iter().copied().map(Some)) {
            for state in [None, Some(SessionStatus::Active), Some(SessionStatus::Done)] {
                for automation in [None, Some(automations[0]), Some(automations[1])] {
                    let filter = SessionFilter {
                        types: types.to_vec(),
                        kind,
                        state,
                        automation,
                        ..SessionFilter::default()
                    };
                    let shows = |session: &&Session| {
                        (types.is_empty() || types.contains(&session.session_type))
                            && kind.is_none_or(|kind| session.kind == kind)
                            && state.is_none_or(|state| session.status() == state)
                            && automation.is_none_or(|id| session.schedule_id == Some(id))
                    };
                    let expected: Vec<&Session> = every.iter().filter(shows).collect();
                    let listed = read_sessions(&stage, &filter).await;
                    assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "{filter:?}");
                    let mut by_change: Vec<Session> = expected.into_iter().cloned().collect();
                    by_change.sort_by_key(|session| Reverse((session.updated_at, session.id)));
                    assert_eq!(
                        read_by_change(&stage, &filter).await,
                        by_change,
                        "{filter:?}"
                    );
                }
            }
        }
    }
    assert_eq!(names_with(&stage, "PLAIN").await, ["plain"]);
    assert_eq!(names_with(&stage, "%").await, ["Über 50%", "web:100%_Talk"]);
    assert_eq!(
        names_with(&stage, "_").await,
        ["über_alles", "web:100%_Talk"]
    );
    assert_eq!(names_with(&stage, "_talk").await, ["web:100%_Talk"]);
    assert_eq!(names_with(&stage, "\\").await, [""; 0]);
    assert!(
        names_with(&stage, "Über")
            .await
            .contains(&"Über 50%".to_owned())
    );
    assert!(
        names_with(&stage, "über")
            .await
            .contains(&"über_alles".to_owned())
    );
    let last = every.last().unwrap().id;
    let shown = last.to_string();
    assert_eq!(ids_with(&stage, &shown).await, [last]);
    assert_eq!(
        ids_with(&stage, &last.uuid().to_string().to_uppercase()).await,
        [last]
    );
    assert!(
        ids_with(&stage, &shown[shown.len() - 8..])
            .await
            .contains(&last)
    );
    assert!(ids_with(&stage, &shown[..12]).await.contains(&last));
    assert_other_tenant_has_no_sessions(&stage, automations[0]).await;
}

async fn assert_other_tenant_has_no_sessions(stage: &Stage, automation: AutomationId) {
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    for automation in [None, Some(automation)] {
        let filter = SessionFilter {
            automation,
            ..SessionFilter::default()
        };
        for order in [
            SessionOrder::Created { after: None },
            SessionOrder::Changed { after: None },
        ] {
            let read = stage.store.session_items(other, &filter, order, 9, 9);
            assert!(read.await.unwrap().is_empty());
        }
    }
}

async fn automations_with(
    stage: &Stage,
    state: Option<AutomationState>,
    text: Option<&str>,
) -> Vec<AutomationId> {
    automations_by(
        stage,
        AutomationFilter {
            state,
            text: text.map(str::to_owned),
            session: None,
        },
    )
    .await
}

async fn automations_by(stage: &Stage, filter: AutomationFilter) -> Vec<AutomationId> {
    let read = async |page| {
        let read = stage
            .store
            .automation_items(stage.tenant, &filter, page, 0)
            .await;
        read.map(|found| {
            let items = found.readable.into_iter();
            items.map(|item| item.automation).collect::<Vec<_>>()
        })
    };
    to_its_end!(|page| read(page))
}

pub(crate) async fn listed_sessions_have_last_message_and_last_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let empty = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::AgentError).await;
    let older = stage.send_message(session, "two").await.run_id;
    let newer = stage.send_message(session, "three").await.run_id;
    stage.start(older).await;
    let items = async || {
        let filter = SessionFilter::default();
        let order = SessionOrder::Created { after: None };
        let read = stage
            .store
            .session_items(stage.tenant, &filter, order, 9, 4);
        read.await.unwrap()
    };
    let read = items().await;
    assert_eq!(read[0].session.id, empty);
    assert_eq!((&read[0].last_message, &read[0].last_run), (&None, &None));
    let run = read[1].last_run.clone().unwrap();
    assert_eq!((run.run, run.status), (older, RunStatus::Running));
    let message = read[1].last_message.clone().unwrap();
    assert_eq!(
        (message.role, message.content.as_str()),
        (Role::User, "two")
    );

    stage.advance_seconds(1);
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), newer, "enough", stage.now());
    cancelled.await.unwrap();
    stage.advance_seconds(1);
    stage.end(older, &answer("Two services changed")).await;
    let read = items().await;
    let run = read[1].last_run.clone().unwrap();
    assert_eq!((run.run, run.status), (older, RunStatus::Succeeded));
    assert_eq!(run.ended_at, Some(stage.now()));
    let message = read[1].last_message.clone().unwrap();
    assert_eq!(
        (message.role, message.content.as_str()),
        (Role::Assistant, "Two ")
    );
}

pub(crate) async fn automation_pages_match_state_and_text(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut ids = Vec::new();
    for name in ["a_b", "Report", "report 2", "other", "gone"] {
        let mut new = stage.new_automation(name, SessionMode::Fresh);
        new.triggers = vec![hourly(); 3];
        ids.push(stage.create(&new).await);
    }
    let scope = stage.scope();
    let paused = stage
        .store
        .pause_automation(scope, ids[1], "x", stage.now());
    paused.await.unwrap();
    let removed = stage.store.delete_automation(scope, ids[4], stage.now());
    removed.await.unwrap();
    let [a, report, second, other, gone] = ids[..] else {
        unreachable!()
    };
    assert_eq!(
        automations_with(&stage, None, None).await,
        [other, second, report, a]
    );
    let enabled = automations_with(&stage, Some(AutomationState::Enabled), None).await;
    assert_eq!(enabled, [other, second, a]);
    assert_eq!(
        automations_with(&stage, Some(AutomationState::Paused), None).await,
        [report]
    );
    assert_eq!(
        automations_with(&stage, Some(AutomationState::Deleted), None).await,
        [gone]
    );
    assert_eq!(
        automations_with(&stage, None, Some("REPORT")).await,
        [second, report]
    );
    assert_eq!(automations_with(&stage, None, Some("_")).await, [a]);
    assert_eq!(
        automations_with(&stage, Some(AutomationState::Paused), Some("2")).await,
        []
    );
    let theirs = stage.store.ensure_tenant("other", stage.now());
    let theirs = theirs.await.unwrap();
    let (filter, page) = (AutomationFilter::default(), Page::first(9));
    let read = stage.store.automation_items(theirs, &filter, page, 0).await;
    assert!(read.unwrap().readable.is_empty());
}

pub(crate) async fn automations_are_listed_by_target_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let web = stage.keyed_session(Some("web:7")).await;
    stage.keyed_session(Some("unified:default")).await;
    let bound = stage.bound_automation("bound", "web:7").await;
    let unified = stage.bound_automation("unified", "unified:default").await;
    let continuous = stage.automation("diary", SessionMode::Continuous).await;
    let run = stage.fire(continuous).await.run_id;
    let own = stage.session_of(run).await;
    stage.automation("fresh", SessionMode::Fresh).await;
    let listed = async |session, key: Option<&str>, other_key: Option<&str>| {
        let session = SessionSelector {
            session,
            key: key.map(str::to_owned),
            other_key: other_key.map(str::to_owned),
        };
        let filter = AutomationFilter {
            session: Some(session),
            ..AutomationFilter::default()
        };
        automations_by(&stage, filter).await
    };
    assert_eq!(listed(web, Some("web:7"), None).await, [bound]);
    assert_eq!(
        listed(web, Some("web:7"), Some("unified:default")).await,
        [unified, bound]
    );
    assert_eq!(listed(own, None, None).await, [continuous]);
    assert_eq!(listed(web, None, None).await, []);
}

pub(crate) async fn tenant_pages_and_instance_queues_are_listed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for number in 2..6 {
        let name = format!("host {number}");
        let registered =
            stage
                .store
                .register_instance(stage.tenant, instance(number), &name, stage.now());
        registered.await.unwrap();
    }
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    stage.send_message(session, "two").await;
    let standing = stage.store.instances(stage.scope()).await.unwrap();
    let waiting: BTreeMap<_, _> = standing
        .iter()
        .map(|instance| (instance.id, instance.queued_runs))
        .collect();
    let expected = [(1, 1), (2, 0), (3, 0), (4, 0), (5, 0)];
    let expected = expected.map(|(number, waiting)| (instance(number), waiting));
    assert_eq!(
        waiting,
        expected.into(),
        "the memory is on the first instance"
    );

    stage.advance_seconds(1);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let all = to_its_end!(|page| stage.store.tenants(Scope::System, page));
    assert_eq!(all, [other, stage.tenant]);
    let own = to_its_end!(|page| stage.store.tenants(stage.scope(), page));
    assert_eq!(own, [stage.tenant]);
    let theirs = stage.store.instances(Scope::Tenant(other)).await;
    assert!(theirs.unwrap().is_empty());
}

pub(crate) async fn unfinished_runs_are_counted_by_status(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let depth = async |scope| stage.store.queue_depth(scope).await.unwrap();
    let none = depth(Scope::System).await;
    assert_eq!((none.queued, none.oldest_queued), (0, None));
    history(&stage).await;
    let found = depth(stage.scope()).await;
    assert_eq!(found, depth(Scope::System).await);
    let every = stage.store.runs(Scope::System, RunFilter::default(), 1000);
    let every = every.await.unwrap();
    let in_status = |status| every.iter().filter(move |run| run.status() == status);
    let count = |status| in_status(status).count() as u64;
    assert_eq!(found.queued, count(RunStatus::Queued));
    assert_eq!(found.deferred, count(RunStatus::Deferred));
    assert_eq!(found.delivered, count(RunStatus::Delivered));
    assert_eq!(found.running, count(RunStatus::Running));
    assert!(found.queued > 0 && found.deferred > 1 && found.running > 0);
    let oldest = in_status(RunStatus::Queued).map(|run| run.input_at).min();
    assert_eq!(found.oldest_queued, oldest);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    assert_eq!(depth(other).await, none);
}
