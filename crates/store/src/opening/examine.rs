//! A look at a database that changes nothing and tells more than opening does.

use super::{Location, OpenError, migrations, postgres, sqlite};
use crate::database::Database;

/// What a look at a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The database's program with its version, such as `SQLite 3.51.3`.
    pub program: String,
    /// The schema's version; 0 where there is none yet.
    pub version: i64,
    /// The version that this program brings it to.
    pub latest: i64,
    /// The size, in bytes.
    pub bytes: u64,
}

impl Examined {
    pub(super) fn new(program: &str, found: &str, version: i64, bytes: i64) -> Self {
        Self {
            program: format!("{program} {found}"),
            version,
            latest: migrations::LATEST,
            bytes: u64::try_from(bytes).unwrap_or(0),
        }
    }
}

/// Looks at all of a database without changing it: whose it is, its version, and of a SQLite file every
/// page, which takes the longer the larger it is. `None` where there is no file.
pub async fn examine(location: &Location) -> Result<Option<Examined>, OpenError> {
    match location {
        Location::Postgres(server) => postgres::examine(server).await.map(Some),
        Location::SqliteFile(path) => sqlite::examine(path).await,
        Location::SqliteMemory => Ok(None),
    }
}

/// Opens a database of the latest version to read alone: whatever would write fails.
pub async fn open_to_read(location: &Location) -> Result<Database, OpenError> {
    match location {
        Location::Postgres(server) => postgres::open_to_read(server).await,
        Location::SqliteFile(path) => sqlite::open_to_read(path).await,
        Location::SqliteMemory => sqlite::open_memory().await,
    }
}
