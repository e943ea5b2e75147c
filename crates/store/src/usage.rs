//! Usage by automation and day, and the budgets that limit it.
//!
//! **Invariant:** a turn is counted in the transaction that begins it, and its tokens and cost in the transaction
//! that writes them into the run, so that neither counts twice. While a budget is checked and a turn begins, the
//! automation is locked, and the tenant if it has a budget. Otherwise two concurrent turns could each use the last of
//! a budget.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::Duration,
};

use model::{
    AutomationId, RunId, SessionId, TenantId, Timestamp,
    budget::{self, Account, Accounts, Budget, BudgetPeriods, Owner, RunUsage, UsageTotals},
    entity::{Automation, Run},
    owner::{RunOwner, Spender},
};
use uuid::Uuid;

use crate::{
    Error, Scope, boxed,
    database::{Param, Row, Statement, Tx},
    locks::lock_tenants,
    rows,
    store::Store,
    stored::{self, StoredBudget},
};

/// The usage of a turn, which counts towards the budgets of its tenant and its automation.
pub(crate) struct TurnUsage {
    tenant: TenantId,
    spender: Spender,
    usage: RunUsage,
    turns: u32,
    /// The time that the turn took. It counts once, when the turn ends.
    time: Duration,
}

impl TurnUsage {
    /// Returns the usage of a turn that begins.
    pub(crate) fn turn_started(run: &Run) -> Self {
        Self {
            turns: 1,
            ..Self::consumed(run, RunUsage::default())
        }
    }

    /// Returns the tokens and the cost of a turn.
    pub(crate) fn consumed(run: &Run, spent: RunUsage) -> Self {
        Self {
            usage: spent,
            ..Self::ended(
                run.tenant_id,
                Spender::new(run.automation_id),
                Duration::ZERO,
            )
        }
    }

    /// Returns the time of a turn that has ended.
    fn ended(tenant: TenantId, spender: Spender, time: Duration) -> Self {
        Self {
            tenant,
            spender,
            usage: RunUsage::default(),
            turns: 0,
            time,
        }
    }

    /// Adds the time of a turn that has ended.
    pub(crate) fn with_time(self, time: Duration) -> Self {
        Self { time, ..self }
    }
}

/// The amounts that are added to one row.
#[derive(Default)]
struct UsageSum {
    tenant: Option<TenantId>,
    automation: Option<AutomationId>,
    tokens: u64,
    cost: u64,
    turns: u64,
    turn_ms: u64,
}

/// Adds usage to the day of `now`: one row for each spender and currency. All transactions write the rows in the same
/// order, so that they cannot deadlock.
pub(crate) async fn add_usage(
    tx: &mut Tx,
    uses: Vec<TurnUsage>,
    now: Timestamp,
) -> Result<(), Error> {
    let mut sums: BTreeMap<(Uuid, String), UsageSum> = BTreeMap::new();
    for used in uses {
        let spender = used.spender.id(used.tenant);
        let mut cost = used.usage.cost.into_iter();
        // Add the tokens to the row of the first currency, so that they count once. Few agents report two currencies.
        let (currency, micros) = cost.next().unwrap_or_default();
        let turn_ms = u64::try_from(used.time.as_millis()).unwrap_or(u64::MAX);
        let counts = (used.usage.tokens, u64::from(used.turns), turn_ms);
        let rest = cost.map(|(currency, micros)| (currency, micros, (0, 0, 0)));
        let first = std::iter::once((currency, micros, counts));
        for (currency, micros, (tokens, turns, turn_ms)) in first.chain(rest) {
            let sum = sums.entry((spender, currency)).or_default();
            sum.tenant = Some(used.tenant);
            sum.automation = used.spender.automation();
            sum.cost = sum.cost.saturating_add(micros);
            sum.tokens = sum.tokens.saturating_add(tokens);
            sum.turns = sum.turns.saturating_add(turns);
            sum.turn_ms = sum.turn_ms.saturating_add(turn_ms);
        }
    }
    let day = BudgetPeriods::of(now).day;
    let rows = sums.into_iter().map(|((spender, currency), sum)| {
        params! { "spending/add";
            tenant: sum.tenant,
            spender: spender,
            automation: sum.automation,
            day: day,
            currency: currency.as_str(),
            tokens: stored_amount(sum.tokens),
            cost: stored_amount(sum.cost),
            turns: stored_amount(sum.turns),
            turn_ms: stored_amount(sum.turn_ms),
        }
    });
    tx.execute_rows(sql!("spending/add"), rows.collect(), params![])
        .await?;
    Ok(())
}

