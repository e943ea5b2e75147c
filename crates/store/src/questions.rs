//! Questions: the answers of people, and the defaults of questions without an answer.
//!
//! **Invariants:** the statement that answers or expires a question compares its state, so that a question is answered
//! once. The same transaction inserts the input that brings the answer to the seat, on the path of every message, so that
//! the seat gets it exactly once. The transition that closes a session voids the questions of its agents.

mod elicitation;
mod read;

use std::collections::BTreeSet;

use model::{
    InputId, QuestionId, SessionId, TenantId, Timestamp,
    approval::Decider,
    event::{Change, QuestionChange},
    lifecycle::{InvalidTransition, Lifecycle as _},
    question::{
        Question, QuestionEvent, QuestionKind, QuestionStatus, answered_input, expired_input,
    },
    run::Origin,
    session::Admission,
};
use serde_json::Value;

use crate::{
    Error, Scope, boxed,
    database::{Row, Tx},
    locks,
    runs::admit::{NewAttempt, Preloaded, insert_attempts, read_seat_statuses},
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, DOCUMENT_FORMAT},
};

pub(crate) use elicitation::void_elicitations;
pub use read::QuestionFilter;
pub(crate) use read::read_page;

/// The highest number of questions that one call of [`Store::expire_overdue_questions`] reads.
const MAX_OVERDUE_QUESTIONS: u32 = 200;

impl Store {
    /// Answers a pending question. The answer to a question of the tool `ask_person` becomes an input of its seat.
    ///
    /// # Errors
    ///
    /// Returns an error with the present state if the question is answered, expired or void, or if its session takes no
    /// more inputs.
    #[boxed]
    pub async fn answer_question(
        &self,
        tenant: TenantId,
        id: QuestionId,
        answer: &Value,
        by: &Decider,
        now: Timestamp,
    ) -> Result<Question, Error> {
        let scope = Scope::Tenant(tenant);
        self.transact(scope, |tx, _| {
            Box::pin(async move {
                // 1. Lock the seat, which gets the answer.
                let (question, needs_format) = read_with_format(tx, scope, id).await?;
                stored::require_supported("question", &id.to_string(), needs_format)?;
                locks::lock_seats(tx, &BTreeSet::from([question.seat_id])).await?;
                // 2. Answer, fenced by the state and the deadline.
                let input = (question.kind == QuestionKind::Tool)
                    .then(|| InputId::generate(now, self.ids()));
                let answered = tx
                    .fetch_optional(
                        sql!("questions/answer"),
                        params! { "questions/answer";
                            tenant: tenant,
                            id: id,
                            now: now,
                            answer: answer.clone(),
                            answered_by: by.name.as_str(),
                            token: by.token,
                            input: input,
                        },
                    )
                    .await?;
                // Read again under the lock, for the answer in both cases.
                let (present, _) = read_with_format(tx, scope, id).await?;
                if answered.is_none() {
                    return Err(Error::Refused(InvalidTransition {
                        what: QuestionStatus::WHAT,
                        object: Some(id.to_string()),
                        state: effective_status(&present, now).to_string(),
                        event: QuestionEvent::Answer.to_string(),
                    }));
                }
                // 3. Send the answer to the seat, and log it.
                let mut log = SessionLogWriter::default();
                if let Some(input) = input {
                    let text = answered_input(&present, &by.name, answer);
                    send_to_seat(self, tx, &mut log, &present, input, &text, now).await?;
                } else {
                    elicitation::add_answer(self, &mut log, &present, now);
                }
                let answered_by = by.name.clone();
                log.add_change(
                    present.session_id,
                    change_of(&present, QuestionChange::Answered { answered_by }),
                );
                log.write(tx, now).await?;
                Ok(present)
            })
        })
        .await
    }

