//! A new database for each test, on SQLite or on a private PostgreSQL server.

mod folder;
mod pooler;
mod postgres;
mod postgres_server;
mod superuser;
mod template;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::TempDir;

pub use postgres_server::find_binaries;

pub use pooler::{PoolMode, Pooler};
pub use template::build_fingerprint;

/// A database for one test. Drop deletes it, on PostgreSQL when the next test begins.
#[derive(Debug)]
pub struct TestDatabase {
    url: String,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    Sqlite { _folder: TempDir, file: PathBuf },
    Postgres(postgres::DatabaseLease),
}

impl TestDatabase {
    /// Returns the address of a SQLite file that does not exist yet, in a new folder.
    pub fn sqlite() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(folder::temporary_folder())
            .context("cannot create a folder for a database")?;
        let file = folder.path().join("matins.db");
        Ok(Self {
            url: format!("sqlite://{}", file.display()),
            storage: Storage::Sqlite {
                _folder: folder,
                file,
            },
        })
    }

    /// Creates a SQLite file with the schema that `migrate` creates.
    ///
    /// `migrate` receives the address of a new file and must close the file before it returns. It runs once for each
    /// build of a test binary; each test gets a copy of the file.
    pub async fn migrated_sqlite(
        migrate: impl AsyncFnOnce(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let template = template::sqlite_file(&folder::shared_folder()?, migrate).await?;
        let database = Self::sqlite()?;
        let file = database.file().context("a SQLite database has a file")?;
        fs::copy(&template, file).context("cannot copy the template of a database")?;
        Ok(database)
    }

    /// Creates an empty PostgreSQL database, owned by a role without any privilege beyond it.
    ///
    /// All test processes of this user share one private server. The first process starts it, and it stops some seconds
    /// after the end of the last one.
    pub fn empty_postgres() -> anyhow::Result<Self> {
        Ok(Self::from_lease(postgres::DatabaseLease::empty()?))
    }

    /// Creates a PostgreSQL database with the schema that `migrate` creates.
    ///
    /// `migrate` receives the address of a template database and must close its connections before it returns. It runs
    /// once for each build of a test binary; each test gets a copy of the template.
    pub async fn migrated_postgres(
        migrate: impl AsyncFnOnce(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        Ok(Self::from_lease(
            postgres::DatabaseLease::migrated(migrate).await?,
        ))
    }

    fn from_lease(lease: postgres::DatabaseLease) -> Self {
        Self {
            url: lease.url(),
            storage: Storage::Postgres(lease),
        }
    }

    /// Returns the address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address for the superuser, whom row-level security does not restrict. Returns `None` on SQLite.
    pub fn superuser_url(&self) -> Option<String> {
        match &self.storage {
            Storage::Sqlite { .. } => None,
            Storage::Postgres(lease) => Some(lease.superuser_url()),
        }
    }

    /// Starts a pooler in front of the database, with up to `servers` connections to the server. `more` has further
    /// lines of its settings.
    pub fn pooler(&self, mode: PoolMode, servers: u32, more: &str) -> anyhow::Result<Pooler> {
        match &self.storage {
            Storage::Sqlite { .. } => anyhow::bail!("a SQLite file cannot have a pooler"),
            Storage::Postgres(lease) => lease.pooler(mode, servers, more),
        }
    }

    /// Returns the path of the file, or `None` on PostgreSQL.
    pub fn file(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Sqlite { file, .. } => Some(file),
            Storage::Postgres(_) => None,
        }
    }
}
