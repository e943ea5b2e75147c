//! Writing a session's transcript and its ordered log.
//!
//! **Invariant:** numbers are taken from the session's row, which stays locked until the transaction
//! ends, or come with a row that the transaction made; so numbers follow commits, and none is missing.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{
    MessageId, RunId, SeatId, SessionId, TenantId, Timestamp,
    event::{Change, RunChange, SessionChange},
    turn::{Entry, EntryKind, Role},
};
use serde_json::Value;

use crate::{
    Error,
    database::{Param, Tx},
    store::Store,
    stored::events::StoredEvent,
    waking::note_change,
};

/// Where a row of the transcript belongs.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) run: Option<RunId>,
    pub(crate) seat: Option<SeatId>,
}

/// What a transaction adds to logs and transcripts, in order. It is written all at once by
/// [`Journal::write`], with one statement for each table; dropped unwritten, it is lost.
#[derive(Default)]
#[must_use]
pub(crate) struct Journal {
    lines: Vec<Line>,
    /// Sessions that this transaction made, with the numbers that their rows have taken already.
    numbered: HashMap<SessionId, (TenantId, i64)>,
}

/// One event, and the row of the transcript that it announces.
struct Line {
    session: SessionId,
    change: Change,
    message: Option<(Place, Option<SeatId>, Entry)>,
}

impl Journal {
    /// Notes that a session was made in this transaction with its first numbers taken. Where that many
    /// events come, its row need not be written again.
    pub(crate) fn numbered(&mut self, tenant: TenantId, session: SessionId, numbers: i64) {
        self.numbered.insert(session, (tenant, numbers));
    }

    /// Adds a change to a session's log.
    pub(crate) fn change(&mut self, session: SessionId, change: Change) {
        self.lines.push(Line {
            session,
            change,
            message: None,
        });
    }

    /// Adds a change of a run to a session's log.
    pub(crate) fn run(&mut self, session: SessionId, run_id: RunId, change: RunChange) {
        self.change(session, Change::Run { run_id, change });
    }

    /// Adds a row to the transcript, with its event.
    pub(crate) fn message(&mut self, place: Place, entry: Entry) {
        self.write_message(place, None, entry);
    }

    /// Adds a message of one seat to another to the transcript, with its event.
    pub(crate) fn message_to(&mut self, place: Place, to: SeatId, entry: Entry) {
        self.write_message(place, Some(to), entry);
    }

    fn write_message(&mut self, place: Place, to: Option<SeatId>, entry: Entry) {
        self.lines.push(Line {
            session: place.session,
            change: Change::Message {
                message_id: entry.id,
                role: entry.role,
                kind: entry.kind,
                to,
            },
            message: Some((place, to, entry)),
        });
    }

    /// Numbers everything and writes it.
    pub(crate) async fn write(self, tx: &mut Tx, now: Timestamp) -> Result<(), Error> {
        let mut counts: HashMap<SessionId, i64> = HashMap::new();
        for line in &self.lines {
            *counts.entry(line.session).or_default() += 1;
        }
        // What each log lacks, or has too much of if a session was made for more than came.
        let mut wanted: BTreeMap<SessionId, i64> = counts.iter().map(|(id, n)| (*id, *n)).collect();
        for (session, (_, taken)) in &self.numbered {
            *wanted.entry(*session).or_default() -= taken;
        }
        wanted.retain(|_, count| *count != 0);
        let rows = wanted.iter().map(|(id, count)| params![*id, *count]);
        let numbered = tx
            .fetch_rows(sql!("sessions/next_seq"), rows.collect(), params![now])
            .await?;
        let mut next: HashMap<SessionId, (i64, TenantId)> = HashMap::new();
        for (session, (tenant, taken)) in &self.numbered {
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

        for session in next.keys() {
            note_change(tx, session.uuid()).await?;
        }
        let mut events = Vec::with_capacity(self.lines.len());
        let mut messages = Vec::new();
        for line in self.lines {
            let (seq, tenant) = next
                .get_mut(&line.session)
                .ok_or_else(|| Error::not_found("session", line.session))?;
            *seq += 1;
            let stored = StoredEvent::of(&line.change);
            events.push(params! { "postgres/events/insert";
                session: line.session,
                seq: *seq,
                tenant: *tenant,
                kind: stored.kind,
                ref: stored.about,
                body: stored.body,
                now: now,
            });
            if let Some((place, to, entry)) = line.message {
                messages.push((entry.id, message(place, to, entry, *seq, now)));
            }
        }
        tx.execute_rows(sql_of_each!("events/insert"), events, params![])
            .await?;
        write_messages(tx, messages).await
    }
}

/// The parameters of a row of the transcript.
fn message(place: Place, to: Option<SeatId>, entry: Entry, seq: i64, now: Timestamp) -> Vec<Param> {
    // The agent's rows carry its seat; those of people and of Matins none.
    let from = match entry.role {
        Role::Assistant | Role::Tool => place.seat,
        Role::User | Role::System => None,
    };
    params! { "messages/put";
        id: entry.id,
        tenant: place.tenant,
        session: place.session,
        seq: seq,
        run: place.run,
        from_seat: from,
        to_seat: to,
        role: entry.role.as_str(),
        kind: entry.kind.as_str(),
        content: entry.content,
        metadata: entry.metadata,
        now: now,
    }
}

/// Writes rows of transcripts. A later row of the same id replaces the earlier one, so no id may
/// stand twice in one statement.
async fn write_messages(tx: &mut Tx, messages: Vec<(MessageId, Vec<Param>)>) -> Result<(), Error> {
    let mut rest = messages;
    while !rest.is_empty() {
        let mut seen = HashSet::new();
        let mut later = Vec::new();
        let mut rows = Vec::with_capacity(rest.len());
        for (id, row) in rest {
            if seen.insert(id) {
                rows.push(row);
            } else {
                later.push((id, row));
            }
        }
        let wanted = rows.len() as u64;
        let written = tx
            .execute_rows(sql!("messages/put"), rows, params![])
            .await?;
        if written != wanted {
            let ids: Vec<String> = seen.iter().map(ToString::to_string).collect();
            return Err(Error::Exists {
                what: "a message",
                name: ids.join(" or "),
            });
        }
        rest = later;
    }
    Ok(())
}

/// Writes a change of a session to its log, for transitions that log nothing else.
pub(crate) async fn session(
    tx: &mut Tx,
    session_id: SessionId,
    change: SessionChange,
    now: Timestamp,
) -> Result<(), Error> {
    let logged = Change::Session { session_id, change };
    self::change(tx, session_id, logged, now).await
}

/// Writes one change to a session's log, for transitions that log nothing else.
pub(crate) async fn change(
    tx: &mut Tx,
    session: SessionId,
    change: Change,
    now: Timestamp,
) -> Result<(), Error> {
    let mut journal = Journal::default();
    journal.change(session, change);
    journal.write(tx, now).await
}

impl Store {
    /// A new row of a transcript.
    pub(crate) fn entry(
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
