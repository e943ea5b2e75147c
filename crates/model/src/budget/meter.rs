//! What one turn uses, worked out from what its agent reports.
//!
//! Agents report how full their context is, and what their session has cost so far. Neither is what a
//! turn has used: that is by how much they grew since the turn before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Money;

/// The most tokens that one run is taken to have used: what agents say is not to be trusted.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The most millionths of a currency's unit that one run is taken to have cost.
const MOST_MICROS: u64 = 1_000_000_000_000;
/// How many currencies one run is taken to have.
const MOST_CURRENCIES: usize = 4;

/// What an agent last reported of its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Tokens in its context.
    pub tokens: u64,
    /// What the session has cost so far, where the agent knows.
    pub cost: Option<Money>,
}

impl Reading {
    /// Reads what is kept of a run or a seat; nothing where nothing was reported.
    pub fn of(usage: &Value) -> Option<Self> {
        let cost = &usage["cost"];
        let currency = cost["currency"].as_str();
        Some(Self {
            tokens: usage["used"].as_u64()?,
            cost: currency.and_then(|it| Money::reported(cost["amount"].as_f64()?, it)),
        })
    }
}

/// What a run has used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens by which the agent's context grew.
    pub tokens: u64,
    /// What it cost, in millionths of each currency's unit.
    pub cost: BTreeMap<String, u64>,
}

impl Spent {
    /// Reads what is kept of a run. What makes no sense is nothing.
    pub fn of(usage: &Value) -> Self {
        Self::deserialize(&usage["spent"]).unwrap_or_default()
    }

    /// Whether nothing was used.
    pub fn is_none(&self) -> bool {
        self.tokens == 0 && self.cost.values().all(|micros| *micros == 0)
    }

    /// What it cost in the currency of a limit.
    pub(super) fn cost_in(&self, limit: &Money) -> u64 {
        in_currency(&self.cost, limit)
    }

    /// What is beyond what has been counted already.
    #[must_use]
    pub fn beyond(&self, counted: &Self) -> Self {
        let cost = self.cost.iter().filter_map(|(currency, micros)| {
            let before = counted.cost.get(currency).copied().unwrap_or(0);
            let more = micros.saturating_sub(before);
            (more > 0).then(|| (currency.clone(), more))
        });
        Self {
            tokens: self.tokens.saturating_sub(counted.tokens),
            cost: cost.collect(),
        }
    }
}

/// Adds up what is of one currency, however it is written.
pub(super) fn in_currency(cost: &BTreeMap<String, u64>, limit: &Money) -> u64 {
    let of_limit = cost.iter().filter(|(currency, _)| limit.is_of(currency));
    of_limit.fold(0, |sum: u64, (_, micros)| sum.saturating_add(*micros))
}

/// Follows what an agent reports through one turn.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    last: Reading,
    /// Whether the agent has said a cost in this turn.
    priced: bool,
    spent: Spent,
}

