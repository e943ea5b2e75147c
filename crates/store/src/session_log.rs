//! Writes a session's transcript and its ordered log.
//!
//! **Invariant:** a transaction takes sequence numbers from the session's row, which it locks until it ends, or from
//! a session row that it inserts. So the numbers follow the order of commits, without gaps.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{
    MessageId, RunId, SeatId, SessionId, TenantId, Timestamp,
    event::{Change, RunChange, SessionChange},
    turn::{Entry, EntryKind, Role},
};
use serde_json::Value;

use crate::{
    Error,
    changes::note_change,
    database::{Param, Tx},
    locks::lock_sessions,
    store::Store,
    stored::events::StoredEvent,
};

/// The location of a row in a transcript.
#[derive(Clone, Copy)]
pub(crate) struct EntryLocation {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) run: Option<RunId>,
    pub(crate) seat: Option<SeatId>,
}

/// The rows that a transaction adds to logs and transcripts, in order. [`SessionLogWriter::write`] writes them with
/// one statement for each table. Rows of a writer that is dropped without a write are lost.
#[derive(Default)]
#[must_use]
pub(crate) struct SessionLogWriter {
    pending_events: Vec<PendingEvent>,
    /// Titles for sessions that have none, which [`SessionLogWriter::write`] stores once it has locked the sessions.
    titles: Vec<(SessionId, String)>,
    /// The sessions that this transaction has inserted, with the count of numbers that their rows already claim.
    reserved_seqs: HashMap<SessionId, (TenantId, i64)>,
}

/// One event, and the transcript row that it announces.
struct PendingEvent {
    session: SessionId,
    change: Change,
    message: Option<(EntryLocation, Option<SeatId>, Entry)>,
}

impl SessionLogWriter {
    /// Records that this transaction has inserted a session whose row already claims its first `numbers` numbers. If
    /// exactly that many events follow, [`SessionLogWriter::write`] need not update the row.
    pub(crate) fn add_reserved_seqs(&mut self, tenant: TenantId, session: SessionId, numbers: i64) {
        self.reserved_seqs.insert(session, (tenant, numbers));
    }

    /// Gives a session a title, unless it has one. The transaction must add an event to the log of the session as well.
    pub(crate) fn add_title(&mut self, session: SessionId, title: String) {
        self.titles.push((session, title));
    }

    /// Adds a change to a session's log.
    pub(crate) fn add_change(&mut self, session: SessionId, change: Change) {
        self.pending_events.push(PendingEvent {
            session,
            change,
            message: None,
        });
    }

    /// Adds a change of a run to a session's log.
    pub(crate) fn add_run_change(&mut self, session: SessionId, run_id: RunId, change: RunChange) {
        self.add_change(session, Change::Run { run_id, change });
    }

    /// Adds a row to the transcript, and its event to the log.
    pub(crate) fn add_message(&mut self, location: EntryLocation, entry: Entry) {
        self.add_entry(location, None, entry);
    }

    /// Adds a message from one seat to another to the transcript, and its event to the log.
    pub(crate) fn add_seat_message(&mut self, location: EntryLocation, to: SeatId, entry: Entry) {
        self.add_entry(location, Some(to), entry);
    }

    fn add_entry(&mut self, location: EntryLocation, to: Option<SeatId>, entry: Entry) {
        self.pending_events.push(PendingEvent {
            session: location.session,
            change: Change::Message {
                message_id: entry.id,
                role: entry.role,
                kind: entry.kind,
                to,
            },
            message: Some((location, to, entry)),
        });
    }

