//! Transactions: atomicity, one snapshot, and errors that callers can distinguish.

use std::collections::BTreeSet;

use futures::future::join_all;
use sqlx::{Connection as _, Executor as _, PgConnection, postgres::PgListener};
use store::{
    Scope,
    database::{Error, Param, Statement, Tx},
    params,
};
use uuid::Uuid;

use crate::{
    fixtures::{TestStore, Values, World, id, statement},
    opening::poll_at_most,
};

pub(crate) async fn dropped_transaction_is_rolled_back(db: &TestStore) {
    let world = World::create(db).await;
    let row = world.row("harnesses");
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let insert = statement(&row.insert_into("harnesses"));
    assert_eq!(tx.execute(insert, row.params()).await.unwrap(), 1);
    drop(tx);
    assert_eq!(db.count(Scope::System, "harnesses").await, 1);
}

pub(crate) async fn read_transaction_sees_one_snapshot(db: &TestStore) {
    let world = World::create(db).await;
    let count = statement("select count(*) as n from harnesses");
    let mut reader = db.database.begin_read(Scope::System).await.unwrap();
    let before = reader.fetch_one(count, params![]).await.unwrap();
    db.insert("harnesses", &world.row("harnesses"))
        .await
        .unwrap();
    let after = reader.fetch_one(count, params![]).await.unwrap();
    assert_eq!(before.get::<i64>("n").unwrap(), 1);
    assert_eq!(after.get::<i64>("n").unwrap(), 1);
    assert_eq!(db.count(Scope::System, "harnesses").await, 2);
}

pub(crate) async fn read_transaction_refuses_writes(db: &TestStore) {
    let world = World::create(db).await;
    let row = world.row("harnesses");
    let mut reader = db.database.begin_read(Scope::System).await.unwrap();
    let written = reader
        .execute(statement(&row.insert_into("harnesses")), row.params())
        .await;
    assert!(
        matches!(written, Err(Error::ReadOnly { .. })),
        "{written:?}"
    );
}

pub(crate) async fn concurrent_writers_are_serialized(db: &TestStore) {
    World::create(db).await;
    let read = statement("select last_seq from agent_sessions");
    let lock = statement("update agent_sessions set title = 'locked'");
    let write = statement("update agent_sessions set last_seq = $1");
    let writers = (0..16).map(|_| async {
        let mut tx = db.database.begin(Scope::System).await.unwrap();
        tx.execute(lock, params![]).await.unwrap();
        let row = tx.fetch_one(read, params![]).await.unwrap();
        let last = row.get::<i64>("last_seq").unwrap();
        tx.execute(write, params![last + 1]).await.unwrap();
        tx.commit().await.unwrap();
    });
    join_all(writers).await;
    let sql = "select last_seq from agent_sessions";
    let rows = db.run(Scope::System, sql, params![]).await.unwrap();
    assert_eq!(rows[0].get::<i64>("last_seq").unwrap(), 16);
}

pub(crate) async fn fetch_of_one_row_refuses_none_and_many(db: &TestStore) {
    let world = World::create(db).await;
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let none = statement("select id from harnesses where name = 'nobody'");
    assert!(tx.fetch_optional(none, params![]).await.unwrap().is_none());
    let missing = tx.fetch_one(none, params![]).await.unwrap_err();
    assert!(matches!(missing, Error::NoRow { .. }), "{missing:?}");
    drop(tx);
    db.insert("harnesses", &world.row("harnesses"))
        .await
        .unwrap();
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let both = statement("select id from harnesses");
    let many = tx.fetch_optional(both, params![]).await.unwrap_err();
    assert!(matches!(many, Error::TooManyRows { .. }), "{many:?}");
}

/// More keys than the rows that SQLite is given by one statement.
const MANY: usize = 130;

/// Returns the found IDs, sorted.
async fn find(tx: &mut Tx, read: &'static Statement, keys: &[Uuid]) -> Vec<Uuid> {
    let rows = tx.fetch_by_keys(read, keys.to_vec(), params!["found"]);
    let rows = rows.await.unwrap();
    let mut ids = Vec::new();
    for row in &rows {
        assert_eq!(row.get::<String>("label").unwrap(), "found");
        ids.push(row.get("id").unwrap());
    }
    ids.sort_unstable();
    ids
}

