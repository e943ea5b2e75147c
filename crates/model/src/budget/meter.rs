//! The usage of one turn, computed from the reports of its agent.
//!
//! Agents report the size of their context and the cost of their whole session so far. Neither is the usage of one
//! turn: the usage is the growth of both since the turn before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Money;

/// The maximum number of tokens that one run is charged. Reports of agents are not trusted, and a sum must not
/// overflow.
const MAX_RUN_TOKENS: u64 = 1_000_000_000_000;
/// The maximum cost that one run is charged in one currency, in millionths of its unit.
const MAX_RUN_COST_MICROS: u64 = 1_000_000_000_000;
/// The maximum number of currencies of one session. Costs in further currencies are ignored.
const MAX_CURRENCIES: usize = 4;

/// The last report of an agent about its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// The number of tokens in the agent's context.
    pub tokens: u64,
    /// The cost of the session so far, with the last reported amount of each currency. Empty if the agent reports no
    /// cost.
    pub costs: Vec<Money>,
}

impl UsageReport {
    /// Reads a report of an agent, or the stored usage of a run or a seat. Returns `None` if it has no number of
    /// tokens.
    pub fn of(usage: &Value) -> Option<Self> {
        let tokens = usage["used"].as_u64()?;
        // A report has one currency, in `cost`. Stored usage has all currencies, in `costs`; older versions stored
        // only `cost`.
        let costs = Vec::deserialize(&usage["costs"]);
        let costs = costs.unwrap_or_else(|_| parse_cost(&usage["cost"]).into_iter().collect());
        Some(Self { tokens, costs })
    }
}

/// Reads a cost in the form in which agents report it.
fn parse_cost(cost: &Value) -> Option<Money> {
    Money::from_report(cost["amount"].as_f64()?, cost["currency"].as_str()?)
}

/// The usage of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunUsage {
    /// The tokens by which the agent's context grew.
    pub tokens: u64,
    /// The cost, from currency to millionths of the currency's unit.
    pub cost: BTreeMap<String, u64>,
}

impl RunUsage {
    /// Reads the stored usage of a run. A corrupt value counts as no usage.
    pub fn of(usage: &Value) -> Self {
        Self::deserialize(&usage["spent"]).unwrap_or_default()
    }

    /// Returns `true` if nothing was used.
    pub fn is_none(&self) -> bool {
        self.tokens == 0 && self.cost.values().all(|micros| *micros == 0)
    }

    /// Returns the cost in the currency of a limit, in millionths of its unit.
    pub fn cost_in(&self, limit: &Money) -> u64 {
        cost_in_currency(&self.cost, limit)
    }

    /// Adds the usage of another run. A sum beyond the largest number is that number.
    pub fn add(&mut self, other: &Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        for (currency, micros) in &other.cost {
            let sum = self.cost.entry(currency.clone()).or_default();
            *sum = sum.saturating_add(*micros);
        }
    }

    /// Returns the part of this usage that exceeds `counted`.
    #[must_use]
    pub fn saturating_sub(&self, counted: &Self) -> Self {
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

/// Returns the sum of the costs in the currency of a limit. Agents may write one currency in several cases, such as
/// `USD` and `usd`.
pub(super) fn cost_in_currency(cost: &BTreeMap<String, u64>, limit: &Money) -> u64 {
    let of_limit = cost
        .iter()
        .filter(|(currency, _)| limit.has_currency(currency));
    of_limit.fold(0, |sum: u64, (_, micros)| sum.saturating_add(*micros))
}

/// A meter that computes the usage of one turn from the reports of its agent.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    tokens: u64,
    /// `true` if the number of tokens before this turn is unknown.
    tokens_unknown: bool,
    costs: Vec<Cost>,
    /// `true` if the cost of the session before this turn is unknown.
    costs_unknown: bool,
    usage: RunUsage,
}

/// The cost of a session in one currency.
#[derive(Debug, Clone)]
struct Cost {
    last: Money,
    /// `true` if the agent reported this cost in this turn.
    reported_this_turn: bool,
}

impl Meter {
    /// Returns a meter for a turn of a session that has had earlier turns. `last` is the agent's last report in these
    /// turns.
    ///
    /// If there is no such report, of tokens or of a cost, the first report in this turn becomes the starting point,
    /// because the meter cannot know how much of it is older. The first turn of a session starts at zero instead: use
    /// `Meter::default()`.
    pub fn resumed(last: Option<UsageReport>) -> Self {
        let tokens = last.as_ref().map(|last| last.tokens);
        let costs = last.map(|last| last.costs).unwrap_or_default();
        let mut meter = Self {
            tokens: tokens.unwrap_or_default(),
            tokens_unknown: tokens.is_none(),
            costs_unknown: costs.is_empty(),
            ..Self::default()
        };
        for last in costs.into_iter().take(MAX_CURRENCIES) {
            meter.costs.push(Cost {
                last,
                reported_this_turn: false,
            });
        }
        meter
    }

