//! Why a database was not opened.

use std::{fmt, path::PathBuf};

use super::location::InvalidLocation;
use crate::{error::Error, schema::PROGRAM};

/// Why a database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address says nothing that can be opened.
    #[error(transparent)]
    Location(#[from] InvalidLocation),
    /// The folder of the database's file cannot be used.
    #[error("create {path}", path = path.display())]
    File {
        /// The database's file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is something else than a SQLite database.
    #[error("open {path}: it is not a database", path = path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database belongs to another application.
    #[error("open {database}: it belongs to another application ({found})")]
    Foreign {
        /// The file, or the server's database and schema.
        database: String,
        /// What shows it.
        found: String,
    },
    /// A later version of Matins made the database.
    #[error(
        "open {database}: its schema has version {found}, and this program ({program}) knows {known} and earlier; \
         {needed} is needed",
        program = PROGRAM
    )]
    Newer {
        /// The file, or the server's database and schema.
        database: String,
        /// The schema's version.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
        /// The program that is needed.
        needed: NeededProgram,
    },
    /// Servers of an earlier version run, which cannot go on with the schema of this one.
    #[error(
        "open {database}: {servers} of an earlier version cannot go on with schema {needed} and later"
    )]
    OldServers {
        /// The server's database and schema.
        database: String,
        /// The names of their workers.
        servers: String,
        /// The version that they would have to know.
        needed: i64,
    },
    /// The file is damaged.
    #[error("open {path}: it is damaged ({found})", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first thing that SQLite found.
        found: String,
    },
    /// The database's own program is too old.
    #[error("open the database: {program} {found} is too old, {needed} or later is needed")]
    TooOld {
        /// `PostgreSQL` or `SQLite`.
        program: &'static str,
        /// Its version.
        found: String,
        /// The earliest version that will do.
        needed: &'static str,
    },
    /// The role stands above row-level security, which would then guard nothing.
    #[error("open the database: the role {role} is a superuser or bypasses row-level security")]
    RoleAboveSecurity {
        /// The role.
        role: String,
    },
    /// A pooler lends its connections out for one statement each.
    #[error("begin a transaction: what stands before the database takes none")]
    NoTransactions {
        /// What it said.
        source: sqlx::Error,
    },
    /// The direct address cannot be opened.
    #[error("use the direct address of the database")]
    Direct(#[source] Box<Self>),
    /// There is a pooler at the direct address, too.
    #[error("use the direct address of the database: a pooler stands before it, too")]
    DirectIsPooled,
    /// The direct address leads elsewhere.
    #[error("use the direct address of the database: it leads to another database")]
    DirectElsewhere,
    /// The database refused or failed.
    #[error(transparent)]
    Database(#[from] Error),
}

/// The version of the program that a schema needs, if the schema names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededProgram(pub(super) Option<String>);

impl fmt::Display for NeededProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(version) => write!(f, "Matins {version} or later"),
            None => f.write_str("a later version of Matins"),
        }
    }
}

impl OpenError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Location(_) => None,
            Self::File { .. } => Some("create the folder and make it writable for this user"),
            Self::NotADatabase { .. } | Self::Foreign { .. } => {
                Some("name another file or database; nothing in this one was changed")
            }
            Self::Newer { .. } => Some(
                "run that version, or restore a backup from before the upgrade (docs/operations.md#backup); nothing \
                 was changed",
            ),
            Self::OldServers { .. } => {
                Some("stop them first, and start them again with this version; nothing was changed")
            }
            Self::Damaged { .. } => {
                Some("keep a copy of it, then restore a backup; nothing was changed")
            }
            Self::TooOld { .. } => Some("upgrade it"),
            Self::RoleAboveSecurity { .. } => Some(
                "connect as a role of its own: create role matins login nosuperuser nobypassrls, \
                 owner of the database",
            ),
            Self::NoTransactions { .. } => Some(
                "let the pooler lend connections out for whole transactions or sessions: with PgBouncer \
                 `pool_mode = transaction` or `session` for this database",
            ),
            Self::Direct(error) => error.hint(),
            Self::DirectIsPooled | Self::DirectElsewhere => Some(
                "name the address of the PostgreSQL server itself, with the same database, as \
                 `database_direct`, or none",
            ),
            Self::Database(error) => error.hint(),
        }
    }
}