pub(crate) async fn fetch_by_keys_finds_each_key(db: &TestStore) {
    let world = World::create(db).await;
    let mut all = vec![world.id("harnesses")];
    while all.len() < MANY {
        let row = world.row("harnesses");
        db.insert("harnesses", &row).await.unwrap();
        let Some(Param::Uuid(Some(id))) = row.get("id") else {
            panic!("an agent has an ID");
        };
        all.push(*id);
    }
    all.sort_unstable();
    let (first, last, missing) = (all[0], all[MANY - 1], id());
    let read = statement(
        "-- Each row: $1 agent. $2 label\n\
         with item (id) as (values /* row */ ($1))\n\
         select h.id, $2 as label from item join harnesses h on h.id = item.id",
    );
    let mut tx = db.database.begin_read(Scope::System).await.unwrap();
    let tx = &mut tx;
    assert!(find(tx, read, &[]).await.is_empty());
    assert!(find(tx, read, &[missing]).await.is_empty());
    assert_eq!(find(tx, read, &[first]).await, [first]);
    assert!(find(tx, read, &[missing, missing]).await.is_empty());
    assert_eq!(find(tx, read, &[last, missing, first]).await, [first, last]);
    assert_eq!(
        find(tx, read, &[last, first, last]).await,
        [first, last, last]
    );
    let backward: Vec<_> = all.iter().rev().copied().collect();
    assert_eq!(find(tx, read, &backward).await, all);

    let without_template = statement("select id from harnesses");
    for keys in [vec![first], vec![first, last]] {
        let refused = tx.fetch_by_keys(without_template, keys, params![]);
        let refused = refused.await.unwrap_err();
        assert!(
            matches!(refused, Error::RowsNotAccepted { .. }),
            "{refused:?}"
        );
    }
}

pub(crate) async fn full_disk_has_its_own_error(db: &TestStore) {
    let world = World::create(db).await;
    let sql = "pragma max_page_count = 1";
    db.run(Scope::System, sql, params![]).await.unwrap();
    let row = world.row("harnesses").with("name", "x".repeat(1 << 20));
    let full = db.insert("harnesses", &row).await.unwrap_err();
    assert!(matches!(full, Error::DiskFull { .. }), "{full:?}");
    assert!(full.hint().is_some());
    assert_eq!(db.count(Scope::System, "harnesses").await, 1);
}

pub(crate) async fn dead_idle_connection_is_replaced(db: &TestStore) {
    // Several connections, so that the first replacement is dead as well.
    let open = join_all((0..3).map(|_| db.database.begin(Scope::System))).await;
    for tx in open {
        tx.unwrap().commit().await.unwrap();
    }
    let superuser = db.home.superuser_url().unwrap();
    let mut superuser = PgConnection::connect(&superuser).await.unwrap();
    let kill = "select pg_terminate_backend(pid) from pg_stat_activity \
        where datname = current_database() and pid <> pg_backend_pid()";
    superuser.execute(kill).await.unwrap();
    assert_eq!(db.count(Scope::System, "tenants").await, 0);
}

pub(crate) async fn transaction_notifies_each_changed_session_once(db: &TestStore) {
    let world = World::create(db).await;
    let other = world.row("agent_sessions");
    db.insert("agent_sessions", &other).await.unwrap();
    let mut listener = PgListener::connect(db.home.url()).await.unwrap();
    listener.listen("matins_wake").await.unwrap();
    let sql = "insert into session_events \
        (session_id, seq, tenant_id, kind, ref_id, body, created_at) \
        select s.id, 1000 + n, s.tenant_id, 'run', s.id, '{}', s.created_at \
        from agent_sessions s, generate_series(1, 3) n";
    db.run(Scope::System, sql, params![]).await.unwrap();
    let sql = "select pg_notify('matins_wake', 'the end')";
    let _ = db.run(Scope::System, sql, params![]).await;
    let mut woken = Vec::new();
    loop {
        let notification = listener.recv().await.unwrap();
        if notification.payload() == "the end" {
            break;
        }
        woken.push(notification.payload().to_owned());
    }
    let other = Values::of("id", other.get("id"));
    let [Param::Uuid(Some(other))] = other.params()[..] else {
        panic!("a session has an id");
    };
    let expected = BTreeSet::from([world.id("agent_sessions").to_string(), other.to_string()]);
    assert_eq!(woken.len(), 2, "{woken:?}");
    assert_eq!(woken.into_iter().collect::<BTreeSet<_>>(), expected);
}

pub(crate) async fn dropped_begin_leaves_no_settings_on_connection(db: &TestStore) {
    let world = World::create(db).await;
    let sql = "select current_setting('transaction_read_only') as reading, \
        coalesce(current_setting('matins.scope', true), '') as scope";
    for polls in 0..40 {
        poll_at_most(db.database.begin_read(Scope::System), polls).await;
        let tenant = Scope::Tenant(model::TenantId::from_uuid(world.tenant));
        let mut tx = db.database.begin(tenant).await.unwrap();
        let row = tx.fetch_one(statement(sql), params![]).await.unwrap();
        let found: [String; 2] = ["reading", "scope"].map(|column| row.get(column).unwrap());
        assert_eq!(found, ["off", ""], "after {polls} polls");
        tx.commit().await.unwrap();
    }
}
