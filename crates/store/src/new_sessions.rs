//! The creation of sessions, each with its seats.

use std::collections::BTreeSet;

use model::{
    AgentId, AutomationId, InstanceId, SeatId, SessionId, TenantId, Timestamp,
    entity::{Channel, SeatSettings},
    event::{Change, SessionChange},
    seat::{ONLY_SEAT, SeatDirectory},
    session::{SessionKind, SessionStatus, SessionType},
};

use crate::{
    Error,
    agents::keep_agent,
    database::Tx,
    document_format::{format_of_placement, format_of_seat},
    instances::keep_instance,
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, StoredSettings},
};

/// A seat of a new session.
#[derive(Debug, Clone)]
pub struct NewSeat {
    /// The task of the agent in the session.
    pub role: String,
    /// The name, unique within the session.
    pub name: String,
    /// The agent.
    pub agent: AgentId,
    /// The mode and the settings of the agent.
    pub settings: SeatSettings,
    /// The directory of the turns.
    pub directory: SeatDirectory,
    /// The instructions that open each new memory of the agent.
    pub instructions: Option<String>,
}

impl NewSeat {
    /// Returns the seat of a session that has only one.
    pub fn only(agent: AgentId, settings: SeatSettings) -> Self {
        Self {
            role: ONLY_SEAT.to_owned(),
            name: ONLY_SEAT.to_owned(),
            agent,
            settings,
            directory: SeatDirectory::Shared,
            instructions: None,
        }
    }
}

/// A request to create a session with its seats.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The ID of the session.
    pub id: SessionId,
    /// The purpose of the session.
    pub kind: SessionKind,
    /// The source of the session.
    pub session_type: SessionType,
    /// The stable external name of the session.
    pub key: Option<String>,
    /// The title that lists show.
    pub title: Option<String>,
    /// `true` to create a draft: its inputs wait until the session is enabled.
    pub draft: bool,
    /// The external chat in which people use the session.
    pub channel: Option<Channel>,
    /// The working directory that a person gave, an absolute path. `None` gives the session a folder of its own.
    pub cwd: Option<String>,
    /// The instance on which the turns of its seats are placed. `None`: any instance may take the first one.
    pub placed_on: Option<InstanceId>,
    /// The automation that creates the session.
    pub automation_id: Option<AutomationId>,
    /// The seat that receives the inputs which name no seat.
    pub entry: NewSeat,
    /// The other seats, in the order of lists.
    pub other_seats: Vec<NewSeat>,
}

impl NewSession {
    /// Returns the seats, the entry seat first.
    fn seats(&self) -> impl Iterator<Item = &NewSeat> {
        [&self.entry].into_iter().chain(&self.other_seats)
    }
}

/// Creates a session and its seats. Returns the entry seat.
pub(crate) async fn insert_session(
    store: &Store,
    tx: &mut Tx,
    tenant: TenantId,
    new: &NewSession,
    now: Timestamp,
) -> Result<(SessionId, SeatId), Error> {
    let agents: BTreeSet<AgentId> = new.seats().map(|seat| seat.agent).collect();
    for agent in agents {
        keep_agent(tx, tenant, agent).await?;
    }
    keep_instance(tx, tenant, new.placed_on).await?;
    let mut log = SessionLogWriter::default();
    let seats = insert_sessions(store, tx, &mut log, &[(tenant, new)], 1, now).await?;
    log.write(tx, now).await?;
    let seat = seats.first().copied();
    let seat = seat.ok_or_else(|| Error::not_found("entry seat of session", new.id))?;
    Ok((new.id, seat))
}

/// Creates sessions, each with its seats, and returns the entry seats in order. `events` is the number of events that
/// the caller adds to `log` for each session. The row of a new session reserves these numbers at once, so that no
/// second statement has to update it.
pub(crate) async fn insert_sessions(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    all: &[(TenantId, &NewSession)],
    events: i64,
    now: Timestamp,
) -> Result<Vec<SeatId>, Error> {
    // 1. Collect the rows and the events of each session.
    let mut session_rows = Vec::with_capacity(all.len());
    let mut seat_rows = Vec::with_capacity(all.len());
    let mut seats = Vec::with_capacity(all.len());
    for (tenant, new) in all {
        let state = if new.draft {
            SessionStatus::Draft
        } else {
            SessionStatus::Active
        };
        let channel = new.channel.as_ref();
        session_rows.push(params! { "sessions/insert";
            id: new.id,
            tenant: *tenant,
            kind: new.kind.as_str(),
            type: new.session_type.as_str(),
            state: state.as_str(),
            key: new.key.as_deref(),
            title: new.title.as_deref(),
            cwd: stored::directory_column(new.cwd.as_deref()),
            automation: new.automation_id,
            last_seq: events,
            now: now,
            channel: channel.map(|channel| channel.channel.as_str()),
            chat: channel.map(|channel| channel.chat_id.as_str()),
            thread: channel.and_then(|channel| channel.thread.as_deref()),
        });
        log.add_reserved_seqs(*tenant, new.id, events);
        let mut ids: Vec<SeatId> = new
            .seats()
            .map(|_| SeatId::generate(now, store.ids()))
            .collect();
        // Lists show seats by their IDs. The random parts of IDs of one instant have no order.
        ids.sort_unstable();
        seats.extend(ids.first());
        for (number, (seat, id)) in new.seats().zip(ids).enumerate() {
            let settings = stored::write::<StoredSettings>(&seat.settings);
            seat_rows.push(params! { "seats/insert";
                id: id,
                tenant: *tenant,
                session: new.id,
                role: seat.role.as_str(),
                name: seat.name.as_str(),
                agent: seat.agent,
                instructions: seat.instructions.as_deref(),
                is_entry: number == 0,
                directory: seat.directory.as_str(),
                placed_on: new.placed_on,
                settings: settings.value,
                now: now,
                format: stored::DOCUMENT_FORMAT,
                needs_format: settings
                    .needs_format
                    .max(format_of_placement(new.placed_on))
                    .max(format_of_seat(seat.directory, seat.instructions.is_some()))
                    .max(stored::directory_needs_format(new.cwd.as_deref())),
            });
        }
        let change = Change::Session {
            session_id: new.id,
            change: SessionChange::Created { state },
        };
        log.add_change(new.id, change);
    }
    // 2. Write the sessions before the seats, because the foreign key of a seat refers to its session.
    tx.execute_rows(sql!("sessions/insert"), session_rows, params![])
        .await?;
    tx.execute_rows(sql!("seats/insert"), seat_rows, params![])
        .await?;
    Ok(seats)
}
