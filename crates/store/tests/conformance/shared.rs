//! What several processes share on PostgreSQL: its clock, what it tells of itself, and who removes what is old.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use model::{Timestamp, Uptime};
use store::{PoolSize, Scope, Server, database::Tx, params};

use crate::{
    fixtures::{TestStore, statement},
    stage::Stage,
};

/// A machine on which a second passes each time somebody asks.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Uptime for Ticking {
    fn uptime(&self) -> Duration {
        Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

async fn server_time(db: &TestStore) -> Timestamp {
    let asked = "select clock_timestamp() as now";
    let rows = db.run(Scope::System, asked, params![]).await.unwrap();
    rows[0].get("now").unwrap()
}

pub(crate) async fn database_clock_is_read_between_two_uptimes(db: &TestStore) {
    let stage = Stage::set(db).await;
    let before = server_time(db).await;
    let uptime = Ticking::default();
    let reading = stage.store.read_clock(&uptime).await.unwrap().unwrap();
    let after = server_time(db).await;
    assert!(before <= reading.shown && reading.shown <= after);
    // Nothing else is asked between the two.
    assert_eq!(reading.took(), Duration::from_secs(1));
    assert!(uptime.uptime() > reading.answered + Duration::from_secs(1));
}

pub(crate) async fn sqlite_has_no_server_status(db: &TestStore) {
    let stage = Stage::set(db).await;
    let uptime = Ticking::default();
    assert_eq!(stage.store.read_clock(&uptime).await.unwrap(), None);
    assert_eq!(stage.store.server().await.unwrap(), None);
    assert_eq!(stage.store.upkeep().await.unwrap(), None);
    assert_eq!(stage.store.connections(), None);
}

/// Looks until it is as it should be: a transaction that only read is over a moment after it was dropped.
async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

/// The server, once so many others have a transaction open.
async fn server_with(stage: &Stage, transactions: usize) -> Server {
    until(async || {
        let server = stage.store.server().await.unwrap().unwrap();
        (server.transactions.len() == transactions).then_some(server)
    })
    .await
}

pub(crate) async fn postgres_status_reports_privileges_transactions_and_vacuum(db: &TestStore) {
    let stage = Stage::set(db).await;
    let sound = server_with(&stage, 0).await;
    let may = &sound.privileges;
    assert!(may.may_use && may.may_create, "{may:?}");
    assert_eq!((&may.refused, &may.of_others), (&None, &None));
    assert_eq!(sound.left_out, None);
    assert!(sound.cleans);
    assert!(sound.matins_connections >= 1, "{sound:?}");
    assert!(sound.total_connections >= sound.matins_connections);
    assert!(sound.connections_allowed > sound.max_connections_per_process);
    let tables = sound.upkeep.tables.iter().map(|it| it.table.as_str());
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
    // Somebody begins and does not go on.
    let before = server_time(db).await;
    let held = db.database.begin(Scope::System).await.unwrap();
    let after = server_time(db).await;
    let server = server_with(&stage, 1).await;
    assert_eq!(server.privileges.refused.as_deref(), Some("agent_runs"));
    assert_eq!(server.left_out.as_deref(), Some("run_live"));
    let open = &server.transactions[0];
    assert!(open.idle);
    assert_eq!(open.program.as_deref(), Some("matins"));
    assert!(before <= open.since && open.since <= after);
    assert_eq!(server.upkeep.oldest_transaction, Some(open.since));
    let both = |it: &PoolSize| it.in_use >= 1 && it.idle >= 1;
    until(async || stage.store.connections().filter(both)).await;
    held.rollback().await.unwrap();
    until(async || {
        let upkeep = stage.store.upkeep().await.unwrap().unwrap();
        upkeep.oldest_transaction.is_none().then_some(())
    })
    .await;
}

/// Whoever has the right to remove what is old, and keeps it.
async fn removing(db: &TestStore) -> Tx {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let lock = statement("select pg_try_advisory_xact_lock($1) as taken");
    let key = params![0x6d_6174_696e_7372_i64];
    let row = tx.fetch_one(lock, key).await.unwrap();
    assert!(row.get::<bool>("taken").unwrap());
    tx
}

pub(crate) async fn concurrent_trim_is_skipped_while_lock_is_taken(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    stage.wait(100 * 24 * 60 * 60);
    let other = removing(db).await;
    assert_eq!(stage.store.trim_records(stage.now()).await.unwrap(), 0);
    let logs = stage.store.trim_logs(stage.now(), None).await.unwrap();
    assert_eq!(logs.events, 0);
    other.rollback().await.unwrap();
    assert_eq!(stage.store.trim_records(stage.now()).await.unwrap(), 1);
    let logs = stage.store.trim_logs(stage.now(), None).await.unwrap();
    assert!(logs.events > 0);
}

pub(crate) async fn concurrent_trims_remove_each_row_once(db: &TestStore) {
    const AT_ONCE: usize = 4;
    const RUNS: u64 = 20;
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    for _ in 0..RUNS {
        let run = stage.say(session, "hello").await.run_id;
        stage.start(run).await;
        stage.succeed(run).await;
    }
    stage.wait(100 * 24 * 60 * 60);
    let mut removed = 0;
    while db.count(Scope::System, "run_records").await > 0 {
        let now = stage.now();
        let looks = (0..AT_ONCE).map(|_| stage.store.trim_records(now));
        for look in futures::future::join_all(looks).await {
            removed += look.unwrap();
        }
    }
    assert_eq!(removed, RUNS);
}
