//! Statements for which PostgreSQL keeps one generic plan.

use crate::{
    Error,
    database::{Param, Row, Statement, Tx},
};

/// Makes PostgreSQL keep one plan, by indexes alone, for all parameters of each of the next statements of the transaction.
/// For the claim and the looks of the scheduler, planning takes longer than execution, and the plan is always the same.
/// Other statements are planned as usual, because their best plan depends on the sizes of their tables.
pub(crate) async fn keep_generic_plans(tx: &mut Tx) -> Result<(), Error> {
    if tx.keeps_plans() {
        tx.fetch_one(sql_of_postgres!("plans/force_generic"), params![])
            .await?;
    }
    Ok(())
}

/// Runs one statement with such a plan. The later statements of the transaction are planned as usual.
pub(crate) async fn fetch_with_generic_plan(
    tx: &mut Tx,
    statement: &'static Statement,
    params: Vec<Param>,
) -> Result<Vec<Row>, Error> {
    keep_generic_plans(tx).await?;
    let rows = tx.fetch_all(statement, params).await?;
    if tx.keeps_plans() {
        tx.fetch_one(sql_of_postgres!("plans/reset"), params![])
            .await?;
    }
    Ok(rows)
}
