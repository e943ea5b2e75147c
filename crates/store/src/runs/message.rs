//! People's messages to the entry seats of sessions.

use std::collections::{HashMap, HashSet};

use model::{InputId, SeatId, SessionId, TenantId, Timestamp, run::Origin, turn::SubmittedRun};

use super::batches::MessageRequest;
use crate::{
    Error, Scope,
    database::Tx,
    runs::admit::{NewAttempt, Preloaded, insert_attempts},
    session_log::SessionLogWriter,
    store::Store,
};

impl Store {
    /// Gives the entry seat of a session a message of a person. The message waits while the seat is occupied or the
    /// session is paused. The caller may reserve the ID of the input, so that a repeated request creates nothing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Refused`] if the session is closed, and [`Error::Made`] if an input with the reserved ID exists.
    pub async fn send_message(
        &self,
        tenant: TenantId,
        session: SessionId,
        reserved: Option<InputId>,
        words: &str,
        now: Timestamp,
    ) -> Result<SubmittedRun, Error> {
        let words = MessageRequest {
            tenant,
            session,
            input: reserved.unwrap_or_else(|| InputId::generate(now, self.ids())),
            reserved: reserved.is_some(),
            content: words.to_owned(),
            now,
        };
        self.batches
            .message
            .submit(self, words, |store, all| {
                Box::pin(store.send_message_batch(all))
            })
            .await?
    }

    /// Creates the runs of messages to sessions of one tenant, in one transaction. Returns one result for each
    /// message, in order: an error of one message does not affect the others.
    pub(crate) async fn send_message_batch(
        &self,
        said: &[MessageRequest],
    ) -> Result<Vec<Result<SubmittedRun, Error>>, Error> {
        let (Some(first), Some(now)) = (said.first(), said.iter().map(|words| words.now).max())
        else {
            return Ok(Vec::new());
        };
        self.transact(Scope::Tenant(first.tenant), |tx, _| {
            Box::pin(async move {
                let rows = said.iter().map(|words| params![words.session]).collect();
                let entries = tx.fetch_rows(sql!("seats/entry"), rows, params![]).await?;
                let mut seats: HashMap<SessionId, SeatId> = HashMap::new();
                for row in &entries {
                    if row.get::<TenantId>("tenant_id")? == first.tenant {
                        seats.insert(row.get("session_id")?, row.get("id")?);
                    }
                }
                let reserved = said.iter().filter(|words| words.reserved);
                let mut used = existing_inputs(tx, reserved.map(|words| words.input)).await?;
                let mut attempts = Vec::with_capacity(said.len());
                let mut refused = Vec::with_capacity(said.len());
                for words in said {
                    // Two messages of one batch may have the same reserved ID, so that the first one counts as used
                    // for the second.
                    let made = words.reserved && !used.insert(words.input);
                    let seat = seats.get(&words.session).filter(|_| !made);
                    attempts.extend(seat.map(|seat| first_attempt(words, *seat)));
                    refused.push(match seat {
                        Some(_) => None,
                        None if made => Some(Error::already_created("the input", words.input)),
                        None => Some(Error::not_found("session", words.session)),
                    });
                }
                let mut journal = SessionLogWriter::default();
                let known = Preloaded::default();
                let made = insert_attempts(self, tx, &mut journal, &attempts, known, now).await?;
                journal.write(tx, now).await?;
                // `made` has one result for each attempt, in order. A refused message has no attempt.
                let mut made = attempts.iter().zip(made);
                let answers = said.iter().zip(refused).map(|(words, refused)| {
                    if let Some(refused) = refused {
                        return Err(refused);
                    }
                    let no_session = || Error::not_found("session", words.session);
                    let (attempt, made) = made.next().ok_or_else(no_session)?;
                    let (run_id, status) = made?;
                    Ok(SubmittedRun {
                        run_id,
                        seat_id: Some(attempt.seat),
                        status,
                    })
                });
                Ok(answers.collect())
            })
        })
        .await
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

fn first_attempt(words: &MessageRequest, seat: SeatId) -> NewAttempt<'_> {
    NewAttempt {
        id: None,
        tenant: words.tenant,
        input: words.input,
        number: 1,
        failures: 0,
        origin: Origin::Person,
        session: words.session,
        seat,
        automation: None,
        trigger: None,
        scheduled_for: None,
        exclusive: false,
        content: &words.content,
        not_before: None,
        interrupted: None,
        input_at: words.now,
    }
}
