//! Opening: a Matins database is migrated to this version, every other one stays unchanged.

use std::{
    fs, future::poll_fn, os::unix::fs::PermissionsExt as _, path::Path, pin::pin, task::Poll,
    time::Duration,
};

use futures::future::join_all;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, sqlite::SqliteConnectOptions,
};
use store::{Location, OpenError, Scope, database::Dialect, params};
use testkit::databases::TestDatabase;
use tokio::time::timeout;

use crate::{
    catalog,
    fixtures::{TABLES, TestStore, World, statement},
};

pub(crate) use crate::placement::runtimes::runtime_blocks_no_migration;

pub(crate) fn location(home: &TestDatabase) -> Location {
    home.url().parse().unwrap()
}

/// Changes a database without the store.
pub(crate) async fn change(home: &TestDatabase, sql: &str) {
    let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
    if let Some(file) = home.file() {
        let options = SqliteConnectOptions::new().filename(file);
        let mut file = options.create_if_missing(true).connect().await.unwrap();
        sql.execute(&mut file).await.unwrap();
        file.close().await.unwrap();
    } else {
        let mut server = PgConnection::connect(home.url()).await.unwrap();
        sql.execute(&mut server).await.unwrap();
        server.close().await.unwrap();
    }
}

/// Returns everything that could have changed: the file's bytes, or the catalog and the rows of versions.
async fn contents(home: &TestDatabase) -> Vec<u8> {
    if let Some(file) = home.file() {
        return fs::read(file).unwrap();
    }
    let url = home.superuser_url().unwrap();
    let mut server = PgConnection::connect(&url).await.unwrap();
    let sql = "select string_agg(oid || ':' || xmin || ':' || relname, ',' order by oid) \
        from pg_class where oid >= 16384";
    let catalog: Option<String> = sqlx::query_scalar(sql)
        .fetch_one(&mut server)
        .await
        .unwrap();
    catalog.unwrap_or_default().into_bytes()
}

/// Opens a database that must be refused, and checks that it did not change.
async fn assert_refused_unchanged(home: &TestDatabase) -> OpenError {
    let before = contents(home).await;
    let refused = store::open(&location(home)).await.unwrap_err();
    assert!(contents(home).await == before, "{refused:?}");
    assert!(refused.hint().is_some(), "{refused:?}");
    refused
}

pub(crate) async fn reopened_database_is_unchanged(db: &TestStore) {
    World::create(db).await;
    let again = store::open(&db.location()).await.unwrap();
    again.close().await;
    for table in ["tenants", "agent_runs", "agent_messages"] {
        assert_eq!(db.count(Scope::System, table).await, 1, "{table}");
    }
}

pub(crate) async fn concurrent_opens_of_new_database_succeed(db: &TestStore) {
    let home = db.fresh_database();
    let location = location(&home);
    let opened = join_all((0..6).map(|_| store::open(&location))).await;
    for database in opened {
        database.unwrap().close().await;
    }
    let database = store::open(&location).await.unwrap();
    let store = TestStore { database, home };
    World::create(&store).await;
}

pub(crate) async fn new_database_opens_once_its_reader_has_ended(db: &TestStore) {
    let home = db.fresh_database();
    change(&home, "").await;
    let Some(file) = home.file() else {
        return;
    };
    // A new file becomes one of Matins only when nobody reads it, and SQLite itself does not wait for that.
    let options = SqliteConnectOptions::new().filename(file);
    let mut reader = options.connect().await.unwrap();
    let begin = sqlx::raw_sql("begin; select * from sqlite_schema");
    begin.execute(&mut reader).await.unwrap();
    let location = location(&home);
    let mut opening = pin!(store::open(&location));
    let early = timeout(Duration::from_millis(100), &mut opening).await;
    assert!(early.is_err(), "opened beside a reader: {early:?}");
    reader.close().await.unwrap();
    opening.await.unwrap().close().await;
}

/// Polls a future at most this many times, then drops it.
pub(crate) async fn poll_at_most<T>(future: impl Future<Output = T>, mut polls: u32) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

