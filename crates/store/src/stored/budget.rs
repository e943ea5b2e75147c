//! The document `tenants.budget`, which is also a part of an automation's policies.

use model::budget::{Budget, Money, PeriodLimits, RunLimits};
use serde::{Deserialize, Serialize};

use super::{BASE_FORMAT, BoxError, Document};

/// The first format with limits of minutes.
const MINUTES_FORMAT: i64 = 2;

/// A budget, as a row holds it. An amount that is absent or null has no limit.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
pub(crate) struct StoredBudget {
    run: StoredRunLimits,
    day: StoredPeriodLimits,
    month: StoredPeriodLimits,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
struct StoredRunLimits {
    tokens: Option<u64>,
    cost: Option<StoredMoney>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(default)]
struct StoredPeriodLimits {
    tokens: Option<u64>,
    cost: Option<StoredMoney>,
    turns: Option<u32>,
    /// Since format 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct StoredMoney {
    amount: String,
    currency: String,
}

impl Document for StoredBudget {
    type Domain = Budget;

    fn of(budget: &Budget) -> Self {
        let Budget { run, day, month } = budget;
        let RunLimits { tokens, cost } = run;
        Self {
            run: StoredRunLimits {
                tokens: *tokens,
                cost: cost.as_ref().map(StoredMoney::of),
            },
            day: StoredPeriodLimits::of(day),
            month: StoredPeriodLimits::of(month),
        }
    }

    fn into_domain(self) -> Result<Budget, BoxError> {
        Ok(Budget {
            run: RunLimits {
                tokens: self.run.tokens,
                cost: self.run.cost.map(StoredMoney::into_domain).transpose()?,
            },
            day: self.day.into_domain()?,
            month: self.month.into_domain()?,
        })
    }

    /// A server of format 1 would ignore a limit of minutes.
    fn needs_format(&self) -> i64 {
        let has_minutes = self.day.minutes.is_some() || self.month.minutes.is_some();
        if has_minutes {
            MINUTES_FORMAT
        } else {
            BASE_FORMAT
        }
    }
}

impl StoredPeriodLimits {
    fn of(limits: &PeriodLimits) -> Self {
        let PeriodLimits {
            tokens,
            cost,
            turns,
            minutes,
        } = limits;
        Self {
            tokens: *tokens,
            cost: cost.as_ref().map(StoredMoney::of),
            turns: *turns,
            minutes: *minutes,
        }
    }

    fn into_domain(self) -> Result<PeriodLimits, BoxError> {
        Ok(PeriodLimits {
            tokens: self.tokens,
            cost: self.cost.map(StoredMoney::into_domain).transpose()?,
            turns: self.turns,
            minutes: self.minutes,
        })
    }
}

impl StoredMoney {
    pub(super) fn of(money: &Money) -> Self {
        Self {
            amount: money.amount(),
            currency: money.currency().to_owned(),
        }
    }

    pub(super) fn into_domain(self) -> Result<Money, BoxError> {
        Ok(Money::parse(&self.amount, &self.currency)?)
    }
}
