//! The row locks of transitions, and their order.
//!
//! **Invariant:** a transition locks tenants, then triggers, then automations, then seats, then runs and their
//! heartbeats, then sessions, each kind in the order of its IDs, so that transitions do not deadlock. A transition may
//! skip a kind, but it never goes back to an earlier one. The functions of this module are in that order. There are
//! exceptions, and [`Store::transact`](crate::Store) retries the deadlock that may follow:
//!
//! - An automation that pauses itself while its row or a seat is locked locks its triggers late.
//! - A promotion locks the seat of the next exclusive run of an automation, which may have a lower ID than a seat that is
//!   locked already. If a pause, a close or a deletion of a session causes it, the row of that session is locked, too.
//! - An occurrence that replaces the runs of its automation locks their seats after its own, and after the sessions of
//!   occurrences before it in the batch.
//! - The deletion of a session with several bound automations cancels the runs of one after the other.
//! - A batch that begins turns and repeats the start of others locks the heartbeats of each kind in the order of IDs, and
//!   those of the repeated ones last.
//! - A batch that begins turns with messages locks the sessions of all its turns before those of the runs that it ends or
//!   defers.
//! - The ends of a batch of turns lock the sessions of goals whose seats have messages left before those of the goals whose
//!   tasks go on.
//! - An agent that deletes an automation by a tool locks that automation before the one of its own turn.
//! - A statement that changes several run rows locks them in the order in which it finds them. The seats of these runs
//!   are locked before, so only the writes of their own workers meet them.
//!
//! All locks but those of endpoints that may be deleted and of agents that are removed leave the key of the row free
//! (`for no key update`), because the insert of a row locks the keys of all rows to which it refers, in no order of
//! ours: the insert of a row of the transcript, for example, locks the keys of the run, the seat and the session. A
//! transition never changes a key. The deletion of a session locks the session row before the rows that go with it, so
//! that it waits for such inserts while it holds no lock that they need.
//!
//! A transition that inserts, ends, defers or promotes a run must hold the lock of the run's seat. The statement that
//! takes numbers of a session's log (`sessions/next_seq`) locks the session. A transition that reads the session's
//! state before that must call [`lock_session`].
//!
//! Statements that choose rows and lock them at once stay with their transitions: `triggers/due`, `runs/claim`,
//! `runs/owned_by_workers`, `deliveries/claim`. So do the locks of agents, endpoints and instances.
//!
//! On SQLite these functions only read, because a writing transaction locks the whole database when it begins.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::{
    AutomationId, RunId, SeatId, SessionId, TenantId,
    entity::{Automation, Run},
};

use crate::{
    database::{Param, Row, Tx},
    error::Error,
    rows,
};

/// Locks those tenants of `runs` that have a budget, and returns their rows.
pub(crate) async fn lock_tenants(tx: &mut Tx, runs: &[RunId]) -> Result<Vec<Row>, Error> {
    let rows = runs.iter().map(|run| params![*run]).collect();
    let locked = tx
        .fetch_rows(sql_by_dialect!("tenants/lock_budgets"), rows, params![])
        .await?;
    Ok(locked)
}

/// Locks a tenant, so that no other transaction that counts its objects continues meanwhile.
pub(crate) async fn lock_tenant(tx: &mut Tx, id: TenantId) -> Result<(), Error> {
    Ok(tx
        .lock_rows(sql_of_postgres!("tenants/lock"), vec![params![id]])
        .await?)
}

/// Locks the triggers of an automation, in the order of their IDs.
pub(crate) async fn lock_triggers(tx: &mut Tx, id: AutomationId) -> Result<(), Error> {
    if tx.locks_rows() {
        let statement = sql_of_postgres!("triggers/lock_of_automation");
        tx.fetch_all(statement, params![id]).await?;
    }
    Ok(())
}

/// Locks automations that a stored row refers to, deleted or not and of any format, in the order of their IDs. The
/// value is the error if the automation's row is corrupt.
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

/// Locks one automation that a stored row refers to, deleted or not and of any format.
pub(crate) async fn lock_automation(tx: &mut Tx, id: AutomationId) -> Result<Automation, Error> {
    rows::automation(&lock_automation_row(tx, id).await?)
}

/// Locks one automation that a stored row refers to, and returns its row unparsed.
pub(crate) async fn lock_automation_row(tx: &mut Tx, id: AutomationId) -> Result<Row, Error> {
    let row = tx
        .fetch_one(sql_by_dialect!("automations/lock"), params![id])
        .await?;
    Ok(row)
}

/// Locks seats, in the order of their IDs.
pub(crate) async fn lock_seats(tx: &mut Tx, seats: &BTreeSet<SeatId>) -> Result<(), Error> {
    let rows = seats.iter().map(|seat| params![*seat]).collect();
    Ok(tx.lock_rows(sql_of_postgres!("seats/lock"), rows).await?)
}

