//! The entries of questions in the log and in the transcript of their sessions.

use model::{
    QuestionId, RunId, Timestamp,
    event::{Change, QuestionChange},
    question::{Question, answered_notice},
    turn::{EntryKind, Role},
};
use serde_json::json;

use crate::{
    Error,
    database::{Row, Tx},
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
};

/// Logs that a question is void.
pub(crate) fn add_void(log: &mut SessionLogWriter, row: &Row) -> Result<(), Error> {
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

/// Shows the answer to an elicitation in the transcript, or that nobody answered.
pub(crate) fn add_answer(
    store: &Store,
    log: &mut SessionLogWriter,
    question: &Question,
    now: Timestamp,
) {
    let location = EntryLocation {
        tenant: question.tenant_id,
        session: question.session_id,
        run: Some(question.run_id),
        seat: Some(question.seat_id),
    };
    let text = answered_notice(&question.state);
    add_notice(store, log, location, question.id, text, now);
}

pub(crate) fn add_notice(
    store: &Store,
    log: &mut SessionLogWriter,
    location: EntryLocation,
    question: QuestionId,
    text: String,
    now: Timestamp,
) {
    let metadata = json!({ "notice": "question", "question_id": question });
    let entry = store.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
    log.add_message(location, entry);
}

/// Voids the pending elicitations of attempts that have ended or are being cancelled. The caller must hold the locks of
/// their seats.
pub(crate) async fn void_elicitations(
    tx: &mut Tx,
    log: &mut SessionLogWriter,
    runs: impl Iterator<Item = RunId>,
    now: Timestamp,
) -> Result<(), Error> {
    let runs = runs.map(|run| params![run]).collect();
    let voided = tx
        .fetch_rows(sql!("questions/void_of_runs"), runs, params![now])
        .await?;
    for row in &voided {
        add_void(log, row)?;
    }
    Ok(())
}
