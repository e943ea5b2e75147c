//! Sessions, their seats, and what people read in them.

mod delete;
mod edit;
mod news;
mod page;
mod read;

use model::{
    AutomationId, HarnessId, SeatId, SessionId, TenantId, Timestamp,
    entity::{Channel, Seat, SeatSettings, Session},
    event::{Change, SessionChange},
    lifecycle::{Lifecycle, Refused},
    run::RunStatus,
    session::{Admission, SessionEvent, SessionKind, SessionStatus, SessionType},
};

use crate::{
    Error, Scope,
    database::Tx,
    journal::{self, Journal},
    locks, rows,
    runs::{
        cancel,
        place::{hold, promote_on_seat},
    },
    store::Store,
    stored::{self, StoredSettings},
};

pub use delete::Deletion;
pub use edit::SessionEdit;
pub use news::{LiveText, Logged, News};
pub use page::SessionFilter;
pub use read::Transcript;

/// A session to be made, with its entry seat.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id, where its working directory was named after it before.
    pub id: SessionId,
    /// The purpose of the session.
    pub kind: SessionKind,
    /// Where it comes from.
    pub session_type: SessionType,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title that lists show.
    pub title: Option<String>,
    /// Whether it is prepared only: its inputs wait until it is enabled.
    pub draft: bool,
    /// The place outside Matins where people talk in the session.
    pub channel: Option<Channel>,
    /// The working directory of its agents, absolute.
    pub cwd: String,
    /// The automation that makes it.
    pub schedule_id: Option<AutomationId>,
    /// The harness of its entry seat.
    pub harness: HarnessId,
    /// The mode and the settings of its entry seat.
    pub settings: SeatSettings,
}

impl Store {
    /// Makes a session with its entry seat. Refused with [`Error::Made`] where the id is used already.
    pub async fn create_session(
        &self,
        tenant: TenantId,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<(SessionId, SeatId), Error> {
        let made = self
            .transact(Scope::Tenant(tenant), |tx, _| {
                Box::pin(async move { insert(self, tx, tenant, new, now).await })
            })
            .await;
        let Err(Error::Database(error)) = &made else {
            return made;
        };
        let Some(conflict) = error.conflict() else {
            return made;
        };
        // The same one again has its key, too.
        let mut tx = self.db.read(Scope::Tenant(tenant)).await?;
        let used = tx
            .fetch_optional(sql!("sessions/by_id"), params![tenant, new.id])
            .await?;
        match &new.key {
            _ if used.is_some() => Err(Error::made("the session", new.id)),
            Some(key) if conflict == "agent_sessions_one_per_key" => Err(Error::Exists {
                what: "a session",
                name: key.clone(),
            }),
            _ => made,
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
    ) -> Result<SessionStatus, Error> {
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                let seats = lock_seats(tx, scope, id).await?;
                let row = tx
                    .fetch_optional(sql!("sessions/by_id"), params![scope.tenant(), id])
                    .await?;
                let session = rows::session(&row.ok_or_else(|| Error::not_found("session", id))?)?;
                let state = session.status().apply(event)?;
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
                    return Err(Error::Refused(Refused {
                        what: SessionStatus::WHAT,
                        state: "being moved by somebody else".into(),
                        event: event.to_string(),
                    }));
                }
                let change = SessionChange::Moved {
                    state,
                    reason: reason.map(str::to_owned),
                };
                journal::session(tx, id, change, now).await?;
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
        })
        .await
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
    let seats = insert_all(store, tx, &mut journal, &[(tenant, new)], 1, now).await?;
    journal.write(tx, now).await?;
    let seat = seats.first().copied();
    let seat = seat.ok_or_else(|| Error::not_found("seat of", new.id))?;
    Ok((new.id, seat))
}

/// Makes sessions, each with its entry seat, and gives these in order. The journal will have about
/// `events` for each when it is written.
pub(crate) async fn insert_all(
    store: &Store,
    tx: &mut Tx,
    journal: &mut Journal,
    all: &[(TenantId, &NewSession)],
    events: i64,
    now: Timestamp,
) -> Result<Vec<SeatId>, Error> {
    let mut sessions = Vec::with_capacity(all.len());
    let mut rows = Vec::with_capacity(all.len());
    let mut seats = Vec::with_capacity(all.len());
    for (tenant, new) in all {
        let state = if new.draft {
            SessionStatus::Draft
        } else {
            SessionStatus::Active
        };
        let channel = new.channel.as_ref();
        sessions.push(params! { "sessions/insert";
            id: new.id,
            tenant: *tenant,
            kind: new.kind.as_str(),
            type: new.session_type.as_str(),
            state: state.as_str(),
            key: new.key.as_deref(),
            title: new.title.as_deref(),
            cwd: new.cwd.as_str(),
            automation: new.schedule_id,
            last_seq: events,
            now: now,
            channel: channel.map(|place| place.channel.as_str()),
            chat: channel.map(|place| place.chat_id.as_str()),
            thread: channel.and_then(|place| place.thread.as_deref()),
        });
        journal.numbered(*tenant, new.id, events);
        let seat = SeatId::generate(now, store.ids());
        let settings = stored::write::<StoredSettings>(&new.settings);
        rows.push(params! { "seats/insert";
            id: seat,
            tenant: *tenant,
            session: new.id,
            role: "agent",
            name: "agent",
            harness: new.harness,
            is_entry: true,
            settings: settings.value,
            now: now,
            format: stored::FORMAT,
            needs_format: settings.needs_format,
        });
        seats.push(seat);
        let change = Change::Session {
            session_id: new.id,
            change: SessionChange::Created { state },
        };
        journal.change(new.id, change);
    }
    tx.execute_rows(sql!("sessions/insert"), sessions, params![])
        .await?;
    tx.execute_rows(sql!("seats/insert"), rows, params![])
        .await?;
    Ok(seats)
}

/// Locks a session's seats, by id.
async fn lock_seats(tx: &mut Tx, scope: Scope, session: SessionId) -> Result<Vec<SeatId>, Error> {
    let found = tx
        .fetch_all(sql!("seats/of_session"), params![scope.tenant(), session])
        .await?;
    let ids = found.iter().map(|row| row.get("id"));
    let seats: Vec<SeatId> = ids.collect::<Result<_, _>>()?;
    locks::lock_seats(tx, &seats.iter().copied().collect()).await?;
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
