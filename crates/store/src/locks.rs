//! The row locks of transitions, and their order.
//!
//! **Invariant:** a transition locks tenants, then triggers, then automations, then seats, then sessions, each kind by
//! ID, so that no two transitions wait for each other. It may leave out a kind, and it never goes back to an earlier one.
//! The functions stand here in that order.
//!
//! Whoever inserts, ends, holds or promotes a run holds the lock of its seat. A session is locked by the statement that
//! takes the numbers of its log (`sessions/next_seq`), or by [`lock_session`] if its state is read before.
//!
//! Statements that choose rows and lock them at once stay with their transitions: `triggers/due`, `runs/claim`,
//! `runs/own`, `deliveries/claim`. So do the locks of harnesses, endpoints and instances.
//!
//! On SQLite a transaction that writes has locked the whole database when it began.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    AutomationId, RunId, SeatId, SessionId,
    entity::{Automation, Run},
};

use crate::{
    database::{Param, Row, Tx},
    error::Error,
    rows,
};

/// Locks the tenants of runs that have a budget, and returns their rows.
pub(crate) async fn lock_tenants(tx: &mut Tx, runs: &[RunId]) -> Result<Vec<Row>, Error> {
    let rows = runs.iter().map(|run| params![*run]).collect();
    let locked = tx
        .fetch_rows(sql_by_dialect!("tenants/lock_budgets"), rows, params![])
        .await?;
    Ok(locked)
}

/// Locks the triggers of an automation, by id.
pub(crate) async fn lock_triggers(tx: &mut Tx, id: AutomationId) -> Result<(), Error> {
    if tx.locks_rows() {
        let statement = sql_of_postgres!("triggers/lock_of_automation");
        tx.fetch_all(statement, params![id]).await?;
    }
    Ok(())
}

/// Locks automations that stored rows name, removed or not and of any format, by id. One whose row is corrupt has its
/// error.
pub(crate) async fn lock_automations(
    tx: &mut Tx,
    ids: &BTreeSet<AutomationId>,
) -> Result<BTreeMap<AutomationId, Result<Automation, Error>>, Error> {
    let rows = ids.iter().map(|id| params![*id]).collect();
    let locked = tx
        .fetch_rows(sql_by_dialect!("automations/lock"), rows, params![])
        .await?;
    let mut found = BTreeMap::new();
    for row in &locked {
        found.insert(row.get("id")?, rows::automation(row));
    }
    Ok(found)
}

/// Locks an automation that a stored row names, removed or not and of any format.
pub(crate) async fn lock_automation(tx: &mut Tx, id: AutomationId) -> Result<Automation, Error> {
    rows::automation(&lock_automation_row(tx, id).await?)
}

/// Locks an automation that a stored row names, and returns its row as it is.
pub(crate) async fn lock_automation_row(tx: &mut Tx, id: AutomationId) -> Result<Row, Error> {
    let row = tx
        .fetch_one(sql_by_dialect!("automations/lock"), params![id])
        .await?;
    Ok(row)
}

/// Locks seats, by id.
pub(crate) async fn lock_seats(tx: &mut Tx, seats: &BTreeSet<SeatId>) -> Result<(), Error> {
    let rows = seats.iter().map(|seat| params![*seat]).collect();
    Ok(tx.lock_rows(sql_of_postgres!("seats/lock"), rows).await?)
}

/// Locks a session, whose state is to be read.
pub(crate) async fn lock_session(tx: &mut Tx, id: SessionId) -> Result<(), Error> {
    tx.lock_rows(sql_of_postgres!("sessions/lock"), vec![params![id]])
        .await?;
    Ok(())
}

/// Runs with the automations, as they are read, and the seats that are locked for them.
struct LockedRows {
    runs: HashMap<RunId, Run>,
    automations: BTreeMap<AutomationId, Result<Automation, Error>>,
}

/// Runs with the automations and the seats that are locked for them.
pub(crate) struct Locked {
    pub(crate) runs: HashMap<RunId, Run>,
    pub(crate) automations: HashMap<AutomationId, Automation>,
}

/// Locks the automations and the seats of runs, in that order and each by ID, and reads the runs. Leaves out the
/// runs that do not exist, are over or have no seat.
pub(crate) async fn lock_runs(tx: &mut Tx, runs: &[RunId]) -> Result<Locked, Error> {
    let LockedRows { runs, automations } = lock_places_and_read(tx, runs).await?;
    Ok(Locked {
        runs,
        automations: automations
            .into_iter()
            .map(|(id, automation)| Ok((id, automation?)))
            .collect::<Result<_, Error>>()?,
    })
}

async fn lock_places_and_read(tx: &mut Tx, runs: &[RunId]) -> Result<LockedRows, Error> {
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
        lock_automations(tx, &automations.collect()).await?
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
    let automations = lock_automations(tx, &automations).await?;
    lock_seats(tx, &seats).await?;
    Ok(automations)
}

/// Locks one run as [`lock_runs`] does, though its automation cannot be read.
pub(crate) async fn lock_run(tx: &mut Tx, run: RunId) -> Result<Option<Run>, Error> {
    Ok(lock_places_and_read(tx, &[run]).await?.runs.remove(&run))
}
