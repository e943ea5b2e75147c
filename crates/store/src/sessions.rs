//! Sessions, their seats, and what people read in them.

use std::collections::BTreeSet;

use model::{
    AutomationId, HarnessId, SeatId, SessionId, TenantId, Timestamp,
    entity::{Automation, Event, Message, Seat, SeatSettings, Session},
    lifecycle::{Lifecycle, Refused},
    run::RunStatus,
    session::{Admission, SessionEvent, SessionKind, SessionState, SessionType},
};
use serde_json::json;

use crate::{
    Error, Scope,
    database::Tx,
    journal::{self, Journal},
    rows,
    runs::{
        cancel,
        place::{hold, promote_on_seat, promote_own},
    },
    store::{Store, transact},
};

/// A session to be made, with its entry seat.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id, where its working directory was named after it before.
    pub id: SessionId,
    /// What it is for.
    pub kind: SessionKind,
    /// Where it comes from.
    pub session_type: SessionType,
    /// Its stable external name.
    pub key: Option<String>,
    /// What lists call it.
    pub title: Option<String>,
    /// The working directory of its agents, absolute.
    pub cwd: String,
    /// The automation that makes it.
    pub schedule_id: Option<AutomationId>,
    /// The harness of its entry seat.
    pub harness: HarnessId,
    /// The mode and the settings of its entry seat.
    pub settings: SeatSettings,
}

/// What became of a wish to delete a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone.
    Done,
    /// Automations of people are bound to it; nothing was deleted.
    BlockedBy(Vec<Automation>),
}

impl Store {
    /// Makes a session that is active at once, with its entry seat.
    pub async fn create_session(
        &self,
        tenant: TenantId,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<(SessionId, SeatId), Error> {
        let made = transact!(self, Scope::Tenant(tenant), |tx| {
            insert(self, tx, tenant, new, now).await
        });
        match (made, &new.key) {
            (Err(Error::Database(error)), Some(key))
                if error.conflict() == Some("agent_sessions_one_per_key") =>
            {
                Err(Error::Exists {
                    what: "a session",
                    name: key.clone(),
                })
            }
            (made, _) => made,
        }
    }

    /// Reads one session.
    pub async fn session(&self, scope: Scope, id: SessionId) -> Result<Session, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
            .await?;
        rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)
    }

    /// Reads the session of a key, if there is one.
    pub async fn session_by_key(
        &self,
        tenant: TenantId,
        key: &str,
    ) -> Result<Option<Session>, Error> {
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let row = tx
            .fetch_optional(sql!("sessions/by_key"), params![tenant, key])
            .await?;
        row.as_ref().map(rows::session).transpose()
    }

    /// Lists sessions, the most recently changed first.
    pub async fn sessions(
        &self,
        scope: Scope,
        session_type: Option<SessionType>,
        automation: Option<AutomationId>,
        limit: u32,
    ) -> Result<Vec<Session>, Error> {
        let mut tx = self.db.read(scope).await?;
        let session_type = session_type.map(SessionType::as_str);
        let found = tx
            .fetch_all(
                sql!("sessions/list"),
                params![scope.tenant(), session_type, automation, limit],
            )
            .await?;
        found.iter().map(rows::session).collect()
    }

    /// Lists a session's seats, the oldest first.
    pub async fn seats(&self, scope: Scope, session: SessionId) -> Result<Vec<Seat>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("seats/of_session"), params![scope.tenant(), session])
            .await?;
        found.iter().map(rows::seat).collect()
    }

    /// Reads a transcript after a number, in order.
    pub async fn messages(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Message>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("messages/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::message).collect()
    }

    /// Reads a session's log after a number, in order.
    pub async fn events(
        &self,
        scope: Scope,
        session: SessionId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("events/list"),
                params![scope.tenant(), session, after, limit],
            )
            .await?;
        found.iter().map(rows::event).collect()
    }

    /// Moves a session on in its life. Pausing lets turns that run go on and holds back the rest;
    /// resuming and enabling let what waited start; closing calls off what waits and lets turns that
    /// run go on to their end.
    pub async fn move_session(
        &self,
        scope: Scope,
        id: SessionId,
        event: SessionEvent,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<SessionState, Error> {
        transact!(self, scope, |tx| {
            let seats = lock_seats(tx, scope, id).await?;
            let row = tx
                .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                .await?;
            let session = rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)?;
            let state = session.state.apply(event)?;
            let ended = (state.admission() == Admission::Refuse).then_some(now);
            let moved = tx
                .execute(
                    sql!("sessions/set_state"),
                    params![
                        id,
                        session.state.as_str(),
                        state.as_str(),
                        reason,
                        ended,
                        now
                    ],
                )
                .await?;
            if moved == 0 {
                return Err(Error::Refused(Refused {
                    what: SessionState::WHAT,
                    state: "being moved by somebody else".into(),
                    event: event.to_string(),
                }));
            }
            let body = json!({ "state": state, "reason": reason });
            journal::event(tx, id, "session", id.uuid(), body, now).await?;
            match state.admission() {
                Admission::Start => {
                    for seat in &seats {
                        promote_on_seat(tx, *seat, now).await?;
                    }
                }
                Admission::Wait => hold_queued(tx, id, now).await?,
                Admission::Refuse => {
                    let reason = format!("the session is {state}");
                    cancel::open_of(self, tx, id, &[RunStatus::Deferred], &reason, now).await?;
                    cancel::open_of(self, tx, id, &[RunStatus::Queued], &reason, now).await?;
                }
            }
            Ok(state)
        })
    }

    /// Deletes a session. Automations of people that are bound to it block that, unless
    /// `with_automations` says that they are to be deleted too. A turn that runs is called off: its
    /// writes find nothing any more.
    pub async fn delete_session(
        &self,
        tenant: TenantId,
        id: SessionId,
        with_automations: bool,
        now: Timestamp,
    ) -> Result<Deletion, Error> {
        let scope = Scope::Tenant(tenant);
        transact!(self, scope, |tx| {
            lock_seats(tx, scope, id).await?;
            let row = tx
                .fetch_optional(sql!("sessions/by_id"), params![tenant, id])
                .await?;
            let session = rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)?;
            let bound = match &session.session_key {
                Some(key) => {
                    tx.fetch_all(sql!("automations/bound_to"), params![tenant, key])
                        .await?
                }
                None => Vec::new(),
            };
            let bound: Vec<Automation> = bound
                .iter()
                .map(rows::automation)
                .collect::<Result<_, _>>()?;
            if !bound.is_empty() && !with_automations {
                return Ok(Deletion::BlockedBy(bound));
            }
            for automation in &bound {
                crate::automations::delete(self, tx, automation, now).await?;
            }
            tx.execute(sql!("automations/leave_session"), params![id, now])
                .await?;
            let owners = owners_of_open(tx, id).await?;
            tx.execute(sql!("sessions/delete"), params![id]).await?;
            for owner in owners {
                promote_own(tx, owner, now).await?;
            }
            Ok(Deletion::Done)
        })
    }
}