    /// Takes a report of the agent into account.
    ///
    /// A context that shrank was compacted, and a cost that shrank was corrected. Neither counts as usage, and
    /// neither reduces the usage. One exception: if the first cost of a turn in a currency is lower than the last
    /// cost of the earlier turns, all of it counts, because the agent was restarted and counts from zero.
    pub fn record(&mut self, reading: &UsageReport) {
        let before = std::mem::replace(&mut self.tokens, reading.tokens);
        if !std::mem::take(&mut self.tokens_unknown) {
            let grown = reading.tokens.saturating_sub(before);
            self.usage.tokens = self.usage.tokens.saturating_add(grown).min(MAX_RUN_TOKENS);
        }
        for cost in &reading.costs {
            self.record_cost(cost);
        }
    }

    fn record_cost(&mut self, cost: &Money) {
        let reported = Cost {
            last: cost.clone(),
            reported_this_turn: true,
        };
        let of_currency = |entry: &&mut Cost| entry.last.has_currency(cost.currency());
        let before = if let Some(entry) = self.costs.iter_mut().find(of_currency) {
            // Known currency. A lower first cost means that the agent was restarted and counts from zero.
            let before = std::mem::replace(entry, reported);
            match before.last.micros() {
                micros if !before.reported_this_turn && micros > cost.micros() => 0,
                micros => micros,
            }
        } else if self.costs.len() < MAX_CURRENCIES {
            // First cost in this currency. If no earlier cost is known, this report is only the starting point.
            self.costs.push(reported);
            if self.costs_unknown { cost.micros() } else { 0 }
        } else {
            // Ignore further currencies, because an agent could invent a new one in each report and fill the memory.
            return;
        };
        let grown = cost.micros().saturating_sub(before);
        if grown > 0 {
            // Keep one key for each currency, whatever case the agent uses, so that the usage is not split.
            let mut names = self.usage.cost.keys();
            let name = names.find(|name| cost.has_currency(name)).cloned();
            let name = name.unwrap_or_else(|| cost.currency().to_owned());
            let sum = self.usage.cost.entry(name).or_default();
            *sum = sum.saturating_add(grown).min(MAX_RUN_COST_MICROS);
        }
    }

    /// Returns the last reported cost of the session in each currency. The meter of the next turn starts from them.
    pub fn costs(&self) -> Vec<&Money> {
        self.costs.iter().map(|cost| &cost.last).collect()
    }

