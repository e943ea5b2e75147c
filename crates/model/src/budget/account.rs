//! Accounts: the usage of a budget, compared with its limits.

use std::{collections::BTreeMap, fmt, time::Duration};

use jiff::{civil::Date, tz::TimeZone};

use super::{Amount, Budget, Limit, Money, Period, RunUsage, meter::cost_in_currency};
use crate::{text_enum::text_enum, time::Timestamp};

text_enum! {
    /// The owner of a budget.
    Owner, "an owner of a budget" {
        /// An automation.
        Automation = "automation",
        /// A tenant.
        Tenant = "tenant",
    }
}

/// The day and the month of an instant, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetPeriods {
    /// The beginning of the month.
    pub month: Timestamp,
    /// The beginning of the day.
    pub day: Timestamp,
    /// The beginning of the next day.
    pub day_end: Timestamp,
    /// The beginning of the next month.
    pub month_end: Timestamp,
}

impl BudgetPeriods {
    /// Returns the day and the month of an instant.
    pub fn of(now: Timestamp) -> Self {
        let day = now.jiff().to_zoned(TimeZone::UTC).date();
        let month = day.first_of_month();
        let tomorrow = day.tomorrow();
        let next_month = month.last_of_month().tomorrow();
        Self {
            month: midnight(month, now),
            day: midnight(day, now),
            day_end: tomorrow.map_or(Timestamp::MAX, |day| midnight(day, Timestamp::MAX)),
            month_end: next_month.map_or(Timestamp::MAX, |day| midnight(day, Timestamp::MAX)),
        }
    }

    /// Returns the end of a period. Returns `None` for a run, because its end is unknown in advance.
    pub const fn end(&self, period: Period) -> Option<Timestamp> {
        match period {
            Period::Run => None,
            Period::Day => Some(self.day_end),
            Period::Month => Some(self.month_end),
        }
    }
}

/// Returns the beginning of a day in UTC. Returns `outside` if [`Timestamp`] cannot express it.
fn midnight(day: Date, outside: Timestamp) -> Timestamp {
    let zoned = day.to_zoned(TimeZone::UTC);
    zoned.map_or(outside, |at| Timestamp::from_jiff(at.timestamp()))
}

/// The usage of a day or a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// The tokens.
    pub tokens: u64,
    /// The cost, from currency to millionths of the currency's unit.
    pub cost: BTreeMap<String, u64>,
    /// The turns that began.
    pub turns: u64,
    /// The time that turns took. For the decision about a turn, running turns of others count too.
    pub time: Duration,
}

impl UsageTotals {
    /// Returns the cost as one amount for each currency.
    pub fn money(&self) -> Vec<Money> {
        let cost = self.cost.iter().filter(|(_, micros)| **micros > 0);
        cost.filter_map(|(currency, micros)| Money::new(*micros, currency).ok())
            .collect()
    }

    /// Returns the whole minutes that turns took.
    pub const fn minutes(&self) -> u64 {
        self.time.as_secs() / 60
    }

    /// Returns `true` if this usage and that of a running turn, which has used `used` and taken `time`, together reach
    /// an amount.
    fn reaches(&self, amount: &Amount, used: &RunUsage, time: Duration) -> bool {
        match amount {
            Amount::Tokens(limit) => self.tokens.saturating_add(used.tokens) >= *limit,
            Amount::Cost(limit) => {
                let cost = cost_in_currency(&self.cost, limit);
                cost.saturating_add(used.cost_in(limit)) >= limit.micros()
            }
            Amount::Turns(limit) => self.turns >= u64::from(*limit),
            Amount::Minutes(limit) => {
                let limit = Duration::from_secs(u64::from(*limit) * 60);
                self.time.saturating_add(time) >= limit
            }
        }
    }
}

/// A budget with its usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The owner of the budget.
    pub owner: Owner,
    /// The budget.
    pub budget: Budget,
    /// The day and the month of the usage.
    pub periods: BudgetPeriods,
    /// The usage of the day.
    pub day: UsageTotals,
    /// The usage of the month.
    pub month: UsageTotals,
}

impl Account {
    /// Returns the limit that prevents the next turn. If several limits do, returns one with the longest period.
    /// Returns `None` if the turn may begin.
    ///
    /// A limit in an unknown currency prevents it as well, because it may be a unit that nothing reaches.
    pub fn limit_blocking_next_turn(&self) -> Option<ReachedLimit> {
        let nothing = RunUsage::default();
        self.longest_reached_limit(|limit| {
            if limit.unknown_currency().is_some() {
                return true;
            }
            let used = match limit.period {
                Period::Run => return false,
                Period::Day => &self.day,
                Period::Month => &self.month,
            };
            used.reaches(&limit.amount, &nothing, Duration::ZERO)
        })
    }

