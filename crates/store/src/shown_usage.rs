//! The usage of a tenant as overviews show it.

use std::collections::HashMap;

use model::{
    TenantId, Timestamp,
    budget::{Account, Budget, BudgetPeriods, Owner},
};

use crate::{
    Error,
    closed_days::ClosedDays,
    database::Tx,
    usage::{PeriodUsage, add_period_usage},
};

/// Returns a budget of a tenant, and the usage of all its runs today and this month, for people. The usage of
/// earlier days may be some minutes old.
pub(crate) async fn shown_tenant_account(
    tx: &mut Tx,
    closed: &ClosedDays,
    id: TenantId,
    budget: Budget,
    now: Timestamp,
) -> Result<Account, Error> {
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
        let before = used.remove(&id.uuid()).unwrap_or_default().month;
        closed.put(id, days, now, before.clone());
        before
    };
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
    Ok(Account {
        owner: Owner::Tenant,
        budget,
        periods: days,
        day,
        month,
    })
}