/// Locks a seat and, if its session has a goal, all seats of the session, in the order of their IDs.
pub(crate) async fn lock_seat_with_goal(tx: &mut Tx, seat: SeatId) -> Result<(), Error> {
    if !tx.locks_rows() {
        return Ok(());
    }
    let statement = sql_of_postgres!("seats/lock_targets");
    let mut seats = BTreeSet::from([seat]);
    for row in &tx.fetch_all(statement, params![seat]).await? {
        seats.insert(row.get("id")?);
    }
    lock_seats(tx, &seats).await
}

/// Locks the heartbeats of runs, in the order of the runs' IDs. A statement that changes several heartbeats would lock
/// them in the order in which it finds them.
pub(crate) async fn lock_heartbeats(
    tx: &mut Tx,
    runs: impl ExactSizeIterator<Item = RunId>,
) -> Result<(), Error> {
    if runs.len() > 1 {
        let rows = runs.map(|run| params![run]).collect();
        tx.lock_rows(sql_of_postgres!("heartbeats/lock"), rows)
            .await?;
    }
    Ok(())
}

/// Locks a session, so that its state cannot change after it is read.
pub(crate) async fn lock_session(tx: &mut Tx, id: SessionId) -> Result<(), Error> {
    lock_sessions(tx, std::iter::once(id)).await
}

/// Locks sessions, in the order of their IDs.
pub(crate) async fn lock_sessions(
    tx: &mut Tx,
    ids: impl Iterator<Item = SessionId>,
) -> Result<(), Error> {
    let rows = ids.map(|id| params![id]).collect();
    Ok(tx
        .lock_rows(sql_of_postgres!("sessions/lock"), rows)
        .await?)
}

/// The runs of a transition with their locked automations, where a corrupt automation is an error of its own.
struct LockedRows {
    runs: HashMap<RunId, Run>,
    automations: BTreeMap<AutomationId, Result<Automation, Error>>,
}

/// The runs of a transition with their locked automations. The seats of the runs are locked too.
pub(crate) struct LockedRuns {
    pub(crate) runs: HashMap<RunId, Run>,
    pub(crate) automations: HashMap<AutomationId, Automation>,
}

/// Locks the automations and then the seats of runs, each kind in the order of its IDs, and reads the runs. Omits
/// each run that does not exist, is over or has no seat.
///
/// # Errors
///
/// Returns an error if the row of one of the automations is corrupt.
pub(crate) async fn lock_runs(tx: &mut Tx, runs: &[RunId]) -> Result<LockedRuns, Error> {
    let LockedRows { runs, automations } = lock_and_read_runs(tx, runs).await?;
    Ok(LockedRuns {
        runs,
        automations: automations
            .into_iter()
            .map(|(id, automation)| Ok((id, automation?)))
            .collect::<Result<_, Error>>()?,
    })
}

/// Locks the automations and then the seats of runs, each kind in the order of its IDs, for a transition that then
/// handles one run after the other.
pub(crate) async fn lock_all_of_runs(tx: &mut Tx, runs: &[RunId]) -> Result<(), Error> {
    if tx.locks_rows() {
        let ids = runs.iter().map(|run| params![*run]).collect();
        lock_automations_and_seats(tx, ids).await?;
    }
    Ok(())
}

/// Locks the automation of a run, then its seat, and then, unless the automation keeps the memory of the run, its session. So
/// the run does not end meanwhile, and the owner of the entries that its agent writes is locked. Unlike
/// [`lock_all_of_runs`], locks no other seat of a goal, because a memory entry moves no goal.
pub(crate) async fn lock_memory_of_run(tx: &mut Tx, run: RunId) -> Result<(), Error> {
    if tx.locks_rows() {
        tx.fetch_one(sql_of_postgres!("runs/lock_memory"), params![run])
            .await?;
    }
    Ok(())
}

async fn lock_and_read_runs(tx: &mut Tx, runs: &[RunId]) -> Result<LockedRows, Error> {
    let ids: Vec<_> = runs.iter().map(|run| params![*run]).collect();
    // Lock before reading: a row that is read before the lock may change before the transition decides.
    let mut automations = None;
    if tx.locks_rows() {
        automations = Some(lock_automations_and_seats(tx, ids.clone()).await?);
    }
    let mut found = HashMap::with_capacity(runs.len());
    for row in tx
        .fetch_rows(sql!("runs/by_ids", rows::OPEN_RUN_COLUMNS), ids, params![])
        .await?
    {
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

/// Locks the automations and then the seats of runs. Reads both without a lock on the runs, because neither ever
/// changes to another automation or seat.
async fn lock_automations_and_seats(
    tx: &mut Tx,
    runs: Vec<Vec<Param>>,
) -> Result<BTreeMap<AutomationId, Result<Automation, Error>>, Error> {
    let places = tx
        .fetch_rows(sql_of_postgres!("runs/lock_targets"), runs, params![])
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

/// Locks the automation and the seat of one run, and reads the run. Unlike [`lock_runs`], succeeds even if the row of
/// the automation is corrupt, so that a person can still cancel the run. Returns `None` if the run does not exist, is
/// over or has no seat.
pub(crate) async fn lock_run(tx: &mut Tx, run: RunId) -> Result<Option<Run>, Error> {
    Ok(lock_and_read_runs(tx, &[run]).await?.runs.remove(&run))
}
