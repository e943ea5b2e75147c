//! The budget of a goal, its usage and the rest of its time as text.

use api_types::{GoalBudget, GoalSummary, Money};
use model::{Timestamp, goal::short_time};

use crate::output::one_line;

/// Formats an amount, such as `3.10 USD`.
fn format_money(money: &Money) -> String {
    let money = money.domain();
    format!("{} {}", money.amount(), one_line(money.currency()))
}

/// Formats a budget, such as `6 USD, 200000 tokens`.
pub(super) fn format_budget(budget: &GoalBudget) -> String {
    let cost = budget.cost.as_ref().map(format_money);
    let tokens = budget.tokens.map(|tokens| format!("{tokens} tokens"));
    let parts: Vec<_> = cost.into_iter().chain(tokens).collect();
    parts.join(", ")
}

/// Formats the cost that the agents have reported, or their tokens if they report no cost.
pub(super) fn format_usage(goal: &GoalSummary) -> String {
    let cost: Vec<_> = goal.usage.cost.iter().map(format_money).collect();
    match (cost.is_empty(), goal.usage.tokens) {
        (false, _) => cost.join(" + "),
        (true, Some(tokens)) => format!("{tokens} tokens"),
        (true, None) => "-".to_owned(),
    }
}

/// Formats the cost and the tokens with their limits, each apart, such as `3.1 USD of 6 USD` and `3100 tokens`. Tokens without
/// a limit stand only for a cost that no agent has reported.
pub(super) fn format_usage_of_limits(goal: &GoalSummary) -> Vec<String> {
    let budget = goal.budget.clone().unwrap_or_default();
    let cost: Vec<_> = goal.usage.cost.iter().map(format_money).collect();
    let has_cost = !cost.is_empty();
    let cost = has_cost.then(|| cost.join(" + "));
    let cost = match &budget.cost {
        Some(limit) => {
            let cost = cost.unwrap_or_else(|| "-".to_owned());
            Some(format!("{cost} of {}", format_money(limit)))
        }
        None => cost,
    };
    let tokens = match (goal.usage.tokens, budget.tokens) {
        (tokens, Some(limit)) => Some(format!("{} of {limit} tokens", tokens.unwrap_or(0))),
        (Some(tokens), None) if !has_cost => Some(format!("{tokens} tokens")),
        (_, None) => None,
    };
    cost.into_iter().chain(tokens).collect()
}

/// Formats the time that a goal has left. Returns `None` for a goal that is over or has no end of its time.
pub(super) fn format_time_left(goal: &GoalSummary, now: Timestamp) -> Option<String> {
    let until = goal.until.filter(|_| goal.ended_at.is_none())?;
    Some(if now < until {
        format!("{} left", short_time(until.since(now)))
    } else {
        "no time left".to_owned()
    })
}