    /// Returns the limit that a running turn has reached, with the usage `used` and after `time`. The account already
    /// contains `counted` of that usage. Limits of turns do not apply, because the turn was admitted when it began.
    fn limit_reached_during_turn(
        &self,
        used: &RunUsage,
        counted: &RunUsage,
        time: Duration,
    ) -> Option<ReachedLimit> {
        // Subtract the usage that the totals already contain, so that a long turn is not charged twice.
        let beyond = used.saturating_sub(counted);
        self.longest_reached_limit(|limit| match (limit.period, &limit.amount) {
            (_, Amount::Turns(_)) => false,
            (Period::Run, amount) => UsageTotals::default().reaches(amount, used, time),
            (Period::Day, amount) => self.day.reaches(amount, &beyond, time),
            (Period::Month, amount) => self.month.reaches(amount, &beyond, time),
        })
    }

    /// Returns the limit with the longest period of those that are reached.
    fn longest_reached_limit(&self, is_reached: impl Fn(&Limit) -> bool) -> Option<ReachedLimit> {
        let limits = self.budget.limits().filter(is_reached);
        let longest = limits.max_by_key(|limit| limit.period)?;
        Some(ReachedLimit {
            owner: self.owner,
            // A run that waits for a budget of runs, whose currency is unknown, checks it again tomorrow.
            until: self.periods.end(longest.period).or_else(|| {
                let is_unknown = longest.unknown_currency().is_some();
                is_unknown.then_some(self.periods.day_end)
            }),
            limit: longest,
        })
    }
}

/// The accounts that limit a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    /// The accounts of the automation and of the tenant, for each that has a budget.
    pub accounts: Vec<Account>,
    /// The part of the run's own usage that the accounts already contain.
    pub counted: RunUsage,
}

impl Accounts {
    /// Returns the limit that the run has reached with the usage `used`, `time` after its beginning. The accounts do
    /// not contain that time. Returns `None` if the run may continue.
    pub fn limit_reached_during_turn(
        &self,
        used: &RunUsage,
        time: Duration,
    ) -> Option<ReachedLimit> {
        let accounts = self.accounts.iter();
        let reached = accounts
            .filter_map(|account| account.limit_reached_during_turn(used, &self.counted, time));
        reached.max_by_key(|reached| reached.limit.period)
    }

    /// Returns `true` if a limit of minutes applies.
    pub fn has_minutes(&self) -> bool {
        self.accounts.iter().any(|it| it.budget.has_minutes())
    }

    /// Returns the limit that prevents the next turn. Returns `None` if the turn may begin.
    pub fn limit_blocking_next_turn(&self) -> Option<ReachedLimit> {
        let reached = self
            .accounts
            .iter()
            .filter_map(Account::limit_blocking_next_turn);
        reached.max_by_key(|reached| reached.limit.period)
    }
}

