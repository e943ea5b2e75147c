//! Sessions, their seats, their logs and their transcripts.
//!
//! **Invariant:** the transition that changes the status of a session holds the locks of all its seats, so that no
//! run starts under the old status.

mod delete;
mod edit;
mod list_items;
mod page;
mod read;
mod seat_overview;
mod updates;

use std::collections::BTreeSet;

use model::{
    AutomationId, SeatId, SessionId, TenantId, Timestamp,
    entity::{Seat, Session},
    event::SessionChange,
    lifecycle::{InvalidTransition, Lifecycle},
    session::{Admission, SessionEvent, SessionStatus, SessionType},
};

use crate::{
    Error, Scope, boxed,
    database::Tx,
    locks,
    new_sessions::{NewSession, insert_session},
    questions, rows,
    runs::{
        admit::{defer_run, promote_on_seat},
        cancel::{RunSelection, cancel_runs_of_session},
        check_has_no_open_goal, close_goal, start_draft,
    },
    session_log::{self, SessionLogWriter},
    store::Store,
    trigger_files::take_trigger_files,
};

pub use delete::SessionDeletion;
pub use edit::SessionEdit;
pub use list_items::{LastMessage, SessionItem};
pub use page::{ChangeCursor, InvalidCursor, SessionFilter, SessionOrder};
pub use read::EarlierMessages;
pub use seat_overview::SeatOverview;
pub use updates::{LiveText, LogEntry, SessionUpdates};

impl Store {
    /// Creates a session with its seats, and returns the entry seat.
    ///
    /// # Errors
    ///
    /// Returns [`Error::AlreadyCreated`] if a session with the ID exists, and [`Error::NameTaken`] if another session
    /// has the key.
    #[boxed]
    pub async fn create_session(
        &self,
        tenant: TenantId,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<(SessionId, SeatId), Error> {
        let created = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move { insert_session(self, tx, tenant, new, now).await })
            })
            .await;
        self.explain_conflict(tenant, (new.id, new.key.as_deref()), created)
            .await
    }

    /// Returns [`Error::AlreadyCreated`] or [`Error::NameTaken`] for the creation of a session that failed because of its ID
    /// or its key, and the result itself otherwise.
    pub(crate) async fn explain_conflict<T>(
        &self,
        tenant: TenantId,
        (id, key): (SessionId, Option<&str>),
        created: Result<T, Error>,
    ) -> Result<T, Error> {
        let Err(Error::Database(error)) = &created else {
            return created;
        };
        let Some(conflict) = error.conflict() else {
            return created;
        };
        // Check the ID before the key. A repeated request conflicts with both, and must get the error that its session
        // exists already.
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let used = tx
            .fetch_optional(sql!("sessions/by_id"), params![tenant, id])
            .await?;
        match key {
            _ if used.is_some() => Err(Error::already_created("session", id)),
            Some(key) if conflict == "agent_sessions_one_per_key" => Err(Error::NameTaken {
                what: "session",
                name: key.to_owned(),
            }),
            _ => created,
        }
    }

    /// Reads one session.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the session does not exist in `scope`.
    #[boxed]
    pub async fn session(&self, scope: Scope, id: SessionId) -> Result<Session, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
            .await?;
        rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)
    }

    /// Reads the session of a key. Returns `None` if no session has the key.
    #[boxed]
    pub async fn session_by_key(
        &self,
        tenant: TenantId,
        key: &str,
    ) -> Result<Option<Session>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_key"), params![tenant, key])
            .await?;
        row.as_ref().map(rows::session).transpose()
    }

    /// Lists sessions, the most recently changed first.
    #[boxed]
    pub async fn sessions(
        &self,
        scope: Scope,
        session_type: Option<SessionType>,
        automation: Option<AutomationId>,
        limit: u32,
    ) -> Result<Vec<Session>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let session_type = session_type.map(SessionType::as_str);
        let found = tx
            .fetch_all(
                sql!("sessions/list"),
                params![scope.tenant(), session_type, automation, limit],
            )
            .await?;
        found.iter().map(rows::session).collect()
    }

    /// Lists a session's seats, the entry seat first.
    #[boxed]
    pub async fn seats(&self, scope: Scope, session: SessionId) -> Result<Vec<Seat>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("seats/of_session"), params![scope.tenant(), session])
            .await?;
        found.iter().map(rows::seat).collect()
    }

    /// Applies an event to the status of a session, and returns the new status. Pausing lets running turns continue
    /// and defers the queued runs. Resuming and enabling promote the waiting runs, and enabling starts a goal that is a
    /// draft. Closing cancels the waiting runs and lets running turns end.
    ///
    /// # Errors
    ///
    /// Returns an error if the session does not exist, if its status has no transition for the event, or if a pause
    /// would keep an open goal from its turns: the goal itself is paused.
    #[boxed]
    pub async fn transition_session(
        &self,
        scope: Scope,
        id: SessionId,
        event: SessionEvent,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<SessionStatus, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automations of the open runs, because closing the session ends these runs. Then lock the
                // seats, then read: no run can start on a locked seat while the status changes.
                lock_automations_of_session(tx, id).await?;
                let seats = lock_seats_of_session(tx, scope, id).await?;
                let row = tx
                    .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                    .await?;
                let session = rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)?;
                // 2. Change the status, compared with the status that was read.
                let state = session
                    .status()
                    .apply(event)
                    .map_err(|refused| refused.of(id))?;
                if event == SessionEvent::Pause {
                    check_has_no_open_goal(tx, id).await?;
                }
                let ended = (state.admission() == Admission::Refuse).then_some(now);
                let moved = tx
                    .execute(
                        sql!("sessions/set_state"),
                        params![
                            id,
                            session.status().as_str(),
                            state.as_str(),
                            reason,
                            ended,
                            now
                        ],
                    )
                    .await?;
                if moved == 0 {
                    return Err(Error::Refused(InvalidTransition {
                        what: SessionStatus::WHAT,
                        object: Some(id.to_string()),
                        state: "being changed by another request".into(),
                        event: event.to_string(),
                    }));
                }
                let change = SessionChange::Moved {
                    state,
                    reason: reason.map(str::to_owned),
                };
                session_log::write_session_change(tx, id, change, now).await?;
                // 3. Start, defer or cancel the runs.
                match state.admission() {
                    Admission::Start => {
                        if event == SessionEvent::Enable {
                            start_draft(self, tx, id, now).await?;
                        }
                        for seat in &seats {
                            promote_on_seat(tx, *seat, now).await?;
                        }
                    }
                    Admission::Wait => defer_unclaimed_runs(tx, id, now).await?,
                    Admission::Refuse => {
                        close_goal(self, tx, id, now).await?;
                        let reason = format!("the session is {state}");
                        // Cancel the deferred runs first. Otherwise the end of the run that holds the seat would
                        // promote one of them.
                        for selection in [RunSelection::Deferred, RunSelection::Unclaimed] {
                            cancel_runs_of_session(self, tx, id, selection, &reason, now).await?;
                        }
                        questions::void_questions_of_session(tx, id, now).await?;
                    }
                }
                Ok(state)
            })
        })
        .await
    }
}