fn stored_amount(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// Locks the tenants of runs that have a budget. Returns their budgets, and the tenants whose budget this server does
/// not support. The caller must not hold any other lock, because tenants come first in the lock order.
pub(crate) async fn lock_budgets(
    tx: &mut Tx,
    runs: &[RunId],
) -> Result<(HashMap<TenantId, Budget>, HashSet<TenantId>), Error> {
    let found = lock_tenants(tx, runs).await?;
    let mut budgets = HashMap::with_capacity(found.len());
    let mut unsupported = HashSet::new();
    for row in &found {
        if !stored::supports_format(stored::needs_format(row)?) {
            unsupported.insert(row.get("id")?);
            continue;
        }
        let (tenant, budget) = budget(row)?;
        budgets.insert(tenant, budget);
    }
    Ok((budgets, unsupported))
}

/// Returns the budgets of those tenants that have one.
pub(crate) async fn tenant_budgets(
    tx: &mut Tx,
    tenants: BTreeSet<TenantId>,
) -> Result<HashMap<TenantId, Budget>, Error> {
    let rows = tenants.iter().map(|tenant| params![*tenant]).collect();
    let found = tx
        .fetch_rows(sql!("tenants/budgets"), rows, params![])
        .await?;
    let mut budgets = HashMap::with_capacity(found.len());
    for row in &found {
        // Omit a budget that this server does not support. Such a budget prevents new turns, but a turn that has begun
        // must be able to end.
        if stored::supports_format(stored::needs_format(row)?) {
            let (tenant, budget) = budget(row)?;
            budgets.insert(tenant, budget);
        }
    }
    Ok(budgets)
}

fn budget(row: &Row) -> Result<(TenantId, Budget), Error> {
    Ok((row.get("id")?, stored::read::<StoredBudget>(row, "budget")?))
}

/// The usage of a day, and of its month.
#[derive(Clone, Default)]
pub(crate) struct PeriodUsage {
    pub(crate) day: UsageTotals,
    pub(crate) month: UsageTotals,
}

/// Budgets and the usage that counts against them.
pub(crate) struct Budgets {
    days: BudgetPeriods,
    tenants: HashMap<TenantId, Budget>,
    used: HashMap<Uuid, PeriodUsage>,
}

impl Budgets {
    /// Reads the usage that counts against the budgets of tenants and of automations, without the time of the turns of
    /// `own_runs`. Runs no query if no budget has a daily or monthly limit.
    pub(crate) async fn read(
        tx: &mut Tx,
        tenants: HashMap<TenantId, Budget>,
        automations: impl Iterator<Item = &Automation>,
        own_runs: &[RunId],
        now: Timestamp,
    ) -> Result<Self, Error> {
        let days = BudgetPeriods::of(now);
        let limited: Vec<_> = automations
            .filter(|automation| automation.policies.budget.has_period_limits())
            .collect();
        let timed = limited
            .iter()
            .filter(|automation| automation.policies.budget.has_minutes())
            .map(|automation| automation.id.uuid());
        let timed_tenants = tenants
            .iter()
            .filter(|(_, budget)| budget.has_minutes())
            .map(|(id, _)| id.uuid());
        let timed: HashSet<Uuid> = timed.chain(timed_tenants).collect();
        let spenders = limited.iter().map(|it| params![it.id]).collect();
        let owners = tenants
            .iter()
            .filter(|(_, budget)| budget.has_period_limits());
        let owners = owners.map(|(id, _)| params![*id]).collect();
        let mut used = HashMap::new();
        add_period_usage(tx, sql!("spending/of_spenders"), spenders, days, &mut used).await?;
        add_period_usage(tx, sql!("spending/of_tenants"), owners, days, &mut used).await?;
        add_running_time(tx, &timed, own_runs, &mut used).await?;
        Ok(Self {
            days,
            tenants,
            used,
        })
    }

    /// Returns the budgets that limit a run: that of its owner, and that of its tenant.
    pub(crate) fn accounts(&self, tenant: TenantId, owner: RunOwner<'_>) -> Accounts {
        let of_tenant = self.tenants.get(&tenant);
        let of_tenant = of_tenant.map(|budget| (Owner::Tenant, tenant.uuid(), budget));
        let limited = owner.budget().into_iter().chain(of_tenant);
        let limited = limited.filter(|(_, _, budget)| !budget.is_none());
        Accounts {
            accounts: limited
                .map(|(owner, id, budget)| self.account(owner, id, budget))
                .collect(),
            counted: RunUsage::default(),
        }
    }

    fn account(&self, owner: Owner, id: Uuid, budget: &Budget) -> Account {
        let PeriodUsage { day, month } = self.used.get(&id).cloned().unwrap_or_default();
        Account {
            owner,
            budget: budget.clone(),
            periods: self.days,
            day,
            month,
        }
    }

    /// Counts a turn that begins in this transaction, so that the next run of the same transaction sees it.
    pub(crate) fn count_turn(&mut self, run: &Run) {
        for id in Spender::new(run.automation_id).limited_ids(run.tenant_id) {
            let used = self.used.entry(id).or_default();
            used.day.turns += 1;
            used.month.turns += 1;
        }
    }
}

/// Adds the sums of a day and its month to `used`, by the ID of the automation or the tenant.
pub(crate) async fn add_period_usage(
    tx: &mut Tx,
    statement: &'static Statement,
    rows: Vec<Vec<Param>>,
    days: BudgetPeriods,
    used: &mut HashMap<Uuid, PeriodUsage>,
) -> Result<(), Error> {
    let whole = params![days.month, days.month_end, days.day];
    for row in &tx.fetch_rows(statement, rows, whole).await? {
        let both = used.entry(row.get("id")?).or_default();
        let currency: String = row.get("currency")?;
        for (used, [tokens, cost, turns, turn_ms]) in [
            (&mut both.month, ["tokens", "cost", "turns", "turn_ms"]),
            (
                &mut both.day,
                ["day_tokens", "day_cost", "day_turns", "day_turn_ms"],
            ),
        ] {
            used.tokens += rows::read_amount(row, tokens)?;
            used.turns += rows::read_amount(row, turns)?;
            used.time += Duration::from_millis(rows::read_amount(row, turn_ms)?);
            let cost = rows::read_amount(row, cost)?;
            if cost > 0 {
                *used.cost.entry(currency.clone()).or_default() += cost;
            }
        }
    }
    Ok(())
}

/// A running turn, and the time from its beginning to the last sign of life of its worker. The worker may be lost since
/// then, and nothing takes time while no server runs.
struct RunningTurn {
    run: RunId,
    tenant: TenantId,
    spender: Spender,
    time: Duration,
}

/// Returns the running turns of automations, tenants and sessions.
async fn running_turns(tx: &mut Tx, ids: Vec<Vec<Param>>) -> Result<Vec<RunningTurn>, Error> {
    let found = tx
        .fetch_rows(sql!("runs/running_since"), ids, params![])
        .await?;
    let turns = found.iter().map(|row| {
        let started: Option<Timestamp> = row.optional("started_at")?;
        let alive: Timestamp = row.get("beat_at")?;
        Ok(RunningTurn {
            run: row.get("id")?,
            tenant: row.get("tenant_id")?,
            spender: Spender::new(row.optional("automation_id")?),
            time: started.map_or(Duration::ZERO, |started| alive.since(started)),
        })
    });
    turns.collect()
}

/// Counts the time of a session's running turns, whose runs the transaction deletes and which therefore never end.
pub(crate) async fn count_turns_of_deleted_session(
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let running = running_turns(tx, vec![params![session]]).await?;
    let uses = running
        .iter()
        .map(|turn| TurnUsage::ended(turn.tenant, turn.spender, turn.time));
    add_usage(tx, uses.collect(), now).await
}

/// Adds the time that running turns of automations and tenants have taken so far, but for those of `own_runs`. Turns of
/// other servers would otherwise count only at their ends, and concurrent turns could take a budget several times.
async fn add_running_time(
    tx: &mut Tx,
    timed: &HashSet<Uuid>,
    own_runs: &[RunId],
    used: &mut HashMap<Uuid, PeriodUsage>,
) -> Result<(), Error> {
    let owners = timed.iter().map(|id| params![*id]).collect();
    for turn in running_turns(tx, owners).await? {
        if own_runs.contains(&turn.run) {
            continue;
        }
        for owner in turn.spender.limited_ids(turn.tenant) {
            if timed.contains(&owner) {
                let both = used.entry(owner).or_default();
                both.day.time += turn.time;
                both.month.time += turn.time;
            }
        }
    }
    Ok(())
}

impl Store {
    /// Returns the budget of an automation, and its usage today and this month.
    #[boxed]
    pub async fn automation_usage(
        &self,
        scope: Scope,
        id: AutomationId,
        now: Timestamp,
    ) -> Result<Account, Error> {
        let automation = self.automation(scope, id).await?;
        let statement = sql!("spending/of_spenders");
        let budget = automation.policies.budget;
        let mut tx = self.db.begin_read(scope).await?;
        account(
            &mut tx,
            statement,
            Owner::Automation,
            id.uuid(),
            budget,
            now,
        )
        .await
    }

    /// Returns the budget of a tenant, and the usage of all its runs today and this month.
    #[boxed]
    pub async fn tenant_usage(
        &self,
        scope: Scope,
        id: TenantId,
        now: Timestamp,
    ) -> Result<Account, Error> {
        let tenant = self.tenant(scope, id).await?;
        let mut tx = self.db.begin_read(scope).await?;
        tenant_account(&mut tx, id, tenant.budget, now).await
    }
}

/// Returns a budget of a tenant, and the usage of all its runs today and this month.
async fn tenant_account(
    tx: &mut Tx,
    id: TenantId,
    budget: Budget,
    now: Timestamp,
) -> Result<Account, Error> {
    let statement = sql!("spending/of_tenants");
    account(tx, statement, Owner::Tenant, id.uuid(), budget, now).await
}

async fn account(
    tx: &mut Tx,
    statement: &'static Statement,
    owner: Owner,
    id: Uuid,
    budget: Budget,
    now: Timestamp,
) -> Result<Account, Error> {
    let days = BudgetPeriods::of(now);
    let mut used = HashMap::new();
    add_period_usage(tx, statement, vec![params![id]], days, &mut used).await?;
    let budgets = Budgets {
        days,
        tenants: HashMap::new(),
        used,
    };
    Ok(budgets.account(owner, id, &budget))
}

/// Ends the wait of runs that a budget defers, so that they check the budget again: the runs of one automation, or of
/// a whole tenant if `automation` is `None`.
pub(crate) async fn release_deferred_by_budget(
    tx: &mut Tx,
    tenant: TenantId,
    automation: Option<AutomationId>,
    now: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        sql!("runs/release_deferred"),
        params![tenant, automation, budget::BUDGET_REASON, now],
    )
    .await?;
    Ok(())
}
