//! Statements: their names, their texts in each dialect, and the record of those that ran.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    named_params::{has_names, with_numbered_params},
    template::{count_templates, find_template, takes_columns, with_columns, with_rows_from},
};

/// The number of chunk sizes in which SQLite is given the rows of a statement. The sizes are powers of two, so that
/// few texts are prepared, and end where more rows per statement save no more time.
pub(crate) const CHUNK_SIZES: usize = 7;

/// The SQL dialect of one of the two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// PostgreSQL 14 or later.
    Postgres,
    /// The SQLite library that is built into the program.
    Sqlite,
}

/// One statement with its text in each dialect.
///
/// A statement that takes many rows is written for one row, and its text marks the template of that row: `values
/// /* row */ ($1, $2)`. The parameters of the statement as a whole are numbered after those of a row. A statement with
/// more than six parameters names them (`:tenant` instead of `$1`), in the order in which its header declares them.
/// Statements that read the same columns mark the place of their list: `select /* columns */ *`.
///
/// Each statement lives in a static of its own, which `sql!` or a macro beside it makes from files below `src/sql`.
#[derive(Debug)]
pub struct Statement {
    name: &'static str,
    postgres: &'static str,
    /// The text for PostgreSQL in tests that take the row locks out.
    without_locks: &'static str,
    sqlite: &'static str,
    /// The list of columns for the marked place. Empty if the texts mark none.
    columns: &'static str,
    takes_rows: bool,
    has_names: bool,
    ran_on_postgres: AtomicBool,
    ran_on_sqlite: AtomicBool,
    /// The PostgreSQL texts with columns and numbered parameters, with locks and without. Unused if the source has both.
    postgres_whole: [OnceLock<String>; 2],
    /// The PostgreSQL texts that take arrays, with locks and without.
    postgres_many: [OnceLock<String>; 2],
    /// The SQLite texts, by the power of two of their number of rows.
    sqlite_rows: [OnceLock<Positional>; CHUNK_SIZES],
    /// The SQLite text that takes any number of keys.
    sqlite_keys: OnceLock<Positional>,
}

