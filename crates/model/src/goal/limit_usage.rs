//! The limits of a whole goal in words: which there are, how much of each is used, and which are used up.

use std::time::Duration;

use super::{
    budget::{GoalBudget, level_of},
    event::BudgetLevel,
};
use crate::{
    Timestamp,
    budget::{Money, RunUsage},
    text_enum::text_enum,
};

text_enum! {
    /// A limit of a whole goal.
    GoalLimit, "a limit of a goal" {
        /// The cost that the agents report.
        Cost = "cost",
        /// The tokens by which the contexts of the agents grow.
        Tokens = "tokens",
        /// The turns that start.
        Turns = "turns",
        /// The time until no further turn starts.
        Time = "time",
    }
}

/// The usage of one limit of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitUsage {
    /// The limit.
    pub limit: GoalLimit,
    /// The level. The time has no level between enough and used up.
    pub level: BudgetLevel,
    /// The used part and the rest in words, such as `700 of 1000, 300 left`.
    pub text: String,
    /// The usage that the limit does not count, in words. `None` if it counts everything.
    pub note: Option<String>,
}

/// A goal with its limits and their usage.
#[derive(Debug, Clone, Copy)]
pub struct LimitedGoal<'a> {
    /// The budget.
    pub budget: &'a GoalBudget,
    /// The usage of all runs together.
    pub usage: &'a RunUsage,
    /// The number of runs that are over and whose agents reported no cost.
    pub runs_without_cost: u32,
    /// The number of turns that have started.
    pub turns: u32,
    /// The highest number of turns.
    pub turn_limit: u32,
    /// The instant from which no further turn starts.
    pub until: Option<Timestamp>,
    /// The instant at which the goal was done or failed. Its time runs no further.
    pub ended_at: Option<Timestamp>,
}

