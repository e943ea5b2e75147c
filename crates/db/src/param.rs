//! Values that a statement takes as parameters.

use std::{borrow::Cow, mem::discriminant};

use jiff_sqlx::ToSqlx as _;
use model::{
    AcpSessionId, AgentId, ApprovalId, ArtifactId, AutomationId, DeliveryId, EndpointId, InputId,
    InstanceId, MemoryEntryId, MessageId, QuestionId, RunId, SeatId, SessionId, TaskId, TenantId,
    Timestamp, TokenId, TriggerId, WorkerId,
};
use serde_json::Value;
use sqlx::{
    Postgres, Sqlite, postgres::PgArguments, query::Query, sqlite::SqliteArguments, types::Json,
};
use uuid::Uuid;

use crate::scope::Scope;

/// A value for a statement. A null value still has a type, because PostgreSQL needs one.
///
/// PostgreSQL cannot store NUL in text or JSON. Both databases get U+FFFD instead, so that both return the same
/// value.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// `uuid`, or 16 bytes.
    Uuid(Option<Uuid>),
    /// `text`.
    Text(Option<String>),
    /// `bigint`, or an integer.
    Integer(Option<i64>),
    /// `double precision`, or a real.
    Real(Option<f64>),
    /// `boolean`, or 0 and 1.
    Boolean(Option<bool>),
    /// `timestamptz`, or microseconds since 1970.
    Time(Option<Timestamp>),
    /// `jsonb`, or text.
    Json(Option<Value>),
    /// `bytea`, or a blob.
    Bytes(Option<Vec<u8>>),
}

impl Param {
    pub(crate) fn bind_postgres(
        self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Query<'_, Postgres, PgArguments> {
        match self {
            Self::Uuid(value) => query.bind(value),
            Self::Text(value) => query.bind(value),
            Self::Integer(value) => query.bind(value),
            Self::Real(value) => query.bind(value),
            Self::Boolean(value) => query.bind(value),
            Self::Time(value) => query.bind(value.map(|at| at.jiff().to_sqlx())),
            Self::Json(value) => query.bind(value.map(Json)),
            Self::Bytes(value) => query.bind(value),
        }
    }

    pub(crate) fn bind_sqlite(
        self,
        query: Query<'_, Sqlite, SqliteArguments>,
    ) -> Query<'_, Sqlite, SqliteArguments> {
        match self {
            Self::Uuid(value) => query.bind(value),
            Self::Text(value) => query.bind(value),
            Self::Integer(value) => query.bind(value),
            Self::Real(value) => query.bind(value),
            Self::Boolean(value) => query.bind(value.map(i64::from)),
            Self::Time(value) => query.bind(value.map(Timestamp::as_microsecond)),
            Self::Json(value) => query.bind(value.map(|json| json.to_string())),
            Self::Bytes(value) => query.bind(value),
        }
    }
}

