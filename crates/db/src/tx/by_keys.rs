//! Reading rows by many keys.

use uuid::Uuid;

use super::{BatchParams, Tx};
use crate::{
    error::Error,
    param::Param,
    row::Row,
    statement::{Dialect, Statement},
};

impl Tx {
    /// Runs a statement that finds rows by one key, with any number of keys, as one statement. The template of its row
    /// must be the key alone: `values /* row */ ($1)`. Returns all rows of the result, in an order that the statement
    /// alone decides. A key without rows adds none, and a repeated key repeats the rows that a join finds. Runs nothing
    /// if there are no keys.
    ///
    /// [`Tx::fetch_rows`] sends the rows to SQLite in chunks. A page of a list has a hundred keys, so that each statement
    /// would run four times, and each time the caller waits for another thread.
    ///
    /// # Errors
    ///
    /// [`Error::RowsNotAccepted`] if the text marks no template of a row.
    pub async fn fetch_by_keys(
        &mut self,
        statement: &'static Statement,
        keys: Vec<Uuid>,
        whole: Vec<Param>,
    ) -> Result<Vec<Row>, Error> {
        if keys.len() < 2 || self.dialect() == Dialect::Postgres {
            let rows = keys.into_iter().map(|key| vec![Param::from(key)]);
            return self.fetch_rows(statement, rows.collect(), whole).await;
        }
        if !statement.takes_rows() {
            let statement = statement.name();
            return Err(Error::RowsNotAccepted { statement });
        }
        let mut params = vec![Param::Text(Some(json_array(&keys)))];
        params.extend(whole);
        self.fetch_batch(statement, BatchParams::Keys(params)).await
    }
}

/// Returns an array of texts in JSON, which has no bytes: the digits of each key.
fn json_array(keys: &[Uuid]) -> String {
    let texts: Vec<String> = keys
        .iter()
        .map(|key| format!("\"{}\"", key.simple()))
        .collect();
    format!("[{}]", texts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_array_of_digits() {
        assert_eq!(
            json_array(&[Uuid::from_u128(7), Uuid::max()]),
            "[\"00000000000000000000000000000007\",\"ffffffffffffffffffffffffffffffff\"]"
        );
    }
}