pub(crate) async fn interrupted_open_can_be_repeated(db: &TestStore) {
    let mut polls = 1;
    loop {
        let home = db.fresh_database();
        let location = location(&home);
        let finished = poll_at_most(store::open(&location), polls).await.is_some();
        let database = store::open(&location).await.unwrap();
        let store = TestStore { database, home };
        assert_eq!(catalog::tables(&store).await.len(), TABLES.len());
        store.database.close().await;
        if finished {
            break;
        }
        polls += polls / 3 + 1;
    }
    assert!(polls > 1, "no migration was interrupted");
}

pub(crate) async fn newer_database_is_refused_and_unchanged(db: &TestStore) {
    let sql = match db.dialect() {
        Dialect::Sqlite => "pragma user_version = 999",
        Dialect::Postgres => {
            "insert into schema_versions (version, name, works_with) values (999, 'later', 999)"
        }
    };
    db.run(Scope::System, sql, params![]).await.unwrap();
    db.database.close().await;
    let refused = assert_refused_unchanged(&db.home).await;
    assert!(
        matches!(refused, OpenError::Newer { found: 999, .. }),
        "{refused:?}"
    );
}

pub(crate) async fn database_of_other_application_is_refused_and_unchanged(db: &TestStore) {
    let others: &[&str] = match db.dialect() {
        Dialect::Sqlite => &[
            "pragma application_id = 1196444487; create table tiles (z integer)",
            "create table bookmarks (url text)",
            "pragma journal_mode = wal; create table bookmarks (url text)",
            "pragma user_version = 1",
        ],
        Dialect::Postgres => &["create schema automation; create table automation.jobs (id int)"],
    };
    for sql in others {
        let home = db.fresh_database();
        change(&home, sql).await;
        let refused = assert_refused_unchanged(&home).await;
        assert!(matches!(refused, OpenError::Foreign { .. }), "{refused:?}");
    }
}

pub(crate) async fn non_database_file_is_refused_and_unchanged(db: &TestStore) {
    let home = db.fresh_database();
    let file = home.file().unwrap();
    fs::write(file, "Dear diary, ".repeat(1000)).unwrap();
    let refused = assert_refused_unchanged(&home).await;
    assert!(
        matches!(&refused, OpenError::NotADatabase { path } if path == file),
        "{refused:?}"
    );
}

pub(crate) async fn damaged_file_is_refused_and_unchanged(db: &TestStore) {
    World::create(db).await;
    db.database.close().await;
    let file = db.home.file().unwrap();
    let whole = fs::read(file).unwrap();
    let schema_lost = [&whole[..100], &[0xff; 4000], &whole[4100..]].concat();
    let page_lost = [&whole[..20 * 4096], &[0xff; 4096], &whole[21 * 4096..]].concat();
    let cut_short = whole[..whole.len() / 2].to_vec();
    for damaged in [schema_lost, page_lost, cut_short] {
        fs::write(file, damaged).unwrap();
        let refused = assert_refused_unchanged(&db.home).await;
        assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    }
}

/// Returns the number of a page in the middle of a table, or of its root page.
async fn page_of(file: &Path, table: &str, which: &str) -> usize {
    let sql = format!("select {which} from dbstat where name = '{table}'");
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .connect()
        .await
        .unwrap();
    let page: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    usize::try_from(page).unwrap()
}

pub(crate) async fn large_file_is_checked_completely_only_by_examine(db: &TestStore) {
    World::create(db).await;
    let fill = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000) \
        insert into tenants (id, name, created_at) \
        select randomblob(16), hex(randomblob(1000)) || i, 0 from n";
    db.run(Scope::System, fill, params![]).await.unwrap();
    db.database.close().await;
    let file = db.home.file().unwrap();
    let whole = fs::read(file).unwrap();
    assert!(whole.len() > 4 << 20, "{} bytes are not many", whole.len());
    assert!(store::examine(&db.location()).await.unwrap().is_some());
    let without = |page: usize| {
        let at = (page - 1) * 4096;
        [&whole[..at], &[0xff; 4096], &whole[at + 4096..]].concat()
    };

    let middle = page_of(file, "tenants", "max(pageno) / 2").await;
    fs::write(file, without(middle)).unwrap();
    store::open(&db.location()).await.unwrap().close().await;
    let found = store::examine(&db.location()).await.unwrap_err();
    assert!(matches!(found, OpenError::Damaged { .. }), "{found:?}");

    fs::write(file, &whole).unwrap();
    let root = page_of(file, "agent_runs", "min(pageno)").await;
    fs::write(file, without(root)).unwrap();
    let refused = assert_refused_unchanged(&db.home).await;
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
}

