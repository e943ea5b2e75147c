//! The numbers of turns whose agents reported their usage.

use std::{ops::Add, time::Duration};

use model::{RunId, TenantId, Timestamp};

use crate::{
    Error,
    database::{Row, Tx},
    rows,
};

/// The time before a period in which each run is read. An index has the earlier ones that ended in the period: those
/// that end more than an hour after their creation. An ID may be older than its run.
pub(crate) const SEARCHED_BEFORE: Duration = Duration::from_hours(2);

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

    /// Counts the turns of a tenant that began on the days of a period and are over. Omits the days without such turns.
    pub(crate) async fn by_day(
        tx: &mut Tx,
        tenant: TenantId,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(Timestamp, Self)>, Error> {
        let first = RunId::first_at(from.saturating_sub(SEARCHED_BEFORE));
        let end = RunId::first_at(to);
        let found = tx
            .fetch_all(
                sql_of_each!("runs/reported_by_day"),
                params![tenant, first, end, from, to],
            )
            .await?;
        let counts = found
            .iter()
            .map(|row| Ok((row.get("day")?, Self::read(row)?)));
        counts.collect()
    }
}
