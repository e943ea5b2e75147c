//! Statements: their names, their text in each dialect, and whether they ran.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// One of the two databases' ways of writing SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// PostgreSQL 14 or later.
    Postgres,
    /// The SQLite that is built in.
    Sqlite,
}

/// One statement with its text in each dialect.
///
/// Each lives in a static of its own, made by `sql!` or `sql_by_dialect!` from a file under
/// `src/sql`.
#[derive(Debug)]
pub struct Statement {
    name: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
    ran_on_postgres: AtomicBool,
    ran_on_sqlite: AtomicBool,
}

/// What ran in this process. Written once for each statement and dialect.
static EXECUTED: Mutex<BTreeSet<(&'static str, Dialect)>> = Mutex::new(BTreeSet::new());

/// Lists the statements that ran in this process, so that a test can compare them with the files.
pub fn executed() -> BTreeSet<(&'static str, Dialect)> {
    EXECUTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

impl Statement {
    /// Names a statement, for errors, with its text in each dialect.
    pub const fn new(name: &'static str, postgres: &'static str, sqlite: &'static str) -> Self {
        Self {
            name,
            postgres,
            sqlite,
            ran_on_postgres: AtomicBool::new(false),
            ran_on_sqlite: AtomicBool::new(false),
        }
    }

    /// The statement's name: its file's path under `src/sql`, without the ending.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// A point at which tests abort the process: before each statement that changes something.
    #[cfg(feature = "failpoints")]
    pub(super) fn fail_before(&self) {
        let first_line = |text: &'static str| {
            let mut lines = text.lines().map(str::trim_start);
            lines.find(|line| !line.starts_with("--")).unwrap_or("")
        };
        let reads = |text| first_line(text).starts_with("select");
        if !reads(self.sqlite) || !reads(self.postgres) {
            failpoint::reached(self.name);
        }
    }

    /// Gives the text for a dialect and notes that it runs.
    pub(super) fn text(&self, dialect: Dialect) -> &'static str {
        let (text, ran) = match dialect {
            Dialect::Postgres => (self.postgres, &self.ran_on_postgres),
            Dialect::Sqlite => (self.sqlite, &self.ran_on_sqlite),
        };
        if !ran.load(Ordering::Relaxed) {
            ran.store(true, Ordering::Relaxed);
            EXECUTED
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert((self.name, dialect));
        }
        text
    }
}

/// The statement in `src/sql/<name>.sql`, the same text for both databases.
macro_rules! sql {
    ($name:literal) => {{
        static STATEMENT: $crate::database::Statement = {
            const TEXT: &str = include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/sql/",
                $name,
                ".sql"
            ));
            $crate::database::Statement::new($name, TEXT, TEXT)
        };
        &STATEMENT
    }};
}

/// The statement in `src/sql/postgres/<name>.sql` and `src/sql/sqlite/<name>.sql`.
macro_rules! sql_by_dialect {
    ($name:literal) => {{
        static STATEMENT: $crate::database::Statement = $crate::database::Statement::new(
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/sql/postgres/",
                $name,
                ".sql"
            )),
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/sql/sqlite/",
                $name,
                ".sql"
            )),
        );
        &STATEMENT
    }};
}

/// A list of parameters, each converted to a [`Param`](crate::database::Param).
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::database::Param::from($value)),*]
    };
}
