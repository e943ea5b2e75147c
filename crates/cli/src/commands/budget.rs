//! Budgets, as they are given and printed.

use api_types::{PeriodSpending, Spending};
use model::budget::{Amount, Budget, Limit};

use crate::failure::{Exit, Failure};

/// Reads one limit.
pub(crate) fn limit(text: &str) -> Result<Limit, String> {
    text.parse()
        .map_err(|error: model::budget::InvalidLimit| format!("failed to {error}"))
}

/// Sets limits; others of a budget stay.
pub(crate) fn set(budget: &mut Budget, limits: Vec<Limit>) -> Result<(), Failure> {
    for limit in limits {
        let set = budget.set(limit);
        set.map_err(|error| Failure::new(Exit::Usage, error))?;
    }
    Ok(())
}

/// The limits of a budget; none where nothing is limited.
pub(crate) fn limits(budget: &Budget) -> Option<String> {
    Some(budget.to_string()).filter(|limits| !limits.is_empty())
}

/// What was used today and this month; none where that is nothing.
pub(crate) fn used(spending: &Spending) -> Option<String> {
    let (day, month) = (amounts(&spending.day), amounts(&spending.month));
    let shown = |amounts: Vec<String>| match amounts.join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        some => some,
    };
    (!month.is_empty()).then(|| format!("{} today, {} this month", shown(day), shown(month)))
}

fn amounts(period: &PeriodSpending) -> Vec<String> {
    let turns = u32::try_from(period.turns).unwrap_or(u32::MAX);
    let tokens = (period.tokens > 0).then_some(Amount::Tokens(period.tokens));
    let cost = period
        .cost
        .iter()
        .map(|cost| Amount::Cost(cost.domain().clone()));
    let turns = (turns > 0).then_some(Amount::Turns(turns));
    let all = tokens.into_iter().chain(cost).chain(turns);
    all.map(|amount| amount.to_string()).collect()
}
