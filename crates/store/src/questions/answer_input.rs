//! The inputs and the messages that bring answers to seats.
//!
//! **Invariant:** no question lifts a rule. The turn of an answer keeps the automation of the turn that asked. A default that
//! no person has chosen starts a turn only as far as messages between seats do, if the turn that asked was one of messages or
//! of a goal.

use model::{
    AutomationId, InputId, RunId, Timestamp, question::Question, run::Origin,
    seat_message::LONGEST_CHAIN,
};

use crate::{
    Error,
    database::Tx,
    locks,
    runs::{
        admit::{NewAttempt, Preloaded, insert_attempts},
        answer_task,
    },
    seat_messages::publish_to_itself,
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

/// The facts about the run whose agent has asked, on which the turn of an answer depends.
struct Asker {
    /// The automation. `None` if the run had none, or if it was deleted since: its runs start no more.
    automation: Option<AutomationId>,
    origin: Origin,
    /// `true` if the run excluded others of its automation.
    exclusive: bool,
    /// `true` if its session has a goal.
    is_of_goal: bool,
    /// The length of the shortest chain of message turns to which a message of its input belongs.
    chain_length: Option<i64>,
}

impl Asker {
    async fn read(tx: &mut Tx, run: RunId) -> Result<Self, Error> {
        let row = tx.fetch_one(sql!("questions/asker"), params![run]).await?;
        Ok(Self {
            automation: row.optional("automation_id")?,
            origin: row.parse("origin")?,
            exclusive: row.get("exclusive")?,
            is_of_goal: row.get("is_of_goal")?,
            chain_length: row.optional("chain_length")?,
        })
    }

    /// Returns the length of the chain of message turns that the default continues. Returns `None` if the default is an
    /// input of its own.
    fn chain_of_default(&self, question: &Question) -> Option<i64> {
        if self.automation.is_some() {
            None
        } else if self.is_of_goal || question.automation_id.is_some() {
            // The limits of the goal take the place of the longest chain.
            Some(1)
        } else if self.origin == Origin::Message {
            Some(self.chain_length.unwrap_or(0) + 1)
        } else {
            None
        }
    }
}

/// Locks the automation of a question, its seat, and all seats of its goal.
pub(super) async fn lock_target(tx: &mut Tx, question: &Question) -> Result<(), Error> {
    if let Some(automation) = question.automation_id {
        locks::lock_automation_row(tx, automation).await?;
    }
    locks::lock_seat_with_goal(tx, question.seat_id).await
}

/// Sends the answer of a person to the seat that asked: as the next turn of the task that waits for it, or as an input. The
/// caller must hold the locks of [`lock_target`].
pub(super) async fn send_answer(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    question: &Question,
    input: (InputId, &str),
    now: Timestamp,
) -> Result<(), Error> {
    if answer_task(store, tx, log, question, now).await? {
        return Ok(());
    }
    let asker = Asker::read(tx, question.run_id).await?;
    insert_input(store, tx, log, (question, &asker), input, now).await
}

/// Sends the default of a question to the seat that asked, as [`send_answer`] does, or as a message of the seat to itself. The
/// caller must hold the locks of [`lock_target`].
pub(super) async fn send_default(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    question: &Question,
    input: (InputId, &str),
    now: Timestamp,
) -> Result<(), Error> {
    if answer_task(store, tx, log, question, now).await? {
        return Ok(());
    }
    let asker = Asker::read(tx, question.run_id).await?;
    let Some(chain_length) = asker.chain_of_default(question) else {
        return insert_input(store, tx, log, (question, &asker), input, now).await;
    };
    let location = EntryLocation {
        tenant: question.tenant_id,
        session: question.session_id,
        run: None,
        seat: Some(question.seat_id),
    };
    let message = (input.1, chain_length.min(LONGEST_CHAIN + 1));
    publish_to_itself(store, tx, log, (location, question.seat_id), message, now).await
}

async fn insert_input(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    (question, asker): (&Question, &Asker),
    (input, text): (InputId, &str),
    now: Timestamp,
) -> Result<(), Error> {
    let attempt = NewAttempt {
        id: None,
        tenant: question.tenant_id,
        input,
        number: 1,
        failures: 0,
        origin: Origin::Person,
        session: question.session_id,
        seat: question.seat_id,
        automation: asker.automation,
        trigger: None,
        task: None,
        scheduled_for: None,
        exclusive: asker.automation.is_some() && asker.exclusive,
        content: text,
        not_before: None,
        interrupted: None,
        input_at: now,
    };
    let attempts = std::slice::from_ref(&attempt);
    let inserted = insert_attempts(store, tx, log, attempts, Preloaded::default(), now).await?;
    for result in inserted {
        result?;
    }
    Ok(())
}
