//! The messages that agents send to other seats of their session, and read and acknowledge.
//!
//! **Invariant:** the messages of a turn are counted and compared under the locks of all seats of the session.

use model::{
    MessageId, Timestamp,
    run::Origin,
    seat_message::{SENT_PER_TURN, Sender},
};
use serde_json::json;

use super::{
    CallingTurn, Quota, ToolCaller, check_not_cancelled, check_session, lock_turn, read_turn,
};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    goals::read_goal,
    locks,
    runs::seat_input::{WakeCause, wake_seats},
    seat_message_rows::SeatMessage,
    seat_messages::{NewSeatMessage, Publication, Recipients, lock_team, publish},
    session_log::SessionLogWriter,
    store::Store,
};

impl Store {
    /// Sends a message of a turn's agent to other seats of its session. If any attempt at the turn's input has sent the same
    /// text to the same seats, returns those messages.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], [`Error::Refused`] if the session takes no more messages,
    /// [`Error::NotFound`] if a seat is not of the session, [`Error::LimitReached`] if the turn has sent too many messages,
    /// [`Error::MessageLimit`] if the seats of the goal have, and [`Error::SeatFull`] if a receiving seat has too many.
    #[boxed]
    pub async fn send_seat_message(
        &self,
        caller: &ToolCaller,
        to: Recipients,
        text: &str,
        now: Timestamp,
    ) -> Result<Vec<SeatMessage>, Error> {
        let sent = self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automation of the turn, all seats of the session in their order, and the session.
                let before = read_turn(tx, caller, now).await?;
                if let Some(automation) = &before.automation {
                    locks::lock_automation_row(tx, automation.id).await?;
                }
                let (session, seats) = lock_team(tx, before.tenant, before.session.id).await?;
                let turn = read_turn(tx, caller, now).await?;
                // A person may have cancelled all runs of the session, which must not start new ones.
                check_not_cancelled(turn.run, turn.is_cancelled)?;
                // 2. Find the messages of an earlier call.
                let earlier = sent_before(tx, &turn, to, text).await?;
                let receivers = match to {
                    Recipients::Seat(_) => 1,
                    Recipients::Others => seats.len().saturating_sub(1),
                };
                if earlier.len() >= receivers {
                    return Ok(earlier);
                }
                check_count(tx, &turn).await?;
                // 3. Publish.
                let goal = read_goal(tx, turn.session.id).await?;
                let chain_length = match goal {
                    // The limits of the goal take the place of the longest chain.
                    Some(_) => 1,
                    None => chain_length(tx, &turn).await?,
                };
                let new = NewSeatMessage {
                    from: Sender::Seat(turn.seat.id),
                    to,
                    content: text.to_owned(),
                    metadata: json!({}),
                };
                let except = earlier.iter().map(|message| message.to).collect();
                let publication = Publication {
                    except,
                    tenant: turn.tenant,
                    session: &session,
                    run: Some(turn.run),
                    reserved: None,
                    chain_length,
                    new: &new,
                };
                let mut sent = earlier;
                sent.extend(publish(self, tx, &seats, &publication, goal, now).await?);
                Ok(sent)
            })
        });
        let sent = sent.await?;
        // The sender's turn goes on, and no request wakes the workers.
        self.change_notifier.signal_local_queue();
        Ok(sent)
    }

    /// Acknowledges messages to the seat of a turn's agent.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`] or if the turn was asked to stop, [`Error::Refused`] if the session
    /// is closed, and [`Error::NotFound`] if a message is not one to the seat. Then none is acknowledged.
    #[boxed]
    pub async fn acknowledge_messages_of_turn(
        &self,
        caller: &ToolCaller,
        messages: &[MessageId],
        now: Timestamp,
    ) -> Result<(), Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                let turn = lock_turn(tx, caller, now).await?;
                check_session(&turn.session, "acknowledge its messages")?;
                check_not_cancelled(turn.run, turn.is_cancelled)?;
                let mut is_new = false;
                for message in messages {
                    let acknowledged = tx
                        .fetch_optional(
                            sql!("messages/acknowledge"),
                            params![turn.tenant, *message, turn.seat.id, now],
                        )
                        .await?;
                    let row = acknowledged.ok_or_else(|| Error::not_found("message", *message))?;
                    is_new |= row.get::<Timestamp>("delivered_at")? == now;
                }
                // Messages that were delivered before made no room for others.
                if !is_new {
                    return Ok(());
                }
                let mut log = SessionLogWriter::default();
                let seats = [(turn.seat.id, WakeCause::Message)].into();
                wake_seats(self, tx, &mut log, &seats, now).await?;
                log.write(tx, now).await
            })
        })
        .await
    }

    /// Lists up to `limit` undelivered messages to the seat of a turn's agent that the turn does not carry, in order.
    #[boxed]
    pub async fn unread_messages_of_turn(
        &self,
        turn: &CallingTurn,
        limit: u32,
    ) -> Result<Vec<SeatMessage>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(turn.tenant)).await?;
        let found = tx
            .fetch_all(
                sql!("messages/unread"),
                params![turn.seat.id, turn.input, limit],
            )
            .await?;
        found.iter().map(SeatMessage::read).collect()
    }
}

/// Returns the messages of a text that the attempts at a turn's input have sent to the same recipients.
async fn sent_before(
    tx: &mut Tx,
    turn: &CallingTurn,
    to: Recipients,
    text: &str,
) -> Result<Vec<SeatMessage>, Error> {
    let found = tx
        .fetch_all(sql!("messages/sent_in_input"), params![turn.input, text])
        .await?;
    let mut sent = Vec::with_capacity(found.len());
    for row in &found {
        let id: MessageId = row.get("id")?;
        let row = tx
            .fetch_one(
                sql!("messages/to_seat"),
                params![turn.tenant, turn.session.id, id],
            )
            .await?;
        sent.push(SeatMessage::read(&row)?);
    }
    sent.retain(|message| match to {
        Recipients::Seat(to) => message.to == to,
        Recipients::Others => message.to != turn.seat.id,
    });
    Ok(sent)
}

async fn check_count(tx: &mut Tx, turn: &CallingTurn) -> Result<(), Error> {
    let row = tx
        .fetch_one(sql!("messages/count_sent"), params![turn.input])
        .await?;
    Quota {
        what: "messages in a turn",
        limit: SENT_PER_TURN,
        actual: row.get("sent")?,
    }
    .check()
}

/// Returns the length of the chain of message turns that a message of a turn continues, or 1 if the turn has an input from
/// outside.
async fn chain_length(tx: &mut Tx, turn: &CallingTurn) -> Result<i64, Error> {
    if turn.origin != Origin::Message {
        return Ok(1);
    }
    let row = tx
        .fetch_one(sql!("messages/chain_of_input"), params![turn.input])
        .await?;
    let shortest: Option<i64> = row.optional("chain_length")?;
    Ok(shortest.unwrap_or(0) + 1)
}
