//! Inserts many rows by one statement into the tables of the product, in the types of either database.

use std::path::Path;

use anyhow::Result;
use model::Timestamp;
use serde_json::{Map, Value, json};
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, SqliteConnection, sqlite::SqliteConnectOptions,
    types::Uuid,
};

use crate::postgres::Database;

/// The maximum number of rows of one statement.
const ROWS_PER_STATEMENT: usize = 1000;

/// The value of a column.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Id(Option<Uuid>),
    Instant(Option<Timestamp>),
    Number(i64),
    Flag(bool),
    Text(Option<String>),
    Json(Value),
}

macro_rules! cell_from {
    ($($kind:ident: $($type:ty => $convert:expr),+;)+) => {
        $($(
            impl From<$type> for Cell {
                fn from(value: $type) -> Self {
                    let convert: fn($type) -> _ = $convert;
                    Self::$kind(convert(value))
                }
            }
        )+)+
    };
}

cell_from! {
    Id: Uuid => Some, Option<Uuid> => |id| id;
    Instant: Timestamp => Some, Option<Timestamp> => |at| at;
    Number: i64 => |number| number;
    Flag: bool => |flag| flag;
    Text: &str => |text| Some(text.to_owned()), String => Some, Option<String> => |text| text;
    Json: Value => |document| document;
}

/// Makes a [`Row`] of columns and values.
macro_rules! row {
    ($($name:ident: $value:expr),+ $(,)?) => {
        vec![$((stringify!($name), $crate::set_insert::Cell::from($value))),+]
    };
}
pub(crate) use row;

/// A row: its columns with their values. All rows of one call have the same columns.
pub(crate) type Row = Vec<(&'static str, Cell)>;

/// A connection that inserts rows, past the store.
pub(crate) enum RowWriter {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl RowWriter {
    /// Opens the file of a data folder that no server serves, and begins a transaction.
    pub(crate) async fn open_sqlite(file: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new().filename(file);
        let mut writer = Self::Sqlite(SqliteConnection::connect_with(&options).await?);
        writer.execute("begin immediate").await?;
        Ok(writer)
    }

    /// Connects to a PostgreSQL database as the superuser, and begins a transaction.
    pub(crate) async fn open_postgres(database: &Database) -> Result<Self> {
        let mut writer = Self::Postgres(database.connect_superuser().await?);
        // Without foreign keys and triggers, because these would send a notification for each row.
        writer
            .execute("set search_path = automation; set session_replication_role = replica; begin")
            .await?;
        Ok(writer)
    }

    /// Commits the transaction and closes the connection.
    pub(crate) async fn commit(mut self) -> Result<()> {
        self.execute("commit").await?;
        match self {
            Self::Sqlite(connection) => connection.close().await?,
            Self::Postgres(connection) => connection.close().await?,
        }
        Ok(())
    }

    /// Executes a statement that both databases understand.
    pub(crate) async fn execute(&mut self, statement: &str) -> Result<()> {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
        match self {
            Self::Sqlite(connection) => {
                statement.execute(connection).await?;
            }
            Self::Postgres(connection) => {
                statement.execute(connection).await?;
            }
        }
        Ok(())
    }

    /// Inserts the rows of a table, and leaves `rows` empty.
    pub(crate) async fn insert(&mut self, table: &str, rows: &mut Vec<Row>) -> Result<()> {
        for part in rows.chunks(ROWS_PER_STATEMENT) {
            let Some(first) = part.first() else { continue };
            let columns: Vec<&str> = first.iter().map(|(name, _)| *name).collect();
            let columns = columns.join(", ");
            match self {
                Self::Sqlite(connection) => {
                    let values: Vec<String> = first.iter().map(sqlite_expression).collect();
                    let statement = format!(
                        "insert into {table} ({columns}) select {} from json_each(?1) order by key",
                        values.join(", ")
                    );
                    let rows = to_json(part, sqlite_value);
                    let query = sqlx::query(AssertSqlSafe(statement)).bind(rows);
                    query.execute(&mut *connection).await?;
                }
                Self::Postgres(connection) => {
                    let statement = format!(
                        "insert into {table} ({columns}) select {columns} \
                         from json_populate_recordset(cast(null as {table}), cast($1 as json))"
                    );
                    let rows = to_json(part, postgres_value);
                    let query = sqlx::query(AssertSqlSafe(statement)).bind(rows);
                    query.execute(&mut *connection).await?;
                }
            }
        }
        rows.clear();
        Ok(())
    }
}

/// Returns rows as a JSON array of objects.
fn to_json(rows: &[Row], value: fn(&Cell) -> Value) -> String {
    let objects = rows.iter().map(|row| {
        let fields = row
            .iter()
            .map(|(name, cell)| ((*name).to_owned(), value(cell)));
        Value::Object(fields.collect::<Map<_, _>>())
    });
    Value::Array(objects.collect()).to_string()
}

/// Returns the expression that reads a column from the JSON object of its row.
fn sqlite_expression((name, cell): &(&str, Cell)) -> String {
    match cell {
        // The table stores IDs as bytes.
        Cell::Id(_) => format!("unhex(value ->> '{name}')"),
        _ => format!("value ->> '{name}'"),
    }
}

fn sqlite_value(cell: &Cell) -> Value {
    match cell {
        Cell::Id(id) => json!(id.map(|id| id.simple().to_string())),
        Cell::Instant(at) => json!(at.map(Timestamp::as_microsecond)),
        Cell::Number(number) => json!(number),
        Cell::Flag(flag) => json!(i64::from(*flag)),
        Cell::Text(text) => json!(text),
        Cell::Json(document) => Value::String(document.to_string()),
    }
}

fn postgres_value(cell: &Cell) -> Value {
    match cell {
        Cell::Id(id) => json!(id.map(|id| id.to_string())),
        Cell::Instant(at) => json!(at),
        Cell::Number(number) => json!(number),
        Cell::Flag(flag) => json!(flag),
        Cell::Text(text) => json!(text),
        Cell::Json(document) => document.clone(),
    }
}
