//! People's messages to the seats of sessions.

use std::collections::{HashMap, HashSet};

use model::{InputId, SeatId, SessionId, TenantId, Timestamp, run::Origin, turn::SubmittedRun};

use crate::batches::MessageRequest;
use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    runs::admit::{NewAttempt, Preloaded, insert_attempt, insert_attempts},
    session_log::SessionLogWriter,
    store::Store,
};

impl Store {
    /// Sends a person's message to the entry seat of a session. The message waits while the seat is occupied or the
    /// session is paused. The caller may reserve the ID of the input, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] if the session is closed, and [`Error::AlreadyCreated`] if an input with the
    /// reserved ID exists.
    #[boxed]
    pub async fn send_message(
        &self,
        tenant: TenantId,
        session: SessionId,
        reserved: Option<InputId>,
        text: &str,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        self.submit_message(tenant, (session, None), reserved, text, now)
            .await
    }

    /// Sends a person's message to one seat of a session. Turns of other seats do not delay it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Store::send_message`], and a not-found error if the session has no such seat.
    #[boxed]
    pub async fn send_message_to_seat(
        &self,
        tenant: TenantId,
        (session, seat): (SessionId, SeatId),
        reserved: Option<InputId>,
        text: &str,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        self.submit_message(tenant, (session, Some(seat)), reserved, text, now)
            .await
    }

    async fn submit_message(
        &self,
        tenant: TenantId,
        (session, seat): (SessionId, Option<SeatId>),
        reserved: Option<InputId>,
        text: &str,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let request = MessageRequest {
            tenant,
            session,
            seat,
            input: reserved.unwrap_or_else(|| InputId::generate(now, self.ids())),
            reserved: reserved.is_some(),
            content: text.to_owned(),
            now,
        };
        self.batches
            .message
            .submit(self, request, |store, all| {
                Box::pin(store.send_message_batch(all))
            })
            .await?
    }

    /// Creates the runs of messages to sessions of one tenant, in one transaction. Returns one result for each
    /// message, in order: an error for one message does not affect the others.
    pub(crate) async fn send_message_batch(
        &self,
        messages: &[MessageRequest],
    ) -> Result<Vec<Result<SubmittedRun, Error>>, Error> {
        let (Some(first), Some(now)) = (
            messages.first(),
            messages.iter().map(|message| message.now).max(),
        ) else {
            return Ok(Vec::new());
        };
        self.transact(Scope::Tenant(first.tenant), |tx, _| {
            Box::pin(async move {
                // 1. Read the seats, and the reserved IDs that are in use. `insert_attempts` locks the seats.
                let seats = TargetSeats::read(tx, first.tenant, messages).await?;
                let reserved = messages.iter().filter(|message| message.reserved);
                let mut used_ids =
                    existing_inputs(tx, reserved.map(|message| message.input)).await?;
                // 2. Decide which messages become attempts. Collect refusals instead of returning them, because an
                // error would roll back the whole batch.
                let mut attempts = Vec::with_capacity(messages.len());
                let mut refused = Vec::with_capacity(messages.len());
                for message in messages {
                    // Two messages of one batch may have the same reserved ID, so that the first one counts as used
                    // for the second.
                    let is_duplicate = message.reserved && !used_ids.insert(message.input);
                    let seat = seats.of_message(message).filter(|_| !is_duplicate);
                    attempts.extend(seat.map(|seat| first_attempt(message, seat)));
                    refused.push(match seat {
                        Some(_) => None,
                        None if is_duplicate => {
                            Some(Error::already_created("input", message.input))
                        }
                        None => Some(match message.seat {
                            Some(seat) => Error::not_found("seat", seat),
                            None => Error::not_found("session", message.session),
                        }),
                    });
                }
                // 3. Write the runs and their events.
                let mut log = SessionLogWriter::default();
                let preloaded = Preloaded::default();
                let results =
                    insert_attempts(self, tx, &mut log, &attempts, preloaded, now).await?;
                log.write(tx, now).await?;
                // 4. Reply. There is one result for each attempt, in order. A refused message has no attempt.
                let mut results = attempts.iter().zip(results);
                let replies = messages.iter().zip(refused).map(|(message, refused)| {
                    if let Some(refused) = refused {
                        return Err(refused);
                    }
                    let no_session = || Error::not_found("session", message.session);
                    let (attempt, result) = results.next().ok_or_else(no_session)?;
                    let (run_id, status) = result?;
                    Ok(SubmittedRun {
                        run_id,
                        seat_id: Some(attempt.seat),
                        status,
                    })
                });
                Ok(replies.collect())
            })
        })
        .await
    }
}

