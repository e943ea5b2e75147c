//! The rows of messages between seats, and the turns that carry them.
//!
//! **Invariant:** a message is delivered when the turn that carries it succeeds, or when its seat or a person acknowledges
//! it. An input that carries messages keeps them for its retries, until another input takes them.

use std::collections::{BTreeSet, HashMap};

use model::{
    InputId, MessageId, RunId, SeatId, SessionId, Timestamp,
    entity::Run,
    run::Origin,
    seat_message::{
        CARRIED_PER_TURN, LONGEST_CHAIN, NamedSeat, SeatMessageStatus, Sender, count_fitting,
    },
};
use serde_json::Value;

use crate::{
    Error,
    database::{Row, Tx},
};

/// A message to one seat.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatMessage {
    /// The ID of the row.
    pub id: MessageId,
    /// The session.
    pub session: SessionId,
    /// The row's number in the session.
    pub seq: i64,
    /// The sender.
    pub from: Sender<NamedSeat>,
    /// The seat that receives the message.
    pub to: SeatId,
    /// The name of the seat that receives the message.
    pub to_name: String,
    /// The text of the transcript row.
    pub content: String,
    /// The metadata of the transcript row, which includes the sender and the receiver.
    pub metadata: Value,
    /// The input whose turn carries the message. `None` until such a turn begins.
    pub input: Option<InputId>,
    /// The number of message turns in a row that only caused each other, up to the turn that this message starts.
    pub chain_length: i64,
    /// The instant of publication.
    pub created_at: Timestamp,
    /// The instant at which a turn with the message succeeded, or at which it was acknowledged. `None` until then.
    pub delivered_at: Option<Timestamp>,
}

/// The name of the person who sent a message, in its metadata.
pub(crate) const FROM_PERSON: &str = "_from_person";

impl SeatMessage {
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        let metadata: Value = row.json("metadata")?;
        let from = match row.optional("from_seat_id")? {
            Some(id) => Sender::Seat(NamedSeat {
                id,
                name: row.get("from_name")?,
                role: row.get("from_role")?,
            }),
            None => Sender::Person(metadata[FROM_PERSON].as_str().unwrap_or_default().into()),
        };
        Ok(Self {
            id: row.get("id")?,
            session: row.get("session_id")?,
            seq: row.get("seq")?,
            from,
            to: row.get("to_seat_id")?,
            to_name: row.get("to_name")?,
            content: row.get("content")?,
            metadata,
            input: row.optional("input_id")?,
            chain_length: row.optional("chain_length")?.unwrap_or(1),
            created_at: row.get("created_at")?,
            delivered_at: row.optional("delivered_at")?,
        })
    }

    /// Returns `true` if the receiving seat is the sender.
    pub(crate) fn is_own(&self) -> bool {
        matches!(&self.from, Sender::Seat(from) if from.id == self.to)
    }

    /// Returns the state of the message.
    pub fn status(&self) -> SeatMessageStatus {
        if self.delivered_at.is_some() {
            SeatMessageStatus::Delivered
        } else if self.chain_length > LONGEST_CHAIN {
            SeatMessageStatus::Blocked
        } else {
            SeatMessageStatus::Undelivered
        }
    }
}

/// Reads the messages that runs carry, up to the bounds of a turn. Returns an entry for each run whose input carries messages,
/// which is empty if no message is left. The caller must hold the locks of the runs' seats.
pub(crate) async fn read_carried(
    tx: &mut Tx,
    runs: impl Iterator<Item = &Run> + Clone,
) -> Result<HashMap<RunId, Vec<SeatMessage>>, Error> {
    let mut carried: HashMap<RunId, Vec<SeatMessage>> = HashMap::new();
    let mut rows = Vec::new();
    for run in runs.clone() {
        if let (Origin::Message, Some(seat)) = (run.origin, run.seat_id) {
            carried.insert(run.id, Vec::new());
            rows.push(params![run.id, seat, run.input_id]);
        }
    }
    let last = i64::try_from(CARRIED_PER_TURN).unwrap_or(i64::MAX) - 1;
    let found = tx
        .fetch_rows(sql!("messages/to_carry"), rows, params![last])
        .await?;
    for row in &found {
        let run: RunId = row.get("run_id")?;
        carried
            .entry(run)
            .or_default()
            .push(SeatMessage::read(row)?);
    }
    for run in runs {
        let Some(messages) = carried.get_mut(&run.id) else {
            continue;
        };
        // An attempt of an earlier program may have carried more. The success of this one delivers all of them.
        let is_retry = messages.iter().any(|it| it.input == Some(run.input_id));
        if !is_retry {
            let fitting = count_fitting(messages.iter().map(|it| it.content.len()));
            messages.truncate(fitting);
        }
    }
    Ok(carried)
}