/// A limit that is used up, or that is in an unknown currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLimit {
    /// The owner of the budget.
    pub owner: Owner,
    /// The limit.
    pub limit: Limit,
    /// The instant at which the limit applies anew. `None` for the limit of a run.
    pub until: Option<Timestamp>,
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            owner,
            limit: Limit { amount, period },
            until,
        } = self;
        if let Some(currency) = self.limit.unknown_currency() {
            return write!(
                f,
                "the {owner}'s budget of {amount} a {period} has the unknown currency `{currency}`: \
                 replace it by tokens, turns, minutes or a currency of ISO 4217"
            );
        }
        write!(f, "the {owner}'s budget of {amount} a {period} is used up")?;
        match until {
            Some(until) => write!(f, " until {until}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn account(limits: &[&str]) -> Account {
        let mut budget = Budget::default();
        for limit in limits {
            budget.set(limit.parse().unwrap()).unwrap();
        }
        Account {
            owner: Owner::Automation,
            budget,
            periods: BudgetPeriods::of(at("2026-05-04T09:00:00Z")),
            day: UsageTotals::default(),
            month: UsageTotals::default(),
        }
    }

    fn usage(tokens: u64, cost: &[(&str, u64)]) -> RunUsage {
        RunUsage {
            tokens,
            cost: cost.iter().map(|(c, m)| ((*c).to_owned(), *m)).collect(),
        }
    }

    #[test]
    fn budget_periods_are_utc_days_and_months() {
        for (now, day, day_end, month, month_end) in [
            (
                "2026-05-04T09:00:00Z",
                "2026-05-04",
                "2026-05-05",
                "2026-05-01",
                "2026-06-01",
            ),
            (
                "2026-12-31T23:59:59.999999Z",
                "2026-12-31",
                "2027-01-01",
                "2026-12-01",
                "2027-01-01",
            ),
            (
                "2028-02-29T00:00:00Z",
                "2028-02-29",
                "2028-03-01",
                "2028-02-01",
                "2028-03-01",
            ),
        ] {
            let midnight = |day: &str| at(&format!("{day}T00:00:00Z"));
            let expected = BudgetPeriods {
                month: midnight(month),
                day: midnight(day),
                day_end: midnight(day_end),
                month_end: midnight(month_end),
            };
            assert_eq!(BudgetPeriods::of(at(now)), expected, "{now}");
        }
    }

    #[test]
    fn budget_limit_is_reached_when_fully_used() {
        let mut account = account(&["100 tokens/day", "3 turns/month"]);
        account.day.tokens = 99;
        account.month.turns = 2;
        assert_eq!(account.limit_blocking_next_turn(), None);
        account.day.tokens = 100;
        let reached = account.limit_blocking_next_turn().unwrap();
        assert_eq!(
            reached.to_string(),
            "the automation's budget of 100 tokens a day is used up until 2026-05-05T00:00:00Z"
        );
        // Of two reached limits, the text names the one with the longer period.
        account.month.turns = 3;
        let reached = account.limit_blocking_next_turn().unwrap();
        assert_eq!(
            reached.to_string(),
            "the automation's budget of 3 turns a month is used up until 2026-06-01T00:00:00Z"
        );
    }

    #[test]
    fn run_reaches_run_limit_and_rest_of_period_limit() {
        let mut account = account(&["50 tokens/run", "2 USD/day"]);
        account.day.cost.insert("USD".into(), 1_500_000);
        let counted = usage(20, &[("USD", 500_000)]);
        let reached = |used: &RunUsage| {
            let accounts = Accounts {
                accounts: vec![account.clone()],
                counted: counted.clone(),
            };
            accounts
                .limit_reached_during_turn(used, Duration::ZERO)
                .map(|reached| reached.to_string())
        };
        // Usage that the account already contains is not counted twice.
        assert_eq!(reached(&usage(49, &[("USD", 999_999)])), None);
        assert_eq!(
            reached(&usage(50, &[])).unwrap(),
            "the automation's budget of 50 tokens a run is used up"
        );
        assert_eq!(
            reached(&usage(0, &[("usd", 500_000)])).unwrap(),
            "the automation's budget of 2 USD a day is used up until 2026-05-05T00:00:00Z"
        );
        assert_eq!(reached(&usage(0, &[("EUR", 9_000_000)])), None);
    }

    #[test]
    fn turn_limit_does_not_stop_running_turn() {
        let mut account = account(&["1 turn/day"]);
        account.day.turns = 1;
        assert!(account.limit_blocking_next_turn().is_some());
        let accounts = Accounts {
            accounts: vec![account],
            counted: RunUsage::default(),
        };
        assert_eq!(
            accounts.limit_reached_during_turn(&usage(9, &[]), Duration::ZERO),
            None
        );
    }

    #[test]
    fn minutes_count_before_and_during_turn() {
        let mut account = account(&["90 minutes/day", "100 minutes/month"]);
        account.day.time = Duration::from_secs(90 * 60 - 1);
        account.month.time = account.day.time;
        assert_eq!(account.day.minutes(), 89);
        assert_eq!(account.limit_blocking_next_turn(), None);
        let accounts = Accounts {
            accounts: vec![account.clone()],
            counted: RunUsage::default(),
        };
        assert!(accounts.has_minutes());
        let nothing = RunUsage::default();
        let reached = |millis| {
            let time = Duration::from_millis(millis);
            let reached = accounts.limit_reached_during_turn(&nothing, time);
            reached.map(|reached| reached.to_string())
        };
        assert_eq!(reached(999), None);
        let text =
            "the automation's budget of 90 minutes a day is used up until 2026-05-05T00:00:00Z";
        assert_eq!(reached(1000).unwrap(), text);
        account.day.time = Duration::from_mins(90);
        let reached = account.limit_blocking_next_turn().unwrap();
        assert_eq!(reached.to_string(), text);
    }

    #[test]
    fn limit_in_unknown_currency_blocks_next_turn() {
        for period in Period::ALL {
            let mut account = account(&[]);
            let limit = Limit {
                amount: Amount::Cost(Money::parse("3", "runs").unwrap()),
                period: *period,
            };
            account.budget.set(limit).unwrap();
            let reached = account.limit_blocking_next_turn().unwrap();
            assert!(reached.until.is_some());
            let text = reached.to_string();
            let expected = format!(
                "the automation's budget of 3 runs a {period} has the unknown currency `runs`"
            );
            assert!(text.starts_with(&expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn counted_usage_does_not_change_budget_decision(
            limit in 1..1000_u64, used in 0..1000_u64, run_used in 0..1000_u64, counted in 0..1000_u64,
        ) {
            let counted = counted.min(run_used);
            let decide = |counted: u64| {
                let mut account = account(&[&format!("{limit} tokens/day")]);
                account.day.tokens = used + counted;
                let accounts = Accounts {
                    accounts: vec![account],
                    counted: usage(counted, &[]),
                };
                accounts.limit_reached_during_turn(&usage(run_used, &[]), Duration::ZERO).is_some()
            };
            prop_assert_eq!(decide(counted), used + run_used >= limit);
        }

        #[test]
        fn budget_periods_contain_their_instant(micros in 0..4_102_444_800_000_000_i64) {
            let now = Timestamp::from_microsecond(micros).unwrap();
            let days = BudgetPeriods::of(now);
            prop_assert!(days.month <= days.day && days.day <= now);
            prop_assert!(now < days.day_end && days.day_end <= days.month_end);
            prop_assert_eq!(BudgetPeriods::of(days.day), days);
        }
    }
}