/// Sends a person's message to the entry seat of a session, as a part of another transition. Sends nothing if the session is
/// closed. The caller must hold the locks of all seats of the session, and of the session.
pub(super) async fn send_to_entry_seat(
    store: &Store,
    tx: &mut Tx,
    tenant: TenantId,
    session: SessionId,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let message = MessageRequest {
        tenant,
        session,
        seat: None,
        input: InputId::generate(now, store.ids()),
        reserved: false,
        content: text.to_owned(),
        now,
    };
    let seats = TargetSeats::read(tx, tenant, std::slice::from_ref(&message)).await?;
    let seat = seats.of_message(&message);
    let seat = seat.ok_or_else(|| Error::not_found("session", session))?;
    match insert_attempt(store, tx, &first_attempt(&message, seat), now).await {
        Ok(_) | Err(Error::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The seats of the sessions to which messages are sent.
struct TargetSeats {
    /// The entry seats of the sessions of messages that name no seat.
    entries: HashMap<SessionId, SeatId>,
    /// The seats that messages name, with their sessions.
    named: HashSet<(SessionId, SeatId)>,
}

impl TargetSeats {
    async fn read(
        tx: &mut Tx,
        tenant: TenantId,
        messages: &[MessageRequest],
    ) -> Result<Self, Error> {
        let without_seat = messages.iter().filter(|message| message.seat.is_none());
        let rows = without_seat
            .map(|message| params![message.session])
            .collect();
        let entries = tx.fetch_rows(sql!("seats/entry"), rows, params![]).await?;
        let rows = messages
            .iter()
            .filter_map(|message| Some(params![message.seat?]))
            .collect();
        let named = tx.fetch_rows(sql!("seats/by_ids"), rows, params![]).await?;
        // Omit sessions of other tenants, so that a foreign ID is not found.
        let ids = |row: &Row| -> Result<Option<(SessionId, SeatId)>, Error> {
            let is_ours = row.get::<TenantId>("tenant_id")? == tenant;
            let ids = (row.get("session_id")?, row.get("id")?);
            Ok(is_ours.then_some(ids))
        };
        Ok(Self {
            entries: entries
                .iter()
                .filter_map(|row| ids(row).transpose())
                .collect::<Result<_, _>>()?,
            named: named
                .iter()
                .filter_map(|row| ids(row).transpose())
                .collect::<Result<_, _>>()?,
        })
    }

    /// Returns the seat of a message. Returns `None` if the session does not exist or has no such seat.
    fn of_message(&self, message: &MessageRequest) -> Option<SeatId> {
        match message.seat {
            Some(seat) => Some(seat).filter(|seat| self.named.contains(&(message.session, *seat))),
            None => self.entries.get(&message.session).copied(),
        }
    }
}

/// Returns those of `inputs` that already exist.
pub(super) async fn existing_inputs(
    tx: &mut Tx,
    inputs: impl Iterator<Item = InputId>,
) -> Result<HashSet<InputId>, Error> {
    let rows = inputs.map(|input| params![input]).collect();
    let found = tx
        .fetch_rows(sql!("runs/existing_inputs"), rows, params![])
        .await?;
    found.iter().map(|row| Ok(row.get("id")?)).collect()
}

fn first_attempt(message: &MessageRequest, seat: SeatId) -> NewAttempt<'_> {
    NewAttempt {
        id: None,
        tenant: message.tenant,
        input: message.input,
        number: 1,
        failures: 0,
        origin: Origin::Person,
        session: message.session,
        seat,
        automation: None,
        trigger: None,
        task: None,
        scheduled_for: None,
        exclusive: false,
        content: &message.content,
        not_before: None,
        interrupted: None,
        input_at: message.now,
    }
}
