//! The publication of a message, for people and for the tools of agents.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    MessageId, RunId, SeatId, SessionId, TenantId, Timestamp,
    entity::Session,
    lifecycle::{InvalidTransition, Lifecycle as _},
    seat_message::{LONGEST_CHAIN, MAX_UNDELIVERED, NamedSeat, Sender},
    session::{Admission, SessionStatus},
    turn::{EntryKind, Role},
};
use serde_json::{Value, json};

use crate::{
    Error,
    database::{Param, Tx},
    goals::Goal,
    locks::{lock_seats, lock_session},
    rows,
    runs::seat_input::{WakeCause, wake_receivers, wake_seats},
    seat_message_rows::{FROM_PERSON, SeatMessage},
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

/// The recipients of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipients {
    /// One seat of the session, perhaps the sender's own.
    Seat(SeatId),
    /// Every seat of the session but the sender's.
    Others,
}

/// A message to be published in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSeatMessage {
    /// The sender.
    pub from: Sender<SeatId>,
    /// The recipients.
    pub to: Recipients,
    /// The text of the transcript row.
    pub content: String,
    /// The metadata of the transcript row: an object.
    pub metadata: Value,
}

/// The seats of a session by ID.
pub(crate) type Team = BTreeMap<SeatId, NamedSeat>;

/// A message that a transition publishes.
pub(crate) struct Publication<'a> {
    /// Recipients that have the message already.
    pub(crate) except: BTreeSet<SeatId>,
    pub(crate) tenant: TenantId,
    pub(crate) session: &'a Session,
    /// The run whose agent sends the message.
    pub(crate) run: Option<RunId>,
    /// The reserved ID of the first row.
    pub(crate) reserved: Option<MessageId>,
    /// The number of message turns in a row that only caused each other, up to the turn that this message starts.
    pub(crate) chain_length: i64,
    pub(crate) new: &'a NewSeatMessage,
}

/// Reads the seats of a session.
pub(super) async fn read_team(
    tx: &mut Tx,
    tenant: TenantId,
    session: SessionId,
) -> Result<Team, Error> {
    let found = tx
        .fetch_all(sql!("seats/names"), params![tenant, session])
        .await?;
    let mut seats = BTreeMap::new();
    for row in &found {
        let id = row.get("id")?;
        let (name, role) = (row.get("name")?, row.get("role")?);
        seats.insert(id, NamedSeat { id, name, role });
    }
    Ok(seats)
}

/// Locks all seats of a session and then the session, and returns both. The transaction must hold no lock of a seat.
pub(crate) async fn lock_team(
    tx: &mut Tx,
    tenant: TenantId,
    session: SessionId,
) -> Result<(Session, Team), Error> {
    let seats = read_team(tx, tenant, session).await?;
    lock_seats(tx, &seats.keys().copied().collect()).await?;
    lock_session(tx, session).await?;
    let row = tx
        .fetch_optional(sql!("sessions/by_id"), params![tenant, session])
        .await?;
    let locked = rows::session(&row.ok_or_else(|| Error::not_found("session", session))?)?;
    Ok((locked, seats))
}

