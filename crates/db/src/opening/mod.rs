//! Opening a database: check it without changing it, then migrate its schema to this version.
//!
//! A database that is not a Matins database of a known version is refused with the reason and stays byte for byte as
//! it was. The same holds for a damaged database, as far as a brief check can tell, because opening a large database
//! must not take longer than opening a small one. [`examine`] checks every page.

mod connect;
mod error;
mod examination;
mod integrity;
mod location;
mod postgres;
mod sqlite;

pub use error::{NeededProgram, OpenError};
pub use examination::DatabaseExamination;
pub use location::{InvalidLocation, Location, Server};

use crate::{database::Database, schema::Schema};

/// Opens the database at `location` and migrates its schema to this version. Creates a SQLite file that does not
/// exist.
///
/// Other processes may use or open the same database meanwhile. An interrupted migration leaves the previous version
/// or the new one, and no state between.
pub async fn open(location: &Location, schema: &'static Schema) -> Result<Database, OpenError> {
    match location {
        Location::Postgres(server) => postgres::open(server, schema).await,
        Location::SqliteFile(path) => sqlite::open_file(path, schema).await,
        Location::SqliteMemory => sqlite::open_memory(schema).await,
    }
}

/// Checks all of a database without changing it: its owner, its version, and every page of a SQLite file, which takes
/// longer the larger the file is. Returns `None` if there is no file.
pub async fn examine(
    location: &Location,
    schema: &Schema,
) -> Result<Option<DatabaseExamination>, OpenError> {
    match location {
        Location::Postgres(server) => postgres::examine(server, schema).await.map(Some),
        Location::SqliteFile(path) => sqlite::examine(path, schema).await,
        Location::SqliteMemory => Ok(None),
    }
}

/// Opens a database of the latest version for reading only, so that every write fails.
pub async fn open_to_read(
    location: &Location,
    schema: &'static Schema,
) -> Result<Database, OpenError> {
    match location {
        Location::Postgres(server) => postgres::open_to_read(server).await,
        Location::SqliteFile(path) => sqlite::open_to_read(path).await,
        Location::SqliteMemory => sqlite::open_memory(schema).await,
    }
}
