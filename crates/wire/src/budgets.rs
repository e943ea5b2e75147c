//! Budgets, and what was used of them.

use model::{
    Timestamp,
    budget::{Account, Budget, Money, Used},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What may be used, and what was used so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Spending {
    /// What may be used.
    pub budget: Budget,
    /// What was used today, in UTC.
    pub day: PeriodSpending,
    /// What was used this month, in UTC.
    pub month: PeriodSpending,
}

/// What was used in a period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeriodSpending {
    /// Where it began.
    pub since: Timestamp,
    /// Where it ends, and what was used counts from zero.
    pub until: Timestamp,
    /// Tokens by which the agents' contexts grew.
    #[schema(minimum = 0)]
    pub tokens: u64,
    /// What the agents say that they cost, by currency.
    pub cost: Vec<Money>,
    /// Turns that began.
    #[schema(minimum = 0)]
    pub turns: u64,
}

impl From<Account> for Spending {
    fn from(account: Account) -> Self {
        let days = account.days;
        let period = |since, until, used: &Used| PeriodSpending {
            since,
            until,
            tokens: used.tokens,
            cost: used.money(),
            turns: used.turns,
        };
        Self {
            day: period(days.day, days.day_end, &account.day),
            month: period(days.month, days.month_end, &account.month),
            budget: account.budget,
        }
    }
}
