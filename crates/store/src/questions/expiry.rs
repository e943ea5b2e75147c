//! The end of a question at its deadline, and the message that brings an answer to its seat.

use std::collections::BTreeSet;

use model::{
    InputId, QuestionId, Timestamp,
    event::QuestionChange,
    question::{Question, QuestionKind, expired_input},
    run::Origin,
    session::Admission,
};
use serde_json::Value;

use super::read::{read_question, read_with_format};
use crate::{
    Error, Scope,
    database::Tx,
    locks,
    question_log::{add_answer, add_void, change_of},
    runs::{
        admit::{NewAttempt, Preloaded, insert_attempts, read_seat_statuses},
        answer_task,
    },
    session_log::SessionLogWriter,
    store::Store,
};

/// Expires one question. Returns `true` if it was pending.
pub(super) async fn expire_one(
    store: &Store,
    tx: &mut Tx,
    id: QuestionId,
    now: Timestamp,
) -> Result<bool, Error> {
    // 1. Lock the seat, and read whether its session takes inputs.
    let (question, _) = read_with_format(tx, Scope::System, id).await?;
    let seats = BTreeSet::from([question.seat_id]);
    locks::lock_seat_with_goal(tx, question.seat_id).await?;
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
        add_answer(store, &mut log, &expired, now);
    }
    log.add_change(
        question.session_id,
        change_of(&question, QuestionChange::Expired),
    );
    log.write(tx, now).await?;
    Ok(true)
}

/// Sends the answer to a question to its seat: as the next turn of the task that asked it and waits for it, or as a message of
/// a person if no task asked. The caller must hold the lock of the seat, and those of all seats of its goal.
pub(super) async fn send_to_seat(
    store: &Store,
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    question: &Question,
    input: InputId,
    text: &str,
    now: Timestamp,
) -> Result<(), Error> {
    if answer_task(store, tx, log, question, now).await? {
        return Ok(());
    }
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
        task: None,
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
