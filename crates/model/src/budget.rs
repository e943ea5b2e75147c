//! Budgets: the tokens, the money and the turns that an automation or a tenant may use in a run, a day and a month.
//!
//! **Invariants:** days and months are those of UTC. The recorded usage of a day or a month never decreases.

mod account;
mod meter;
mod money;

use std::{fmt, str::FromStr};

use crate::{invalid_policy::InvalidPolicy, text_enum::text_enum};

pub use account::{Account, Accounts, BudgetPeriods, Owner, ReachedLimit, UsageTotals};
pub use meter::{Meter, RunUsage, UsageReport};
pub use money::{InvalidMoney, Money};

/// The reason, in one word, of automations that pause, and of runs that wait or fail, because a budget is used up.
pub const BUDGET_REASON: &str = "budget";

/// The maximum number of tokens in a limit.
pub const MAX_LIMIT_TOKENS: u64 = 1_000_000_000_000_000;
/// The maximum number of turns in a limit.
pub const MAX_LIMIT_TURNS: u32 = 1_000_000_000;

text_enum! {
    /// The period of a limit.
    Period, "a period of a budget" {
        /// One run.
        Run = "run",
        /// A day, in UTC.
        Day = "day",
        /// A month, in UTC.
        Month = "month",
    }
}

/// A budget: limits for each run, each day and each month. An absent limit does not restrict anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    /// The limits of each run.
    pub run: RunLimits,
    /// The limits of all runs of a day together, in UTC.
    pub day: PeriodLimits,
    /// The limits of all runs of a month together, in UTC.
    pub month: PeriodLimits,
}

/// The limits of one run. A run is one turn, so there is no limit of turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// The tokens by which the agent's context may grow.
    pub tokens: Option<u64>,
    /// The cost that the agent may report.
    pub cost: Option<Money>,
}

/// The limits of all runs of a day or a month together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeriodLimits {
    /// The tokens by which the contexts of the agents may grow.
    pub tokens: Option<u64>,
    /// The cost that the agents may report.
    pub cost: Option<Money>,
    /// The turns that may begin. Each attempt is one turn.
    pub turns: Option<u32>,
}

impl PeriodLimits {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Budget {
    /// Returns `true` if the budget has no limit.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if the budget limits a day or a month, so that the usage of other runs matters.
    pub fn has_period_limits(&self) -> bool {
        !(self.day.is_none() && self.month.is_none())
    }

    /// Returns the limits one by one, in the order run, day, month.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        let run = (Period::Run, self.run.tokens, &self.run.cost, None);
        let of = |period, limits: &PeriodLimits| {
            let PeriodLimits {
                tokens,
                cost,
                turns,
            } = limits.clone();
            (period, tokens, cost, turns)
        };
        let all = [
            (run.0, run.1, run.2.clone(), run.3),
            of(Period::Day, &self.day),
            of(Period::Month, &self.month),
        ];
        all.into_iter().flat_map(|(period, tokens, cost, turns)| {
            let amounts = [
                tokens.map(Amount::Tokens),
                cost.map(Amount::Cost),
                turns.map(Amount::Turns),
            ];
            let amounts = amounts.into_iter().flatten();
            amounts.map(move |amount| Limit { amount, period })
        })
    }

    /// Sets one limit. Replaces an existing limit of the same amount and period.
    ///
    /// # Errors
    ///
    /// [`InvalidLimit`] for turns of a run, because a run is one turn.
    pub fn set(&mut self, limit: Limit) -> Result<(), InvalidLimit> {
        let Limit { amount, period } = limit;
        let limits = match period {
            Period::Run => {
                match amount {
                    Amount::Tokens(tokens) => self.run.tokens = Some(tokens),
                    Amount::Cost(cost) => self.run.cost = Some(cost),
                    Amount::Turns(_) => {
                        return Err(InvalidLimit {
                            given: Limit { amount, period }.to_string(),
                        });
                    }
                }
                return Ok(());
            }
            Period::Day => &mut self.day,
            Period::Month => &mut self.month,
        };
        match amount {
            Amount::Tokens(tokens) => limits.tokens = Some(tokens),
            Amount::Cost(cost) => limits.cost = Some(cost),
            Amount::Turns(turns) => limits.turns = Some(turns),
        }
        Ok(())
    }

    /// Validates all limits.
    ///
    /// # Errors
    ///
    /// [`InvalidPolicy`] if a limit is zero or above its maximum.
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        for (field, tokens) in [
            ("budget.run.tokens", self.run.tokens),
            ("budget.day.tokens", self.day.tokens),
            ("budget.month.tokens", self.month.tokens),
        ] {
            if let Some(tokens) = tokens.filter(|it| !(1..=MAX_LIMIT_TOKENS).contains(it)) {
                let accepted = "expected 1 to 1000000000000000 tokens";
                return Err(InvalidPolicy::new(field, tokens.to_string(), accepted));
            }
        }
        for (field, turns) in [
            ("budget.day.turns", self.day.turns),
            ("budget.month.turns", self.month.turns),
        ] {
            if let Some(turns) = turns.filter(|it| !(1..=MAX_LIMIT_TURNS).contains(it)) {
                let accepted = "expected 1 to 1000000000 turns";
                return Err(InvalidPolicy::new(field, turns.to_string(), accepted));
            }
        }
        for (field, cost) in [
            ("budget.run.cost", &self.run.cost),
            ("budget.day.cost", &self.day.cost),
            ("budget.month.cost", &self.month.cost),
        ] {
            if let Some(zero) = cost.as_ref().filter(|cost| cost.micros() == 0) {
                let accepted = "expected at least 0.000001";
                return Err(InvalidPolicy::new(field, zero.to_string(), accepted));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Budget {
    /// Writes the limits in the form that [`Limit`] parses, separated by commas: `100000 tokens/day, 20 USD/month`.
    /// Writes nothing if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, limit) in self.limits().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{limit}")?;
        }
        Ok(())
    }
}

/// The amount of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// A number of tokens.
    Tokens(u64),
    /// An amount of money.
    Cost(Money),
    /// A number of turns.
    Turns(u32),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |one: bool| if one { "" } else { "s" };
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens} token{}", plural(*tokens == 1)),
            Self::Cost(cost) => cost.fmt(f),
            Self::Turns(turns) => write!(f, "{turns} turn{}", plural(*turns == 1)),
        }
    }
}

