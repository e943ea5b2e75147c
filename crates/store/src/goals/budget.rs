//! Writing of the budget and the time of a goal.

use model::{Timestamp, goal::GoalBudget};
use serde_json::Value;

use super::graph::Goal;
use crate::{
    Error,
    database::Tx,
    stored::{self, goals::StoredGoalBudget},
};

/// Writes the budget of a goal. Keeps the limits that this program does not know, such as one of a later version.
pub(crate) async fn write_budget(
    tx: &mut Tx,
    goal: &Goal,
    budget: &GoalBudget,
    now: Timestamp,
) -> Result<(), Error> {
    let before: Option<Value> = goal.row.optional("budget")?;
    let written = match before {
        None => stored::write::<StoredGoalBudget>(budget),
        Some(_) => stored::rewrite::<StoredGoalBudget>(budget, &goal.row, "budget")?,
    };
    // The column is null without a limit of any version.
    let bare = stored::write::<StoredGoalBudget>(&GoalBudget::default()).value;
    let document = (written.value != bare).then_some(written.value);
    let format = stored::format_after_rewrite(goal.row.get("format")?);
    let params = params![goal.session, document, format, now];
    tx.execute(sql!("goals/set_budget"), params).await?;
    Ok(())
}

/// Writes the instant from which no further turn of a goal starts.
pub(crate) async fn write_until(
    tx: &mut Tx,
    goal: &Goal,
    until: Timestamp,
    now: Timestamp,
) -> Result<(), Error> {
    let params = params![goal.session, until, now];
    tx.execute(sql!("goals/set_until"), params).await?;
    Ok(())
}