/// Locks the automations of a session's open runs, in the order of their IDs.
async fn lock_automations_of_session(tx: &mut Tx, session: SessionId) -> Result<(), Error> {
    if !tx.locks_rows() {
        return Ok(());
    }
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    let mut automations = BTreeSet::new();
    for row in &open {
        automations.extend(row.optional::<AutomationId>("automation_id")?);
    }
    locks::lock_automations(tx, &automations).await?;
    Ok(())
}

/// Locks the seats of a session, in the order of their IDs.
async fn lock_seats_of_session(
    tx: &mut Tx,
    scope: Scope,
    session: SessionId,
) -> Result<Vec<SeatId>, Error> {
    let found = tx
        .fetch_all(sql!("seats/of_session"), params![scope.tenant(), session])
        .await?;
    let ids = found.iter().map(|row| row.get("id"));
    let seats: Vec<SeatId> = ids.collect::<Result<_, _>>()?;
    locks::lock_seats(tx, &seats.iter().copied().collect()).await?;
    Ok(seats)
}

/// Defers the runs of a session that are queued or wait as trigger files. If a run was exclusive, the next run of its
/// automation may start on another seat.
async fn defer_unclaimed_runs(
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    let mut log = SessionLogWriter::default();
    let mut deferred = Vec::new();
    for row in &open {
        if row.get("is_unclaimed")? {
            let (run, automation) = (row.get("id")?, row.optional("automation_id")?);
            defer_run(tx, &mut log, session, run, automation, now).await?;
            deferred.push(run);
        }
    }
    // A dispatcher may be writing a file, and a file in the folder loses its purpose: a run that is queued again gets
    // another one at once.
    take_trigger_files(tx, deferred.into_iter(), now).await?;
    log.write(tx, now).await
}