    /// Returns the usage of the turn so far.
    pub const fn usage(&self) -> &RunUsage {
        &self.usage
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn report(tokens: u64, micros: u64) -> UsageReport {
        UsageReport {
            tokens,
            costs: vec![money(micros, "USD")],
        }
    }

    fn money(micros: u64, currency: &str) -> Money {
        Money::new(micros, currency).unwrap()
    }

    /// Returns the report that a seat stores for its next turn.
    fn stored_report(tokens: u64, meter: &Meter) -> Option<UsageReport> {
        let usage = json!({ "used": tokens, "size": 100, "cost": null, "costs": meter.costs() });
        UsageReport::of(&usage)
    }

    /// Returns the tokens and the cost of a turn: of the first turn of a session if `from` is `None`, and of a later
    /// turn otherwise.
    fn turn_usage(from: Option<UsageReport>, readings: &[(u64, u64)]) -> (u64, u64) {
        let mut meter = from.map_or_else(Meter::default, |from| Meter::resumed(Some(from)));
        for (tokens, micros) in readings {
            meter.record(&report(*tokens, *micros));
        }
        let usage = meter.usage();
        let cost = usage.cost.get("USD").copied().unwrap_or(0);
        (usage.tokens, cost)
    }

    #[test]
    fn turn_usage_is_growth_of_its_reports() {
        assert_eq!(turn_usage(None, &[]), (0, 0));
        assert_eq!(turn_usage(None, &[(100, 5), (250, 9)]), (250, 9));
        let before = || Some(report(250, 9));
        assert_eq!(turn_usage(before(), &[(300, 11)]), (50, 2));
        assert_eq!(turn_usage(before(), &[(250, 9)]), (0, 0));
        // The context was compacted in between. Its growth after that counts again.
        assert_eq!(
            turn_usage(before(), &[(300, 11), (80, 12), (100, 13)]),
            (70, 4)
        );
    }

    #[test]
    fn first_lower_cost_in_turn_counts_as_restart() {
        assert_eq!(turn_usage(Some(report(0, 9)), &[(0, 4), (0, 6)]), (0, 6));
        // A lower cost in the middle of a turn is a correction, not a restart.
        assert_eq!(turn_usage(Some(report(0, 9)), &[(0, 10), (0, 7)]), (0, 1));
    }

    #[test]
    fn unreported_usage_of_earlier_turns_is_not_charged() {
        let mut meter = Meter::resumed(None);
        meter.record(&report(90_000, 12_000_000));
        assert!(meter.usage().is_none());
        meter.record(&report(90_500, 12_000_100));
        assert_eq!(meter.usage().tokens, 500);
        assert_eq!(meter.usage().cost["USD"], 100);
        // The first cost that an agent reports may include earlier turns, so it is only the starting point.
        let mut meter = Meter::resumed(Some(UsageReport {
            tokens: 90_000,
            costs: Vec::new(),
        }));
        meter.record(&report(90_001, 12_000_000));
        assert_eq!((meter.usage().tokens, meter.usage().cost.len()), (1, 0));
        meter.record(&report(90_001, 12_000_003));
        assert_eq!(meter.usage().cost["USD"], 3);
        // From then on the costs are known, so a cost in another currency counts in full.
        let mut meter = Meter::resumed(stored_report(90_001, &meter));
        meter.record(&UsageReport {
            tokens: 90_001,
            costs: vec![money(7, "EUR")],
        });
        assert_eq!(meter.usage().cost["EUR"], 7);
    }

    #[test]
    fn costs_are_separate_by_currency_up_to_maximum() {
        let mut meter = Meter::resumed(Some(report(0, 500)));
        for currency in ["EUR", "USD", "CHF", "CZK", "GBP", "gbp", "eur", "Eur"] {
            meter.record(&UsageReport {
                tokens: 0,
                costs: vec![money(7, currency)],
            });
        }
        let names: Vec<_> = meter.usage().cost.keys().cloned().collect();
        assert_eq!(names, ["CHF", "CZK", "EUR", "USD"]);
        assert!(meter.usage().cost.values().all(|micros| *micros == 7));
        assert_eq!(meter.costs().len(), MAX_CURRENCIES);
    }

    #[test]
    fn stored_usage_of_run_is_parsed() {
        let usage =
            json!({ "used": 12, "size": 100, "cost": { "amount": 0.5, "currency": "USD" } });
        assert_eq!(UsageReport::of(&usage), Some(report(12, 500_000)));
        assert_eq!(UsageReport::of(&json!({})), None);
        let mut both = usage.clone();
        both["costs"] = json!([money(3, "EUR"), money(500_000, "USD")]);
        let costs = vec![money(3, "EUR"), money(500_000, "USD")];
        assert_eq!(
            UsageReport::of(&both),
            Some(UsageReport { tokens: 12, costs })
        );
        assert!(RunUsage::of(&usage).is_none());
        let mut meter = Meter::default();
        meter.record(&report(12, 3));
        let usage = json!({ "spent": meter.usage() });
        assert_eq!(&RunUsage::of(&usage), meter.usage());
        assert!(RunUsage::of(&json!({ "spent": "much" })).is_none());
    }

    proptest! {
        #[test]
        fn run_usage_never_decreases_and_differences_add_up(
            readings in prop::collection::vec((any::<u64>(), 0..10_u64.pow(15)), 0..20),
            from in prop::option::of((any::<u64>(), 0..10_u64.pow(15))),
        ) {
            let mut meter = Meter::resumed(from.map(|(tokens, micros)| report(tokens, micros)));
            let mut before = meter.usage().clone();
            let mut sum = RunUsage::default();
            for (tokens, micros) in readings {
                meter.record(&report(tokens, micros));
                let now = meter.usage().clone();
                prop_assert!(now.tokens >= before.tokens);
                prop_assert!(before.saturating_sub(&now).is_none());
                let more = now.saturating_sub(&before);
                sum.tokens += more.tokens;
                for (currency, micros) in more.cost {
                    *sum.cost.entry(currency).or_default() += micros;
                }
                before = now;
            }
            prop_assert_eq!(&sum, meter.usage());
        }

        #[test]
        fn usage_per_currency_is_growth_across_interleaved_turns(
            reports in prop::collection::vec((0..4_usize, 0..1000_u64, any::<bool>()), 0..60),
        ) {
            let currencies = ["USD", "EUR", "CHF", "credits"];
            let mut meter = Meter::default();
            let (mut totals, mut charged) = ([0_u64; 4], [0_u64; 4]);
            let mut charge = |meter: &Meter| {
                for (sum, currency) in charged.iter_mut().zip(currencies) {
                    *sum += meter.usage().cost.get(currency).copied().unwrap_or(0);
                }
            };
            // A first report of zero shows that the agent reports costs.
            meter.record(&report(0, 0));
            for (which, more, turn_ends) in reports {
                totals[which] += more;
                let costs = vec![money(totals[which], currencies[which])];
                meter.record(&UsageReport { tokens: 0, costs });
                if turn_ends {
                    charge(&meter);
                    meter = Meter::resumed(stored_report(0, &meter));
                }
            }
            charge(&meter);
            prop_assert_eq!(charged, totals);
        }
    }
}
