//! The end of a question at its deadline.

use std::collections::BTreeSet;

use model::{
    InputId, QuestionId, Timestamp,
    event::QuestionChange,
    question::{QuestionKind, expired_input},
    session::Admission,
};
use serde_json::Value;

use super::{
    answer_input::{lock_target, send_default},
    read::{read_question, read_with_format},
};
use crate::{
    Error, Scope,
    database::Tx,
    question_log::{add_answer, add_void, change_of},
    runs::admit::read_seat_statuses,
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
    lock_target(tx, &question).await?;
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
        send_default(store, tx, &mut log, &question, (input, text.as_str()), now).await?;
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
