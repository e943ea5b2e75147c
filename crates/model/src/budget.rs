//! Budgets: the tokens, the money, the turns and the minutes that an automation or a tenant may use in a run, a day
//! and a month.
//!
//! **Invariants:** days and months are those of UTC. The recorded usage of a day or a month never decreases.

mod account;
mod currency;
mod limit;
mod meter;
mod money;

use std::fmt;

use crate::invalid_policy::InvalidPolicy;

pub use account::{Account, Accounts, BudgetPeriods, Owner, ReachedLimit, UsageTotals};
pub use limit::{
    Amount, InvalidLimit, Limit, MAX_LIMIT_MINUTES, MAX_LIMIT_TOKENS, MAX_LIMIT_TURNS, Period,
    similar_unit,
};
pub use meter::{Meter, RunUsage, UsageReport};
pub use money::{InvalidMoney, Money};

/// The reason, in one word, of automations that pause, and of runs that wait or fail, because a budget is used up.
pub const BUDGET_REASON: &str = "budget";

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
    /// The minutes that the turns may take together, by the clock on the wall.
    pub minutes: Option<u32>,
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

    /// Returns `true` if the budget limits minutes.
    pub const fn has_minutes(&self) -> bool {
        self.day.minutes.is_some() || self.month.minutes.is_some()
    }

    /// Returns the limits one by one, in the order run, day, month.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        let RunLimits { tokens, cost } = self.run.clone();
        let run = PeriodLimits {
            tokens,
            cost,
            ..PeriodLimits::default()
        };
        let all = [
            (Period::Run, run),
            (Period::Day, self.day.clone()),
            (Period::Month, self.month.clone()),
        ];
        all.into_iter().flat_map(|(period, limits)| {
            let PeriodLimits {
                tokens,
                cost,
                turns,
                minutes,
            } = limits;
            let amounts = [
                tokens.map(Amount::Tokens),
                cost.map(Amount::Cost),
                turns.map(Amount::Turns),
                minutes.map(Amount::Minutes),
            ];
            let amounts = amounts.into_iter().flatten();
            amounts.map(move |amount| Limit { amount, period })
        })
    }

    /// Sets one limit. Replaces an existing limit of the same amount and period.
    ///
    /// # Errors
    ///
    /// [`InvalidLimit`] for turns or minutes of a run, because a run is one turn, and a policy limits its time.
    pub fn set(&mut self, limit: Limit) -> Result<(), InvalidLimit> {
        let Limit { amount, period } = limit;
        let limits = match period {
            Period::Run => {
                match amount {
                    Amount::Tokens(tokens) => self.run.tokens = Some(tokens),
                    Amount::Cost(cost) => self.run.cost = Some(cost),
                    Amount::Turns(_) | Amount::Minutes(_) => {
                        let given = Limit { amount, period }.to_string();
                        return Err(InvalidLimit::new(&given));
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
            Amount::Minutes(minutes) => limits.minutes = Some(minutes),
        }
        Ok(())
    }

    /// Validates all limits.
    ///
    /// # Errors
    ///
    /// [`InvalidPolicy`] if a limit is zero or above its maximum, or has a currency that does not exist.
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
        for (field, minutes) in [
            ("budget.day.minutes", self.day.minutes),
            ("budget.month.minutes", self.month.minutes),
        ] {
            if let Some(minutes) = minutes.filter(|it| !(1..=MAX_LIMIT_MINUTES).contains(it)) {
                let accepted = "expected 1 to 1000000000 minutes";
                return Err(InvalidPolicy::new(field, minutes.to_string(), accepted));
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
            if let Some(unknown) = cost.as_ref().filter(|cost| !cost.has_known_currency()) {
                let accepted = "expected a currency of ISO 4217, such as USD; limits of tokens, turns and minutes have \
                                fields of their own";
                return Err(InvalidPolicy::new(field, unknown.to_string(), accepted));
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
            "0.25 EUR/day",
            "1 turn/day",
            "24 turns/month",
            "1 minute/day",
            "90 minutes/month",
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
            "0 minutes/day",
            "1.5 minutes/day",
            "5 minutes/run",
            "3 runs/day",
            "5000 tokns/day",
            "2.5 credits/day",
            "1 XXX/day",
        ] {
            let refused = text.parse::<Limit>().unwrap_err().to_string();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
            assert!(refused.contains("20 USD/month"), "{refused}");
        }
    }

    #[test]
    fn refusal_of_limit_names_cause() {
        let money = "accepted are decimal numbers above 0 and up to 1000000000 with at most six";
        for (text, cause) in [
            ("0 USD/day", money),
            ("-5 USD/month", money),
            ("0.1234567 USD/day", money),
            ("0 turns/day", "whole numbers from 1 to 1000000000:"),
            ("1.5 turns/day", "whole numbers from 1 to 1000000000:"),
            ("1e9 tokens/day", "from 1 to 1000000000000000:"),
            (
                "99999999999999999999999 tokens/day",
                "from 1 to 1000000000000000:",
            ),
            ("50k tokens/run", "from 1 to 1000000000000000:"),
            ("5 USD/week", "unknown period `week`"),
            ("5USD/day", "no space between a number and a unit"),
            ("5 turns/run", "a run has no limit of turns"),
            ("5 USD", "it has no period"),
        ] {
            let refused = text.parse::<Limit>().unwrap_err().to_string();
            assert!(refused.contains(cause), "{refused}");
        }
    }

    #[test]
    fn unit_of_limit_is_read_in_any_case_and_number() {
        for (text, expected) in [
            ("1 tokens/day", "1 token/day"),
            ("5 TOKEN/Month", "5 tokens/month"),
            ("3 Turn/DAY", "3 turns/day"),
            ("90 minute/day", "90 minutes/day"),
            ("2  usd / run", "2 USD/run"),
        ] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn unknown_unit_is_refused_with_suggestion() {
        for (text, suggestion) in [
            ("3 runs/day", "`turns`"),
            ("3 run/month", "`turns`"),
            ("5000 tokns/day", "`tokens`"),
            ("5000 tok/day", "`tokens`"),
            ("90 minuts/day", "`minutes`"),
            ("90 min/day", "`minutes`"),
            ("2 hours/day", "`minutes`"),
            ("2 dollars/day", "`USD`"),
            ("2 $/day", "`USD`"),
            ("2 Euro/day", "`EUR`"),
        ] {
            let refused = text.parse::<Limit>().unwrap_err().to_string();
            let (_, hint) = refused.split_once("did you mean ").unwrap();
            assert!(hint.starts_with(suggestion), "{refused}");
        }
        let refused = "2 credits/day".parse::<Limit>().unwrap_err().to_string();
        assert!(!refused.contains("did you mean"), "{refused}");
        assert!(refused.contains("`credits`"), "{refused}");
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
            (limited(|it| it.day.minutes = Some(0)), "budget.day.minutes"),
            (
                limited(|it| it.day.cost = Money::parse("3", "runs").ok()),
                "budget.day.cost",
            ),
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
