//! Change notification: waiting tasks are woken after commits.

use std::{collections::HashSet, time::Duration};

use model::{RunId, policy::SessionMode, turn::WriteOutcome};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgConnectOptions};
use store::{
    ChangeSet, Changes, ListenerState, PollingReason, Scope, WorkSignals, WorkSubscription,
    database::Dialect, params,
};
use uuid::Uuid;

use crate::{
    fixtures::TestStore,
    stage::{Stage, hourly, store_over},
};

/// Waits until the subscription is woken for a log.
async fn assert_woken_for(changes: &mut Changes, log: Uuid) {
    let wait = async {
        loop {
            let changed = changes.next().await;
            if changed.everything || changed.logs.contains(&log) {
                break;
            }
        }
    };
    // The fallback poll comes every five seconds. This notification must come earlier.
    let woken = tokio::time::timeout(Duration::from_secs(4), wait).await;
    assert!(woken.is_ok(), "the subscription was not woken");
}

/// Waits for the first notification, which is for all logs. From then on, changes of other processes are noticed.
async fn wait_until_ready(changes: &mut Changes) {
    assert!(changes.next().await.everything);
}

pub(crate) async fn commit_wakes_all_subscribers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut changes = [stage.store.changes(), stage.store.changes()];
    for one in &mut changes {
        wait_until_ready(one).await;
    }
    let session = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    for one in &mut changes {
        let ChangeSet { everything, logs } = one.next().await;
        let both = HashSet::from([session.uuid(), automation.uuid()]);
        assert!(everything || logs == both, "{logs:?}");
    }
}

pub(crate) async fn rolled_back_change_wakes_no_subscriber(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (before, after) = (stage.session().await, stage.session().await);
    let mut changes = stage.store.changes();
    wait_until_ready(&mut changes).await;
    let refused = stage.store.transition_session(
        stage.scope(),
        before,
        model::session::SessionEvent::Resume,
        None,
        stage.now(),
    );
    assert!(refused.await.is_err(), "the automation is not paused");
    stage.send_message(after, "hello").await;
    let ChangeSet { everything, logs } = changes.next().await;
    assert!(!everything);
    assert_eq!(logs, HashSet::from([after.uuid()]));
}

pub(crate) async fn commit_of_other_process_wakes_subscribers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let mut changes = stage.store.changes();
    wait_until_ready(&mut changes).await;
    // This process's own changes do not hide those of other processes.
    for _ in 0..3 {
        stage.send_message(session, "hello").await;
        assert_woken_for(&mut changes, session.uuid()).await;
        let other = store::open(&db.location()).await.unwrap();
        let elsewhere = store_over(&other);
        let new = stage.new_session(None);
        let created = elsewhere.create_session(stage.tenant, &new, stage.now());
        created.await.unwrap();
        assert_woken_for(&mut changes, new.id.uuid()).await;
        other.close().await;
    }
}

/// Waits until a worker is signalled. Without a signal, a worker would poll at its next tick only.
async fn next_work(work: &mut WorkSubscription) -> WorkSignals {
    let signals = tokio::time::timeout(Duration::from_secs(4), work.next()).await;
    signals.unwrap_or_else(|_| panic!("the worker was not woken"))
}

pub(crate) async fn work_of_other_process_wakes_workers(db: &TestStore) {
    let server = Stage::setup(db).await;
    let other = store::open(&db.location()).await.unwrap();
    let command = Stage::setup_on(store_over(&other)).await;
    let session = command.session().await;
    let mut work = server.store.subscribe_work();
    let mut changes = server.store.changes();
    wait_until_ready(&mut changes).await;
    // Take the signals of the beginning, so that each of the following ones is for one commit.
    let first = next_work(&mut work).await;
    assert!(
        first.queue && first.schedule && first.cancel,
        "work may have been committed before: {first:?}"
    );

    let mut report = command.new_automation("report", SessionMode::Fresh);
    report.triggers = vec![hourly()];
    let automation = command.create(&report).await;
    assert!(next_work(&mut work).await.schedule);
    command.fire(automation).await;
    assert!(next_work(&mut work).await.queue);
    command.limit_tenant(&["10 turns/day"]).await;
    assert!(next_work(&mut work).await.schedule);
    command.send_message(session, "hello").await;
    assert!(next_work(&mut work).await.queue);
    other.close().await;
}

pub(crate) async fn late_worker_is_signalled_at_once(db: &TestStore) {
    let server = Stage::setup(db).await;
    // The process notices changes already, so that this commit is old when the worker subscribes.
    let mut changes = server.store.changes();
    wait_until_ready(&mut changes).await;
    let session = server.session().await;
    server.send_message(session, "hello").await;
    let mut work = server.store.subscribe_work();
    let first = next_work(&mut work).await;
    assert!(first.queue && first.schedule && first.cancel, "{first:?}");
}

impl Stage {
    async fn session_with_running_turn(&self) -> (model::SessionId, RunId) {
        let session = self.session().await;
        let run = self.send_message(session, "hello").await.run_id;
        self.start(run).await;
        (session, run)
    }
}

