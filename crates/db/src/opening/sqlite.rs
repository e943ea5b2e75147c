//! Opens a SQLite file.

use std::{collections::HashMap, fs::OpenOptions, io, path::Path, sync::Arc, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection,
    SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::time::{Instant, sleep};

use super::{
    error::{NeededProgram, OpenError},
    examination::DatabaseExamination,
    integrity,
};
use crate::{
    database::{Database, Pools},
    error::{Error, UniqueIndexes},
    limits::{ACQUIRE_TIMEOUT, MAX_PREPARED_STATEMENTS, SQLITE_READERS},
    schema::{PROGRAM_VERSION, Schema},
};

/// "Matn", by which the file's header identifies a Matins database.
const APPLICATION_ID: i64 = 0x4d61_746e;
/// The earliest supported version. Earlier ones can damage a database in WAL mode: <https://www.sqlite.org/wal.html>
const MIN_VERSION: [u32; 3] = [3, 51, 3];
const MIN_VERSION_TEXT: &str = "3.51.3";

pub(super) async fn open_file(path: &Path, schema: &'static Schema) -> Result<Database, OpenError> {
    // 1. Create the file with narrow permissions, which SQLite itself would not do.
    create_if_missing(path)?;
    // 2. Refuse another application's, a newer or a damaged file, before a connection could change it.
    inspect(path, schema).await?;
    // 3. Open the writer and migrate.
    let file = connect_options().filename(path);
    let writer = open_writer(file.clone())
        .await
        .map_err(step_error("open the file for writing"))?;
    migrate(&writer, path, schema).await?;
    // 4. Open the readers last, because a read-only connection cannot put a new file into WAL mode.
    let readers = pool_options(SQLITE_READERS)
        .connect_with(file.read_only(true))
        .await
        .map_err(step_error("open the file for reading"))?;
    build_database(writer, readers).await
}

/// Opens the connection that writes, and puts a new file into WAL mode.
///
/// SQLite refuses that change at once while another connection reads the file, because it does not wait for the busy
/// timeout when it turns a lock for reading into an exclusive one: <https://www.sqlite.org/c3ref/busy_handler.html>
async fn open_writer(file: SqliteConnectOptions) -> Result<SqlitePool, sqlx::Error> {
    let file = file
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("wal_autocheckpoint", WAL_AUTOCHECKPOINT_PAGES);
    let deadline = Instant::now() + ACQUIRE_TIMEOUT;
    loop {
        match pool_options(1).connect_with(file.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                sleep(BUSY_RETRY_DELAY).await;
            }
            opened => return opened,
        }
    }
}

/// Returns `true` if another connection holds a lock of the file.
fn is_busy(error: &sqlx::Error) -> bool {
    primary_code(error) == Some(5)
}

/// Returns SQLite's primary result code, which is the low byte: <https://www.sqlite.org/rescode.html>
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|code| code & 0xff)
}

pub(super) async fn open_memory(schema: &'static Schema) -> Result<Database, OpenError> {
    let options = connect_options().in_memory(true);
    let pool = pool_options(1)
        .connect_with(options)
        .await
        .map_err(step_error("open a database in memory"))?;
    migrate(&pool, Path::new(":memory:"), schema).await?;
    build_database(pool.clone(), pool).await
}

/// The page cache of a connection, in KiB (negative): a transaction of many rows fits into it, and so do the pages that an
/// overview of a week with 25,000 runs reads. By default it is 2 MiB, and the overview reads some pages twice.
const CACHE_SIZE: &str = "-16384";
/// The number of rows of a result that may wait to be read.
const ROW_BUFFER_SIZE: usize = 512;
/// The size of the write-ahead log, in pages, at which it is folded into the file. Folding waits for the disk twice,
/// and reading 16 MiB again after a crash takes almost no time.
const WAL_AUTOCHECKPOINT_PAGES: &str = "4000";

