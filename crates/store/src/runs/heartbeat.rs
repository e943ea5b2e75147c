//! Heartbeats of runs, and what they are answered.

use model::{RunId, Timestamp, WorkerId, turn::Beat};

use crate::{
    Error, Scope,
    store::{Store, transact},
};

impl Store {
    /// Renews the heartbeats of a worker's runs and answers for each: go on, cancel, or lost.
    pub async fn heartbeat(
        &self,
        worker: &WorkerId,
        runs: &[RunId],
        now: Timestamp,
    ) -> Result<Vec<Beat>, Error> {
        transact!(self, Scope::System, |tx| {
            let mut beats = Vec::with_capacity(runs.len());
            for run in runs {
                let row = tx
                    .fetch_optional(sql!("runs/executing"), params![*run, worker.as_str()])
                    .await?;
                let Some(row) = row else {
                    beats.push(Beat::Lost);
                    continue;
                };
                let renewed = tx
                    .execute(
                        sql!("heartbeats/renew"),
                        params![*run, worker.as_str(), now],
                    )
                    .await?;
                if renewed == 0 {
                    // It was stalled while this waited.
                    beats.push(Beat::Lost);
                    continue;
                }
                let cancel: Option<String> = row.optional("cancel_reason")?;
                beats.push(cancel.map_or(Beat::GoOn, Beat::Cancel));
            }
            Ok(beats)
        })
    }

    /// The oldest heartbeat of all runs under way, if there is any.
    pub async fn oldest_heartbeat(&self) -> Result<Option<Timestamp>, Error> {
        let mut tx = self.db.read(Scope::System).await?;
        Ok(tx
            .fetch_one(sql!("heartbeats/oldest"), params![])
            .await?
            .optional("at")?)
    }
}
