//! The budgets of a turn, with their usage.

use std::{collections::BTreeMap, time::Duration};

use model::{
    Timestamp,
    budget::{self, Budget, BudgetPeriods, Owner, PeriodLimits, RunLimits, RunUsage, UsageTotals},
};
use serde::{Deserialize, Serialize};

use crate::{InvalidField, word::Word};

/// The accounts that limit a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounts {
    accounts: Vec<Account>,
    counted: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    owner: Word,
    run: Limits,
    day: Limits,
    month: Limits,
    periods: Periods,
    used_today: Totals,
    used_this_month: Totals,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Limits {
    tokens: Option<u64>,
    cost: Option<Money>,
    turns: Option<u32>,
    minutes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Money {
    micros: u64,
    currency: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Periods {
    month: Timestamp,
    day: Timestamp,
    day_end: Timestamp,
    month_end: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Totals {
    tokens: u64,
    cost: BTreeMap<String, u64>,
    turns: u64,
    micros: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Usage {
    tokens: u64,
    cost: BTreeMap<String, u64>,
}

impl Accounts {
    /// Returns the accounts.
    ///
    /// # Errors
    ///
    /// Returns an error if a currency is invalid. A limit that could not be read would not restrict.
    pub fn into_domain(self) -> Result<budget::Accounts, InvalidField> {
        let accounts = self.accounts.into_iter().map(Account::into_domain);
        let Usage { tokens, cost } = self.counted;
        Ok(budget::Accounts {
            accounts: accounts.collect::<Result<_, _>>()?,
            counted: RunUsage { tokens, cost },
        })
    }
}

impl From<budget::Accounts> for Accounts {
    fn from(accounts: budget::Accounts) -> Self {
        let budget::Accounts { accounts, counted } = accounts;
        let RunUsage { tokens, cost } = counted;
        Self {
            accounts: accounts.into_iter().map(Into::into).collect(),
            counted: Usage { tokens, cost },
        }
    }
}

impl Account {
    fn into_domain(self) -> Result<budget::Account, InvalidField> {
        let Self {
            owner,
            run,
            day,
            month,
            periods,
            used_today,
            used_this_month,
        } = self;
        Ok(budget::Account {
            owner: owner.or(Owner::Tenant),
            budget: Budget {
                run: RunLimits {
                    tokens: run.tokens,
                    cost: run.cost.map(Money::into_domain).transpose()?,
                },
                day: day.into_domain()?,
                month: month.into_domain()?,
            },
            periods: BudgetPeriods {
                month: periods.month,
                day: periods.day,
                day_end: periods.day_end,
                month_end: periods.month_end,
            },
            day: used_today.into(),
            month: used_this_month.into(),
        })
    }
}

impl From<budget::Account> for Account {
    fn from(account: budget::Account) -> Self {
        let budget::Account {
            owner,
            budget: Budget { run, day, month },
            periods,
            day: used_today,
            month: used_this_month,
        } = account;
        let RunLimits { tokens, cost } = run;
        let BudgetPeriods {
            month: month_begin,
            day: day_begin,
            day_end,
            month_end,
        } = periods;
        Self {
            owner: Word::of(owner),
            run: Limits {
                tokens,
                cost: cost.as_ref().map(Money::of),
                turns: None,
                minutes: None,
            },
            day: day.into(),
            month: month.into(),
            periods: Periods {
                month: month_begin,
                day: day_begin,
                day_end,
                month_end,
            },
            used_today: used_today.into(),
            used_this_month: used_this_month.into(),
        }
    }
}

impl Limits {
    fn into_domain(self) -> Result<PeriodLimits, InvalidField> {
        let Self {
            tokens,
            cost,
            turns,
            minutes,
        } = self;
        Ok(PeriodLimits {
            tokens,
            cost: cost.map(Money::into_domain).transpose()?,
            turns,
            minutes,
        })
    }
}

impl From<PeriodLimits> for Limits {
    fn from(limits: PeriodLimits) -> Self {
        let PeriodLimits {
            tokens,
            cost,
            turns,
            minutes,
        } = limits;
        Self {
            tokens,
            cost: cost.as_ref().map(Money::of),
            turns,
            minutes,
        }
    }
}

impl Money {
    fn of(money: &budget::Money) -> Self {
        Self {
            micros: money.micros(),
            currency: money.currency().to_owned(),
        }
    }

    fn into_domain(self) -> Result<budget::Money, InvalidField> {
        budget::Money::new(self.micros, &self.currency)
            .map_err(|error| InvalidField::new("cost", &error))
    }
}

impl From<Totals> for UsageTotals {
    fn from(totals: Totals) -> Self {
        let Totals {
            tokens,
            cost,
            turns,
            micros,
        } = totals;
        Self {
            tokens,
            cost,
            turns,
            time: Duration::from_micros(micros),
        }
    }
}

impl From<UsageTotals> for Totals {
    fn from(totals: UsageTotals) -> Self {
        let UsageTotals {
            tokens,
            cost,
            turns,
            time,
        } = totals;
        Self {
            tokens,
            cost,
            turns,
            micros: u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        }
    }
}