/// Writes the rows of a message, one for each receiving seat, and wakes these seats. `goal` is that of the session if a seat
/// sends the message, which then counts towards its limits. The caller must hold the locks of [`lock_team`].
pub(crate) async fn publish(
    store: &Store,
    tx: &mut Tx,
    seats: &Team,
    publication: &Publication<'_>,
    goal: Option<Goal>,
    now: Timestamp,
) -> Result<Vec<SeatMessage>, Error> {
    let Publication { session, new, .. } = publication;
    // 1. Check the session and the seats.
    if session.status().admission() == Admission::Refuse {
        return Err(Error::Refused(InvalidTransition {
            what: SessionStatus::WHAT,
            object: Some(session.id.to_string()),
            state: session.status().to_string(),
            event: "take a message".into(),
        }));
    }
    let (from, mut to) = resolve(seats, new)?;
    to.retain(|seat| !publication.except.contains(&seat.id));
    let receivers: BTreeSet<SeatId> = to.iter().map(|seat| seat.id).collect();
    check_undelivered(tx, seats, &receivers).await?;
    // 2. Add a row for each receiving seat.
    let mut log = SessionLogWriter::default();
    let mut published = add_rows(store, &mut log, publication, (&from, &to), now);
    let is_chain_too_long = publication.chain_length > LONGEST_CHAIN;
    if is_chain_too_long {
        let location = EntryLocation {
            tenant: publication.tenant,
            session: session.id,
            run: publication.run,
            seat: None,
        };
        add_waiting_notice(store, &mut log, location, &to, now);
    }
    write_rows(tx, log, &published, now).await?;
    // 3. Wake the receiving seats. A message from outside brings them the messages that waited for one, too.
    let mut log = SessionLogWriter::default();
    match goal {
        Some(mut goal) => {
            let sent = (publication.run, now);
            let woken = wake_receivers(store, tx, &mut log, &mut goal, &receivers, sent);
            let blocked = woken.await?;
            for message in &mut published {
                if blocked.contains(&message.id) {
                    message.chain_length = LONGEST_CHAIN + 1;
                }
            }
        }
        None if is_chain_too_long => {}
        None => {
            let cause = match publication.chain_length {
                1 => WakeCause::Outside,
                _ => WakeCause::Message,
            };
            let woken = receivers.iter().map(|seat| (*seat, cause)).collect();
            wake_seats(store, tx, &mut log, &woken, now).await?;
        }
    }
    log.write(tx, now).await?;
    Ok(published)
}

/// Writes a message of a seat to itself, and wakes the seat as the message of another seat does. `location` must have the seat. No
/// limit of messages refuses it, so that the end of a question never fails. The caller must hold the locks of the seat and of
/// all seats of its goal, and writes `log`.
pub(crate) async fn publish_to_itself(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    (location, seat): (EntryLocation, SeatId),
    (content, chain_length): (&str, i64),
    now: Timestamp,
) -> Result<(), Error> {
    // 1. Write the row, which decides on the turn of the seat.
    let mut team = read_team(tx, location.tenant, location.session).await?;
    let named = team.remove(&seat);
    let named = named.ok_or_else(|| Error::not_found("seat", seat))?;
    let metadata = with_seats(&json!({}), &Sender::Seat(named.clone()), &named);
    let entry = store.new_entry(Role::Tool, EntryKind::Message, content, metadata, now);
    let message = entry.id;
    let mut rows = SessionLogWriter::default();
    rows.add_seat_message(location, seat, entry);
    if chain_length > LONGEST_CHAIN {
        add_waiting_notice(store, &mut rows, location, &[named], now);
    }
    rows.write(tx, now).await?;
    if chain_length > 1 {
        set_chain(tx, vec![params![message]], chain_length).await?;
    }
    // 2. Wake the seat.
    let woken = [(seat, WakeCause::Message)].into();
    wake_seats(store, tx, log, &woken, now).await
}

/// Returns the names of seats, as texts show them.
fn names_of(seats: &[NamedSeat]) -> String {
    let names: Vec<String> = seats
        .iter()
        .map(|seat| format!("`{}`", seat.name))
        .collect();
    names.join(", ")
}

/// Returns the sender and the receiving seats.
fn resolve(
    seats: &Team,
    new: &NewSeatMessage,
) -> Result<(Sender<NamedSeat>, Vec<NamedSeat>), Error> {
    let find = |id: SeatId| {
        let seat = seats.get(&id).cloned();
        seat.ok_or_else(|| Error::not_found("seat", id))
    };
    let (from, sender) = match &new.from {
        Sender::Seat(id) => (Sender::Seat(find(*id)?), Some(*id)),
        Sender::Person(name) => (Sender::Person(name.clone()), None),
    };
    let to = match new.to {
        Recipients::Seat(to) => vec![find(to)?],
        Recipients::Others => {
            let others = seats.values().filter(|seat| Some(seat.id) != sender);
            others.cloned().collect()
        }
    };
    Ok((from, to))
}

