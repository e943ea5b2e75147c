//! The deletion of a session and, with consent, of the automations that are bound to it.

use std::collections::BTreeSet;

use model::{
    AutomationId, SessionId, TenantId, Timestamp,
    entity::{Automation, Session},
    run::RunStatus,
};

use super::lock_seats_of_session;
use crate::{
    Automations, Error, Scope, automations, boxed,
    changes::note_change,
    database::Tx,
    locks, rows,
    runs::{admit::promote_exclusive, cancel},
    session_log::SessionLogWriter,
    store::Store,
    usage,
};

/// The result of a request to delete a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDeletion {
    /// The session is deleted.
    Deleted {
        /// The automations that were bound to the session, as they were. They are deleted too.
        automations: Vec<Automation>,
        /// The number of turns that were in progress. The next write of each worker returns `Fenced`.
        cancelled_turns: u32,
    },
    /// People's automations are bound to the session, and nothing was deleted.
    BlockedBy(Vec<Automation>),
}

impl Store {
    /// Deletes a session with everything that belongs to it. Automations of people that are bound to the session
    /// block the deletion, unless `with_automations` is `true`: the same transaction deletes them too.
    ///
    /// A turn in progress is cancelled: the row of its run, which is the fence of its worker, is deleted, so that the
    /// reply to the next heartbeat is `Fenced` and a later write of the worker changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the session does not exist, or if the row of a bound automation is corrupt.
    #[boxed]
    pub async fn delete_session(
        &self,
        tenant: TenantId,
        id: SessionId,
        with_automations: bool,
        now: Timestamp,
    ) -> Result<SessionDeletion, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Read the session and the automations that are bound to it.
                let (session, bound) = read_bound(tx, tenant, id).await?;
                // Return an error for a corrupt automation: a person cannot consent to the deletion of an automation
                // that cannot be shown.
                if let Some(corrupt) = bound.corrupt.into_iter().next() {
                    return Err(corrupt.error);
                }
                let bound = bound.readable;
                if !bound.is_empty() && !with_automations {
                    return Ok(SessionDeletion::BlockedBy(bound));
                }
                // 2. Lock, then check again: a bound automation may have been edited since it was read. Delete those
                // that are still bound.
                let locked = lock_automations(tx, id, &bound).await?;
                let still_bound = |automation: &Automation| {
                    automation.bound_session_key.is_some()
                        && automation.bound_session_key == session.session_key
                };
                let mut deleted = Vec::new();
                let mut log = SessionLogWriter::default();
                for automation in locked {
                    if bound.iter().any(|bound| bound.id == automation.id)
                        && still_bound(&automation)
                    {
                        automations::delete(self, tx, &automation, now).await?;
                        cancel::cancel_waiting_of_automation(
                            self,
                            tx,
                            &mut log,
                            automation.id,
                            "the automation was deleted",
                            now,
                        )
                        .await?;
                        deleted.push(automation);
                    }
                }
                // 3. Lock the seats, so that no run is inserted or promoted while the session is deleted, and delete
                // the session with its runs.
                lock_seats_of_session(tx, scope, id).await?;
                // An agent of the session may have made an automation meanwhile. It holds the lock of its seat to its
                // commit, so that no further one can come. Locks of automations come before those of seats, so begin
                // anew instead of locking it.
                let (_, bound) = read_bound(tx, tenant, id).await?;
                if !bound.readable.is_empty() || !bound.corrupt.is_empty() {
                    return Err(Error::LostRace {
                        what: "the automations of the session",
                    });
                }
                log.write(tx, now).await?;
                tx.execute(sql!("automations/detach_from_session"), params![id, now])
                    .await?;
                let (owners, turns) = owners_and_turns(tx, id).await?;
                usage::count_turns_of_deleted_session(tx, id, now).await?;
                tx.execute(sql!("sessions/delete"), params![id]).await?;
                // Wake the readers of the session, so that their streams end.
                note_change(tx, id.uuid()).await?;
                // 4. Promote: the deleted runs may have blocked exclusive runs of their automations in other sessions.
                for owner in owners {
                    promote_exclusive(tx, owner, now).await?;
                }
                Ok(SessionDeletion::Deleted {
                    automations: deleted,
                    cancelled_turns: turns,
                })
            })
        })
        .await
    }
}

/// Returns a session, and the automations of people that are bound to it.
async fn read_bound(
    tx: &mut Tx,
    tenant: TenantId,
    id: SessionId,
) -> Result<(Session, Automations), Error> {
    let row = tx
        .fetch_optional(sql!("sessions/by_id"), params![tenant, id])
        .await?;
    let session = rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)?;
    let bound = match &session.session_key {
        Some(key) => automations::bound_to(tx, tenant, key).await?,
        None => Automations::default(),
    };
    Ok((session, bound))
}

/// Locks the automations that are bound to a session and the one whose current session it is, in the order of their
/// IDs, after the triggers of all of them. Omits automations that were deleted in the meantime.
async fn lock_automations(
    tx: &mut Tx,
    session: SessionId,
    bound: &[Automation],
) -> Result<Vec<Automation>, Error> {
    let mut ids: BTreeSet<AutomationId> = bound.iter().map(|automation| automation.id).collect();
    for row in tx
        .fetch_all(sql!("automations/in_session"), params![session])
        .await?
    {
        ids.insert(row.get("id")?);
    }
    for id in &ids {
        locks::lock_triggers(tx, *id).await?;
    }
    let mut locked = Vec::with_capacity(ids.len());
    for id in ids {
        let automation = locks::lock_automation(tx, id).await?;
        if automation.state != model::automation::AutomationState::Deleted {
            locked.push(automation);
        }
    }
    Ok(locked)
}

/// Returns the automations of a session's open runs, and the number of these runs that a worker has.
async fn owners_and_turns(
    tx: &mut Tx,
    session: SessionId,
) -> Result<(BTreeSet<AutomationId>, u32), Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    let mut owners = BTreeSet::new();
    let mut turns = 0;
    for row in &open {
        owners.extend(row.optional::<AutomationId>("automation_id")?);
        let has_worker = matches!(
            row.parse::<RunStatus>("status")?,
            RunStatus::Delivered | RunStatus::Running
        );
        // No worker has a run whose trigger file waits.
        turns += u32::from(has_worker && !row.get::<bool>("is_unclaimed")?);
    }
    Ok((owners, turns))
}
