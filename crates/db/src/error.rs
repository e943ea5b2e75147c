//! The errors of statements, one variant for each reaction that the caller may choose.

use std::collections::HashMap;

use sqlx::error::{DatabaseError, ErrorKind};

/// The error of a statement, or of the transaction around it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A row with the same unique value exists, usually because another writer won a race.
    #[error("unique index `{constraint}` already contains this value (during `{statement}`)")]
    Conflict {
        /// The statement's name.
        statement: &'static str,
        /// The unique index's name, the same in both databases; `<table>_pkey` for a primary key.
        constraint: String,
    },
    /// The row that a foreign key names does not exist, or belongs to another tenant.
    #[error("a referenced row does not exist: `{constraint}` (during `{statement}`)")]
    MissingReference {
        /// The statement's name.
        statement: &'static str,
        /// The foreign key's name on PostgreSQL. SQLite does not report it: `foreign key`.
        constraint: String,
    },
    /// A value violates a check constraint.
    #[error("the row violates check `{constraint}` (during `{statement}`)")]
    CheckFailed {
        /// The statement's name.
        statement: &'static str,
        /// The check's name, the same in both databases.
        constraint: String,
    },
    /// The database could not be reached, or the connection was lost.
    #[error("cannot reach the database{}", during_statement(.statement))]
    Connection {
        /// The statement's name, or `connect`.
        statement: &'static str,
        /// The error of the network, or the driver's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another transaction held a lock for too long, or a deadlock was broken.
    #[error("the database is busy (during `{statement}`)")]
    Busy {
        /// The statement's name.
        statement: &'static str,
        /// The driver's error.
        source: sqlx::Error,
    },
    /// The database's disk is full.
    #[error("the database's disk is full (during `{statement}`)")]
    DiskFull {
        /// The statement's name.
        statement: &'static str,
        /// The driver's error.
        source: sqlx::Error,
    },
    /// The database, its folder or the transaction is read-only.
    #[error("the database is read-only (during `{statement}`)")]
    ReadOnly {
        /// The statement's name.
        statement: &'static str,
        /// The driver's error.
        source: sqlx::Error,
    },
    /// The disk failed, or its data is damaged.
    #[error("the database is damaged, or its disk has errors (during `{statement}`)")]
    Damaged {
        /// The statement's name.
        statement: &'static str,
        /// The driver's error.
        source: sqlx::Error,
    },
    /// The statement itself is wrong: a fault of this program.
    #[error("the database rejected statement `{statement}`")]
    Statement {
        /// The statement's name.
        statement: &'static str,
        /// The driver's error.
        source: sqlx::Error,
    },
    /// The caller passed rows, but the text marks no row template: a fault of this program.
    #[error("statement `{statement}` takes no rows")]
    RowsNotAccepted {
        /// The statement's name.
        statement: &'static str,
    },
    /// The statement returned no row where one was expected.
    #[error("statement `{statement}` returned no row")]
    NoRow {
        /// The statement's name.
        statement: &'static str,
    },
    /// The statement returned several rows where at most one was expected.
    #[error("statement `{statement}` returned more than one row")]
    TooManyRows {
        /// The statement's name.
        statement: &'static str,
    },
    /// A stored value is corrupt.
    #[error("corrupt value in column `{column}` of row `{row}` (read by `{statement}`)")]
    CorruptValue {
        /// The statement that read the row.
        statement: &'static str,
        /// The column.
        column: &'static str,
        /// The row's ID.
        row: String,
        /// The reason why the value is corrupt.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Returns the name of the statement for a message. Omits the step `connect`, which the message describes already.
fn during_statement(statement: &str) -> String {
    match statement {
        "connect" => String::new(),
        statement => format!(" (during `{statement}`)"),
    }
}

impl Error {
    /// Returns the name of the unique index that was violated. Returns `None` for any other error.
    pub fn conflict(&self) -> Option<&str> {
        match self {
            Self::Conflict { constraint, .. } => Some(constraint),
            _ => None,
        }
    }

    /// Returns `true` if the same transaction may succeed when it is retried.
    ///
    /// After a lost connection, the transaction may also have been committed already.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Connection { .. })
    }

    /// Returns advice that a person can follow.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Connection { .. } => Some(
                "check that the database server is running, and that its address and password are right",
            ),
            Self::Busy { .. } => Some(
                "another program has locked the database; with SQLite, make sure that no other tool \
                 has the file open for writing",
            ),
            Self::DiskFull { .. } => {
                Some("free some space on the database's disk; nothing that was saved is lost")
            }
            Self::ReadOnly { .. } => Some(
                "check the rights of the database's file and folder, or whether the server is a \
                 standby",
            ),
            Self::Damaged { .. } => {
                Some("stop all servers, check the disk, and restore the database from a backup")
            }
            _ => None,
        }
    }

    /// Returns the error for a report of PostgreSQL's driver, by its SQLSTATE.
    pub(crate) fn of_postgres(statement: &'static str, source: sqlx::Error) -> Self {
        let Some(error) = source.as_database_error() else {
            return Self::of_driver(statement, source);
        };
        let constraint = || error.constraint().unwrap_or("a constraint").to_owned();
        if let Some(refused) = Self::of_constraint(statement, error, constraint) {
            return refused;
        }
        let code = error.code().unwrap_or_default().into_owned();
        match code.as_str() {
            // Serialization failure, deadlock, lock not available.
            "40001" | "40P01" | "55P03" => Self::Busy { statement, source },
            "53100" => Self::DiskFull { statement, source },
            "25006" => Self::ReadOnly { statement, source },
            // Data corrupted, index corrupted, I/O error.
            "XX001" | "XX002" | "58030" => Self::Damaged { statement, source },
            // Too many connections, shutdown, crash, still starting, idle for too long.
            "53300" | "57P01" | "57P02" | "57P03" | "25P03" | "57P05" => {
                Self::connection(statement, source)
            }
            // Connection exceptions; sign-in refused.
            code if code.starts_with("08") || code.starts_with("28") => {
                Self::connection(statement, source)
            }
            _ => Self::Statement { statement, source },
        }
    }

    /// Returns the error for a report of SQLite's driver, by its result code.
    pub(crate) fn of_sqlite(
        statement: &'static str,
        source: sqlx::Error,
        unique: &UniqueIndexes,
    ) -> Self {
        let Some(error) = source.as_database_error() else {
            return match source {
                // The pool of writers has one connection, so a timeout means that another transaction holds it.
                sqlx::Error::PoolTimedOut => Self::Busy { statement, source },
                source => Self::of_driver(statement, source),
            };
        };
        if let Some(refused) = Self::of_constraint(statement, error, || unique.index_name(error)) {
            return refused;
        }
        let code = error.code().and_then(|code| code.parse::<i32>().ok());
        // The low byte is the primary code: https://www.sqlite.org/rescode.html
        match code.map(|code| code & 0xff) {
            // BUSY, LOCKED
            Some(5 | 6) => Self::Busy { statement, source },
            // READONLY
            Some(8) => Self::ReadOnly { statement, source },
            // IOERR, CORRUPT, NOTADB
            Some(10 | 11 | 26) => Self::Damaged { statement, source },
            // FULL
            Some(13) => Self::DiskFull { statement, source },
            // CANTOPEN
            Some(14) => Self::connection(statement, source),
            _ => Self::Statement { statement, source },
        }
    }

    fn of_constraint(
        statement: &'static str,
        error: &dyn DatabaseError,
        constraint: impl Fn() -> String,
    ) -> Option<Self> {
        let constraint = match error.kind() {
            ErrorKind::UniqueViolation
            | ErrorKind::ForeignKeyViolation
            | ErrorKind::CheckViolation => constraint(),
            _ => return None,
        };
        Some(match error.kind() {
            ErrorKind::UniqueViolation => Self::Conflict {
                statement,
                constraint,
            },
            ErrorKind::ForeignKeyViolation => Self::MissingReference {
                statement,
                constraint,
            },
            _ => Self::CheckFailed {
                statement,
                constraint,
            },
        })
    }

    fn connection(statement: &'static str, source: sqlx::Error) -> Self {
        let source = match source {
            // The driver's message repeats the message of this cause, so that the chain would contain it twice.
            sqlx::Error::Io(cause) => cause.into(),
            source => source.into(),
        };
        Self::Connection { statement, source }
    }

    fn of_driver(statement: &'static str, source: sqlx::Error) -> Self {
        match source {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Self::connection(statement, source),
            source => Self::Statement { statement, source },
        }
    }
}

/// The names of the unique indexes, found by the columns that SQLite reports.
///
/// SQLite names the columns (`UNIQUE constraint failed: agent_runs.seat_id`), never the index. No two unique indexes
/// of a table have the same columns (a test checks it), so the catalog, which is read once when the database is
/// opened, leads back to the name.
#[derive(Debug, Default)]
pub(crate) struct UniqueIndexes(HashMap<String, String>);

impl UniqueIndexes {
    /// Returns the names from pairs of columns, in the form in which SQLite reports them (`t.a, t.b`), and index
    /// name.
    pub(crate) fn new(names: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(names.into_iter().collect())
    }

    fn index_name(&self, error: &dyn DatabaseError) -> String {
        let message = error.message();
        let Some((_, columns)) = message.split_once(" constraint failed: ") else {
            return "foreign key".to_owned();
        };
        self.0
            .get(columns)
            .map_or(columns, String::as_str)
            .to_owned()
    }
}
