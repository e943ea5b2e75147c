//! Opens a database on a PostgreSQL server.

use std::sync::Arc;

use sqlx::{
    FromRow, PgConnection, Postgres, Row as _,
    postgres::{PgArguments, PgPoolOptions, PgRow},
    query::{Query, QueryScalar},
};

use model::limits;

use super::{
    connect::{AccessMode, ServerConnection, connect, step_error},
    error::{NeededProgram, OpenError},
    examination::DatabaseExamination,
    location::Server,
};
use crate::{
    database::{Database, Pools},
    limits::{ACQUIRE_TIMEOUT, MAX_POSTGRES_CONNECTIONS},
    schema::{PROGRAM_VERSION, Schema},
};

/// PostgreSQL 14, in the form of `server_version_num`.
const MIN_SERVER_VERSION_NUM: i64 = 14_00_00;
/// The key of the advisory lock that a migration holds; "matins" in ASCII.
const MIGRATION_LOCK_KEY: i64 = 0x6d61_7469_6e73;

pub(super) async fn open(server: &Server, schema: &'static Schema) -> Result<Database, OpenError> {
    // 1. Connect, and detect a pooler.
    let mut pool = connect(&server.options, AccessMode::ReadWrite).await?;
    let keeps_sessions = pool.keeps_sessions().await?;
    let mut direct = connect_directly(server, &mut pool, AccessMode::ReadWrite).await?;
    // 2. Migrate through the direct connection if there is one, because a pooler may limit the duration of a
    // transaction.
    migrate(direct.as_mut().unwrap_or(&mut pool), schema).await?;
    log_pooler(keeps_sessions, direct.is_some());
    // 3. Open the pool. The connections above were only needed for the checks and the migration.
    let database = open_pool(&pool, keeps_sessions, direct.as_ref());
    if let Some(direct) = direct {
        direct.close().await?;
    }
    pool.close().await?;
    Ok(database)
}

/// Connects to the direct address, if one is configured. The address must lead to the same database, without a
/// pooler.
async fn connect_directly(
    server: &Server,
    pool: &mut ServerConnection,
    purpose: AccessMode,
) -> Result<Option<ServerConnection>, OpenError> {
    let Some(options) = &server.direct else {
        return Ok(None);
    };
    let direct_error = |error| OpenError::Direct(Box::new(error));
    let mut direct = connect(options, purpose).await.map_err(direct_error)?;
    if !direct.keeps_sessions().await.map_err(direct_error)? {
        return Err(OpenError::DirectIsPooled);
    }
    if !direct.is_same_database(pool).await? {
        return Err(OpenError::DirectOtherDatabase);
    }
    Ok(Some(direct))
}

/// Logs that a pooler stands before the database, and the setting that removes its disadvantages.
fn log_pooler(keeps_sessions: bool, has_direct_address: bool) {
    match (keeps_sessions, has_direct_address) {
        (true, _) => {}
        (false, true) => tracing::info!(
            "a pooler lends each connection to the database out for one transaction: statements do not stay \
             prepared, and notifications arrive through the direct address"
        ),
        (false, false) => tracing::info!(
            "a pooler lends each connection to the database out for one transaction: statements do not stay \
             prepared, and changes of other processes are polled once a second; set `database_direct` \
             (MATINS_DATABASE_DIRECT) to the server's own address to receive notifications instead"
        ),
    }
}

/// Checks the server, and returns its version, the schema's version and the database's size.
pub(super) async fn examine(
    server: &Server,
    schema: &Schema,
) -> Result<DatabaseExamination, OpenError> {
    let mut connection = connect(&server.options, AccessMode::ReadOnly).await?;
    let mut transaction = connection.begin("read the version of the schema").await?;
    let found = check_server(&mut transaction).await?;
    let version = schema_version(&mut transaction, schema).await?;
    let bytes: i64 = scalar_query("select pg_database_size(current_database())")
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error("read the size of the database"))?;
    drop(transaction);
    connection.close().await?;
    Ok(DatabaseExamination::new(
        "PostgreSQL",
        &found,
        version,
        schema.latest(),
        bytes,
    ))
}

/// Opens a database in which every transaction only reads.
pub(super) async fn open_to_read(server: &Server) -> Result<Database, OpenError> {
    let mut connection = connect(&server.options, AccessMode::ReadOnly).await?;
    let keeps_sessions = connection.keeps_sessions().await?;
    let mut transaction = connection.begin("read the version of the server").await?;
    check_server(&mut transaction).await?;
    drop(transaction);
    let direct = connect_directly(server, &mut connection, AccessMode::ReadOnly).await?;
    let database = open_pool(&connection, keeps_sessions, direct.as_ref());
    if let Some(direct) = direct {
        direct.close().await?;
    }
    connection.close().await?;
    Ok(database)
}