/// Reads the messages that the next turns of tasks carry to seats. Those of a seat with an open input for messages are left to
/// that input. The caller must hold the locks of the seats.
pub(crate) async fn read_waiting(
    tx: &mut Tx,
    seats: impl Iterator<Item = SeatId>,
) -> Result<Vec<SeatMessage>, Error> {
    let last = i64::try_from(CARRIED_PER_TURN).unwrap_or(i64::MAX) - 1;
    let rows = seats.map(|seat| params![seat]).collect();
    let found = tx
        .fetch_rows(sql!("messages/waiting"), rows, params![last])
        .await?;
    found.iter().map(SeatMessage::read).collect()
}

/// Records that the turns of inputs of messages carry messages. A message that a further input carries uses up its chain.
pub(crate) async fn record_carried(
    tx: &mut Tx,
    carried: impl Iterator<Item = (MessageId, InputId)>,
) -> Result<(), Error> {
    let rows = carried.map(|(message, input)| params![message, input]);
    tx.execute_rows(sql!("messages/carry"), rows.collect(), params![])
        .await?;
    Ok(())
}

/// Records that the turns of tasks carry messages. A message rides on the next attempt until one succeeds, and its chain counts
/// only the turns that messages start.
pub(crate) async fn record_carried_to_tasks(
    tx: &mut Tx,
    carried: impl Iterator<Item = (MessageId, InputId)>,
) -> Result<(), Error> {
    let rows = carried.map(|(message, input)| params![message, input]);
    tx.execute_rows(sql!("messages/carry_to_task"), rows.collect(), params![])
        .await?;
    Ok(())
}

/// Records that the messages which succeeded runs carried are delivered.
pub(crate) async fn deliver_carried(
    tx: &mut Tx,
    runs: impl Iterator<Item = &Run>,
    now: Timestamp,
) -> Result<(), Error> {
    let rows = runs.filter(|run| matches!(run.origin, Origin::Message | Origin::Task));
    let rows = rows.filter_map(|run| Some(params![run.seat_id?, run.input_id]));
    tx.execute_rows(sql!("messages/deliver"), rows.collect(), params![now])
        .await?;
    Ok(())
}

/// Lets the undelivered messages of seats that no open input carries wait for another input than a message. Returns those that
/// did not wait before, each with its seat.
pub(crate) async fn block_waiting(
    tx: &mut Tx,
    seats: impl Iterator<Item = SeatId>,
) -> Result<Vec<(MessageId, SeatId)>, Error> {
    let rows = seats.map(|seat| params![seat]).collect();
    let lengths = params![LONGEST_CHAIN, LONGEST_CHAIN + 1];
    let blocked = tx.fetch_rows(sql!("messages/block"), rows, lengths).await?;
    let read = |row: &Row| Ok((row.get("id")?, row.get("to_seat_id")?));
    blocked.iter().map(read).collect()
}

/// Lets the messages that wait for an input from outside begin new chains, because their seats got one.
pub(crate) async fn restart_chains(tx: &mut Tx, seats: &BTreeSet<SeatId>) -> Result<(), Error> {
    let rows = seats.iter().map(|seat| params![*seat]).collect();
    tx.execute_rows(
        sql!("messages/restart_chains"),
        rows,
        params![LONGEST_CHAIN],
    )
    .await?;
    Ok(())
}