pub(crate) async fn live_text_of_other_process_wakes_subscribers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.session_with_running_turn().await;
    let other = store::open(&db.location()).await.unwrap();
    let mut changes = store_over(&other).changes();
    wait_until_ready(&mut changes).await;
    // The second piece replaces the first. The change of an existing row notifies too.
    for text in ["a", "abc"] {
        let written = stage
            .store
            .append_live_text(run, &stage.worker, 0, text, stage.now());
        assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
        assert_woken_for(&mut changes, session.uuid()).await;
        let read = store_over(&other).live_text(Scope::System, run, 0).await;
        assert_eq!(read.unwrap().0, text);
    }
    let mut own = stage.store.changes();
    let written = stage
        .store
        .append_live_text(run, &stage.worker, 3, "d", stage.now());
    assert_eq!(written.await.unwrap(), WriteOutcome::Committed);
    assert_woken_for(&mut own, session.uuid()).await;
    drop(changes);
    other.close().await;
}

pub(crate) async fn session_deletion_wakes_subscribers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let other = store::open(&db.location()).await.unwrap();
    let mut elsewhere = store_over(&other).changes();
    let mut here = stage.store.changes();
    wait_until_ready(&mut elsewhere).await;
    wait_until_ready(&mut here).await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    deleted.await.unwrap();
    assert_woken_for(&mut here, session.uuid()).await;
    assert_woken_for(&mut elsewhere, session.uuid()).await;
    drop(elsewhere);
    other.close().await;
}

pub(crate) async fn last_dropped_subscription_stops_listener(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut changes = stage.store.changes();
    wait_until_ready(&mut changes).await;
    let second = stage.store.changes();
    drop(changes);
    drop(second);
    if db.dialect() == Dialect::Postgres {
        // End the listener's connection.
        loop {
            let sql = "select count(*) as n from pg_stat_activity \
                where datname = current_database() and query ilike any (array['listen%', 'unlisten%'])";
            let rows = db.run(Scope::System, sql, params![]).await.unwrap();
            if rows[0].get::<i64>("n").unwrap() == 0 {
                break;
            }
        }
    }
    assert_eq!(stage.store.listener_state(), ListenerState::Idle);
    // A later subscription starts a new watcher.
    let mut changes = stage.store.changes();
    wait_until_ready(&mut changes).await;
    let session = stage.session().await;
    assert_woken_for(&mut changes, session.uuid()).await;
}

pub(crate) async fn lost_listener_reconnects_and_wakes_all_subscribers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let mut changes = stage.store.changes();
    wait_until_ready(&mut changes).await;
    let sql = "select count(pg_terminate_backend(pid)) as n from pg_stat_activity \
        where datname = current_database() and query like 'LISTEN%'";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    assert_eq!(rows[0].get::<i64>("n").unwrap(), 1);
    let changed = tokio::time::timeout(Duration::from_secs(4), changes.next()).await;
    assert!(changed.unwrap().everything, "a change may have been missed");
    let other = store::open(&db.location()).await.unwrap();
    let elsewhere = store_over(&other);
    let sent = elsewhere.send_message(stage.tenant, session, None, "hello", stage.now());
    sent.await.unwrap();
    // Skip notifications of fallback polls that are due meanwhile.
    let logs = loop {
        let ChangeSet { everything, logs } = changes.next().await;
        if !everything {
            break logs;
        }
        let sent = elsewhere.send_message(stage.tenant, session, None, "again", stage.now());
        sent.await.unwrap();
    };
    assert_eq!(logs, HashSet::from([session.uuid()]));
    assert_eq!(stage.store.listener_state(), ListenerState::Listening);
    other.close().await;
}

pub(crate) async fn subscribers_poll_faster_without_listener(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let other = store::open(&db.location()).await.unwrap();
    let elsewhere = store_over(&other);
    let mut changes = stage.store.changes();
    while stage.store.listener_state() != ListenerState::Listening {
        changes.next().await;
    }
    // Both stores have the connections that they need, and the server accepts no further one.
    elsewhere.session(stage.scope(), session).await.unwrap();
    let above: PgConnectOptions = db.home.superuser_url().unwrap().parse().unwrap();
    let name = above.get_database().unwrap().to_owned();
    let above = above.database("postgres");
    let mut above = PgConnection::connect_with(&above).await.unwrap();
    // Safe: the text names the test's own database.
    let allow =
        |allowed: bool| AssertSqlSafe(format!("alter database {name} allow_connections {allowed}"));
    sqlx::raw_sql(allow(false))
        .execute(&mut above)
        .await
        .unwrap();
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_stat_activity \
         where datname = $1 and query ilike 'listen%'",
    )
    .bind(&name)
    .execute(&mut above)
    .await
    .unwrap();
    let polls = |state| {
        matches!(
            state,
            ListenerState::Polling {
                reason: PollingReason::Lost,
                ..
            }
        )
    };
    while !polls(stage.store.listener_state()) {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        let sent = elsewhere.send_message(stage.tenant, session, None, "hello", stage.now());
        sent.await.unwrap();
        // Earlier than the fallback poll of a process that listens.
        let woken = tokio::time::timeout(Duration::from_secs(3), changes.next()).await;
        assert!(woken.unwrap().everything);
        assert!(polls(stage.store.listener_state()));
    }
    sqlx::raw_sql(allow(true))
        .execute(&mut above)
        .await
        .unwrap();
    while stage.store.listener_state() != ListenerState::Listening {
        changes.next().await;
    }
    let logs = loop {
        let sent = elsewhere.send_message(stage.tenant, session, None, "hello", stage.now());
        sent.await.unwrap();
        let ChangeSet { everything, logs } = changes.next().await;
        if !everything {
            break logs;
        }
    };
    assert_eq!(logs, HashSet::from([session.uuid()]));
    above.close().await.unwrap();
    other.close().await;
}
