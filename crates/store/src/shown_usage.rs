//! The usage of a tenant as overviews show it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use model::{
    RunId, TenantId, Timestamp,
    budget::{Account, Budget, BudgetPeriods, Owner},
};

use crate::{
    Error,
    closed_days::{ClosedDays, ClosedUsage, DAY, KeptDays, days_between},
    database::Tx,
    reported_turns::{ReportedTurns, SEARCHED_BEFORE},
    rows,
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
    let before = if let Some(before) = closed.recent(id, days, now) {
        before
    } else {
        let read = read_closed_days(tx, id, days, closed.get(id, now), now).await?;
        let before = read.sum();
        closed.put(id, read);
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
    let statement = sql!("spending/of_tenants");
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

/// Reads the usage of the month's earlier days. Takes the days that have not changed from `kept`.
async fn read_closed_days(
    tx: &mut Tx,
    tenant: TenantId,
    days: BudgetPeriods,
    kept: Option<KeptDays>,
    now: Timestamp,
) -> Result<KeptDays, Error> {
    let mut read = KeptDays {
        searched_at: now,
        created: BTreeMap::new(),
        usage: BTreeMap::new(),
    };
    if days.month == days.day {
        return Ok(read);
    }
    // 1. Find the days that have changed.
    read.created = created_by_day(tx, tenant, days).await?;
    if let Some(kept) = kept {
        let changed = changed_days(tx, tenant, days, kept.searched_at).await?;
        for day in days_between(days.month, days.day) {
            if kept.is_current(day, &read.created, &changed)
                && let Some(usage) = kept.usage.get(&day)
            {
                read.usage.insert(day, usage.clone());
            }
        }
    }
    // 2. Read them, each group of successive days by one statement.
    let mut groups: Vec<(Timestamp, Timestamp)> = Vec::new();
    for day in days_between(days.month, days.day) {
        if read.usage.contains_key(&day) {
            continue;
        }
        match groups.last_mut() {
            Some((_, end)) if *end == day => *end = day + DAY,
            _ => groups.push((day, day + DAY)),
        }
    }
    for (from, to) in groups {
        read_days(tx, tenant, from, to, &mut read.usage).await?;
    }
    Ok(read)
}

/// Counts the runs that were created on each earlier day of the month, and shortly before. Runs are found by their IDs,
/// which begin with the instant of their creation.
async fn created_by_day(
    tx: &mut Tx,
    tenant: TenantId,
    days: BudgetPeriods,
) -> Result<BTreeMap<Timestamp, u64>, Error> {
    let first = days.month.saturating_sub(DAY);
    let rows = days_between(first, days.day)
        .map(|day| params![day, RunId::first_at(day), RunId::first_at(day + DAY)])
        .collect();
    let found = tx
        .fetch_rows(sql!("runs/created_by_day"), rows, params![tenant])
        .await?;
    let counts = found
        .iter()
        .map(|row| Ok((row.get("day")?, rows::read_amount(row, "runs")?)));
    counts.collect()
}

/// Returns the days of the month on which turns began that have ended since an instant, long after their creation, or
/// whose inputs have got another attempt since.
async fn changed_days(
    tx: &mut Tx,
    tenant: TenantId,
    days: BudgetPeriods,
    since: Timestamp,
) -> Result<BTreeSet<Timestamp>, Error> {
    // A transaction may have committed after the last search.
    let since = since.saturating_sub(SEARCHED_BEFORE);
    let found = tx
        .fetch_all(
            sql_of_each!("runs/changed_days"),
            params![tenant, since, RunId::first_at(since), days.month, days.day],
        )
        .await?;
    found.iter().map(|row| Ok(row.get("day")?)).collect()
}

/// Reads the usage of the days of a period into `usage`.
async fn read_days(
    tx: &mut Tx,
    tenant: TenantId,
    from: Timestamp,
    to: Timestamp,
    usage: &mut BTreeMap<Timestamp, ClosedUsage>,
) -> Result<(), Error> {
    usage.extend(days_between(from, to).map(|day| (day, ClosedUsage::default())));
    for (day, reported) in ReportedTurns::by_day(tx, tenant, from, to).await? {
        usage.entry(day).or_default().reported = reported;
    }
    let found = tx
        .fetch_all(sql!("spending/by_day"), params![tenant, from, to])
        .await?;
    for row in &found {
        let totals = &mut usage.entry(row.get("day")?).or_default().totals;
        totals.tokens += rows::read_amount(row, "tokens")?;
        totals.turns += rows::read_amount(row, "turns")?;
        totals.time += Duration::from_millis(rows::read_amount(row, "turn_ms")?);
        let cost = rows::read_amount(row, "cost")?;
        if cost > 0 {
            *totals.cost.entry(row.get("currency")?).or_default() += cost;
        }
    }
    Ok(())
}
