//! The questions that agents ask people by the tool `ask_person`.
//!
//! **Invariant:** the questions of a turn are counted under the lock of its seat.

use model::{
    QuestionId, Timestamp,
    event::QuestionChange,
    question::{
        QUESTIONS_PER_TURN, Question, QuestionBody, QuestionKind, QuestionState, QuestionStatus,
        asked_notice,
    },
    turn::{EntryKind, Role},
};
use serde_json::json;

use super::{CallingTurn, ToolCaller, check_session, lock_turn};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    locks, question_log, questions,
    session_log::{EntryLocation, SessionLogWriter},
    store::Store,
    stored::{self, DOCUMENT_FORMAT, StoredQuestionBody},
};

/// A question that an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuestion {
    /// The question.
    pub text: String,
    /// The accepted answers, with a default.
    pub body: QuestionBody,
    /// The instant at which the default counts without an answer.
    pub deadline: Timestamp,
}

impl Store {
    /// Asks a question of an agent in its turn. If any attempt at the turn's input has asked the same text, returns that
    /// question. So it does if an earlier turn of the same task has asked it and a person has answered. A question that waits
    /// withdraws the report that the turn of a task has given.
    ///
    /// # Errors
    ///
    /// Returns [`Error::RunOver`] as [`Store::calling_turn`], [`Error::LimitReached`] if the turn has asked too many
    /// questions, and [`Error::Refused`] if the session takes no more inputs.
    #[boxed]
    pub async fn ask_person(
        &self,
        caller: &ToolCaller,
        new: &NewQuestion,
        now: Timestamp,
    ) -> Result<Question, Error> {
        let id = QuestionId::generate(now, self.ids());
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the automation, the seat and the session of the turn.
                let before = lock_turn(tx, caller, now).await?;
                locks::lock_session(tx, before.session.id).await?;
                let turn = super::read_turn(tx, caller, now).await?;
                // 2. Find the question of an earlier call.
                let scope = Scope::Tenant(turn.tenant);
                let params = params![turn.input, new.text.as_str()];
                if let Some(row) = tx.fetch_optional(sql!("questions/of_text"), params).await? {
                    let found = questions::read_question(tx, scope, row.get("id")?).await?;
                    // The answer of a person reaches the agent at once, so that its report may stay.
                    if matches!(
                        found.status(),
                        QuestionStatus::Pending | QuestionStatus::Expired
                    ) {
                        withdraw_report(tx, &turn).await?;
                    }
                    return Ok(found);
                }
                let params = params![turn.task, new.text.as_str()];
                let answered = sql!("questions/answered_of_task");
                if let Some(row) = tx.fetch_optional(answered, params).await? {
                    return questions::read_question(tx, scope, row.get("id")?).await;
                }
                // 3. Decide.
                check_session(&turn.session, "take the answer to a question")?;
                check_count(tx, &turn).await?;
                // 4. Write.
                withdraw_report(tx, &turn).await?;
                insert(self, tx, &turn, id, new, now).await
            })
        })
        .await
    }
}

/// Deletes the report that any attempt at the turn's input has given. The end of the turn would take it and void the question,
/// for whose answer the agent was told to wait. A turn that was asked to stop waits for none, and people may accept its report.
async fn withdraw_report(tx: &mut Tx, turn: &CallingTurn) -> Result<(), Error> {
    if turn.is_cancelled {
        return Ok(());
    }
    tx.execute(sql!("task_reports/delete"), params![turn.input])
        .await?;
    Ok(())
}

async fn check_count(tx: &mut Tx, turn: &CallingTurn) -> Result<(), Error> {
    let row = tx
        .fetch_one(sql!("questions/count_of_input"), params![turn.input])
        .await?;
    let asked: i64 = row.get("asked")?;
    if asked < i64::from(QUESTIONS_PER_TURN) {
        return Ok(());
    }
    Err(Error::LimitReached {
        what: "questions in a turn",
        limit: QUESTIONS_PER_TURN,
    })
}

/// Inserts a question, logs it and shows it in the transcript.
async fn insert(
    store: &Store,
    tx: &mut Tx,
    turn: &CallingTurn,
    id: QuestionId,
    new: &NewQuestion,
    now: Timestamp,
) -> Result<Question, Error> {
    let body = stored::write::<StoredQuestionBody>(&new.body);
    let inserted = tx
        .fetch_optional(
            sql!("questions/insert"),
            params! { "questions/insert";
                id: id,
                run: turn.run,
                kind: QuestionKind::Tool.as_str(),
                text: new.text.as_str(),
                body: body.value,
                format: DOCUMENT_FORMAT,
                needs_format: body.needs_format,
                deadline: new.deadline,
                now: now,
            },
        )
        .await?;
    if inserted.is_none() {
        return Err(Error::RunOver { run: turn.run });
    }
    let question = Question {
        id,
        tenant_id: turn.tenant,
        session_id: turn.session.id,
        seat_id: turn.seat.id,
        run_id: turn.run,
        automation_id: turn.automation.as_ref().map(|automation| automation.id),
        kind: QuestionKind::Tool,
        text: new.text.clone(),
        body: new.body.clone(),
        state: QuestionState::Pending,
        deadline_at: new.deadline,
        created_at: now,
    };
    let mut log = SessionLogWriter::default();
    let text = asked_notice(&new.text, &new.body, new.deadline);
    let metadata = json!({ "notice": "question", "question_id": id });
    let entry = store.new_entry(Role::System, EntryKind::Notice, text, metadata, now);
    let location = EntryLocation {
        tenant: turn.tenant,
        session: turn.session.id,
        run: Some(turn.run),
        seat: Some(turn.seat.id),
    };
    log.add_message(location, entry);
    let deadline_at = new.deadline;
    let change = QuestionChange::Pending { deadline_at };
    log.add_change(turn.session.id, question_log::change_of(&question, change));
    log.write(tx, now).await?;
    Ok(question)
}