    /// Expires pending questions whose deadline has passed. The default of each becomes an input of its seat. A question
    /// of a session that takes no more inputs becomes void. Returns the number of these questions.
    ///
    /// # Errors
    ///
    /// A question that cannot be written does not block the others. The first such error is returned after all others
    /// have expired.
    #[boxed]
    pub async fn expire_overdue_questions(&self, now: Timestamp) -> Result<u32, Error> {
        let overdue = {
            let mut tx = self.db.begin_read(Scope::System).await?;
            tx.fetch_all(
                sql!("questions/overdue"),
                params![now, MAX_OVERDUE_QUESTIONS, DOCUMENT_FORMAT],
            )
            .await?
        };
        let mut expired = 0;
        let mut first_error = None;
        for row in &overdue {
            let id: QuestionId = row.get("id")?;
            let expiry = self
                .transact(Scope::System, |tx, _| {
                    Box::pin(expire_one(self, tx, id, now))
                })
                .await;
            match expiry {
                Ok(was_pending) => expired += u32::from(was_pending),
                // A database that cannot be reached fails for all the others too.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(expired), Err)
    }
}

/// Reads a question.
pub(crate) async fn read_question(
    tx: &mut Tx,
    scope: Scope,
    id: QuestionId,
) -> Result<Question, Error> {
    Ok(read_with_format(tx, scope, id).await?.0)
}

/// Reads a question, and the lowest document format whose servers support it.
async fn read_with_format(
    tx: &mut Tx,
    scope: Scope,
    id: QuestionId,
) -> Result<(Question, i64), Error> {
    let row = tx
        .fetch_optional(sql!("questions/by_id"), params![scope.tenant(), id])
        .await?;
    let row = row.ok_or_else(|| Error::not_found("question", id))?;
    Ok((read::question(&row)?, stored::needs_format(&row)?))
}

/// Returns the state of a question that can no longer be answered. A question may be stored as pending although its
/// deadline has passed, or although its agent no longer waits.
fn effective_status(found: &Question, now: Timestamp) -> QuestionStatus {
    match found.status() {
        QuestionStatus::Pending if found.deadline_at <= now => QuestionStatus::Expired,
        QuestionStatus::Pending => QuestionStatus::Void,
        state => state,
    }
}

/// Expires one question. Returns `true` if it was pending.
async fn expire_one(
    store: &Store,
    tx: &mut Tx,
    id: QuestionId,
    now: Timestamp,
) -> Result<bool, Error> {
    // 1. Lock the seat, and read whether its session takes inputs.
    let (question, _) = read_with_format(tx, Scope::System, id).await?;
    let seats = BTreeSet::from([question.seat_id]);
    locks::lock_seats(tx, &seats).await?;
    let statuses = read_seat_statuses(tx, &seats, now).await?;
    let is_closed = statuses
        .get(&question.seat_id)
        .is_none_or(|seat| seat.session_status.admission() == Admission::Refuse);
    let mut log = SessionLogWriter::default();
    // 2. An earlier program has closed the session, and has not voided its questions.
    if is_closed {
        let Some(row) = tx
            .fetch_optional(sql!("questions/void"), params![id, now])
            .await?
        else {
            return Ok(false);
        };
        add_void(&mut log, &row)?;
        log.write(tx, now).await?;
        return Ok(true);
    }
    // 3. Expire, fenced by the state, and send the default to the seat.
    let default = question.body.default.clone();
    let input = (question.kind == QuestionKind::Tool).then(|| InputId::generate(now, store.ids()));
    let expired = tx
        .fetch_optional(
            sql!("questions/expire"),
            params![id, now, default.clone(), input],
        )
        .await?;
    if expired.is_none() {
        return Ok(false);
    }
    if let Some(input) = input {
        let text = expired_input(&question, default.as_ref().unwrap_or(&Value::Null));
        send_to_seat(store, tx, &mut log, &question, input, &text, now).await?;
    } else {
        let expired = read_question(tx, Scope::System, id).await?;
        elicitation::add_answer(store, &mut log, &expired, now);
    }
    log.add_change(
        question.session_id,
        change_of(&question, QuestionChange::Expired),
    );
    log.write(tx, now).await?;
    Ok(true)
}

/// Sends the answer to a question to its seat, as a message of a person. The caller must hold the lock of the seat.
async fn send_to_seat(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    question: &Question,
    input: InputId,
    text: &str,
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
        automation: None,
        trigger: None,
        scheduled_for: None,
        exclusive: false,
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

/// Voids the pending questions of a session, because it takes no more inputs. The caller must hold the locks of its
/// seats.
pub(crate) async fn void_questions_of_session(
    tx: &mut Tx,
    session: SessionId,
    now: Timestamp,
) -> Result<(), Error> {
    let voided = tx
        .fetch_all(sql!("questions/void_of_session"), params![session, now])
        .await?;
    let mut log = SessionLogWriter::default();
    for row in &voided {
        add_void(&mut log, row)?;
    }
    log.write(tx, now).await
}

/// Logs that a question is void.
fn add_void(log: &mut SessionLogWriter, row: &Row) -> Result<(), Error> {
    let change = Change::Question {
        question_id: row.get("id")?,
        run_id: row.get("run_id")?,
        text: row.get("text")?,
        change: QuestionChange::Void,
    };
    log.add_change(row.get("session_id")?, change);
    Ok(())
}

/// Returns the event of a question for the log of its session.
pub(crate) fn change_of(question: &Question, change: QuestionChange) -> Change {
    Change::Question {
        question_id: question.id,
        run_id: question.run_id,
        text: question.text.clone(),
        change,
    }
}