/// The wait before a file that another connection has locked is tried again.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Returns the options of every connection, whether it reads or writes.
///
/// `synchronous = FULL` syncs every commit, so that a commit that was confirmed survives a power failure. Memory
/// mapping is off, because with it a disk error would be a signal instead of an error.
fn connect_options() -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .busy_timeout(ACQUIRE_TIMEOUT)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .pragma("mmap_size", "0")
        .pragma("cache_size", CACHE_SIZE)
        .pragma("temp_store", "memory")
        .pragma("trusted_schema", "off")
        .statement_cache_capacity(MAX_PREPARED_STATEMENTS)
        // A thread of the driver reads the rows ahead, so that it does not wait for the consumer of each row.
        .row_buffer_size(ROW_BUFFER_SIZE)
}

/// Returns the options of a pool whose connections stay open, because a connection in memory is the database itself.
///
/// A connection is closed only if its transaction did not end as the driver believes. On a full disk, SQLite rolls
/// back by itself, the driver's own rollback then fails, and the connection could never begin a transaction again.
fn pool_options(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .after_release(|connection, _| {
            Box::pin(async move {
                // Flushes the rollback that a dropped transaction has queued.
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        })
}

/// Creates the file for its owner alone. SQLite gives its side files the same permissions.
fn create_if_missing(path: &Path) -> Result<(), OpenError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(OpenError::File {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Checks the file through a connection that cannot write, before any other connection opens it.
///
/// It goes through SQLite instead of reading bytes, because the side files count, and because closing a second
/// descriptor of the file would release the locks that other connections of this process hold.
async fn inspect(path: &Path, schema: &Schema) -> Result<(), OpenError> {
    let mut file = connect_read_only(path, false).await?;
    let with_path = |error| check_error(path, error);
    let header = FileHeader::read(&mut file, schema)
        .await
        .map_err(with_path)?;
    header.check_accepted(path, schema)?;
    let damage = integrity::quick_check(&mut file).await.map_err(with_path)?;
    file.close().await.map_err(with_path)?;
    check_damage(path, damage)
}

/// Opens a connection that cannot write. If `without_side_files`, SQLite creates no side files, which is safe only
/// while no other connection has the file open.
async fn connect_read_only(
    path: &Path,
    without_side_files: bool,
) -> Result<SqliteConnection, OpenError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(ACQUIRE_TIMEOUT)
        .read_only(true)
        .immutable(without_side_files);
    options
        .connect()
        .await
        .map_err(|error| check_error(path, error))
}

fn check_damage(path: &Path, damage: Option<String>) -> Result<(), OpenError> {
    damage.map_or(Ok(()), |found| {
        Err(OpenError::Damaged {
            path: path.to_owned(),
            found,
        })
    })
}

/// Checks every page of the file. Returns `None` if there is no file.
pub(super) async fn examine(
    path: &Path,
    schema: &Schema,
) -> Result<Option<DatabaseExamination>, OpenError> {
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(source) => {
            return Err(OpenError::File {
                path: path.to_owned(),
                source,
            });
        }
    }
    let without_side_files = is_not_open(path);
    match examine_file(path, schema, without_side_files).await {
        // A writer has opened the file meanwhile, so the pages that were read may not fit together. Check again.
        Err(_) if without_side_files && !is_not_open(path) => {
            examine_file(path, schema, false).await.map(Some)
        }
        result => result.map(Some),
    }
}

/// Returns `true` if no connection has the file open: an open file has a write-ahead log beside it.
fn is_not_open(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    !Path::new(&log).exists()
}

async fn examine_file(
    path: &Path,
    schema: &Schema,
    without_side_files: bool,
) -> Result<DatabaseExamination, OpenError> {
    let mut file = connect_read_only(path, without_side_files).await?;
    let with_path = |error| check_error(path, error);
    let header = FileHeader::read(&mut file, schema)
        .await
        .map_err(with_path)?;
    header.check_accepted(path, schema)?;
    let damage = integrity::full_check(&mut file).await.map_err(with_path)?;
    let (found, bytes): (String, i64) = sqlx::query_as(
        "select sqlite_version(), page_count * page_size from pragma_page_count, pragma_page_size",
    )
    .fetch_one(&mut file)
    .await
    .map_err(with_path)?;
    file.close().await.map_err(with_path)?;
    check_damage(path, damage)?;
    Ok(DatabaseExamination::new(
        "SQLite",
        &found,
        header.version,
        schema.latest(),
        bytes,
    ))
}

/// Opens a file for reading only. If no connection has the file open, it is read as it is now, without side files.
pub(super) async fn open_to_read(path: &Path) -> Result<Database, OpenError> {
    let file = connect_options().filename(path).read_only(true);
    let readers = pool_options(SQLITE_READERS)
        .connect_with(file.immutable(is_not_open(path)))
        .await
        .map_err(step_error("open the file for reading"))?;
    build_database(readers.clone(), readers).await
}

/// Returns the reason why a file could not be checked, by SQLite's result code.
fn check_error(path: &Path, error: sqlx::Error) -> OpenError {
    let path = path.to_owned();
    match primary_code(&error) {
        // NOTADB
        Some(26) => OpenError::NotADatabase { path },
        // CORRUPT
        Some(11) => OpenError::Damaged {
            path,
            found: "SQLite cannot read it".to_owned(),
        },
        _ => step_error("check the file")(error),
    }
}

/// The marks of the application and the version in a file.
struct FileHeader {
    application_id: i64,
    version: i64,
    object_count: i64,
    /// The program that applied that version. Schemas record it from version 13 on.
    program: Option<String>,
}

impl FileHeader {
    async fn read(connection: &mut SqliteConnection, schema: &Schema) -> Result<Self, sqlx::Error> {
        let row = sqlx::query(
            "select application_id, user_version, (select count(*) from sqlite_schema) as objects \
             from pragma_application_id, pragma_user_version",
        )
        .fetch_one(&mut *connection)
        .await?;
        let version: i64 = row.try_get("user_version")?;
        // The table does not exist in earlier versions, and may not exist in another application's file.
        let records_program: bool = sqlx::query_scalar(
            "select exists (select 1 from pragma_table_info('schema_versions') where name = 'program')",
        )
        .fetch_one(&mut *connection)
        .await?;
        let program = if records_program && version > schema.latest() {
            let applied = sqlx::query_scalar(
                "select program from schema_versions where version > ? order by version limit 1",
            );
            let applied = applied.bind(schema.latest());
            applied.fetch_optional(connection).await?.flatten()
        } else {
            None
        };
        Ok(Self {
            application_id: row.try_get("application_id")?,
            version,
            object_count: row.try_get("objects")?,
            program,
        })
    }

    /// Accepts an empty file and one of Matins. A file with content but without the mark belongs to another
    /// application.
    fn check_accepted(&self, path: &Path, schema: &Schema) -> Result<(), OpenError> {
        let database = || path.display().to_string();
        let empty = self.application_id == 0 && self.version == 0 && self.object_count == 0;
        if self.application_id != APPLICATION_ID && !empty {
            return Err(OpenError::Foreign {
                database: database(),
                found: format!("application id {:#010x}", self.application_id),
            });
        }
        if self.version > schema.latest() {
            return Err(OpenError::Newer {
                database: database(),
                found: self.version,
                known: schema.latest(),
                needed: NeededProgram(self.program.clone()),
            });
        }
        Ok(())
    }
}

/// Applies the missing migrations. Holds the write lock from reading the version to the commit.
async fn migrate(
    writer: &SqlitePool,
    path: &Path,
    schema: &'static Schema,
) -> Result<(), OpenError> {
    let version: String = sqlx::query_scalar("select sqlite_version()")
        .fetch_one(writer)
        .await
        .map_err(step_error("read the version of SQLite"))?;
    if !is_supported_version(&version) {
        return Err(OpenError::TooOld {
            program: "SQLite",
            found: version,
            needed: MIN_VERSION_TEXT,
        });
    }
    let mut transaction = writer
        .begin_with("begin immediate")
        .await
        .map_err(step_error("lock the file for a migration"))?;
    let header = FileHeader::read(&mut transaction, schema)
        .await
        .map_err(step_error("read the version of the schema"))?;
    header.check_accepted(path, schema)?;
    if header.version < schema.latest() {
        apply_migrations(&mut transaction, schema, header.version)
            .await
            .map_err(step_error("migrate the schema"))?;
        transaction
            .commit()
            .await
            .map_err(step_error("migrate the schema"))?;
        tracing::info!(
            from = header.version,
            to = schema.latest(),
            "migrated the schema"
        );
    }
    Ok(())
}

async fn apply_migrations(
    transaction: &mut Transaction<'static, Sqlite>,
    schema: &Schema,
    version: i64,
) -> Result<(), sqlx::Error> {
    for migration in schema.migrations_after(version) {
        sqlx::raw_sql(migration.sqlite)
            .execute(&mut **transaction)
            .await?;
    }
    for migration in schema.migrations_after(version) {
        sqlx::query(
            "insert into schema_versions (version, name, works_with, program) values (?, ?, ?, ?)",
        )
        .bind(migration.version)
        .bind(migration.name)
        .bind(migration.works_with)
        .bind(PROGRAM_VERSION)
        .execute(&mut **transaction)
        .await?;
    }
    // Pragmas take no parameters; both values are constants of this program.
    let pragmas = format!(
        "pragma application_id = {APPLICATION_ID}; pragma user_version = {}",
        schema.latest()
    );
    sqlx::raw_sql(AssertSqlSafe(pragmas))
        .execute(&mut **transaction)
        .await?;
    Ok(())
}

fn is_supported_version(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|n| n.parse().ok()).collect();
    numbers.as_slice() >= MIN_VERSION.as_slice()
}

async fn build_database(writer: SqlitePool, readers: SqlitePool) -> Result<Database, OpenError> {
    let unique = unique_indexes(&writer)
        .await
        .map_err(step_error("read the names of the unique indexes"))?;
    Ok(Database::new(Pools::Sqlite {
        writer,
        readers,
        unique_indexes: Arc::new(unique),
    }))
}

/// Returns the unique indexes by their columns, in the form in which SQLite's messages list them.
async fn unique_indexes(pool: &SqlitePool) -> Result<UniqueIndexes, sqlx::Error> {
    let rows = sqlx::query(
        "select t.name as table_name, i.name as index_name, i.origin, c.name as column_name \
         from sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c \
         where t.type = 'table' and i.\"unique\" order by i.name, c.seqno",
    )
    .fetch_all(pool)
    .await?;
    let mut columns: HashMap<String, Vec<String>> = HashMap::new();
    for row in rows {
        let table: String = row.try_get("table_name")?;
        let index = match row.try_get("origin")? {
            "pk" => format!("{table}_pkey"),
            _ => row.try_get("index_name")?,
        };
        let column: String = row.try_get("column_name")?;
        let column = format!("{table}.{column}");
        columns.entry(index).or_default().push(column);
    }
    let named = columns.into_iter();
    Ok(UniqueIndexes::new(
        named.map(|(index, columns)| (columns.join(", "), index)),
    ))
}

/// Returns a function that adds the name of the failed step to a driver's error.
fn step_error(step: &'static str) -> impl FnOnce(sqlx::Error) -> OpenError {
    move |error| Error::of_sqlite(step, error, &UniqueIndexes::default()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_versions_are_compared_by_number() {
        assert!(is_supported_version("3.51.3"));
        assert!(is_supported_version("3.100.0"));
        assert!(!is_supported_version("3.51.2"));
        assert!(!is_supported_version("3.9.9"));
    }
}
