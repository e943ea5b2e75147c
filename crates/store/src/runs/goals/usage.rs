//! The usage of goals, and the level of their budgets.

use model::{
    SessionId, Timestamp,
    budget::{Money, RunUsage},
    goal::{BudgetLevel, Event},
};
use serde_json::Value;

use crate::{Error, database::Tx, goals::Goal};

/// Returns the usage of all runs of a session together.
pub(super) async fn usage_of_session(tx: &mut Tx, session: SessionId) -> Result<RunUsage, Error> {
    let rows = tx.fetch_all(sql!("goals/usage"), params![session]).await?;
    let mut sum = RunUsage::default();
    for row in &rows {
        let usage: Option<Value> = row.optional("usage")?;
        let usage = usage.map(|usage| RunUsage::of(&usage)).unwrap_or_default();
        sum.add(&usage);
    }
    Ok(sum)
}

/// Returns the event of a budget whose level has changed. Reads no usage if the goal has no budget.
pub(super) async fn budget_event(
    tx: &mut Tx,
    goal: &Goal,
    now: Timestamp,
) -> Result<Option<Event>, Error> {
    if goal.graph.goal().is_over() {
        return Ok(None);
    }
    let usage = if goal.budget.is_none() {
        RunUsage::default()
    } else {
        usage_of_session(tx, goal.session).await?
    };
    let level: BudgetLevel = goal.budget.level_at(&usage, goal.until, now);
    Ok((level != goal.graph.progress().budget).then_some(Event::Budget(level)))
}

/// Returns the usage in words, such as `0.25 USD, 1200 tokens, 7 turns`.
pub(super) fn describe_usage(usage: &RunUsage, turns: u32) -> String {
    let mut parts = costs(usage);
    if usage.tokens > 0 {
        parts.push(format!("{} tokens", usage.tokens));
    }
    parts.push(format!("{turns} turns"));
    parts.join(", ")
}

/// Returns the rest of a budget in words. Returns `None` if the goal has none.
pub(super) fn describe_budget_left(goal: &Goal, usage: &RunUsage) -> Option<String> {
    let cost = goal.budget.cost.as_ref().and_then(|limit| {
        let left = limit.micros().saturating_sub(usage.cost_in(limit));
        let left = Money::new(left, limit.currency()).ok()?;
        Some(left.to_string())
    });
    let tokens = goal.budget.tokens;
    let tokens = tokens.map(|limit| format!("{} tokens", limit.saturating_sub(usage.tokens)));
    let parts: Vec<_> = cost.into_iter().chain(tokens).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn costs(usage: &RunUsage) -> Vec<String> {
    let costs = usage.cost.iter().filter(|(_, micros)| **micros > 0);
    let costs = costs.filter_map(|(currency, micros)| Money::new(*micros, currency).ok());
    costs.map(|money| money.to_string()).collect()
}
