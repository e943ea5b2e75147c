//! Statements whose plans PostgreSQL keeps.

use crate::{
    Error,
    database::{Param, Row, Statement, Tx},
};

/// Asks with a plan that PostgreSQL keeps, whatever the parameters: to plan a claim, or a look at what is due,
/// takes longer than to do it, and their plans are always the same. Those of other statements follow the size of
/// their tables.
pub(super) async fn fetch_planned_once(
    tx: &mut Tx,
    statement: &'static Statement,
    params: Vec<Param>,
) -> Result<Vec<Row>, Error> {
    if !tx.keeps_plans() {
        return Ok(tx.fetch_all(statement, params).await?);
    }
    tx.fetch_one(sql_of_postgres!("plans/keep"), params![])
        .await?;
    let rows = tx.fetch_all(statement, params).await?;
    tx.fetch_one(sql_of_postgres!("plans/make"), params![])
        .await?;
    Ok(rows)
}
