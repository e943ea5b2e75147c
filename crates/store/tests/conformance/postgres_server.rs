//! State that several processes share on PostgreSQL: the clock, the server's status, and the lock of retention.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use model::{Timestamp, Uptime};
use store::{PoolSize, PostgresStatus, Scope, database::Tx, params};

use crate::{
    fixtures::{TestStore, statement},
    stage::Stage,
};

/// A machine on which each reading of the stopwatch takes a second.
#[derive(Default)]
struct TickingUptime(AtomicU64);

impl Uptime for TickingUptime {
    fn uptime(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

async fn server_time(db: &TestStore) -> Timestamp {
    let sql = "select clock_timestamp() as now";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    rows[0].get("now").unwrap()
}

pub(crate) async fn database_clock_is_read_between_two_uptimes(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let before = server_time(db).await;
    let uptime = TickingUptime::default();
    let reading = stage.store.read_clock(&uptime).await.unwrap().unwrap();
    let after = server_time(db).await;
    assert!(before <= reading.database_time && reading.database_time <= after);
    // There is no other reading between the two.
    assert_eq!(reading.round_trip(), Duration::from_secs(1));
    assert!(uptime.uptime() > reading.received_uptime + Duration::from_secs(1));
}

pub(crate) async fn sqlite_has_no_server_status(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let uptime = TickingUptime::default();
    assert_eq!(stage.store.read_clock(&uptime).await.unwrap(), None);
    assert_eq!(stage.store.postgres_status().await.unwrap(), None);
    assert_eq!(stage.store.vacuum_status().await.unwrap(), None);
    assert_eq!(stage.store.pool_size(), None);
}

/// Polls until `look` returns a value. A transaction that only read ends a moment after it was dropped.
async fn poll_until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

/// Returns the server's status once this many other transactions are open.
async fn server_with(stage: &Stage, transactions: usize) -> PostgresStatus {
    poll_until(async || {
        let server = stage.store.postgres_status().await.unwrap().unwrap();
        (server.transactions.len() == transactions).then_some(server)
    })
    .await
}

pub(crate) async fn postgres_status_reports_privileges_transactions_and_vacuum(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let sound = server_with(&stage, 0).await;
    let may = &sound.privileges;
    assert!(may.may_use && may.may_create, "{may:?}");
    assert_eq!(
        (&may.inaccessible_tables, &may.tables_of_other_roles),
        (&None, &None)
    );
    assert_eq!(sound.tables_without_autovacuum, None);
    assert!(sound.autovacuum_enabled);
    assert!(sound.matins_connections >= 1, "{sound:?}");
    assert!(sound.total_connections >= sound.matins_connections);
    assert!(sound.max_connections > sound.max_connections_per_process);
    let tables = sound.vacuum.tables.iter().map(|it| it.table.as_str());
    let hot = [
        "agent_runs",
        "automation_triggers",
        "run_heartbeats",
        "run_live",
    ];
    assert_eq!(tables.collect::<Vec<_>>(), hot);

    for sql in [
        "revoke delete on agent_runs from current_user",
        "alter table run_live set (autovacuum_enabled = off)",
    ] {
        db.run(Scope::System, sql, params![]).await.unwrap();
    }
    // Leave a transaction open.
    let before = server_time(db).await;
    let held = db.database.begin(Scope::System).await.unwrap();
    let after = server_time(db).await;
    let server = server_with(&stage, 1).await;
    assert_eq!(
        server.privileges.inaccessible_tables.as_deref(),
        Some("agent_runs")
    );
    assert_eq!(
        server.tables_without_autovacuum.as_deref(),
        Some("run_live")
    );
    let open = &server.transactions[0];
    assert!(open.idle);
    assert_eq!(open.program.as_deref(), Some("matins"));
    assert!(before <= open.started_at && open.started_at <= after);
    assert_eq!(server.vacuum.oldest_transaction, Some(open.started_at));
    let both = |it: &PoolSize| it.in_use >= 1 && it.idle >= 1;
    poll_until(async || stage.store.pool_size().filter(both)).await;
    held.rollback().await.unwrap();
    poll_until(async || {
        let upkeep = stage.store.vacuum_status().await.unwrap().unwrap();
        upkeep.oldest_transaction.is_none().then_some(())
    })
    .await;
}

/// Takes the lock of retention and keeps it.
async fn take_retention_lock(db: &TestStore) -> Tx {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let lock = statement("select pg_try_advisory_xact_lock($1) as taken");
    let key = params![0x6d_6174_696e_7372_i64];
    let row = tx.fetch_one(lock, key).await.unwrap();
    assert!(row.get::<bool>("taken").unwrap());
    tx
}

pub(crate) async fn concurrent_trim_is_skipped_while_lock_is_taken(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    stage.advance_seconds(100 * 24 * 60 * 60);
    let other = take_retention_lock(db).await;
    assert_eq!(stage.store.trim_records(stage.now()).await.unwrap(), 0);
    let logs = stage.store.trim_logs(stage.now(), None).await.unwrap();
    assert_eq!(logs.events, 0);
    other.rollback().await.unwrap();
    assert_eq!(stage.store.trim_records(stage.now()).await.unwrap(), 1);
    let logs = stage.store.trim_logs(stage.now(), None).await.unwrap();
    assert!(logs.events > 0);
}

pub(crate) async fn concurrent_trims_remove_each_row_once(db: &TestStore) {
    const CONCURRENT_TRIMS: usize = 4;
    const ENDED_RUNS: u64 = 20;
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for _ in 0..ENDED_RUNS {
        let run = stage.send_message(session, "hello").await.run_id;
        stage.start(run).await;
        stage.succeed(run).await;
    }
    stage.advance_seconds(100 * 24 * 60 * 60);
    let mut removed = 0;
    while db.count(Scope::System, "run_records").await > 0 {
        let now = stage.now();
        let looks = (0..CONCURRENT_TRIMS).map(|_| stage.store.trim_records(now));
        for look in futures::future::join_all(looks).await {
            removed += look.unwrap();
        }
    }
    assert_eq!(removed, ENDED_RUNS);
}
