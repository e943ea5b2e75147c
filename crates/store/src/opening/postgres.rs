//! Opening a database on a PostgreSQL server.

use sqlx::{
    Connection as _, PgConnection, Row as _,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use model::limits;

use super::{Examined, OpenError, migrations};
use crate::database::{
    Database, Error, PATIENCE, POSTGRES_CONNECTIONS, PREPARED_STATEMENTS, Pools,
};

/// PostgreSQL 14, as the server says it.
const NEEDED: i64 = 14_00_00;
/// The key of the advisory lock that one migration holds; "matins" in ASCII.
const MIGRATION_LOCK: i64 = 0x6d61_7469_6e73;

pub(super) async fn open(options: &PgConnectOptions) -> Result<Database, OpenError> {
    let options = configured(options);
    let mut connection = PgConnection::connect_with(&options)
        .await
        .map_err(failed("connect"))?;
    check_server(&mut connection).await?;
    migrate(&mut connection).await?;
    connection.close().await.map_err(failed("disconnect"))?;
    Ok(database(options))
}

/// Looks at the server and at the schema's version.
pub(super) async fn examine(options: &PgConnectOptions) -> Result<Examined, OpenError> {
    let mut connection = PgConnection::connect_with(&reading(options))
        .await
        .map_err(failed("connect"))?;
    let found = check_server(&mut connection).await?;
    let mut transaction = connection
        .begin_with("begin; set local matins.scope = 'system'")
        .await
        .map_err(failed("read the version of the schema"))?;
    let version = version(&mut transaction).await?;
    drop(transaction);
    let bytes: i64 = sqlx::query_scalar("select pg_database_size(current_database())")
        .fetch_one(&mut connection)
        .await
        .map_err(failed("ask for the database's size"))?;
    connection.close().await.map_err(failed("disconnect"))?;
    Ok(Examined::new("PostgreSQL", &found, version, bytes))
}

/// Opens a database whose every transaction only reads.
pub(super) async fn open_to_read(options: &PgConnectOptions) -> Result<Database, OpenError> {
    let options = reading(options);
    let mut connection = PgConnection::connect_with(&options)
        .await
        .map_err(failed("connect"))?;
    check_server(&mut connection).await?;
    connection.close().await.map_err(failed("disconnect"))?;
    Ok(database(options))
}

fn reading(options: &PgConnectOptions) -> PgConnectOptions {
    configured(options).options([("default_transaction_read_only", "on")])
}

fn configured(options: &PgConnectOptions) -> PgConnectOptions {
    options
        .clone()
        .application_name("matins")
        .statement_cache_capacity(PREPARED_STATEMENTS)
        .options([
            ("search_path", "automation"),
            // A transaction never waits for anything but the database.
            ("idle_in_transaction_session_timeout", "60s"),
            // Nor does a statement wait for ever: a loop that hangs fires nothing.
            ("lock_timeout", "30s"),
            ("statement_timeout", "60s"),
        ])
}

fn database(options: PgConnectOptions) -> Database {
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .connect_lazy_with(options);
    Database::new(Pools::Postgres(pool))
}

/// Refuses a server that is too old and a role that stands too high. Gives the server's version.
async fn check_server(connection: &mut PgConnection) -> Result<String, OpenError> {
    let row = sqlx::query(
        "select cast(current_setting('server_version_num') as bigint) as number, \
         current_setting('server_version') as version, cast(rolname as text) as role, \
         rolsuper or rolbypassrls as above from pg_roles where rolname = current_user",
    )
    .fetch_one(connection)
    .await
    .map_err(failed("ask for the server's version"))?;
    let get = failed("ask for the server's version");
    let (number, version, role, above): (i64, String, String, bool) = (|| {
        Ok((
            row.try_get("number")?,
            row.try_get("version")?,
            row.try_get("role")?,
            row.try_get("above")?,
        ))
    })()
    .map_err(get)?;
    if number < NEEDED {
        return Err(OpenError::TooOld {
            program: "PostgreSQL",
            found: version,
            needed: "14",
        });
    }
    if above {
        return Err(OpenError::RoleAboveSecurity { role });
    }
    Ok(version)
}

/// Applies what is missing, in one transaction under a lock that ends with it.
async fn migrate(connection: &mut PgConnection) -> Result<(), OpenError> {
    let mut transaction = connection
        .begin_with("begin; set local matins.scope = 'system'")
        .await
        .map_err(failed("begin a migration"))?;
    sqlx::query("select pg_advisory_xact_lock($1)")
        .bind(MIGRATION_LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(failed("wait for another migration"))?;
    let version = version(&mut transaction).await?;
    if version < migrations::LATEST {
        refuse_beside_old_servers(&mut transaction, version).await?;
        apply(&mut transaction, version)
            .await
            .map_err(failed("migrate the schema"))?;
    }
    let moved = renumber(&mut transaction)
        .await
        .map_err(failed("look at the order of commits"))?;
    if moved {
        tracing::warn!(
            "the database was moved here from another server: its events stand before all others now"
        );
    }
    if moved || version < migrations::LATEST {
        transaction
            .commit()
            .await
            .map_err(failed("migrate the schema"))?;
    }
    if version < migrations::LATEST {
        tracing::info!(
            from = version,
            to = migrations::LATEST,
            "migrated the schema"
        );
    }
    Ok(())
}

/// Brings the feeds of a database in order that was restored on another server, whose transactions have
/// lower numbers: events would come before those that are there. Gives whether it was so.
///
/// No row can be seen of a transaction that nobody has begun, so what names one is from elsewhere.
async fn renumber(transaction: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let elsewhere: bool = sqlx::query_scalar(
        "select coalesce(max(greatest( \
           (select max(e.transaction_id) from session_events e where e.tenant_id = t.id), \
           (select max(e.transaction_id) from automation_events e where e.tenant_id = t.id), \
           (select f.transaction_id from feed_trims f where f.tenant_id = t.id))), 0) \
         >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint from tenants t",
    )
    .fetch_one(&mut *transaction)
    .await?;
    if elsewhere {
        sqlx::raw_sql(
            "update session_events set transaction_id = 0 where transaction_id <> 0; \
             update automation_events set transaction_id = 0 where transaction_id <> 0; \
             update feed_trims set transaction_id = 0, seq = 1, \
               log_id = '00000000-0000-0000-0000-000000000000'",
        )
        .execute(&mut *transaction)
        .await?;
    }
    Ok(elsewhere)
}

/// Reads the schema's version; 0 if there is nothing yet.
async fn version(transaction: &mut PgConnection) -> Result<i64, OpenError> {
    let reading = "read the version of the schema";
    let row = sqlx::query(
        "select cast(current_database() as text) as name, \
         to_regclass('automation.schema_versions') is not null as ours, \
         (select count(*) from pg_class where relnamespace = to_regnamespace('automation')) \
         as objects",
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(failed(reading))?;
    let name: String = row.try_get("name").map_err(failed(reading))?;
    let ours: bool = row.try_get("ours").map_err(failed(reading))?;
    let objects: i64 = row.try_get("objects").map_err(failed(reading))?;
    let database = format!("schema automation of the database {name}");
    if !ours {
        return if objects == 0 {
            Ok(0)
        } else {
            Err(OpenError::Foreign {
                database,
                found: format!("{objects} tables and indexes, none of them `schema_versions`"),
            })
        };
    }
    // Versions before this table told which programs may go on.
    let tells: bool = sqlx::query_scalar(
        "select exists (select from pg_attribute where attname = 'works_with' \
         and attrelid = 'automation.schema_versions'::regclass)",
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(failed(reading))?;
    let select = if tells {
        "select max(version), max(works_with) from automation.schema_versions"
    } else {
        "select max(version), max(version) from automation.schema_versions"
    };
    let (found, needed): (Option<i64>, Option<i64>) = sqlx::query_as(select)
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed(reading))?;
    let found = found.unwrap_or(0);
    if needed.is_some_and(|needed| needed > migrations::LATEST) {
        return Err(OpenError::Newer {
            database,
            found,
            known: migrations::LATEST,
        });
    }
    Ok(found)
}

/// Refuses to bring the schema to a version with which servers cannot go on that run.
async fn refuse_beside_old_servers(
    transaction: &mut PgConnection,
    version: i64,
) -> Result<(), OpenError> {
    let looking = "look for servers of earlier versions";
    let needed = migrations::work_with(version);
    // There was no table of servers in the first versions.
    let told: bool = sqlx::query_scalar("select to_regclass('automation.servers') is not null")
        .fetch_one(&mut *transaction)
        .await
        .map_err(failed(looking))?;
    if !told || needed <= version {
        return Ok(());
    }
    let (database, servers): (String, Option<String>) = sqlx::query_as(
        "select cast(current_database() as text), (select string_agg(worker_id, ', ' order by worker_id) \
         from automation.servers where schema_version < $1 and stopped_at is null \
         and seen_at >= clock_timestamp() - make_interval(secs => $2))",
    )
    .bind(needed)
    .bind(limits::SERVER_AWAY.as_secs_f64())
    .fetch_one(&mut *transaction)
    .await
    .map_err(failed(looking))?;
    match servers {
        None => Ok(()),
        Some(servers) => Err(OpenError::OldServers {
            database: format!("schema automation of the database {database}"),
            servers,
            needed,
        }),
    }
}

async fn apply(transaction: &mut PgConnection, version: i64) -> Result<(), sqlx::Error> {
    // `if not exists` would ask for the right to create schemas even where it exists.
    let exists: bool = sqlx::query_scalar("select to_regnamespace('automation') is not null")
        .fetch_one(&mut *transaction)
        .await?;
    if !exists {
        sqlx::raw_sql("create schema automation")
            .execute(&mut *transaction)
            .await?;
    }
    for migration in migrations::after(version) {
        sqlx::raw_sql(migration.postgres)
            .execute(&mut *transaction)
            .await?;
        // A column that one of the first versions does not have.
        let note = if migration.version < 9 {
            "insert into schema_versions (version, name) values ($1, $2)"
        } else {
            "insert into schema_versions (version, name, works_with) values ($1, $2, $3)"
        };
        sqlx::query(note)
            .bind(migration.version)
            .bind(migration.name)
            .bind(migration.works_with)
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

/// Names what was being done when a driver's call failed.
fn failed(doing: &'static str) -> impl FnOnce(sqlx::Error) -> OpenError {
    move |error| Error::of_postgres(doing, error).into()
}
