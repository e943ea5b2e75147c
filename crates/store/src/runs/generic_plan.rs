//! Statements for which PostgreSQL keeps one generic plan.

use crate::{
    Error,
    database::{Param, Row, Statement, Tx},
};

/// Runs a statement with a generic plan that PostgreSQL keeps for all parameters. For the claim and the poll for due
/// triggers, planning takes longer than execution, and the plan is always the same. Other statements are planned as
/// usual, because their best plan depends on the sizes of their tables.
pub(super) async fn fetch_with_generic_plan(
    tx: &mut Tx,
    statement: &'static Statement,
    params: Vec<Param>,
) -> Result<Vec<Row>, Error> {
    if !tx.keeps_plans() {
        return Ok(tx.fetch_all(statement, params).await?);
    }
    tx.fetch_one(sql_of_postgres!("plans/force_generic"), params![])
        .await?;
    let rows = tx.fetch_all(statement, params).await?;
    // Restore the setting, so that it does not affect the later statements of this transaction.
    tx.fetch_one(sql_of_postgres!("plans/reset"), params![])
        .await?;
    Ok(rows)
}
