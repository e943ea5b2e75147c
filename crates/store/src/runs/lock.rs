//! Locking what runs belong to.

use std::collections::{BTreeSet, HashMap};

use model::{
    AutomationId, RunId, SeatId,
    entity::{Automation, Run},
};

use crate::{Error, automations, database::Tx, rows, runs::place::lock_seats};

/// Runs with the automations and the seats that are locked for them.
pub(super) struct Locked {
    pub(super) runs: HashMap<RunId, Run>,
    pub(super) automations: HashMap<AutomationId, Automation>,
}

/// Locks the automations and the seats of runs, in that order and each by id, and reads the runs, but not
/// what belongs to an end. What is not there, or has no seat, is left out.
pub(super) async fn lock_all(tx: &mut Tx, runs: &[RunId]) -> Result<Locked, Error> {
    let ids: Vec<_> = runs.iter().map(|run| params![*run]).collect();
    let places = tx
        .fetch_rows(sql!("runs/places"), ids.clone(), params![])
        .await?;
    let (mut automations, mut seats) = (BTreeSet::new(), BTreeSet::new());
    for row in &places {
        automations.extend(row.optional::<AutomationId>("automation_id")?);
        seats.extend(row.optional::<SeatId>("seat_id")?);
    }
    let automations = automations::lock_all(tx, &automations).await?;
    lock_seats(tx, &seats).await?;
    let mut found = HashMap::with_capacity(runs.len());
    for row in tx.fetch_rows(sql!("runs/by_ids"), ids, params![]).await? {
        let run = rows::open_run(&row)?;
        if run.seat_id.is_some() {
            found.insert(run.id, run);
        }
    }
    Ok(Locked {
        runs: found,
        automations: automations
            .into_iter()
            .map(|(id, automation)| Ok((id, automation?)))
            .collect::<Result<_, Error>>()?,
    })
}

/// Locks one run as [`lock_all`] does.
pub(super) async fn lock(tx: &mut Tx, run: RunId) -> Result<Option<Run>, Error> {
    Ok(lock_all(tx, &[run]).await?.runs.remove(&run))
}
