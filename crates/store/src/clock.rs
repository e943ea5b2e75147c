//! Reading the clock that all who share a database go by.

use model::{Uptime, fleet::Reading};

use crate::{Error, Scope, Store, database::Dialect};

/// How often it is read for one reading: the first answer on a connection is slower than others.
const READINGS: usize = 4;

impl Store {
    /// Reads the clock of the database's server some times, and gives the reading whose answer took least. None
    /// on SQLite, which has no other clock than the machine.
    pub async fn read_clock(&self, uptime: &dyn Uptime) -> Result<Option<Reading>, Error> {
        if self.db.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let mut tx = self.db.read(Scope::System).await?;
        let mut best: Option<Reading> = None;
        for _ in 0..READINGS {
            // Neither the wait for a connection nor the beginning of the transaction is part of the way.
            let asked = uptime.uptime();
            let row = tx
                .fetch_one(sql_of_postgres!("clock/read"), params![])
                .await?;
            let reading = Reading {
                asked,
                answered: uptime.uptime(),
                shown: row.get("shown")?,
            };
            if best.is_none_or(|best| reading.took() < best.took()) {
                best = Some(reading);
            }
        }
        Ok(best)
    }
}
