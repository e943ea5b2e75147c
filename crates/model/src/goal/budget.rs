//! The budget of a goal beside its limits: tokens, cost and time.

use crate::{
    Timestamp,
    budget::{Money, RunUsage},
    goal::event::BudgetLevel,
};

/// The amounts that all turns of a goal may use together. An absent amount has no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalBudget {
    /// The tokens by which the contexts of the agents may grow.
    pub tokens: Option<u64>,
    /// The cost that the agents may report.
    pub cost: Option<Money>,
}

impl GoalBudget {
    /// Returns `true` if the budget has no limit.
    pub const fn is_none(&self) -> bool {
        self.tokens.is_none() && self.cost.is_none()
    }

    /// Returns the level of the most used amount. Cost in other currencies than that of the budget does not count.
    pub fn level(&self, usage: &RunUsage) -> BudgetLevel {
        let tokens = self.tokens.map(|limit| level_of(usage.tokens, limit));
        let cost = self.cost.as_ref();
        let cost = cost.map(|limit| level_of(usage.cost_in(limit), limit.micros()));
        match (tokens, cost) {
            (Some(BudgetLevel::UsedUp), _) | (_, Some(BudgetLevel::UsedUp)) => BudgetLevel::UsedUp,
            (Some(BudgetLevel::Low), _) | (_, Some(BudgetLevel::Low)) => BudgetLevel::Low,
            _ => BudgetLevel::Enough,
        }
    }

    /// Returns the level of the amounts and of the time: a goal whose time is over starts no turn but that of its report.
    pub fn level_at(
        &self,
        usage: &RunUsage,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> BudgetLevel {
        match self.level(usage) {
            BudgetLevel::Enough if until.is_some_and(|until| until <= now) => BudgetLevel::Low,
            level => level,
        }
    }
}

/// Returns the level of an amount: from 90 percent on it is low.
pub(super) fn level_of(used: u64, limit: u64) -> BudgetLevel {
    if used >= limit {
        BudgetLevel::UsedUp
    } else if u128::from(used) * 10 >= u128::from(limit) * 9 {
        BudgetLevel::Low
    } else {
        BudgetLevel::Enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64, cost: &[(&str, u64)]) -> RunUsage {
        let cost = cost
            .iter()
            .map(|(name, micros)| ((*name).to_owned(), *micros));
        RunUsage {
            tokens,
            cost: cost.collect(),
        }
    }

    #[test]
    fn most_used_amount_gives_level() {
        let budget = GoalBudget {
            tokens: Some(1000),
            cost: Money::parse("6", "USD").ok(),
        };
        for (used, level) in [
            (usage(0, &[]), BudgetLevel::Enough),
            (usage(899, &[("USD", 5_399_999)]), BudgetLevel::Enough),
            (usage(900, &[]), BudgetLevel::Low),
            (
                usage(0, &[("usd", 2_700_000), ("USD", 2_700_000)]),
                BudgetLevel::Low,
            ),
            (usage(999, &[]), BudgetLevel::Low),
            (usage(1000, &[]), BudgetLevel::UsedUp),
            (usage(950, &[("USD", 6_000_000)]), BudgetLevel::UsedUp),
            (usage(0, &[("EUR", 60_000_000)]), BudgetLevel::Enough),
            (usage(u64::MAX, &[]), BudgetLevel::UsedUp),
        ] {
            assert_eq!(budget.level(&used), level, "{used:?}");
        }
        let none = GoalBudget::default();
        let (mut tokens, mut cost) = (budget.clone(), budget);
        (tokens.cost, cost.tokens) = (None, None);
        assert!(none.is_none() && !tokens.is_none() && !cost.is_none());
        assert_eq!(none.level(&usage(u64::MAX, &[])), BudgetLevel::Enough);
    }

    #[test]
    fn end_of_time_leaves_report() {
        let end = Timestamp::UNIX_EPOCH;
        let before = end.saturating_sub(std::time::Duration::from_micros(1));
        let budget = GoalBudget {
            tokens: Some(10),
            cost: None,
        };
        let level = |used, now| budget.level_at(&usage(used, &[]), Some(end), now);
        assert_eq!(level(0, before), BudgetLevel::Enough);
        assert_eq!(level(0, end), BudgetLevel::Low);
        assert_eq!(level(9, before), BudgetLevel::Low);
        assert_eq!(level(10, end), BudgetLevel::UsedUp);
        let open = budget.level_at(&usage(0, &[]), None, end);
        assert_eq!(open, BudgetLevel::Enough);
    }
}
