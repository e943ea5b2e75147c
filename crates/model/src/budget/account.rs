//! What was used, set against what may be.

use std::{collections::BTreeMap, fmt};

use jiff::{civil::Date, tz::TimeZone};

use super::{Amount, Budget, Limit, Money, Period, Spent, meter::in_currency};
use crate::{text_enum::text_enum, time::Timestamp};

text_enum! {
    /// Whose budget it is.
    Owner, "an owner of a budget" {
        /// The automation's.
        Automation = "automation",
        /// The tenant's.
        Tenant = "tenant",
    }
}

/// The day and the month of an instant, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// Where the month began.
    pub month: Timestamp,
    /// Where the day began.
    pub day: Timestamp,
    /// Where the next day begins.
    pub day_end: Timestamp,
    /// Where the next month begins.
    pub month_end: Timestamp,
}

impl Days {
    /// The day and the month of an instant.
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

    /// Where a period ends by itself; that of a run does not.
    pub const fn end(&self, period: Period) -> Option<Timestamp> {
        match period {
            Period::Run => None,
            Period::Day => Some(self.day_end),
            Period::Month => Some(self.month_end),
        }
    }
}

/// The beginning of a day in UTC; `outside` where no instant is there.
fn midnight(day: Date, outside: Timestamp) -> Timestamp {
    let zoned = day.to_zoned(TimeZone::UTC);
    zoned.map_or(outside, |at| Timestamp::from_jiff(at.timestamp()))
}

/// What was used in a day or a month.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of each currency's unit.
    pub cost: BTreeMap<String, u64>,
    /// Turns that began.
    pub turns: u64,
}

impl Used {
    /// What it cost, by currency.
    pub fn money(&self) -> Vec<Money> {
        let cost = self.cost.iter().filter(|(_, micros)| **micros > 0);
        cost.filter_map(|(currency, micros)| Money::new(*micros, currency).ok())
            .collect()
    }

    /// Whether an amount is used up, with what a run has used beside it.
    fn reaches(&self, amount: &Amount, spent: &Spent) -> bool {
        match amount {
            Amount::Tokens(limit) => self.tokens.saturating_add(spent.tokens) >= *limit,
            Amount::Cost(limit) => {
                let cost = in_currency(&self.cost, limit);
                cost.saturating_add(spent.cost_in(limit)) >= limit.micros()
            }
            Amount::Turns(limit) => self.turns >= u64::from(*limit),
        }
    }
}

/// A budget with what was used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Whose it is.
    pub owner: Owner,
    /// What may be used.
    pub budget: Budget,
    /// The day and the month that it is about.
    pub days: Days,
    /// What was used of the day.
    pub day: Used,
    /// What was used of the month.
    pub month: Used,
}

impl Account {
    /// The limit that keeps the next turn from beginning, if any; of several that which ends last.
    pub fn before_turn(&self) -> Option<Reached> {
        let nothing = Spent::default();
        self.reached(|limit| {
            let used = match limit.period {
                Period::Run => return false,
                Period::Day => &self.day,
                Period::Month => &self.month,
            };
            used.reaches(&limit.amount, &nothing)
        })
    }

    /// The limit that a run under way has reached, if any, when it has used `spent` and only `counted` of
    /// that is part of the account. The turn itself was allowed when it began.
    fn during_turn(&self, spent: &Spent, counted: &Spent) -> Option<Reached> {
        let beyond = spent.beyond(counted);
        self.reached(|limit| match (limit.period, &limit.amount) {
            (_, Amount::Turns(_)) => false,
            (Period::Run, amount) => Used::default().reaches(amount, spent),
            (Period::Day, amount) => self.day.reaches(amount, &beyond),
            (Period::Month, amount) => self.month.reaches(amount, &beyond),
        })
    }

    /// Of several limits that are reached, the one of the longest period.
    fn reached(&self, is_reached: impl Fn(&Limit) -> bool) -> Option<Reached> {
        let limits = self.budget.limits().filter(is_reached);
        let longest = limits.max_by_key(|limit| limit.period)?;
        Some(Reached {
            owner: self.owner,
            until: self.days.end(longest.period),
            limit: longest,
        })
    }
}

/// All that limits a run while it goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts {
    /// The automation's budget and the tenant's, where they have one.
    pub accounts: Vec<Account>,
    /// What of the run's own use is part of these accounts already.
    pub counted: Spent,
}

impl Accounts {
    /// The limit that the run has reached, if any, when it has used `spent`.
    pub fn reached(&self, spent: &Spent) -> Option<Reached> {
        let accounts = self.accounts.iter();
        let reached = accounts.filter_map(|account| account.during_turn(spent, &self.counted));
        reached.max_by_key(|reached| reached.limit.period)
    }