/// The statements that ran in this process. Each one is recorded once for each dialect.
static EXECUTED: Mutex<BTreeSet<(&'static str, Dialect)>> = Mutex::new(BTreeSet::new());

/// Returns the statements that ran in this process, so that a test can compare them with the files.
pub fn executed_statements() -> BTreeSet<(&'static str, Dialect)> {
    EXECUTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

impl Statement {
    /// Returns a statement with a name, which errors mention, and its text in each dialect.
    ///
    /// # Panics
    ///
    /// Panics if a text marks more than one template of a row. For a statement in a static, this is a compile error.
    pub const fn new(name: &'static str, postgres: &'static str, sqlite: &'static str) -> Self {
        let templates = [count_templates(postgres), count_templates(sqlite)];
        assert!(
            templates[0] <= 1 && templates[1] <= 1,
            "a statement marks more than one template of a row"
        );
        Self {
            name,
            postgres,
            without_locks: sqlite,
            sqlite,
            columns: "",
            takes_rows: templates[0] + templates[1] > 0,
            has_names: has_names(postgres) || has_names(sqlite),
            ran_on_postgres: AtomicBool::new(false),
            ran_on_sqlite: AtomicBool::new(false),
            postgres_whole: [const { OnceLock::new() }; 2],
            postgres_many: [const { OnceLock::new() }; 2],
            sqlite_rows: [const { OnceLock::new() }; CHUNK_SIZES],
            sqlite_keys: OnceLock::new(),
        }
    }

    /// Returns a statement that has the same text for both databases, and a list of columns for the marked place.
    ///
    /// # Panics
    ///
    /// Panics if the text marks a place and `columns` is empty, or the reverse. In a static, this is a compile error.
    pub const fn with_columns(
        name: &'static str,
        text: &'static str,
        columns: &'static str,
    ) -> Self {
        assert!(
            takes_columns(text) != columns.is_empty(),
            "a statement has a marked place without columns, or columns without a place"
        );
        let mut statement = Self::new(name, text, text);
        statement.columns = columns;
        statement
    }

    /// Returns a statement whose texts differ by more than locks, so that PostgreSQL never runs the text of SQLite.
    pub const fn of_each(name: &'static str, postgres: &'static str, sqlite: &'static str) -> Self {
        let mut statement = Self::new(name, postgres, sqlite);
        statement.without_locks = postgres;
        statement
    }

    /// Returns the statement's name: the path of its file below `src/sql`, without the extension.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Aborts the process if a test has armed the failpoint of this statement. Only statements that write have one.
    #[cfg(feature = "failpoints")]
    pub(crate) fn fail_before(&self) {
        let verbs = ["insert into ", "update ", "delete from "];
        let writes = |line: &str| verbs.iter().any(|verb| line.starts_with(verb));
        if self.sqlite.lines().any(writes) || self.postgres.lines().any(writes) {
            failpoint::reached(self.name);
        }
    }

    /// Records that the statement runs on a database.
    fn record_execution(&self, dialect: Dialect) {
        let ran = match dialect {
            Dialect::Postgres => &self.ran_on_postgres,
            Dialect::Sqlite => &self.ran_on_sqlite,
        };
        // The flag keeps the mutex out of every later execution.
        if !ran.load(Ordering::Relaxed) {
            ran.store(true, Ordering::Relaxed);
            EXECUTED
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert((self.name, dialect));
        }
    }

    /// Returns the PostgreSQL text for one row, in one of the dialects: that of SQLite has no locks.
    pub(crate) fn postgres_text(&'static self, dialect: Dialect) -> &'static str {
        self.record_execution(dialect);
        let text = match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Sqlite => self.without_locks,
        };
        if self.has_names || !self.columns.is_empty() {
            let at = usize::from(dialect == Dialect::Sqlite);
            self.postgres_whole[at].get_or_init(|| self.whole(text))
        } else {
            text
        }
    }

    /// Returns a text with its columns and with numbered parameters.
    fn whole(&self, text: &str) -> String {
        with_numbered_params(&with_columns(text, self.columns)).into_owned()
    }

    /// Returns `true` if the text marks the template of a row.
    pub(crate) const fn takes_rows(&self) -> bool {
        self.takes_rows
    }

    /// Returns the PostgreSQL text that takes any number of rows as one array per column. One text serves every
    /// number of rows, so that PostgreSQL plans it once and a batch takes one round trip.
    pub(crate) fn postgres_array_text(&'static self, dialect: Dialect) -> &'static str {
        let text = self.postgres_text(dialect);
        let at = usize::from(dialect == Dialect::Sqlite);
        self.postgres_many[at].get_or_init(|| with_rows_from_arrays(text))
    }

    /// Returns the SQLite text that takes `2^power` rows.
    pub(crate) fn sqlite_text(&'static self, power: usize) -> &'static Positional {
        self.record_execution(Dialect::Sqlite);
        self.sqlite_rows[power]
            .get_or_init(|| to_positional(&with_repeated_row(&self.whole(self.sqlite), 1 << power)))
    }

    /// Returns the SQLite text that takes any number of keys as one array in JSON. The statement must take rows.
    pub(crate) fn sqlite_keys_text(&'static self) -> &'static Positional {
        self.record_execution(Dialect::Sqlite);
        self.sqlite_keys.get_or_init(|| {
            to_positional(&with_rows_from(&self.whole(self.sqlite), KEYS_FROM_JSON))
        })
    }
}

/// The query that replaces the template of a row with one key. JSON has no bytes, so that the array has the digits.
const KEYS_FROM_JSON: &str = "select unhex(value) from json_each($1)";

/// A text whose parameters are bound by position: `?` instead of `$7`. SQLite finds a numbered parameter by a search
/// through all names, which is slow for a statement of many rows.
#[derive(Debug)]
pub(crate) struct Positional {
    pub(crate) text: String,
    /// The index of the parameter at each position, counted from 0.
    pub(crate) order: Vec<usize>,
}

/// Replaces numbered parameters by positional ones.
fn to_positional(text: &str) -> Positional {
    let mut order = Vec::new();
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = count_digits(part);
        // A comment may mention parameters, but binds none.
        let comment = out
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.starts_with("--"));
        match part[..digits].parse::<usize>() {
            Ok(number) if !comment => {
                order.push(number.saturating_sub(1));
                out.push('?');
            }
            _ => {
                out.push('$');
                out.push_str(&part[..digits]);
            }
        }
        out.push_str(&part[digits..]);
    }
    Positional { text: out, order }
}

/// Returns the number of digits at the beginning of a text.
fn count_digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len())
}

/// Repeats the template of a row for each row and renumbers the parameters.
fn with_repeated_row(text: &str, rows: usize) -> String {
    let (start, end) = find_template(text);
    if end == 0 {
        return text.to_owned();
    }
    let row = &text[start..end];
    let width = highest_param(row);
    let templates: Vec<String> = (0..rows)
        .map(|at| renumbered(row, |number| number + at * width))
        .collect();
    // The comments before the template mention the parameters of one row.
    let rest = |part| renumbered(part, |number| number + (rows - 1) * width);
    format!(
        "{}{}{}",
        &text[..start],
        templates.join(", "),
        rest(&text[end..])
    )
}

/// Replaces the template of a row by a query that reads the rows from arrays, one array per parameter of a row.
fn with_rows_from_arrays(text: &str) -> String {
    let (start, end) = find_template(text);
    if end == 0 {
        return text.to_owned();
    }
    let row = &text[start + 1..end - 1];
    let columns: Vec<String> = (1..=highest_param(row))
        .map(|number| format!("c{number}"))
        .collect();
    let arrays: Vec<String> = (1..=columns.len())
        .map(|number| format!("${number}"))
        .collect();
    let fields = row.split('$').collect::<Vec<_>>().join("given.c");
    let rows = format!(
        "select {fields} from unnest({}) as given ({})",
        arrays.join(", "),
        columns.join(", "),
    );
    with_rows_from(text, &rows)
}

/// Returns the highest number of a parameter.
fn highest_param(text: &str) -> usize {
    let mut highest = 0;
    renumbered(text, |number| {
        highest = highest.max(number);
        number
    });
    highest
}

/// Returns the text with each `$n` renumbered.
fn renumbered(text: &str, mut number: impl FnMut(usize) -> usize) -> String {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = count_digits(part);
        out.push('$');
        match part[..digits].parse() {
            Ok(old) => out.push_str(&number(old).to_string()),
            Err(_) => out.push_str(&part[..digits]),
        }
        out.push_str(&part[digits..]);
    }
    out
}