impl LimitedGoal<'_> {
    /// Returns the usage of each limit at an instant, in the order of [`GoalLimit`].
    pub fn limit_usage(&self, now: Timestamp) -> Vec<LimitUsage> {
        let cost = self.budget.cost.as_ref();
        let cost = cost.map(|limit| self.cost_usage(limit));
        let tokens = self.budget.tokens;
        let tokens = tokens.map(|limit| count_usage(GoalLimit::Tokens, self.usage.tokens, limit));
        let turns = count_usage(
            GoalLimit::Turns,
            u64::from(self.turns),
            u64::from(self.turn_limit),
        );
        let time = self.until.map(|until| self.time_usage(until, now));
        [cost, tokens, Some(turns), time]
            .into_iter()
            .flatten()
            .collect()
    }

    fn time_usage(&self, until: Timestamp, now: Timestamp) -> LimitUsage {
        let (level, text) = match self.ended_at {
            Some(end) if end < until => (BudgetLevel::Enough, "not used up".to_owned()),
            Some(_) => (BudgetLevel::UsedUp, "used up".to_owned()),
            None if now < until => {
                let left = format!("{} left", short_time(until.since(now)));
                (BudgetLevel::Enough, left)
            }
            None => {
                let over = format!("used up {} ago", short_time(now.since(until)));
                (BudgetLevel::UsedUp, over)
            }
        };
        LimitUsage {
            limit: GoalLimit::Time,
            level,
            text,
            note: None,
        }
    }

    fn cost_usage(&self, limit: &Money) -> LimitUsage {
        let used = self.usage.cost_in(limit);
        let amount = |micros| Money::new(micros, limit.currency()).ok();
        let used_amount = amount(used).map_or_else(String::new, |money| money.amount());
        let left = amount(limit.micros().saturating_sub(used));
        let left = left.map_or_else(String::new, |money| money.to_string());
        let level = level_of(used, limit.micros());
        LimitUsage {
            limit: GoalLimit::Cost,
            level,
            text: used_and_left(&used_amount, &limit.to_string(), &left, level),
            note: self.uncounted_cost(limit),
        }
    }

    /// Returns the usage that a limit of money does not count: runs without a cost, and costs in other currencies.
    fn uncounted_cost(&self, limit: &Money) -> Option<String> {
        let runs = match self.runs_without_cost {
            0 => None,
            1 => Some("1 turn reported no cost, so this limit does not count it".to_owned()),
            runs => Some(format!(
                "{runs} turns reported no cost, so this limit does not count them"
            )),
        };
        let others = self.usage.cost.iter();
        let others = others.filter(|(name, micros)| **micros > 0 && !limit.has_currency(name));
        let others = others.filter_map(|(name, micros)| Money::new(*micros, name).ok());
        let others: Vec<_> = others.map(|money| money.to_string()).collect();
        let others = (!others.is_empty()).then(|| format!("not counted: {}", others.join(", ")));
        let notes: Vec<_> = runs.into_iter().chain(others).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

fn count_usage(limit: GoalLimit, used: u64, most: u64) -> LimitUsage {
    let level = level_of(used, most);
    let left = most.saturating_sub(used).to_string();
    LimitUsage {
        limit,
        level,
        text: used_and_left(&used.to_string(), &most.to_string(), &left, level),
        note: None,
    }
}

fn used_and_left(used: &str, limit: &str, left: &str, level: BudgetLevel) -> String {
    match level {
        BudgetLevel::Enough => format!("{used} of {limit}, {left} left"),
        // The reserve pays for the turn of the report, and no other turn starts.
        BudgetLevel::Low => format!("{used} of {limit}, {left} left for the report alone"),
        BudgetLevel::UsedUp => format!("{used} of {limit}, used up"),
    }
}

/// Formats a duration, such as `2h04`, `7m` or `12s`.
pub fn short_time(duration: Duration) -> String {
    let minutes = duration.as_secs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{}s", duration.as_secs()),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h{minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(goal: &LimitedGoal<'_>) -> Vec<String> {
        let now = Timestamp::UNIX_EPOCH + Duration::from_hours(1);
        let usage = goal.limit_usage(now).into_iter();
        let line = |it: LimitUsage| match it.note {
            Some(note) => format!("{} {}: {} ({note})", it.limit, it.level, it.text),
            None => format!("{} {}: {}", it.limit, it.level, it.text),
        };
        usage.map(line).collect()
    }

    fn usage(tokens: u64, cost: &[(&str, u64)]) -> RunUsage {
        let cost = cost.iter();
        RunUsage {
            tokens,
            cost: cost
                .map(|(name, micros)| ((*name).to_owned(), *micros))
                .collect(),
        }
    }

    #[test]
    fn used_up_limits_are_named_and_others_say_what_is_left() {
        let budget = GoalBudget {
            tokens: Some(700),
            cost: Money::parse("6", "USD").ok(),
        };
        let goal = LimitedGoal {
            budget: &budget,
            usage: &usage(1180, &[("USD", 1_500_000), ("usd", 1_600_000)]),
            runs_without_cost: 0,
            turns: 3,
            turn_limit: 200,
            until: Some(Timestamp::UNIX_EPOCH + Duration::from_mins(124)),
            ended_at: None,
        };
        assert_eq!(
            lines(&goal),
            [
                "cost enough: 3.1 of 6 USD, 2.9 USD left",
                "tokens used_up: 1180 of 700, used up",
                "turns enough: 3 of 200, 197 left",
                "time enough: 1h04 left",
            ]
        );
        let later = LimitedGoal {
            usage: &usage(650, &[("USD", 6_000_000)]),
            turns: 180,
            until: Some(Timestamp::UNIX_EPOCH),
            ..goal
        };
        assert_eq!(
            lines(&later),
            [
                "cost used_up: 6 of 6 USD, used up",
                "tokens low: 650 of 700, 50 left for the report alone",
                "turns low: 180 of 200, 20 left for the report alone",
                "time used_up: used up 1h00 ago",
            ]
        );
    }

    #[test]
    fn time_of_goal_that_has_ended_runs_no_further() {
        let budget = GoalBudget::default();
        let minute = |minute| Timestamp::UNIX_EPOCH + Duration::from_mins(minute);
        // The present is minute 60.
        for (until, ended_at, says) in [
            (70, Some(50), "time enough: not used up"),
            (55, Some(50), "time enough: not used up"),
            (50, Some(50), "time used_up: used up"),
            (40, Some(50), "time used_up: used up"),
            (70, None, "time enough: 10m left"),
            (60, None, "time used_up: used up 0s ago"),
            (40, None, "time used_up: used up 20m ago"),
        ] {
            let goal = LimitedGoal {
                budget: &budget,
                usage: &usage(0, &[]),
                runs_without_cost: 0,
                turns: 0,
                turn_limit: 200,
                until: Some(minute(until)),
                ended_at: ended_at.map(minute),
            };
            assert_eq!(lines(&goal)[1], says);
        }
    }

    #[test]
    fn goal_without_budget_has_limit_of_turns() {
        let goal = LimitedGoal {
            budget: &GoalBudget::default(),
            usage: &usage(u64::MAX, &[("USD", u64::MAX)]),
            runs_without_cost: 9,
            turns: 200,
            turn_limit: 200,
            until: None,
            ended_at: None,
        };
        assert_eq!(lines(&goal), ["turns used_up: 200 of 200, used up"]);
    }

    #[test]
    fn usage_that_budget_of_money_cannot_count_is_noted() {
        let budget = GoalBudget {
            tokens: None,
            cost: Money::parse("6", "USD").ok(),
        };
        let goal = |usage: &RunUsage, runs_without_cost: u32| {
            let goal = LimitedGoal {
                budget: &budget,
                usage,
                runs_without_cost,
                turns: 0,
                turn_limit: 200,
                until: None,
                ended_at: None,
            };
            lines(&goal).swap_remove(0)
        };
        assert_eq!(
            goal(&usage(3100, &[]), 3),
            "cost enough: 0 of 6 USD, 6 USD left (3 turns reported no cost, so this limit does not count them)"
        );
        assert_eq!(
            goal(&usage(0, &[("EUR", 3_000_000), ("GBP", 0)]), 1),
            "cost enough: 0 of 6 USD, 6 USD left (1 turn reported no cost, so this limit does not count it; \
             not counted: 3 EUR)"
        );
    }

    #[test]
    fn time_is_short() {
        for (seconds, shown) in [(0, "0s"), (59, "59s"), (420, "7m"), (7440, "2h04")] {
            assert_eq!(short_time(Duration::from_secs(seconds)), shown);
        }
    }
}
