//! The numbers of turns whose agents reported their usage.

use std::{ops::Add, time::Duration};

use model::{RunId, TenantId, Timestamp};

use crate::{
    Error,
    database::{Row, Tx},
    rows,
};

/// The time that a run may have waited before its turn began. Runs are found by their IDs, which begin with the instant of
/// their creation.
const LONGEST_WAIT: Duration = Duration::from_hours(48);

/// The numbers of turns that are over, and of those whose agents reported their usage. A retried input counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportedTurns {
    /// The number of turns.
    pub turns: u64,
    /// The number of turns whose agents reported tokens.
    pub with_tokens: u64,
    /// The number of turns whose agents reported a cost.
    pub with_cost: u64,
}

impl Add for ReportedTurns {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            turns: self.turns + other.turns,
            with_tokens: self.with_tokens + other.with_tokens,
            with_cost: self.with_cost + other.with_cost,
        }
    }
}

impl ReportedTurns {
    /// Reads the columns of a row.
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            turns: rows::read_amount(row, "turns")?,
            with_tokens: rows::read_amount(row, "with_tokens")?,
            with_cost: rows::read_amount(row, "with_cost")?,
        })
    }

    /// Counts the turns of a tenant that began in a period and are over.
    pub(crate) async fn of_period(
        tx: &mut Tx,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Self, Error> {
        if from >= to {
            return Ok(Self::default());
        }
        let first = RunId::first_at(from.saturating_sub(LONGEST_WAIT));
        let end = RunId::first_at(to);
        let row = tx
            .fetch_one(
                sql_by_dialect!("runs/reported_of_period"),
                params![tenant, first, end, from, to],
            )
            .await?;
        Self::read(&row)
    }
}
