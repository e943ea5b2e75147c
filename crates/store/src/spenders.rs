//! The automations, goals and conversations that used the most on a day.
//!
//! The usage of goals counts towards the account of their tenant, as that of conversations does. The runs of the goals tell
//! them apart.

use std::{cmp::Reverse, collections::BTreeMap, mem};

use model::{
    AutomationId, SessionId, TenantId, Timestamp,
    budget::{BudgetPeriods, RunUsage},
};
use serde_json::Value;

use crate::{Error, database::Tx, rows};

/// A spender in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedSpender {
    /// An automation, which may be deleted.
    Automation {
        /// The ID.
        id: AutomationId,
        /// The name.
        name: String,
    },
    /// A goal: the turns of its tasks, and those of messages to its seats.
    Goal {
        /// The session.
        session: SessionId,
        /// The title of the session, or the beginning of the text.
        title: String,
    },
    /// All conversations of people. Deleted goals count as one of them.
    Conversations,
}

/// The usage of a spender on a day, in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpenderUsage {
    /// The spender.
    pub spender: ListedSpender,
    /// The currency. Empty if the agents reported no cost.
    pub currency: String,
    /// The cost in millionths of the currency's unit.
    pub cost: u64,
    /// The tokens by which the agents' contexts grew. Those of a spender with several currencies stand beside its highest
    /// cost.
    pub tokens: u64,
    /// The number of turns, which stands beside the highest cost, too.
    pub turns: u64,
}

/// The usage of a spender on a day.
#[derive(Default)]
struct DayUsage {
    used: RunUsage,
    turns: u64,
}

impl DayUsage {
    fn add(&mut self, used: &RunUsage, turns: u64) {
        self.used.add(used);
        self.turns = self.turns.saturating_add(turns);
    }

    fn subtract(&mut self, part: &Self) {
        self.used = self.used.saturating_sub(&part.used);
        self.turns = self.turns.saturating_sub(part.turns);
    }

    /// Adds an item for each currency to a list, or one item if the agents reported no cost. Adds none if nothing was used.
    fn list(self, spender: &ListedSpender, items: &mut Vec<SpenderUsage>) {
        let costs = self.used.cost.into_iter().filter(|(_, cost)| *cost > 0);
        let mut costs: Vec<_> = costs.collect();
        costs.sort_by_key(|(_, cost)| Reverse(*cost));
        let mut counts = (self.used.tokens, self.turns);
        if costs.is_empty() && counts != (0, 0) {
            costs.push((String::new(), 0));
        }
        for (currency, cost) in costs {
            let (tokens, turns) = mem::take(&mut counts);
            items.push(SpenderUsage {
                spender: spender.clone(),
                currency,
                cost,
                tokens,
                turns,
            });
        }
    }
}

/// Lists the spenders of a tenant that used the most on the day of `now`, the highest cost first. A turn of a goal that began
/// before the day counts towards the conversations, because its run does not tell how much it used on each day.
pub(crate) async fn spenders_of_day(
    tx: &mut Tx,
    tenant: TenantId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<SpenderUsage>, Error> {
    let days = BudgetPeriods::of(now);
    // The conversations may leave the list without the usage of goals.
    let read_limit = limit.saturating_add(1);
    let found = tx
        .fetch_all(
            sql!("spending/of_day"),
            params![tenant, days.day, read_limit],
        )
        .await?;
    let mut conversations = DayUsage::default();
    let mut automations: BTreeMap<AutomationId, (String, DayUsage)> = BTreeMap::new();
    for row in &found {
        let automation: Option<AutomationId> = row.optional("automation_id")?;
        let usage = match automation {
            None => &mut conversations,
            Some(id) => {
                let name: String = row.get("automation_name")?;
                let new = || (name, DayUsage::default());
                &mut automations.entry(id).or_insert_with(new).1
            }
        };
        let currency: String = row.get("currency")?;
        let used = RunUsage {
            tokens: rows::read_amount(row, "tokens")?,
            cost: BTreeMap::from([(currency, rows::read_amount(row, "cost")?)]),
        };
        usage.add(&used, rows::read_amount(row, "turns")?);
    }
    let mut items = Vec::new();
    for (id, (name, usage)) in automations {
        usage.list(&ListedSpender::Automation { id, name }, &mut items);
    }
    // No goal has a higher usage than the account of its tenant, of which its own is a part.
    if conversations.turns > 0 || !conversations.used.is_none() {
        for (session, (title, usage)) in goals_of_day(tx, tenant, days).await? {
            conversations.subtract(&usage);
            usage.list(&ListedSpender::Goal { session, title }, &mut items);
        }
    }
    conversations.list(&ListedSpender::Conversations, &mut items);
    items.sort_by_key(|item| Reverse((item.cost, item.tokens, item.turns)));
    items.truncate(limit as usize);
    Ok(items)
}

/// Returns the titles of the goals that had turns which began on a day, and the usage of these turns.
async fn goals_of_day(
    tx: &mut Tx,
    tenant: TenantId,
    days: BudgetPeriods,
) -> Result<BTreeMap<SessionId, (String, DayUsage)>, Error> {
    let found = tx
        .fetch_all(
            sql!("goals/usage_of_day"),
            params![tenant, days.day, days.day_end],
        )
        .await?;
    let mut goals: BTreeMap<SessionId, (String, DayUsage)> = BTreeMap::new();
    for row in &found {
        let session: SessionId = row.get("session_id")?;
        let title: String = row.get("title")?;
        let value: Value = row.get("usage")?;
        let new = || (title, DayUsage::default());
        let (_, usage) = goals.entry(session).or_insert_with(new);
        usage.add(&RunUsage::of(&value), 1);
    }
    Ok(goals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_turns_count_once_beside_highest_cost() {
        let cost = [("EUR", 1), ("JPY", 0), ("USD", 2)];
        let usage = DayUsage {
            used: RunUsage {
                tokens: 5,
                cost: cost
                    .map(|(currency, cost)| (currency.to_owned(), cost))
                    .into(),
            },
            turns: 3,
        };
        let mut items = Vec::new();
        usage.list(&ListedSpender::Conversations, &mut items);
        DayUsage::default().list(&ListedSpender::Conversations, &mut items);
        let listed: Vec<_> = items
            .iter()
            .map(|item| (item.currency.as_str(), item.cost, item.tokens, item.turns))
            .collect();
        assert_eq!(listed, [("USD", 2, 5, 3), ("EUR", 1, 0, 0)]);
    }
}