/// Returns the text of a file in a folder below `src/sql`.
#[macro_export]
macro_rules! sql_text {
    ($folder:literal, $name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/sql/",
            $folder,
            $name,
            ".sql"
        ))
    };
}

/// Returns the statement in `src/sql/<name>.sql`, which has the same text for both databases. If the text marks the
/// place of a list of columns, the call names the list: `sql!("runs/by_id", RUN_COLUMNS)`.
#[macro_export]
macro_rules! sql {
    ($name:literal) => {
        $crate::sql!($name, "")
    };
    ($name:literal, $columns:expr) => {{
        static STATEMENT: $crate::Statement =
            $crate::Statement::with_columns($name, $crate::sql_text!("", $name), $columns);
        &STATEMENT
    }};
}

/// Returns the statement in `src/sql/postgres/<name>.sql` and `src/sql/sqlite/<name>.sql`, which differ only by
/// locks.
#[macro_export]
macro_rules! sql_by_dialect {
    ($name:literal) => {{
        static STATEMENT: $crate::Statement = $crate::Statement::new(
            $name,
            $crate::sql_text!("postgres/", $name),
            $crate::sql_text!("sqlite/", $name),
        );
        &STATEMENT
    }};
}

/// Returns the statement in `src/sql/postgres/<name>.sql` and `src/sql/sqlite/<name>.sql`, which differ by more than
/// locks.
#[macro_export]
macro_rules! sql_of_each {
    ($name:literal) => {{
        static STATEMENT: $crate::Statement = $crate::Statement::of_each(
            $name,
            $crate::sql_text!("postgres/", $name),
            $crate::sql_text!("sqlite/", $name),
        );
        &STATEMENT
    }};
}