/// A limit: an amount for a period. The text form is `100000 tokens/day`, `20 USD/month` or `24 turns/day`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The amount.
    pub amount: Amount,
    /// The period.
    pub period: Period,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.amount, self.period)
    }
}

/// The error for a text that is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid limit `{}`: expected tokens or an amount of money for a run, a day or a month, or turns for a day \
     or a month, such as `100000 tokens/day`, `20 USD/month` or `24 turns/day`",
    .given.escape_debug()
)]
pub struct InvalidLimit {
    given: String,
}

impl FromStr for Limit {
    type Err = InvalidLimit;

    fn from_str(text: &str) -> Result<Self, InvalidLimit> {
        let invalid = || InvalidLimit {
            given: text.chars().take(80).collect(),
        };
        let (amount, period) = text.rsplit_once('/').ok_or_else(invalid)?;
        let period: Period = period.trim().parse().map_err(|_| invalid())?;
        let (number, unit) = amount.trim().split_once(' ').ok_or_else(invalid)?;
        let amount = match unit.trim() {
            "token" | "tokens" => {
                let tokens = number.parse().ok();
                let tokens = tokens.filter(|it| (1..=MAX_LIMIT_TOKENS).contains(it));
                Amount::Tokens(tokens.ok_or_else(invalid)?)
            }
            "turn" | "turns" if period != Period::Run => {
                let turns = number.parse().ok();
                let turns = turns.filter(|it| (1..=MAX_LIMIT_TURNS).contains(it));
                Amount::Turns(turns.ok_or_else(invalid)?)
            }
            "turn" | "turns" => return Err(invalid()),
            currency => {
                let cost = Money::parse(number, currency).ok();
                let cost = cost.filter(|cost| cost.micros() > 0);
                Amount::Cost(cost.ok_or_else(invalid)?)
            }
        };
        Ok(Self { amount, period })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(limits: &[&str]) -> Budget {
        let mut budget = Budget::default();
        for limit in limits {
            budget.set(limit.parse().unwrap()).unwrap();
        }
        budget
    }

    #[test]
    fn limit_parses_its_own_display() {
        for text in [
            "1 token/run",
            "100000 tokens/day",
            "1000000000000000 tokens/month",
            "0.000001 USD/run",
            "20 USD/month",
            "2.5 credits/day",
            "1 turn/day",
            "24 turns/month",
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!(limit.to_string(), text);
            assert_eq!(budget(&[text]).limits().collect::<Vec<_>>(), [limit]);
        }
    }

    #[test]
    fn invalid_limit_is_refused_with_accepted_forms() {
        for text in [
            "",
            "100",
            "100 tokens",
            "100 tokens/year",
            "100/day",
            "0 tokens/day",
            "-1 tokens/day",
            "1.5 tokens/day",
            "1000000000000001 tokens/day",
            "0 turns/day",
            "3 turns/run",
            "0 USD/day",
            "0.0000001 USD/day",
            "a USD/day",
            "1 U S/day",
        ] {
            let refused = text.parse::<Limit>().unwrap_err().to_string();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
            assert!(refused.contains("20 USD/month"), "{refused}");
        }
    }

    #[test]
    fn later_limit_replaces_earlier_one_of_same_kind() {
        let both = budget(&["5 tokens/day", "7 tokens/day", "2 turns/month"]);
        assert_eq!(both.to_string(), "7 tokens/day, 2 turns/month");
        assert!(both.has_period_limits());
        assert!(!budget(&["5 tokens/run"]).has_period_limits());
        assert!(budget(&[]).is_none());
    }

    #[test]
    fn out_of_range_limit_is_refused_by_field() {
        let limited = |change: fn(&mut Budget)| {
            let mut budget = Budget::default();
            change(&mut budget);
            budget
        };
        for (budget, field) in [
            (limited(|it| it.run.tokens = Some(0)), "budget.run.tokens"),
            (limited(|it| it.day.tokens = Some(0)), "budget.day.tokens"),
            (
                limited(|it| it.month.tokens = Some(MAX_LIMIT_TOKENS + 1)),
                "budget.month.tokens",
            ),
            (limited(|it| it.day.turns = Some(0)), "budget.day.turns"),
            (
                limited(|it| it.month.cost = Money::parse("0", "USD").ok()),
                "budget.month.cost",
            ),
        ] {
            let refused = budget.validate().unwrap_err().to_string();
            assert!(refused.starts_with(&format!("`{field}`")), "{refused}");
        }
    }
}
