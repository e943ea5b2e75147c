//! Parses and formats budgets.

use std::mem::discriminant;

use api_types::{BudgetPeriodUsage, BudgetUsage};
use model::budget::{Amount, Budget, Limit};

use crate::error::{CliError, Exit};

/// Parses a limit.
pub(crate) fn parse_limit(text: &str) -> Result<Limit, String> {
    text.parse()
        .map_err(|error: model::budget::InvalidLimit| error.to_string())
}

/// Sets limits of a budget. Other limits stay unchanged. Refuses two limits of one kind and period, of which a budget has
/// one.
pub(crate) fn set_limits(budget: &mut Budget, limits: Vec<Limit>) -> Result<(), CliError> {
    for (index, second) in limits.iter().enumerate() {
        let first = limits.iter().take(index).find(|first| {
            first.period == second.period
                && discriminant(&first.amount) == discriminant(&second.amount)
        });
        if let Some(first) = first {
            let message = format!(
                "invalid `--budget`: `{first}` and `{second}` are limits of the same kind and period; accepted is one"
            );
            return Err(CliError::message(Exit::Usage, message));
        }
    }
    for limit in limits {
        let set = budget.set(limit);
        set.map_err(|error| CliError::new(Exit::Usage, error))?;
    }
    Ok(())
}

/// Formats the limits of a budget. Returns `None` if it has no limit.
pub(crate) fn format_limits(budget: &Budget) -> Option<String> {
    Some(budget.to_string()).filter(|limits| !limits.is_empty())
}

/// Formats the usage of today and of this month on one line. Returns `None` if there was none this month.
pub(crate) fn format_usage(usage: &BudgetUsage) -> Option<String> {
    usage_lines(usage).map(|lines| lines.join("; "))
}

/// Formats the usage of today and that of this month. Returns `None` if there was none this month.
pub(crate) fn usage_lines(usage: &BudgetUsage) -> Option<[String; 2]> {
    let (day, month) = (format_amounts(&usage.day), format_amounts(&usage.month));
    let shown = |amounts: Vec<String>| match amounts.join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        some => some,
    };
    (!month.is_empty()).then(|| {
        [
            format!("today: {}", shown(day)),
            format!("this month: {}", shown(month)),
        ]
    })
}

fn format_amounts(period: &BudgetPeriodUsage) -> Vec<String> {
    let turns = u32::try_from(period.turns).unwrap_or(u32::MAX);
    let tokens = (period.tokens > 0).then_some(Amount::Tokens(period.tokens));
    let cost = period
        .cost
        .iter()
        .map(|cost| Amount::Cost(cost.domain().clone()));
    let turns = (turns > 0).then_some(Amount::Turns(turns));
    let minutes = u32::try_from(period.minutes).unwrap_or(u32::MAX);
    let minutes = (minutes > 0).then_some(Amount::Minutes(minutes));
    let all = tokens.into_iter().chain(cost).chain(turns).chain(minutes);
    all.map(|amount| amount.to_string()).collect()
}