/// Returns the statement in `src/sql/sqlite/<name>.sql`, which PostgreSQL does not need.
#[macro_export]
macro_rules! sql_of_sqlite {
    ($name:literal) => {{
        static STATEMENT: $crate::Statement =
            $crate::Statement::new($name, "", $crate::sql_text!("sqlite/", $name));
        &STATEMENT
    }};
}

/// Returns the statement in `src/sql/postgres/<name>.sql`, which SQLite does not need.
#[macro_export]
macro_rules! sql_of_postgres {
    ($name:literal) => {{
        static STATEMENT: $crate::Statement =
            $crate::Statement::new($name, $crate::sql_text!("postgres/", $name), "");
        &STATEMENT
    }};
}

/// Returns a list of parameters, each converted to a [`Param`](crate::Param).
///
/// A call for a statement with more than six parameters names them after the name of the file that declares them. The
/// names are compared with the file when the call is compiled, and may stand in any order:
///
/// `params! { "tokens/insert"; id: token.id, tenant: token.tenant, ... }`
///
/// If the statement takes rows, a call names the parameters of a row, those of the whole statement, or all of them.
#[macro_export]
macro_rules! params {
    ($file:literal; $($name:ident: $value:expr),+ $(,)?) => {{
        const NAMES: &[&str] = &[$(stringify!($name)),+];
        const ORDER: [usize; NAMES.len()] =
            $crate::order($crate::sql_text!("", $file), [$(stringify!($name)),+]);
        $crate::arrange([$($crate::Param::from($value)),+], ORDER)
    }};
    ($($value:expr),* $(,)?) => {
        vec![$($crate::Param::from($value)),*]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_template_is_repeated_for_each_row() {
        let text =
            "insert into t (a, b, c) values /* row */ ($1, lower($2), $1)\non conflict do nothing";
        assert_eq!(with_repeated_row(text, 1), text);
        assert_eq!(
            with_repeated_row(text, 3),
            "insert into t (a, b, c) values /* row */ ($1, lower($2), $1), ($3, lower($4), $3), \
             ($5, lower($6), $5)\non conflict do nothing"
        );
    }

    #[test]
    fn statement_params_are_numbered_after_row_params() {
        let text = "with item (id) as (values /* row */ ($1))\nupdate t set at = $2 from item where t.id = item.id";
        assert_eq!(
            with_repeated_row(text, 2),
            "with item (id) as (values /* row */ ($1), ($2))\n\
             update t set at = $3 from item where t.id = item.id"
        );
    }

    #[test]
    fn postgres_statement_takes_rows_as_arrays() {
        let text = "insert into t (a, b) values /* row */ ($1, (select x from y where id = $2))\non conflict do nothing";
        assert_eq!(
            with_rows_from_arrays(text),
            "insert into t (a, b) select given.c1, (select x from y where id = given.c2) \
             from unnest($1, $2) as given (c1, c2)\non conflict do nothing"
        );
        let text = "with item (id) as (values /* row */ ($1))\nupdate t set at = $2 from item where t.id = item.id";
        assert_eq!(
            with_rows_from_arrays(text),
            "with item (id) as (select given.c1 from unnest($1) as given (c1))\n\
             update t set at = $2 from item where t.id = item.id"
        );
    }

    #[test]
    fn sqlite_statement_takes_keys_as_one_array() {
        static STATEMENT: Statement = Statement::new(
            "names",
            "",
            "-- Each row: $1 id. $2 limit\nwith item (id) as (values /* row */ ($1))\nselect n from t, item limit $2",
        );
        let found = STATEMENT.sqlite_keys_text();
        assert_eq!(
            found.text,
            "-- Each row: $1 id. $2 limit\nwith item (id) as (select unhex(value) from json_each(?))\n\
             select n from t, item limit ?"
        );
        assert_eq!(found.order, [0, 1]);
    }

    #[test]
    fn sqlite_statement_takes_positional_params() {
        let found = to_positional("-- $1 id, $2 now\nupdate t set a = $2, b = $2 where id = $1");
        assert_eq!(
            found.text,
            "-- $1 id, $2 now\nupdate t set a = ?, b = ? where id = ?"
        );
        assert_eq!(found.order, [1, 1, 0]);
    }
}
