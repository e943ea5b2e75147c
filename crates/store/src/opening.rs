//! Opening the database with the schema of this crate.

use crate::boxed;
use db::{Database, DatabaseExamination, Location, OpenError};

use crate::schema::SCHEMA;

/// Opens the database at `location` and migrates its schema to this version. Creates a SQLite file that does not
/// exist.
///
/// Other processes may use or open the same database meanwhile. An interrupted migration leaves the previous version
/// or the new one, and no state between.
#[boxed]
pub async fn open(location: &Location) -> Result<Database, OpenError> {
    db::open(location, &SCHEMA).await
}

/// Examines all of a database without changing it: its owner, its version, and of a SQLite file every page, so that a
/// larger file takes longer. Returns `None` if there is no file.
#[boxed]
pub async fn examine(location: &Location) -> Result<Option<DatabaseExamination>, OpenError> {
    db::examine(location, &SCHEMA).await
}

/// Opens a database of the latest version for reading only: every write fails.
#[boxed]
pub async fn open_read_only(location: &Location) -> Result<Database, OpenError> {
    db::open_to_read(location, &SCHEMA).await
}
