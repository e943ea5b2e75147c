//! A fresh database for each test, on SQLite and on a PostgreSQL server of its own.

mod pooler;
mod postgres;
mod postgres_server;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

pub use postgres_server::find_binaries;

pub use pooler::{PoolMode, Pooler};

/// A database for one test, gone with the value.
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
    /// Names a SQLite file that does not exist yet, in a folder of its own.
    pub fn sqlite() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("create a folder for a database")?;
        let file = folder.path().join("matins.db");
        Ok(Self {
            url: format!("sqlite://{}", file.display()),
            storage: Storage::Sqlite {
                _folder: folder,
                file,
            },
        })
    }

    /// Makes an empty PostgreSQL database, owned by a role without any privilege beyond it.
    ///
    /// The server is private to this user of the machine, started by the first process that needs
    /// it, shared by all, and stops by itself some seconds after the last of them has gone.
    pub fn empty_postgres() -> anyhow::Result<Self> {
        Ok(Self::from_lease(postgres::DatabaseLease::empty()?))
    }

    /// Makes a PostgreSQL database that `migrate` has prepared.
    ///
    /// `migrate` gets an address, and must have closed its connections when it returns. It runs
    /// once for each build of a test binary; the tests get copies of what it made.
    pub async fn postgres(
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

    /// The address to open it with.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The address for the server's superuser, who stands above row-level security.
    pub fn superuser_url(&self) -> Option<String> {
        match &self.storage {
            Storage::Sqlite { .. } => None,
            Storage::Postgres(lease) => Some(lease.superuser_url()),
        }
    }

    /// Puts a pooler before the database, which lends out as many connections as there are `servers`. `more`
    /// are further lines of its settings.
    pub fn pooler(&self, mode: PoolMode, servers: u32, more: &str) -> anyhow::Result<Pooler> {
        match &self.storage {
            Storage::Sqlite { .. } => anyhow::bail!("put a pooler before a file"),
            Storage::Postgres(lease) => lease.pooler(mode, servers, more),
        }
    }

    /// The file, on SQLite.
    pub fn file(&self) -> Option<&Path> {
        match &self.storage {
            Storage::Sqlite { file, .. } => Some(file),
            Storage::Postgres(_) => None,
        }
    }
}
