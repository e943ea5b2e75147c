//! Locking what runs belong to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    AutomationId, RunId, SeatId,
    entity::{Automation, Run},
};

use crate::{
    Error, automations,
    database::{Param, Tx},
    rows,
    runs::place::lock_seats,
};

/// Runs with the automations, as they are read, and the seats that are locked for them.
struct LockedRows {
    runs: HashMap<RunId, Run>,
    automations: BTreeMap<AutomationId, Result<Automation, Error>>,
}

/// Runs with the automations and the seats that are locked for them.
pub(super) struct Locked {
    pub(super) runs: HashMap<RunId, Run>,
    pub(super) automations: HashMap<AutomationId, Automation>,
}

/// Locks the automations and the seats of runs, in that order and each by ID, and reads the runs. Leaves out the
/// runs that do not exist, are over or have no seat.
pub(super) async fn lock_all(tx: &mut Tx, runs: &[RunId]) -> Result<Locked, Error> {
    let LockedRows { runs, automations } = lock_rows(tx, runs).await?;
    Ok(Locked {
        runs,
        automations: automations
            .into_iter()
            .map(|(id, automation)| Ok((id, automation?)))
            .collect::<Result<_, Error>>()?,
    })
}

async fn lock_rows(tx: &mut Tx, runs: &[RunId]) -> Result<LockedRows, Error> {
    let ids: Vec<_> = runs.iter().map(|run| params![*run]).collect();
    let mut automations = None;
    if tx.locks_rows() {
        automations = Some(lock_places(tx, ids.clone()).await?);
    }
    let mut found = HashMap::with_capacity(runs.len());
    for row in tx.fetch_rows(sql!("runs/by_ids"), ids, params![]).await? {
        if let Some(run) = rows::open_run(&row)?
            && run.seat_id.is_some()
        {
            found.insert(run.id, run);
        }
    }
    let automations = if let Some(locked) = automations {
        locked
    } else {
        let automations = found.values().filter_map(|run| run.automation_id);
        automations::lock_all(tx, &automations.collect()).await?
    };
    Ok(LockedRows {
        runs: found,
        automations,
    })
}

/// Locks the automations and then the seats to which runs belong, which never change.
async fn lock_places(
    tx: &mut Tx,
    runs: Vec<Vec<Param>>,
) -> Result<BTreeMap<AutomationId, Result<Automation, Error>>, Error> {
    let places = tx
        .fetch_rows(sql_of_postgres!("runs/places"), runs, params![])
        .await?;
    let (mut automations, mut seats) = (BTreeSet::new(), BTreeSet::new());
    for row in &places {
        automations.extend(row.optional::<AutomationId>("automation_id")?);
        seats.extend(row.optional::<SeatId>("seat_id")?);
    }
    let automations = automations::lock_all(tx, &automations).await?;
    lock_seats(tx, &seats).await?;
    Ok(automations)
}

/// Locks one run as [`lock_all`] does, even if its automation is corrupt. Returns `None` if the run is over.
pub(crate) async fn lock(tx: &mut Tx, run: RunId) -> Result<Option<Run>, Error> {
    Ok(lock_rows(tx, &[run]).await?.runs.remove(&run))
}