    /// The limit that keeps the next turn from beginning, if any.
    pub fn before_turn(&self) -> Option<Reached> {
        let reached = self.accounts.iter().filter_map(Account::before_turn);
        reached.max_by_key(|reached| reached.limit.period)
    }
}

/// A limit that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Whose it is.
    pub owner: Owner,
    /// The limit.
    pub limit: Limit,
    /// When it is there anew; a run's never is.
    pub until: Option<Timestamp>,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            owner,
            limit: Limit { amount, period },
            until,
        } = self;
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
            days: Days::of(at("2026-05-04T09:00:00Z")),
            day: Used::default(),
            month: Used::default(),
        }
    }

    fn spent(tokens: u64, cost: &[(&str, u64)]) -> Spent {
        Spent {
            tokens,
            cost: cost.iter().map(|(c, m)| ((*c).to_owned(), *m)).collect(),
        }
    }

    #[test]
    fn days_and_months_are_those_of_utc() {
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
            let expected = Days {
                month: midnight(month),
                day: midnight(day),
                day_end: midnight(day_end),
                month_end: midnight(month_end),
            };
            assert_eq!(Days::of(at(now)), expected, "{now}");
        }
    }

    #[test]
    fn a_limit_is_reached_when_all_of_it_is_used() {
        let mut account = account(&["100 tokens/day", "3 turns/month"]);
        account.day.tokens = 99;
        account.month.turns = 2;
        assert_eq!(account.before_turn(), None);
        account.day.tokens = 100;
        let reached = account.before_turn().unwrap();
        assert_eq!(
            reached.to_string(),
            "the automation's budget of 100 tokens a day is used up until 2026-05-05T00:00:00Z"
        );
        // Of two the one that holds for longer is named.
        account.month.turns = 3;
        let reached = account.before_turn().unwrap();
        assert_eq!(
            reached.to_string(),
            "the automation's budget of 3 turns a month is used up until 2026-06-01T00:00:00Z"
        );
    }

    #[test]
    fn a_run_reaches_its_own_limit_and_what_is_left_of_the_others() {
        let mut account = account(&["50 tokens/run", "2 USD/day"]);
        account.day.cost.insert("USD".into(), 1_500_000);
        let counted = spent(20, &[("USD", 500_000)]);
        let reached = |spent: &Spent| {
            let accounts = Accounts {
                accounts: vec![account.clone()],
                counted: counted.clone(),
            };
            accounts.reached(spent).map(|reached| reached.to_string())
        };
        // What is counted already is not taken twice.
        assert_eq!(reached(&spent(49, &[("USD", 999_999)])), None);
        assert_eq!(
            reached(&spent(50, &[])).unwrap(),
            "the automation's budget of 50 tokens a run is used up"
        );
        assert_eq!(
            reached(&spent(0, &[("usd", 500_000)])).unwrap(),
            "the automation's budget of 2 USD a day is used up until 2026-05-05T00:00:00Z"
        );
        assert_eq!(reached(&spent(0, &[("EUR", 9_000_000)])), None);
    }

    #[test]
    fn the_turn_that_is_under_way_was_allowed() {
        let mut account = account(&["1 turn/day"]);
        account.day.turns = 1;
        assert!(account.before_turn().is_some());
        let accounts = Accounts {
            accounts: vec![account],
            counted: Spent::default(),
        };
        assert_eq!(accounts.reached(&spent(9, &[])), None);
    }

    proptest! {
        #[test]
        fn what_was_counted_changes_no_decision(
            limit in 1..1000_u64, used in 0..1000_u64, own in 0..1000_u64, counted in 0..1000_u64,
        ) {
            let counted = counted.min(own);
            let decide = |counted: u64| {
                let mut account = account(&[&format!("{limit} tokens/day")]);
                account.day.tokens = used + counted;
                let accounts = Accounts {
                    accounts: vec![account],
                    counted: spent(counted, &[]),
                };
                accounts.reached(&spent(own, &[])).is_some()
            };
            prop_assert_eq!(decide(counted), used + own >= limit);
        }

        #[test]
        fn an_instant_is_in_its_day_and_its_month(micros in 0..4_102_444_800_000_000_i64) {
            let now = Timestamp::from_microsecond(micros).unwrap();
            let days = Days::of(now);
            prop_assert!(days.month <= days.day && days.day <= now);
            prop_assert!(now < days.day_end && days.day_end <= days.month_end);
            prop_assert_eq!(Days::of(days.day), days);
        }
    }
}