/// Makes a session and its entry seat.
pub(crate) async fn insert(
    store: &Store,
    tx: &mut Tx,
    tenant: TenantId,
    new: &NewSession,
    now: Timestamp,
) -> Result<(SessionId, SeatId), Error> {
    let mut journal = Journal::default();
    let seats = insert_all(store, tx, &mut journal, &[(tenant, new)], now).await?;
    journal.write(tx, now).await?;
    let seat = seats.first().copied();
    let seat = seat.ok_or_else(|| Error::not_found("seat of", new.id))?;
    Ok((new.id, seat))
}

/// Makes sessions, each with its entry seat, and gives these in order.
pub(crate) async fn insert_all(
    store: &Store,
    tx: &mut Tx,
    journal: &mut Journal,
    all: &[(TenantId, &NewSession)],
    now: Timestamp,
) -> Result<Vec<SeatId>, Error> {
    let state = SessionState::Active;
    let mut sessions = Vec::with_capacity(all.len());
    let mut rows = Vec::with_capacity(all.len());
    let mut seats = Vec::with_capacity(all.len());
    for (tenant, new) in all {
        sessions.push(params![
            new.id,
            *tenant,
            new.kind.as_str(),
            new.session_type.as_str(),
            state.as_str(),
            new.key.as_deref(),
            new.title.as_deref(),
            new.cwd.as_str(),
            new.schedule_id,
            now
        ]);
        let seat = SeatId::generate(now, store.ids());
        rows.push(params![
            seat,
            *tenant,
            new.id,
            "agent",
            "agent",
            new.harness,
            true,
            json!(new.settings),
            now
        ]);
        seats.push(seat);
        journal.event(new.id, "session", new.id.uuid(), json!({ "state": state }));
    }
    tx.execute_rows(sql!("sessions/insert"), sessions, &[])
        .await?;
    tx.execute_rows(sql!("seats/insert"), rows, &[]).await?;
    Ok(seats)
}

/// Locks a session's seats, by id.
async fn lock_seats(tx: &mut Tx, scope: Scope, session: SessionId) -> Result<Vec<SeatId>, Error> {
    let found = tx
        .fetch_all(sql!("seats/of_session"), params![scope.tenant(), session])
        .await?;
    let mut seats = Vec::with_capacity(found.len());
    for row in &found {
        let seat: SeatId = row.get("id")?;
        tx.fetch_optional(sql_by_dialect!("seats/lock"), params![seat])
            .await?;
        seats.push(seat);
    }
    Ok(seats)
}

/// Puts the runs of a session that have not been claimed back to wait. Those of an automation whose
/// runs exclude each other make room for the next one on another seat.
async fn hold_queued(tx: &mut Tx, session: SessionId, now: Timestamp) -> Result<(), Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    for row in &open {
        if row.parse::<RunStatus>("status")? == RunStatus::Queued {
            hold(
                tx,
                session,
                row.get("id")?,
                row.optional("automation_id")?,
                now,
            )
            .await?;
        }
    }
    Ok(())
}

/// The automations of a session's runs that are not over.
async fn owners_of_open(tx: &mut Tx, session: SessionId) -> Result<BTreeSet<AutomationId>, Error> {
    let open = tx
        .fetch_all(sql!("runs/open_of_session"), params![session])
        .await?;
    let owners = open.iter().map(|row| row.optional("automation_id"));
    let owners = owners.collect::<Result<Vec<_>, _>>()?;
    Ok(owners.into_iter().flatten().collect())
}
