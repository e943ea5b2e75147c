//! Values that a statement returns.

use std::{borrow::Cow, str::FromStr};

use model::{
    AcpSessionId, AgentId, ApprovalId, ArtifactId, AutomationId, DeliveryId, EndpointId, InputId,
    InstanceId, MemoryEntryId, MessageId, QuestionId, RunId, SeatId, SessionId, TaskId, TenantId,
    Timestamp, TokenId, TriggerId, WorkerId,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::{Row as _, postgres::PgRow, sqlite::SqliteRow, types::Json};
use uuid::Uuid;

use crate::error::Error;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A row of a result, whose columns are read by name.
#[derive(Debug)]
pub struct Row {
    statement: &'static str,
    /// The beginning of the names of the columns that are read.
    prefix: &'static str,
    columns: Columns,
}

#[derive(Debug)]
enum Columns {
    Postgres(PgRow),
    Sqlite(SqliteRow),
}

impl Row {
    pub(crate) fn postgres(statement: &'static str, row: PgRow) -> Self {
        Self {
            statement,
            prefix: "",
            columns: Columns::Postgres(row),
        }
    }

    pub(crate) fn sqlite(statement: &'static str, row: SqliteRow) -> Self {
        Self {
            statement,
            prefix: "",
            columns: Columns::Sqlite(row),
        }
    }

    /// Adds a prefix, in place of an earlier one, to the name of each column that is read from now on. With the prefix
    /// `seat_`, for example, the value of `id` is that of the column `seat_id`. So one function reads the columns of a
    /// table, whether a statement returns them alone or beside those of other tables.
    pub fn set_prefix(&mut self, prefix: &'static str) -> &Self {
        self.prefix = prefix;
        self
    }

    /// Returns the value of a column that is never null.
    pub fn get<T: FromColumn>(&self, column: &'static str) -> Result<T, Error> {
        self.optional(column)?
            .ok_or_else(|| self.corrupt_value(column, "the value is null".into()))
    }

    /// Returns the value of a column. Returns `None` if it is null.
    pub fn optional<T: FromColumn>(&self, column: &'static str) -> Result<Option<T>, Error> {
        T::read(self, &self.full_name(column)).map_err(|source| self.corrupt_value(column, source))
    }

    /// Returns the name of a column with the prefix.
    fn full_name(&self, column: &'static str) -> Cow<'static, str> {
        if self.prefix.is_empty() {
            column.into()
        } else {
            format!("{}{column}", self.prefix).into()
        }
    }

    /// Returns the parsed value of a text column that is never null, such as a state.
    pub fn parse<T>(&self, column: &'static str) -> Result<T, Error>
    where
        T: FromStr<Err: Into<BoxError>>,
    {
        self.parse_optional(column)?
            .ok_or_else(|| self.corrupt_value(column, "the value is null".into()))
    }

    /// Returns the parsed value of a text column. Returns `None` if it is null.
    pub fn parse_optional<T>(&self, column: &'static str) -> Result<Option<T>, Error>
    where
        T: FromStr<Err: Into<BoxError>>,
    {
        self.optional::<String>(column)?
            .map(|text| text.parse())
            .transpose()
            .map_err(|source: T::Err| self.corrupt_value(column, source.into()))
    }

    /// Returns the deserialized value of a JSON column that is never null.
    pub fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, Error> {
        serde_json::from_value(self.get(column)?)
            .map_err(|source| self.corrupt_value(column, source.into()))
    }

    /// Returns the deserialized value of a JSON column. Returns `None` if it is null.
    pub fn json_optional<T: DeserializeOwned>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, Error> {
        self.optional::<Value>(column)?
            .map(serde_json::from_value)
            .transpose()
            .map_err(|source| self.corrupt_value(column, source.into()))
    }

    /// Returns the error for a corrupt stored value. Callers use it for rules that span columns.
    pub fn corrupt_value(&self, column: &'static str, source: BoxError) -> Error {
        let id = ["id", "run_id", "session_id"]
            .into_iter()
            .find_map(|name| Uuid::read(self, &self.full_name(name)).ok().flatten());
        Error::CorruptValue {
            statement: self.statement,
            column,
            row: id.map_or_else(|| "unknown".to_owned(), |id| id.to_string()),
            source,
        }
    }
}

/// A type as which a column can be read.
pub trait FromColumn: Sized {
    /// Returns the value of a column. Returns `None` if it is null.
    fn read(row: &Row, column: &str) -> Result<Option<Self>, BoxError>;
}

/// Implements [`FromColumn`] for types that both drivers know, each with its own column type.
macro_rules! stored {
    ($($type:ty: $postgres:ty => $from_postgres:expr, $sqlite:ty => $from_sqlite:expr;)*) => {$(
        impl FromColumn for $type {
            fn read(row: &Row, column: &str) -> Result<Option<Self>, BoxError> {
                match &row.columns {
                    Columns::Postgres(row) => row
                        .try_get::<Option<$postgres>, _>(column)?
                        .map($from_postgres)
                        .transpose(),
                    Columns::Sqlite(row) => row
                        .try_get::<Option<$sqlite>, _>(column)?
                        .map($from_sqlite)
                        .transpose(),
                }
            }
        }
    )*};
}

stored! {
    Uuid: Uuid => Ok, Uuid => Ok;
    String: String => Ok, String => Ok;
    i64: i64 => Ok, i64 => Ok;
    f64: f64 => Ok, f64 => Ok;
    bool: bool => Ok, i64 => integer_to_boolean;
    Timestamp:
        jiff_sqlx::Timestamp => |at| Ok(Self::from_jiff(at.to_jiff())),
        i64 => |micros| Ok(Self::from_microsecond(micros)?);
    Value: Json<Self> => |json| Ok(json.0), String => |text| Ok(serde_json::from_str(&text)?);
    Vec<u8>: Self => Ok, Self => Ok;
}

fn integer_to_boolean(value: i64) -> Result<bool, BoxError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(format!("`{other}` is neither 0 nor 1").into()),
    }
}

impl FromColumn for u32 {
    fn read(row: &Row, column: &str) -> Result<Option<Self>, BoxError> {
        let value = i64::read(row, column)?;
        Ok(value.map(Self::try_from).transpose()?)
    }
}

/// Implements [`FromColumn`] for types that wrap a stored type.
macro_rules! stored_as {
    ($($type:ty: $inner:ty => $wrap:expr;)*) => {$(
        impl FromColumn for $type {
            fn read(row: &Row, column: &str) -> Result<Option<Self>, BoxError> {
                Ok(<$inner>::read(row, column)?.map($wrap))
            }
        }
    )*};
}

stored_as! {
    TenantId: Uuid => Self::from_uuid;
    AgentId: Uuid => Self::from_uuid;
    InstanceId: Uuid => Self::from_uuid;
    SessionId: Uuid => Self::from_uuid;
    SeatId: Uuid => Self::from_uuid;
    AutomationId: Uuid => Self::from_uuid;
    TriggerId: Uuid => Self::from_uuid;
    InputId: Uuid => Self::from_uuid;
    RunId: Uuid => Self::from_uuid;
    MessageId: Uuid => Self::from_uuid;
    TaskId: Uuid => Self::from_uuid;
    ApprovalId: Uuid => Self::from_uuid;
    MemoryEntryId: Uuid => Self::from_uuid;
    QuestionId: Uuid => Self::from_uuid;
    ArtifactId: Uuid => Self::from_uuid;
    TokenId: Uuid => Self::from_uuid;
    EndpointId: Uuid => Self::from_uuid;
    DeliveryId: Uuid => Self::from_uuid;
    AcpSessionId: String => Self::new;
    WorkerId: String => Self::from_stored;
}