impl Meter {
    /// A meter for the next turn of a seat, from what its agent last reported; of a seat's first turn,
    /// from nothing.
    pub fn from(last: Option<Reading>) -> Self {
        Self {
            last: last.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Takes what the agent reports.
    ///
    /// A context that shrank was compacted, and a cost that shrank was corrected: neither is use, nor is
    /// any given back. Only the first cost of a turn is taken whole where it is less than the last one
    /// of the turn before: the agent was started anew, and counts from zero.
    pub fn read(&mut self, reading: Reading) {
        let grown = reading.tokens.saturating_sub(self.last.tokens);
        self.last.tokens = reading.tokens;
        self.spent.tokens = self.spent.tokens.saturating_add(grown).min(MOST_TOKENS);
        let Some(cost) = reading.cost else {
            return;
        };
        let of_currency = |last: &&Money| last.is_of(cost.currency());
        let before = self.last.cost.as_ref().filter(of_currency);
        let before = match before.map_or(0, Money::micros) {
            before if !self.priced && before > cost.micros() => 0,
            before => before,
        };
        let grown = cost.micros().saturating_sub(before);
        let known = self.spent.cost.contains_key(cost.currency());
        if grown > 0 && (known || self.spent.cost.len() < MOST_CURRENCIES) {
            let currency = cost.currency().to_owned();
            let sum = self.spent.cost.entry(currency).or_default();
            *sum = sum.saturating_add(grown).min(MOST_MICROS);
        }
        self.priced = true;
        self.last.cost = Some(cost);
    }

    /// What the turn has used so far.
    pub const fn spent(&self) -> &Spent {
        &self.spent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn reading(tokens: u64, micros: u64) -> Reading {
        Reading {
            tokens,
            cost: Some(Money::new(micros, "USD").unwrap()),
        }
    }

    fn spent(from: Option<Reading>, readings: &[(u64, u64)]) -> (u64, u64) {
        let mut meter = Meter::from(from);
        for (tokens, micros) in readings {
            meter.read(reading(*tokens, *micros));
        }
        let spent = meter.spent();
        let cost = spent.cost.get("USD").copied().unwrap_or(0);
        (spent.tokens, cost)
    }

    #[test]
    fn a_turn_has_used_by_how_much_its_reports_grew() {
        assert_eq!(spent(None, &[]), (0, 0));
        assert_eq!(spent(None, &[(100, 5), (250, 9)]), (250, 9));
        let before = || Some(reading(250, 9));
        assert_eq!(spent(before(), &[(300, 11)]), (50, 2));
        assert_eq!(spent(before(), &[(250, 9)]), (0, 0));
        // Compacted in between: what it has grown by since counts again.
        assert_eq!(spent(before(), &[(300, 11), (80, 12), (100, 13)]), (70, 4));
    }

    #[test]
    fn an_agent_that_counts_its_cost_anew_is_believed_once() {
        assert_eq!(spent(Some(reading(0, 9)), &[(0, 4), (0, 6)]), (0, 6));
        // A correction in mid-turn is none.
        assert_eq!(spent(Some(reading(0, 9)), &[(0, 10), (0, 7)]), (0, 1));
    }

    #[test]
    fn currencies_are_kept_apart_and_many_are_ignored() {
        let mut meter = Meter::from(Some(reading(0, 500)));
        for currency in ["EUR", "USD", "CHF", "CZK", "GBP"] {
            let cost = Money::new(7, currency).ok();
            meter.read(Reading { tokens: 0, cost });
        }
        let kept: Vec<_> = meter.spent().cost.keys().cloned().collect();
        assert_eq!(kept, ["CHF", "CZK", "EUR", "USD"]);
    }

    #[test]
    fn what_is_kept_of_a_run_is_read_again() {
        let usage =
            json!({ "used": 12, "size": 100, "cost": { "amount": 0.5, "currency": "USD" } });
        assert_eq!(Reading::of(&usage), Some(reading(12, 500_000)));
        assert_eq!(Reading::of(&json!({})), None);
        assert!(Spent::of(&usage).is_none());
        let mut meter = Meter::default();
        meter.read(reading(12, 3));
        let usage = json!({ "spent": meter.spent() });
        assert_eq!(&Spent::of(&usage), meter.spent());
        assert!(Spent::of(&json!({ "spent": "much" })).is_none());
    }

    proptest! {
        #[test]
        fn use_never_shrinks_and_what_is_beyond_adds_up(
            readings in prop::collection::vec((any::<u64>(), 0..10_u64.pow(15)), 0..20),
            from in prop::option::of((any::<u64>(), 0..10_u64.pow(15))),
        ) {
            let mut meter = Meter::from(from.map(|(tokens, micros)| reading(tokens, micros)));
            let mut before = meter.spent().clone();
            let mut sum = Spent::default();
            for (tokens, micros) in readings {
                meter.read(reading(tokens, micros));
                let now = meter.spent().clone();
                prop_assert!(now.tokens >= before.tokens);
                prop_assert!(before.beyond(&now).is_none());
                let more = now.beyond(&before);
                sum.tokens += more.tokens;
                for (currency, micros) in more.cost {
                    *sum.cost.entry(currency).or_default() += micros;
                }
                before = now;
            }
            prop_assert_eq!(&sum, meter.spent());
        }
    }
}