pub(crate) async fn examine_reports_version_and_size_without_changes(db: &TestStore) {
    World::create(db).await;
    let found = store::examine(&db.location()).await.unwrap().unwrap();
    assert_eq!(found.version, found.latest);
    assert!(
        found.bytes > 0 && found.program.contains("SQL"),
        "{found:?}"
    );
    db.database.close().await;
    let before = contents(&db.home).await;
    store::examine(&db.location()).await.unwrap();
    let home = db.fresh_database();
    if let Some(file) = db.home.file() {
        assert!(store::examine(&location(&home)).await.unwrap().is_none());
        assert!(
            !home.file().unwrap().exists(),
            "an examination creates no file"
        );
        let folder = fs::read_dir(file.parent().unwrap()).unwrap();
        let beside: Vec<_> = folder.map(|entry| entry.unwrap().file_name()).collect();
        let side_file = |name: &std::ffi::OsString| name.to_string_lossy().contains('-');
        assert!(!beside.iter().any(side_file), "{beside:?}");
    } else {
        let empty = store::examine(&location(&home)).await.unwrap().unwrap();
        assert_eq!(empty.version, 0);
    }
    assert!(contents(&db.home).await == before);
}

pub(crate) async fn read_only_database_refuses_writes(db: &TestStore) {
    World::create(db).await;
    let store = TestStore {
        database: store::open_read_only(&db.location()).await.unwrap(),
        home: db.fresh_database(),
    };
    assert_eq!(store.count(Scope::System, "agent_runs").await, 1);
    let sql = "delete from run_live";
    store.run(Scope::System, sql, params![]).await.unwrap_err();
    store.database.close().await;
}

pub(crate) async fn empty_file_is_opened_as_new_database(db: &TestStore) {
    let home = db.fresh_database();
    fs::write(home.file().unwrap(), "").unwrap();
    store::open(&location(&home)).await.unwrap().close().await;
    assert!(!contents(&home).await.is_empty());
}

pub(crate) async fn missing_folder_is_named_in_error(db: &TestStore) {
    let file = db.home.file().unwrap().with_file_name("nowhere/matins.db");
    let refused = store::open(&Location::SqliteFile(file.clone()))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains(file.to_str().unwrap()));
    assert!(refused.hint().is_some());
}

pub(crate) async fn database_file_is_readable_by_owner_only(db: &TestStore) {
    World::create(db).await;
    let file = db.home.file().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file), 0o600);
    assert_eq!(mode(&file.with_extension("db-wal")), 0o600);
}

pub(crate) async fn in_memory_database_keeps_its_rows(db: &TestStore) {
    let database = store::open(&Location::SqliteMemory).await.unwrap();
    let store = TestStore {
        database,
        home: db.fresh_database(),
    };
    World::create(&store).await;
    assert_eq!(store.count(Scope::System, "agent_runs").await, 1);
    let other = store::open(&Location::SqliteMemory).await.unwrap();
    let other = TestStore {
        database: other,
        home: db.fresh_database(),
    };
    assert_eq!(other.count(Scope::System, "agent_runs").await, 0);
}

pub(crate) async fn superuser_role_is_refused(db: &TestStore) {
    let url = db.home.superuser_url().unwrap();
    let refused = store::open(&url.parse().unwrap()).await.unwrap_err();
    assert!(
        matches!(&refused, OpenError::RoleBypassesRowSecurity { role } if role == "postgres"),
        "{refused:?}"
    );
}

