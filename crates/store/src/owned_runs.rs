//! The runs that a worker executes.

use std::collections::{HashMap, HashSet};

use model::{RunId, WorkerId};

use crate::{Error, database::Tx, session_log::EntryLocation};

/// Returns the session, the seat and the tenant of each run that the given worker executes. Omits the other runs. On
/// PostgreSQL the rows of the runs stay locked, so that a transition that ends a run waits for this write.
pub(crate) async fn locate_owned_runs<'a>(
    tx: &mut Tx,
    runs: impl Iterator<Item = (RunId, &'a WorkerId)>,
) -> Result<HashMap<(RunId, WorkerId), EntryLocation>, Error> {
    let runs: HashSet<(RunId, &WorkerId)> = runs.collect();
    let rows = runs.into_iter().map(|(run, worker)| params![run, worker]);
    let found = tx
        .fetch_rows(
            sql_by_dialect!("runs/owned_by_workers"),
            rows.collect(),
            params![],
        )
        .await?;
    let mut locations = HashMap::with_capacity(found.len());
    for row in &found {
        let run: RunId = row.get("id")?;
        let location = EntryLocation {
            tenant: row.get("tenant_id")?,
            session: row.get("session_id")?,
            run: Some(run),
            seat: row.optional("seat_id")?,
        };
        locations.insert((run, row.get("worker_id")?), location);
    }
    Ok(locations)
}