/// Refuses a further message to a seat with too many undelivered ones.
async fn check_undelivered(
    tx: &mut Tx,
    seats: &Team,
    receivers: &BTreeSet<SeatId>,
) -> Result<(), Error> {
    let rows = receivers.iter().map(|seat| params![*seat]).collect();
    let counts = tx
        .fetch_rows(sql!("messages/count_undelivered"), rows, params![])
        .await?;
    for row in &counts {
        let undelivered: i64 = row.get("undelivered")?;
        if undelivered >= i64::from(MAX_UNDELIVERED) {
            let seat = seats.get(&row.get("to_seat_id")?);
            return Err(Error::SeatFull {
                seat: seat.map_or_else(String::new, |seat| seat.name.clone()),
                limit: MAX_UNDELIVERED,
            });
        }
    }
    Ok(())
}

/// Adds the rows of a message to the transcript.
fn add_rows(
    store: &Store,
    log: &mut SessionLogWriter,
    publication: &Publication<'_>,
    (from, to): (&Sender<NamedSeat>, &[NamedSeat]),
    now: Timestamp,
) -> Vec<SeatMessage> {
    let Publication {
        tenant,
        session,
        run,
        reserved,
        chain_length,
        new,
        except: _,
    } = publication;
    // The agent sends a message by a tool call. Its role `assistant` is for answers to people.
    let (role, seat) = match from {
        Sender::Seat(seat) => (Role::Tool, Some(seat.id)),
        Sender::Person(_) => (Role::User, None),
    };
    let location = EntryLocation {
        tenant: *tenant,
        session: session.id,
        run: *run,
        seat,
    };
    let mut reserved = *reserved;
    let mut published = Vec::with_capacity(to.len());
    // The session is locked, so these are the numbers under which `write` stores the rows.
    for (seq, to) in (session.last_seq + 1..).zip(to) {
        let metadata = with_seats(&new.metadata, from, to);
        let content = new.content.clone();
        let mut entry = store.new_entry(role, EntryKind::Message, content, metadata, now);
        entry.id = reserved.take().unwrap_or(entry.id);
        published.push(SeatMessage {
            id: entry.id,
            session: session.id,
            seq,
            from: from.clone(),
            to: to.id,
            to_name: to.name.clone(),
            content: entry.content.clone(),
            metadata: entry.metadata.clone(),
            input: None,
            chain_length: *chain_length,
            created_at: now,
            delivered_at: None,
        });
        log.add_seat_message(location, to.id, entry);
    }
    published
}

/// Shows in the transcript that a message at the end of a long chain starts no turn.
fn add_waiting_notice(
    store: &Store,
    log: &mut SessionLogWriter,
    location: EntryLocation,
    to: &[NamedSeat],
    now: Timestamp,
) {
    let text = format!(
        "{LONGEST_CHAIN} turns in a row had no other cause than messages between seats. This message to {} starts no \
         turn. The next input of a person or of an automation to the seat brings the message with it.",
        names_of(to)
    );
    let metadata = json!({ "notice": "seat_messages" });
    let entry = store.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
    log.add_message(location, entry);
}

/// Writes the log, and the chains of messages.
async fn write_rows(
    tx: &mut Tx,
    log: SessionLogWriter,
    published: &[SeatMessage],
    now: Timestamp,
) -> Result<(), Error> {
    log.write(tx, now).await?;
    if let Some(first) = published.first().filter(|first| first.chain_length > 1) {
        let rows = published.iter().map(|message| params![message.id]);
        set_chain(tx, rows.collect(), first.chain_length).await?;
    }
    Ok(())
}

/// Records the length of the chain of message turns that ends with each message.
async fn set_chain(tx: &mut Tx, messages: Vec<Vec<Param>>, length: i64) -> Result<(), Error> {
    tx.execute_rows(sql!("messages/set_chain"), messages, params![length])
        .await?;
    Ok(())
}

/// Returns the metadata of a message with its sender and its receiver added, so that transcripts and traces show them.
fn with_seats(metadata: &Value, from: &Sender<NamedSeat>, to: &NamedSeat) -> Value {
    let mut fields = metadata.as_object().cloned().unwrap_or_default();
    match from {
        Sender::Seat(seat) => {
            fields.insert("_from_seat".into(), json!(seat.id));
            fields.insert("_from_name".into(), json!(seat.name));
        }
        Sender::Person(name) => {
            fields.insert(FROM_PERSON.into(), json!(name));
        }
    }
    fields.insert("_to_seat".into(), json!(to.id));
    fields.insert("_to_name".into(), json!(to.name));
    Value::Object(fields)
}