fn open_pool(
    connection: &ServerConnection,
    keeps_sessions: bool,
    direct: Option<&ServerConnection>,
) -> Database {
    let properties = connection.connection_properties(keeps_sessions, direct);
    let mut options = connection.options.clone();
    if !properties.keeps_prepared_statements() {
        // A pooler may run a statement on another server process than the one that has prepared it.
        options = options.statement_cache_capacity(0);
    }
    let pool = PgPoolOptions::new()
        .max_connections(MAX_POSTGRES_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // A test would cost each transaction a round trip. `Database::begin` replaces dead connections instead.
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Database::new(Pools::Postgres(pool, Arc::new(properties)))
}

/// Returns a query that the server does not keep prepared: through a pooler, its name could collide with that of
/// another client's statement.
fn query(text: &'static str) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(text).persistent(false)
}

/// Returns such a query for a single value.
fn scalar_query<T>(text: &'static str) -> QueryScalar<'static, Postgres, T, PgArguments>
where
    (T,): for<'r> FromRow<'r, PgRow>,
{
    sqlx::query_scalar(text).persistent(false)
}

/// Refuses a server that is too old and a role that bypasses row-level security. Returns the server's version.
async fn check_server(connection: &mut PgConnection) -> Result<String, OpenError> {
    let row = query(
        "select cast(current_setting('server_version_num') as bigint) as number, \
         current_setting('server_version') as version, cast(rolname as text) as role, \
         rolsuper or rolbypassrls as bypasses_row_security from pg_roles where rolname = current_user",
    )
    .fetch_one(connection)
    .await
    .map_err(step_error("read the version of the server"))?;
    let with_step = step_error("read the version of the server");
    let (number, version, role, bypasses_row_security): (i64, String, String, bool) = (|| {
        Ok((
            row.try_get("number")?,
            row.try_get("version")?,
            row.try_get("role")?,
            row.try_get("bypasses_row_security")?,
        ))
    })()
    .map_err(with_step)?;
    if number < MIN_SERVER_VERSION_NUM {
        return Err(OpenError::TooOld {
            program: "PostgreSQL",
            found: version,
            needed: "14",
        });
    }
    if bypasses_row_security {
        return Err(OpenError::RoleBypassesRowSecurity { role });
    }
    Ok(version)
}

/// Applies the missing migrations in one transaction, under a lock that ends with it.
async fn migrate(
    connection: &mut ServerConnection,
    schema: &'static Schema,
) -> Result<(), OpenError> {
    // 1. Lock out other migrations.
    let mut transaction = connection.begin("begin a migration").await?;
    check_server(&mut transaction).await?;
    // Wait without limit for another migration, and let this one run without limit on large tables. Restore the limit
    // for table locks afterwards: a lock request that waits also blocks all later requests for that table.
    set_timeouts(
        &mut transaction,
        "set local statement_timeout = 0; set local lock_timeout = 0",
    )
    .await?;
    query("select pg_advisory_xact_lock($1)")
        .bind(MIGRATION_LOCK_KEY)
        .execute(&mut *transaction)
        .await
        .map_err(step_error("wait for another migration"))?;
    set_timeouts(&mut transaction, "set local lock_timeout = '30s'").await?;
    // 2. Migrate. Read the version under the lock: another process may have migrated while this one waited.
    let version = schema_version(&mut transaction, schema).await?;
    if version < schema.latest() {
        refuse_while_old_servers_run(&mut transaction, schema, version).await?;
        apply_migrations(&mut transaction, schema, version)
            .await
            .map_err(step_error("migrate the schema"))?;
    }
    // 3. Renumber the events of a database that was restored from another server, and commit.
    let was_moved = adopt_restored_database(&mut transaction, schema)
        .await
        .map_err(step_error("check the order of commits"))?;
    if was_moved {
        tracing::warn!(
            "the database was moved here from another server: its events now precede all new events"
        );
    }
    if was_moved || version < schema.latest() {
        transaction
            .commit()
            .await
            .map_err(step_error("migrate the schema"))?;
    }
    if version < schema.latest() {
        tracing::info!(from = version, to = schema.latest(), "migrated the schema");
    }
    Ok(())
}

async fn set_timeouts(transaction: &mut PgConnection, text: &'static str) -> Result<(), OpenError> {
    let result = sqlx::raw_sql(text).execute(transaction).await;
    result
        .map(drop)
        .map_err(step_error("set the timeouts of the migration"))
}

/// Renumbers rows if the database was restored from another server. Returns `true` if it was.
async fn adopt_restored_database(
    transaction: &mut PgConnection,
    schema: &Schema,
) -> Result<bool, sqlx::Error> {
    let is_from_another_server: bool = scalar_query(schema.is_from_another_server)
        .fetch_one(&mut *transaction)
        .await?;
    if is_from_another_server {
        sqlx::raw_sql(schema.adopt_from_another_server)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(is_from_another_server)
}

/// Returns the schema's version. Returns 0 if there is no schema yet.
async fn schema_version(transaction: &mut PgConnection, schema: &Schema) -> Result<i64, OpenError> {
    let step = "read the version of the schema";
    let row = query(
        "select cast(current_database() as text) as name, \
         to_regclass('automation.schema_versions') is not null as has_versions, \
         (select count(*) from pg_class where relnamespace = to_regnamespace('automation')) \
         as objects",
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(step_error(step))?;
    let name: String = row.try_get("name").map_err(step_error(step))?;
    let has_versions: bool = row.try_get("has_versions").map_err(step_error(step))?;
    let objects: i64 = row.try_get("objects").map_err(step_error(step))?;
    let database = format!("schema `automation` of the database `{name}`");
    if !has_versions {
        return if objects == 0 {
            Ok(0)
        } else {
            Err(OpenError::Foreign {
                database,
                found: format!("{objects} tables and indexes, none of them `schema_versions`"),
            })
        };
    }
    // Versions before the column `works_with` allowed no earlier program to go on.
    let has_works_with: bool = scalar_query(
        "select exists (select from pg_attribute where attname = 'works_with' \
         and attrelid = 'automation.schema_versions'::regclass)",
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(step_error(step))?;
    let select = if has_works_with {
        "select max(version), max(works_with) from automation.schema_versions"
    } else {
        "select max(version), max(version) from automation.schema_versions"
    };
    let row = query(select)
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error(step))?;
    let (found, needed): (Option<i64>, Option<i64>) =
        (|| Ok((row.try_get(0)?, row.try_get(1)?)))().map_err(step_error(step))?;
    let found = found.unwrap_or(0);
    if needed.is_some_and(|needed| needed > schema.latest()) {
        let program = scalar_query(
            "select program from automation.schema_versions where works_with > $1 \
             order by version limit 1",
        )
        .bind(schema.latest())
        .fetch_optional(&mut *transaction)
        .await
        .map_err(step_error(step))?;
        return Err(OpenError::Newer {
            database,
            found,
            known: schema.latest(),
            needed: NeededProgram(program.flatten()),
        });
    }
    Ok(found)
}

/// Refuses a migration that would break servers which are running.
async fn refuse_while_old_servers_run(
    transaction: &mut PgConnection,
    schema: &Schema,
    version: i64,
) -> Result<(), OpenError> {
    let step = "find running servers of earlier versions";
    let needed = schema.works_with_after_migrating(version);
    let is_listed: bool = scalar_query("select to_regclass($1) is not null")
        .bind(schema.running_servers.table)
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error(step))?;
    if !is_listed || needed <= version {
        return Ok(());
    }
    let database: String = scalar_query("select cast(current_database() as text)")
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error(step))?;
    let servers: Option<String> = scalar_query(schema.running_servers.earlier_than)
        .bind(needed)
        .bind(limits::SERVER_OFFLINE_AFTER.as_secs_f64())
        .fetch_one(&mut *transaction)
        .await
        .map_err(step_error(step))?;
    match servers {
        None => Ok(()),
        Some(servers) => Err(OpenError::OldServers {
            database: format!("schema `automation` of the database `{database}`"),
            servers,
            needed,
        }),
    }
}

async fn apply_migrations(
    transaction: &mut PgConnection,
    schema: &Schema,
    version: i64,
) -> Result<(), sqlx::Error> {
    // `if not exists` would require the right to create schemas even if the schema exists.
    let exists: bool = scalar_query("select to_regnamespace('automation') is not null")
        .fetch_one(&mut *transaction)
        .await?;
    if !exists {
        sqlx::raw_sql("create schema automation")
            .execute(&mut *transaction)
            .await?;
    }
    for migration in schema.migrations_after(version) {
        sqlx::raw_sql(migration.postgres)
            .execute(&mut *transaction)
            .await?;
        // Versions before 9 do not have the column `works_with`.
        let insert = if migration.version < 9 {
            "insert into schema_versions (version, name) values ($1, $2)"
        } else {
            "insert into schema_versions (version, name, works_with) values ($1, $2, $3)"
        };
        query(insert)
            .bind(migration.version)
            .bind(migration.name)
            .bind(migration.works_with)
            .execute(&mut *transaction)
            .await?;
    }
    query("update schema_versions set program = $1 where version > $2")
        .bind(PROGRAM_VERSION)
        .bind(version)
        .execute(&mut *transaction)
        .await?;
    Ok(())
}
