//! Reads the clock that all servers of a database share.

use model::{Uptime, fleet_time::ClockReading};

use crate::{Error, Scope, Store, boxed, database::Dialect};

/// The number of requests for one reading: the first reply on a connection is slower than later ones.
const CLOCK_READ_COUNT: usize = 4;

impl Store {
    /// Reads the clock of the database's server several times, and returns the reading with the fastest reply.
    /// Returns `None` on SQLite, which has no clock other than the machine's.
    #[boxed]
    pub async fn read_clock(&self, uptime: &dyn Uptime) -> Result<Option<ClockReading>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.begin_read(Scope::System).await?;
        let mut best: Option<ClockReading> = None;
        for _ in 0..CLOCK_READ_COUNT {
            // Start the stopwatch here, so that it includes neither the wait for a connection nor the transaction's
            // beginning.
            let sent_uptime = uptime.uptime();
            let row = tx
                .fetch_one(sql_of_postgres!("clock/read"), params![])
                .await?;
            let reading = ClockReading {
                sent_uptime,
                received_uptime: uptime.uptime(),
                database_time: row.get("database_time")?,
            };
            if best.is_none_or(|best| reading.round_trip() < best.round_trip()) {
                best = Some(reading);
            }
        }
        Ok(best)
    }
}
