//! The usage of a tenant as overviews show it.

use std::collections::HashMap;

use model::{
    TenantId, Timestamp,
    budget::{Account, Budget, BudgetPeriods, Owner},
};

use crate::{
    Error,
    closed_days::{ClosedDays, ClosedUsage},
    database::Tx,
    reported_turns::ReportedTurns,
    usage::{PeriodUsage, add_period_usage},
};

/// The usage of a tenant for people.
pub(crate) struct ShownUsage {
    /// The budget, and the usage of all runs today and this month.
    pub(crate) account: Account,
    /// The numbers of turns that began on the earlier days of this month.
    pub(crate) reported_before: ReportedTurns,
}

/// Returns the usage of a tenant for people. The usage of earlier days may be some minutes old.
pub(crate) async fn shown_tenant_usage(
    tx: &mut Tx,
    closed: &ClosedDays,
    id: TenantId,
    budget: Budget,
    now: Timestamp,
) -> Result<ShownUsage, Error> {
    let days = BudgetPeriods::of(now);
    let statement = sql!("spending/of_tenants");
    let before = if let Some(before) = closed.get(id, days, now) {
        before
    } else {
        let until_today = BudgetPeriods {
            month_end: days.day,
            ..days
        };
        let mut used = HashMap::new();
        add_period_usage(tx, statement, vec![params![id]], until_today, &mut used).await?;
        let before = ClosedUsage {
            totals: used.remove(&id.uuid()).unwrap_or_default().month,
            reported: ReportedTurns::of_period(tx, id, days.month, days.day).await?,
        };
        closed.put(id, days, now, before.clone());
        before
    };
    let ClosedUsage {
        totals: before,
        reported: reported_before,
    } = before;
    let today = BudgetPeriods {
        month: days.day,
        ..days
    };
    let mut used = HashMap::new();
    add_period_usage(tx, statement, vec![params![id]], today, &mut used).await?;
    let month = &mut used.entry(id.uuid()).or_default().month;
    month.tokens += before.tokens;
    month.turns += before.turns;
    month.time += before.time;
    for (currency, cost) in before.cost {
        *month.cost.entry(currency).or_default() += cost;
    }
    let PeriodUsage { day, month } = used.remove(&id.uuid()).unwrap_or_default();
    Ok(ShownUsage {
        account: Account {
            owner: Owner::Tenant,
            budget,
            periods: days,
            day,
            month,
        },
        reported_before,
    })
}