/// The values of one parameter in many rows, for PostgreSQL.
#[derive(Debug)]
pub(crate) enum Column {
    Uuid(Vec<Option<Uuid>>),
    Text(Vec<Option<String>>),
    Integer(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Boolean(Vec<Option<bool>>),
    Time(Vec<Option<Timestamp>>),
    Json(Vec<Option<Value>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Column {
    /// Returns an empty column of the parameter's type, with room for `rows` values.
    fn empty_like(param: &Param, rows: usize) -> Self {
        match param {
            Param::Uuid(_) => Self::Uuid(Vec::with_capacity(rows)),
            Param::Text(_) => Self::Text(Vec::with_capacity(rows)),
            Param::Integer(_) => Self::Integer(Vec::with_capacity(rows)),
            Param::Real(_) => Self::Real(Vec::with_capacity(rows)),
            Param::Boolean(_) => Self::Boolean(Vec::with_capacity(rows)),
            Param::Time(_) => Self::Time(Vec::with_capacity(rows)),
            Param::Json(_) => Self::Json(Vec::with_capacity(rows)),
            Param::Bytes(_) => Self::Bytes(Vec::with_capacity(rows)),
        }
    }

    /// Appends the value of the next row, which must be of the column's type.
    fn push(&mut self, param: Param) {
        match (self, param) {
            (Self::Uuid(values), Param::Uuid(value)) => values.push(value),
            (Self::Text(values), Param::Text(value)) => values.push(value),
            (Self::Integer(values), Param::Integer(value)) => values.push(value),
            (Self::Real(values), Param::Real(value)) => values.push(value),
            (Self::Boolean(values), Param::Boolean(value)) => values.push(value),
            (Self::Time(values), Param::Time(value)) => values.push(value),
            (Self::Json(values), Param::Json(value)) => values.push(value),
            (Self::Bytes(values), Param::Bytes(value)) => values.push(value),
            // Unreachable: `from_rows` has compared the types.
            _ => {}
        }
    }

    /// Returns the columns of the rows. Returns the rows as the error if a parameter has another type in one row than
    /// in the first.
    pub(crate) fn from_rows(rows: Vec<Vec<Param>>) -> Result<Vec<Self>, Vec<Vec<Param>>> {
        let count = rows.len();
        let Some(first) = rows.first() else {
            return Ok(Vec::new());
        };
        let is_like_first = |row: &Vec<Param>| {
            let mut pairs = row.iter().zip(first);
            row.len() == first.len()
                && pairs.all(|(param, other)| discriminant(param) == discriminant(other))
        };
        if !rows.iter().all(is_like_first) {
            return Err(rows);
        }
        let mut columns: Vec<Self> = first
            .iter()
            .map(|param| Self::empty_like(param, count))
            .collect();
        for row in rows {
            for (column, param) in columns.iter_mut().zip(row) {
                column.push(param);
            }
        }
        Ok(columns)
    }

    pub(crate) fn bind(
        self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Query<'_, Postgres, PgArguments> {
        match self {
            Self::Uuid(values) => query.bind(values),
            Self::Text(values) => query.bind(values),
            Self::Integer(values) => query.bind(values),
            Self::Real(values) => query.bind(values),
            Self::Boolean(values) => query.bind(values),
            Self::Time(values) => {
                let times = values
                    .into_iter()
                    .map(|at| at.map(|at| at.jiff().to_sqlx()));
                query.bind(times.collect::<Vec<_>>())
            }
            Self::Json(values) => {
                let documents = values.into_iter().map(|value| value.map(Json));
                query.bind(documents.collect::<Vec<_>>())
            }
            Self::Bytes(values) => query.bind(values),
        }
    }
}

fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn storable_json(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\0') => Value::String(text.replace('\0', "\u{fffd}")),
        Value::Array(items) => Value::Array(items.into_iter().map(storable_json).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (storable(&key).into_owned(), storable_json(value)))
                .collect(),
        ),
        other => other,
    }
}

/// Converts a type, and an `Option` of it, into a parameter.
macro_rules! from {
    ($($type:ty => $variant:ident($value:ident => $converted:expr);)*) => {$(
        impl From<$type> for Param {
            fn from($value: $type) -> Self {
                Self::$variant(Some($converted))
            }
        }

        impl From<Option<$type>> for Param {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value.map(|$value| $converted))
            }
        }
    )*};
}

from! {
    Uuid => Uuid(value => value);
    &str => Text(value => storable(value).into_owned());
    &String => Text(value => storable(value).into_owned());
    String => Text(value => storable(&value).into_owned());
    &AcpSessionId => Text(value => storable(value.as_str()).into_owned());
    &WorkerId => Text(value => storable(value.as_str()).into_owned());
    i64 => Integer(value => value);
    u32 => Integer(value => i64::from(value));
    f64 => Real(value => value);
    bool => Boolean(value => value);
    Timestamp => Time(value => value);
    Value => Json(value => storable_json(value));
    &Value => Json(value => storable_json(value.clone()));
    Vec<u8> => Bytes(value => value);
    &[u8] => Bytes(value => value.to_vec());
}

/// Converts every typed ID into a parameter.
macro_rules! from_ids {
    ($($id:ty),* $(,)?) => {
        from! { $($id => Uuid(value => value.uuid());)* }
    };
}

from_ids!(
    TenantId,
    AgentId,
    InstanceId,
    SessionId,
    SeatId,
    AutomationId,
    TriggerId,
    InputId,
    RunId,
    MessageId,
    TaskId,
    ApprovalId,
    MemoryEntryId,
    QuestionId,
    ArtifactId,
    TokenId,
    EndpointId,
    DeliveryId,
);

impl From<Scope> for Param {
    fn from(scope: Scope) -> Self {
        scope.tenant().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nul_in_text_and_json_is_replaced() {
        assert_eq!(
            Param::from("a\0b"),
            Param::Text(Some("a\u{fffd}b".to_owned()))
        );
        assert_eq!(
            Param::from(json!({"k\0": ["\0", 1, {"x": "\0\0"}]})),
            Param::Json(Some(
                json!({"k\u{fffd}": ["\u{fffd}", 1, {"x": "\u{fffd}\u{fffd}"}]})
            ))
        );
    }
}