/// Rows in the tables of the first version, with a running turn.
const FIRST_VERSION_ROWS: &str = "
    insert into tenants values (x'01', 'default', 1);
    insert into harnesses values (x'02', x'01', 'demo', '{}', 1, 1);
    insert into agent_sessions (id, tenant_id, kind, type, state, cwd, last_seq, created_at, updated_at)
        values (x'03', x'01', 'interactive', 'regular', 'active', '/', 2, 1, 1);
    insert into agent_definitions
        (id, tenant_id, session_id, role, name, harness_id, is_entry, settings, created_at, updated_at)
        values (x'04', x'01', x'03', 'agent', 'agent', x'02', 1, '{}', 1, 1);
    insert into agent_runs
        (id, tenant_id, input_id, attempt, status, origin, priority, session_id, seat_id, exclusive,
         content, worker_id, claimed_at, input_at, created_at)
        values (x'05', x'01', x'06', 1, 'delivered', 'person', 0, x'03', x'04', 0,
         'Hello', 'here-1-00000000', 1, 1, 1);
    insert into run_heartbeats values (x'05', x'01', 'here-1-00000000', 7);
    insert into session_events values
        (x'03', 2, x'01', 'run', x'05', '{\"status\":\"queued\"}', 1),
        (x'03', 1, x'01', 'session', x'03', '{}', 1);
";

#[tokio::test]
async fn migration_of_first_version_keeps_rows() {
    let home = TestDatabase::sqlite().unwrap();
    let first = include_str!("../../migrations/sqlite/0001_foundation.sql");
    let stamp = "pragma application_id = 0x4d61746e; pragma user_version = 1;";
    change(&home, &format!("{first}\n{FIRST_VERSION_ROWS}\n{stamp}")).await;
    let database = store::open(&location(&home)).await.unwrap();
    database.close().await;

    let file = SqliteConnectOptions::new().filename(home.file().unwrap());
    let mut file = file.connect().await.unwrap();
    let events: Vec<(i64, String)> =
        sqlx::query_as("select seq, body from session_events order by session_id, seq")
            .fetch_all(&mut file)
            .await
            .unwrap();
    let body = |text: &str| text.to_owned();
    assert_eq!(
        events,
        [(1, body("{}")), (2, body(r#"{"status":"queued"}"#))]
    );
    let beats: Vec<i64> = sqlx::query_scalar("select beat_at from run_heartbeats")
        .fetch_all(&mut file)
        .await
        .unwrap();
    assert_eq!(beats, [7]);
    // The migrated rows are still deleted with the rows that they belong to.
    let left = "pragma foreign_keys = on; delete from agent_sessions; ";
    sqlx::raw_sql(left).execute(&mut file).await.unwrap();
    let left: i64 = sqlx::query_scalar(
        "select (select count(*) from session_events) + (select count(*) from run_heartbeats)",
    )
    .fetch_one(&mut file)
    .await
    .unwrap();
    assert_eq!(left, 0);
}

/// `.cargo/config.toml` turns the option on. Without it, a changed value of `limit` compiles a statement again.
pub(crate) async fn statements_are_compiled_once_for_each_connection(db: &TestStore) {
    let options = catalog::compile_options(db).await;
    assert!(options.contains("ENABLE_QPSG"), "{options:?}");
}

/// `.cargo/config.toml` turns the option off. With it, connections share one page cache.
pub(crate) async fn connections_share_no_pages(db: &TestStore) {
    let options = catalog::compile_options(db).await;
    assert!(options.contains("THREADSAFE=1"), "{options:?}");
    assert!(!options.contains("ENABLE_MEMORY_MANAGEMENT"), "{options:?}");
    let cache_size = statement("select cache_size as kib from pragma_cache_size");
    let reader = db.database.begin_read(Scope::System).await.unwrap();
    let writer = db.database.begin(Scope::System).await.unwrap();
    for mut tx in [reader, writer] {
        let row = tx.fetch_one(cache_size, params![]).await.unwrap();
        assert_eq!(row.get::<i64>("kib").unwrap(), -16384);
    }
}
