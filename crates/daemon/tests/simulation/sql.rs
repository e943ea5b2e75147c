//! Direct access to the database, for checks and for defects.

use std::{collections::BTreeMap, sync::Mutex};

use store::{
    Scope, Store,
    database::{Row, Statement},
    params,
};

/// Returns the statement with this text. The same text gives the same statement.
pub(crate) fn statement(sql: &'static str) -> &'static Statement {
    static STATEMENTS: Mutex<BTreeMap<&'static str, &'static Statement>> =
        Mutex::new(BTreeMap::new());
    let mut made = STATEMENTS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    made.entry(sql)
        .or_insert_with(|| Box::leak(Box::new(Statement::new("the simulation's", sql, sql))))
}

/// Reads rows.
pub(crate) async fn rows(store: &Store, sql: &'static str) -> anyhow::Result<Vec<Row>> {
    let mut tx = store.database().begin_read(Scope::System).await?;
    Ok(tx.fetch_all(statement(sql), params![]).await?)
}

/// Changes the schema or the data.
pub(crate) async fn execute(store: &Store, sql: &'static str) -> anyhow::Result<()> {
    let mut tx = store.database().begin(Scope::System).await?;
    tx.execute(statement(sql), params![]).await?;
    Ok(tx.commit().await?)
}

/// Returns the number of rows that were written since the database was opened, including those that were rolled back.
pub(crate) async fn writes(store: &Store) -> anyhow::Result<i64> {
    let found = rows(store, "select total_changes() as writes").await?;
    let row = found.first().expect("a select without a table has one row");
    Ok(row.get("writes")?)
}
