//! Heartbeats of runs, and what they are answered.

use std::collections::HashMap;

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
            let rows: Vec<_> = runs.iter().map(|run| params![*run]).collect();
            let whole = params![worker.as_str()];
            let executing = tx
                .fetch_rows(sql!("runs/executing"), rows.clone(), whole)
                .await?;
            let mut cancels: HashMap<RunId, Option<String>> = HashMap::new();
            for row in &executing {
                cancels.insert(row.get("id")?, row.optional("cancel_reason")?);
            }
            // One may be stalled while this waits: then it is not renewed.
            let renewed = tx
                .fetch_rows(
                    sql!("heartbeats/renew"),
                    rows,
                    params![worker.as_str(), now],
                )
                .await?;
            let mut beats: HashMap<RunId, Beat> = HashMap::new();
            for row in &renewed {
                let run: RunId = row.get("run_id")?;
                if let Some(cancel) = cancels.remove(&run) {
                    beats.insert(run, cancel.map_or(Beat::GoOn, Beat::Cancel));
                }
            }
            let beats = runs
                .iter()
                .map(|run| beats.remove(run).unwrap_or(Beat::Lost));
            Ok(beats.collect())
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