    /// Assigns the sequence numbers, and writes all events and transcript rows.
    pub(crate) async fn write(self, tx: &mut Tx, now: Timestamp) -> Result<(), Error> {
        // 1. Count the numbers that each log needs.
        let mut counts: HashMap<SessionId, i64> = HashMap::new();
        for event in &self.pending_events {
            *counts.entry(event.session).or_default() += 1;
        }
        // Subtract the numbers that inserted rows already claim. The rest is negative if a row claims too many.
        let mut missing: BTreeMap<SessionId, i64> =
            counts.iter().map(|(id, n)| (*id, *n)).collect();
        for (session, (_, taken)) in &self.reserved_seqs {
            *missing.entry(*session).or_default() -= taken;
        }
        missing.retain(|_, count| *count != 0);
        // 2. Lock the sessions in the order of their IDs. The next statement alone would lock them in the order in which
        // it finds them, and two batches that share two sessions would deadlock.
        if missing.len() > 1 {
            lock_sessions(tx, missing.keys().copied()).await?;
        }
        // 3. Take the numbers from the session rows, and store the titles.
        let rows = missing.iter().map(|(id, count)| params![*id, *count]);
        let numbered = tx
            .fetch_rows(sql!("sessions/next_seq"), rows.collect(), params![now])
            .await?;
        let titles = self.titles.into_iter();
        let titles = titles.map(|(id, title)| params![id, title]).collect();
        tx.execute_rows(sql!("sessions/set_title"), titles, params![])
            .await?;
        let mut next: HashMap<SessionId, (i64, TenantId)> = HashMap::new();
        for (session, (tenant, taken)) in &self.reserved_seqs {
            next.insert(*session, (*taken, *tenant));
        }
        for row in &numbered {
            next.insert(
                row.get("id")?,
                (row.get("last_seq")?, row.get("tenant_id")?),
            );
        }
        for (session, count) in counts {
            let (last, _) = next
                .get_mut(&session)
                .ok_or_else(|| Error::not_found("session", session))?;
            *last -= count;
        }

        // 4. Write the events, and the transcript rows that they announce.
        for session in next.keys() {
            note_change(tx, session.uuid()).await?;
        }
        let mut events = Vec::with_capacity(self.pending_events.len());
        let mut messages = Vec::new();
        for event in self.pending_events {
            let (seq, tenant) = next
                .get_mut(&event.session)
                .ok_or_else(|| Error::not_found("session", event.session))?;
            *seq += 1;
            let stored = StoredEvent::of(&event.change);
            events.push(params! { "postgres/events/insert";
                session: event.session,
                seq: *seq,
                tenant: *tenant,
                kind: stored.kind,
                ref: stored.about,
                body: stored.body,
                now: now,
            });
            if let Some((location, to, entry)) = event.message {
                messages.push((entry.id, message_params(location, to, entry, *seq, now)));
            }
        }
        tx.execute_rows(sql_of_each!("events/insert"), events, params![])
            .await?;
        write_messages(tx, messages).await
    }
}

/// Returns the parameters of a transcript row.
fn message_params(
    location: EntryLocation,
    to: Option<SeatId>,
    entry: Entry,
    seq: i64,
    now: Timestamp,
) -> Vec<Param> {
    // Rows of the agent carry its seat. Rows of people and of Matins carry none.
    let from = match entry.role {
        Role::Assistant | Role::Tool => location.seat,
        Role::User | Role::System => None,
    };
    params! { "messages/put";
        id: entry.id,
        tenant: location.tenant,
        session: location.session,
        seq: seq,
        run: location.run,
        from_seat: from,
        to_seat: to,
        role: entry.role.as_str(),
        kind: entry.kind.as_str(),
        content: entry.content,
        metadata: entry.metadata,
        now: now,
    }
}

/// Writes transcript rows. A later row of the same ID replaces the earlier one. PostgreSQL refuses to update a row
/// twice in one statement, so each statement takes one row of each ID.
async fn write_messages(tx: &mut Tx, messages: Vec<(MessageId, Vec<Param>)>) -> Result<(), Error> {
    let mut pending = messages;
    while !pending.is_empty() {
        let mut seen = HashSet::new();
        let mut later = Vec::new();
        let mut rows = Vec::with_capacity(pending.len());
        for (id, row) in pending {
            if seen.insert(id) {
                rows.push(row);
            } else {
                later.push((id, row));
            }
        }
        let expected = rows.len() as u64;
        let written = tx
            .execute_rows(sql!("messages/put"), rows, params![])
            .await?;
        if written != expected {
            let ids: Vec<String> = seen.iter().map(ToString::to_string).collect();
            return Err(Error::NameTaken {
                what: "message",
                name: ids.join(" or "),
            });
        }
        pending = later;
    }
    Ok(())
}

/// Writes one change of a session to its log, for transitions that log nothing else.
pub(crate) async fn write_session_change(
    tx: &mut Tx,
    session_id: SessionId,
    change: SessionChange,
    now: Timestamp,
) -> Result<(), Error> {
    let logged = Change::Session { session_id, change };
    write_change(tx, session_id, logged, now).await
}

/// Writes one change to a session's log, for transitions that log nothing else.
pub(crate) async fn write_change(
    tx: &mut Tx,
    session: SessionId,
    change: Change,
    now: Timestamp,
) -> Result<(), Error> {
    let mut log = SessionLogWriter::default();
    log.add_change(session, change);
    log.write(tx, now).await
}

impl Store {
    /// Returns a new transcript row with a generated ID.
    pub(crate) fn new_entry(
        &self,
        role: Role,
        kind: EntryKind,
        content: impl Into<String>,
        metadata: Value,
        now: Timestamp,
    ) -> Entry {
        let id = MessageId::generate(now, self.ids());
        Entry {
            id,
            role,
            kind,
            content: content.into(),
            metadata,
        }
    }
}
