//! The errors of [`open`](super::open) and its siblings.

use std::{fmt, path::PathBuf};

use super::location::InvalidLocation;
use crate::{error::Error, schema::PROGRAM_VERSION};

/// The reason why a database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no database that can be opened.
    #[error(transparent)]
    Location(#[from] InvalidLocation),
    /// The database's file cannot be created.
    #[error("cannot create `{path}`", path = path.display())]
    File {
        /// The database's file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not a SQLite database.
    #[error("cannot open `{path}`: it is not a database", path = path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The database belongs to another application.
    #[error("cannot open {database}: it belongs to another application ({found})")]
    Foreign {
        /// The file, or the server's database and schema.
        database: String,
        /// The evidence that another application owns it.
        found: String,
    },
    /// A later version of Matins has migrated the database.
    #[error(
        "cannot open {database}: its schema has version {found}, and this program ({program}) supports versions up \
         to {known}; {needed} is needed",
        program = PROGRAM_VERSION
    )]
    Newer {
        /// The file, or the server's database and schema.
        database: String,
        /// The schema's version.
        found: i64,
        /// The latest schema version that this program knows.
        known: i64,
        /// The program that the schema needs.
        needed: NeededProgram,
    },
    /// Servers of an earlier version are running, and the new schema would break them.
    #[error(
        "cannot open {database}: running servers of an earlier version ({servers}) do not support schema version \
         {needed}"
    )]
    OldServers {
        /// The server's database and schema.
        database: String,
        /// The names of the servers' workers.
        servers: String,
        /// The schema version that the servers would have to know.
        needed: i64,
    },
    /// The file is damaged.
    #[error("cannot open `{path}`: it is damaged ({found})", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first damage that SQLite found.
        found: String,
    },
    /// The PostgreSQL server or the SQLite library is too old.
    #[error("cannot open the database: {program} {found} is too old, {needed} or later is needed")]
    TooOld {
        /// `PostgreSQL` or `SQLite`.
        program: &'static str,
        /// The version that was found.
        found: String,
        /// The earliest version that Matins supports.
        needed: &'static str,
    },
    /// The role bypasses row-level security, which would then protect nothing.
    #[error(
        "cannot open the database: the role `{role}` is a superuser or bypasses row-level security"
    )]
    RoleBypassesRowSecurity {
        /// The role.
        role: String,
    },
    /// A pooler lends its connections out for single statements, so that transactions are impossible.
    #[error(
        "cannot begin a transaction: the connection pooler before the database does not allow transactions"
    )]
    NoTransactionSupport {
        /// The pooler's reply.
        source: sqlx::Error,
    },
    /// The direct address cannot be opened.
    #[error("cannot use the direct address of the database")]
    Direct(#[source] Box<Self>),
    /// The direct address also leads to a pooler.
    #[error("cannot use the direct address of the database: it leads to a connection pooler, too")]
    DirectIsPooled,
    /// The direct address leads to another database.
    #[error("cannot use the direct address of the database: it leads to another database")]
    DirectOtherDatabase,
    /// The database returned an error.
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
    /// Returns advice that a person can follow.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Location(_) => None,
            Self::File { .. } => Some("create the folder and make it writable for this user"),
            Self::NotADatabase { .. } | Self::Foreign { .. } => {
                Some("use another file or database; nothing in this one was changed")
            }
            Self::Newer { .. } => Some(
                "run that version, or restore a backup from before the upgrade \
                 (docs/how-to/back-up-and-restore.md); nothing was changed",
            ),
            Self::OldServers { .. } => Some(
                "stop those servers first, then start them with this version; nothing was changed",
            ),
            Self::Damaged { .. } => {
                Some("keep a copy of the file, then restore a backup; nothing was changed")
            }
            Self::TooOld { .. } => Some("upgrade it to that version or a later one"),
            Self::RoleBypassesRowSecurity { .. } => Some(
                "connect as a dedicated role that owns the database: `create role matins login nosuperuser nobypassrls`",
            ),
            Self::NoTransactionSupport { .. } => Some(
                "configure the pooler to lend connections out for whole transactions or sessions: with PgBouncer, \
                 `pool_mode = transaction` or `session` for this database",
            ),
            Self::Direct(error) => error.hint(),
            Self::DirectIsPooled | Self::DirectOtherDatabase => Some(
                "set `database_direct` to the address of the PostgreSQL server itself, with the same database, or \
                 remove it",
            ),
            Self::Database(error) => error.hint(),
        }
    }
}
