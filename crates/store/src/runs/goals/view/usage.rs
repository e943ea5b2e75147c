//! The usage of goals, summed up from their runs.

use std::collections::HashMap;

use model::{
    SeatId, SessionId,
    budget::{Money, RunUsage},
    run::RunStatus,
};
use serde_json::Value;

use crate::{
    Error,
    database::{Row, Tx},
};

/// The usage that the agents of a goal, or of one of its seats, have reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoalUsage {
    /// The tokens and the cost.
    pub used: RunUsage,
    /// The number of runs that have reported usage.
    pub reported_runs: u32,
    /// The number of runs that are over without any reported usage.
    pub unreported_runs: u32,
    /// The number of runs that are over without any reported cost. A budget of money cannot count them.
    pub runs_without_cost: u32,
}

impl GoalUsage {
    /// Returns the cost, one amount for each currency.
    pub fn money(&self) -> Vec<Money> {
        let amounts = self.used.cost.iter();
        let amounts = amounts.filter_map(|(currency, micros)| Money::new(*micros, currency).ok());
        amounts.filter(|money| money.micros() > 0).collect()
    }

    fn add(&mut self, status: RunStatus, usage: &Value) {
        let run = RunUsage::of(usage);
        // A run that has not ended may still report.
        if status.is_over() && run.cost.values().all(|micros| *micros == 0) {
            self.runs_without_cost += 1;
        }
        if run.is_none() {
            self.unreported_runs += u32::from(status.is_over());
            return;
        }
        self.reported_runs += 1;
        self.used.add(&run);
    }
}

/// The turns of a seat that have begun, and their usage.
#[derive(Debug, Default)]
pub(super) struct SeatUsage {
    /// The number of turns.
    pub(super) turns: u32,
    /// The usage.
    pub(super) usage: GoalUsage,
}

/// Returns the usage of goals, in one statement.
pub(super) async fn of_goals(
    tx: &mut Tx,
    sessions: &[SessionId],
) -> Result<HashMap<SessionId, GoalUsage>, Error> {
    let mut usage: HashMap<SessionId, GoalUsage> = HashMap::new();
    for row in &begun_runs(tx, sessions).await? {
        let session = row.get("session_id")?;
        let value: Value = row.get("usage")?;
        let of_goal = usage.entry(session).or_default();
        of_goal.add(row.parse("status")?, &value);
    }
    Ok(usage)
}

/// Returns the usage of a goal and that of each of its seats, in one statement.
pub(super) async fn of_goal_and_seats(
    tx: &mut Tx,
    session: SessionId,
) -> Result<(GoalUsage, HashMap<SeatId, SeatUsage>), Error> {
    let mut usage = GoalUsage::default();
    let mut seats: HashMap<SeatId, SeatUsage> = HashMap::new();
    for row in &begun_runs(tx, &[session]).await? {
        let status: RunStatus = row.parse("status")?;
        let value: Value = row.get("usage")?;
        usage.add(status, &value);
        if let Some(seat) = row.optional("seat_id")? {
            let of_seat = seats.entry(seat).or_default();
            of_seat.turns += 1;
            of_seat.usage.add(status, &value);
        }
    }
    Ok((usage, seats))
}

async fn begun_runs(tx: &mut Tx, sessions: &[SessionId]) -> Result<Vec<Row>, Error> {
    let rows = sessions.iter().map(|session| params![*session]).collect();
    Ok(tx
        .fetch_rows(sql!("goals/list_usage"), rows, params![])
        .await?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn usage_is_summed_and_silent_runs_are_counted() {
        let mut usage = GoalUsage::default();
        let spent = |micros: u64| json!({ "spent": { "tokens": 10, "cost": { "USD": micros } } });
        usage.add(RunStatus::Succeeded, &spent(1_500_000));
        usage.add(RunStatus::Running, &spent(500_000));
        usage.add(RunStatus::Running, &json!({}));
        assert_eq!(usage.unreported_runs, 0, "a running turn may still report");
        usage.add(RunStatus::Succeeded, &json!({}));
        usage.add(RunStatus::Failed, &json!({ "used": 7 }));
        assert_eq!((usage.reported_runs, usage.unreported_runs), (2, 2));
        assert_eq!(usage.used.tokens, 20);
        let money: Vec<_> = usage.money().iter().map(Money::amount).collect();
        assert_eq!(money, ["2"]);
        // Tokens without a cost are usage, but no money.
        for status in [RunStatus::Succeeded, RunStatus::Running] {
            usage.add(status, &json!({ "spent": { "tokens": 7 } }));
        }
        usage.add(RunStatus::Failed, &spent(0));
        assert_eq!((usage.reported_runs, usage.unreported_runs), (5, 2));
        assert_eq!(usage.runs_without_cost, 4);
    }

    #[test]
    fn sum_beyond_largest_number_is_that_number() {
        let mut usage = GoalUsage::default();
        let most = json!({ "spent": { "tokens": u64::MAX, "cost": { "USD": u64::MAX } } });
        usage.add(RunStatus::Succeeded, &most);
        usage.add(RunStatus::Succeeded, &most);
        assert_eq!(usage.used.tokens, u64::MAX);
        assert_eq!(usage.used.cost["USD"], u64::MAX);
    }
}
