//! Opening a database: looking before touching, then bringing it to this version.
//!
//! What is not a Matins database of a known version is refused with its reason and left byte for byte as
//! it was, and so is one that is damaged, as far as a glance can tell: opening must not take longer the
//! more a database holds. [`examine`] looks at all of it.

mod error;
mod examined;
mod intact;
mod location;
mod postgres;
mod reach;
mod sqlite;

pub use error::{NeededProgram, OpenError};
pub use examined::Examined;
pub use location::{InvalidLocation, Location, Server};

use crate::{database::Database, schema::Schema};

/// Opens the database at `location`, creates it if it is a SQLite file that does not exist, and
/// brings its schema to this version.
///
/// Safe while other processes use or open the same database. An interrupted migration leaves the
/// version before or the version after, nothing between.
pub async fn open(location: &Location, schema: &'static Schema) -> Result<Database, OpenError> {
    match location {
        Location::Postgres(server) => postgres::open(server, schema).await,
        Location::SqliteFile(path) => sqlite::open_file(path, schema).await,
        Location::SqliteMemory => sqlite::open_memory(schema).await,
    }
}

/// Looks at all of a database without changing it: whose it is, its version, and of a SQLite file every
/// page, which takes the longer the larger it is. `None` where there is no file.
pub async fn examine(location: &Location, schema: &Schema) -> Result<Option<Examined>, OpenError> {
    match location {
        Location::Postgres(server) => postgres::examine(server, schema).await.map(Some),
        Location::SqliteFile(path) => sqlite::examine(path, schema).await,
        Location::SqliteMemory => Ok(None),
    }
}

/// Opens a database of the latest version to read alone: whatever would write fails.
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
