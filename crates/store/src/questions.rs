//! Questions: the answers of people, and the defaults of questions without an answer.
//!
//! **Invariants:** the statement that answers or expires a question compares its state, so that a question is answered
//! once. The same transaction inserts the input or the message that brings the answer to the seat, so that the seat gets it
//! exactly once. The transition that closes a session voids the questions of its agents.

mod answer_input;
mod elicitation;
mod expiry;
mod read;

use model::{
    InputId, QuestionId, SessionId, TenantId, Timestamp,
    approval::Decider,
    event::QuestionChange,
    lifecycle::{InvalidTransition, Lifecycle as _},
    question::{Question, QuestionEvent, QuestionKind, QuestionStatus, answered_input},
};
use serde_json::Value;

use self::{
    answer_input::{lock_target, send_answer},
    expiry::expire_one,
    read::read_with_format,
};
use crate::{
    Error, Scope, boxed,
    database::Tx,
    question_log::{add_answer, add_void, change_of},
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, DOCUMENT_FORMAT},
};

pub use read::QuestionFilter;
pub(crate) use read::{question, read_page, read_question};

/// The highest number of questions that one call of [`Store::expire_overdue_questions`] reads.
const MAX_OVERDUE_QUESTIONS: u32 = 200;

impl Store {
    /// Answers a pending question. The answer to a question of the tool `ask_person` becomes an input of its seat. The
    /// answer `Null` declines a question whose agent waits.
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
                lock_target(tx, &question).await?;
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
                    send_answer(self, tx, &mut log, &present, (input, text.as_str()), now).await?;
                } else {
                    add_answer(self, &mut log, &present, now);
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

    /// Expires pending questions whose deadline has passed. The default of each becomes an input of its seat, or a message
    /// to it. A question of a session that takes no more inputs becomes void. Returns the number of these questions.
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

/// Returns the state of a question that can no longer be answered. A question may be stored as pending although its
/// deadline has passed, or although its agent no longer waits.
fn effective_status(found: &Question, now: Timestamp) -> QuestionStatus {
    match found.status() {
        QuestionStatus::Pending if found.deadline_at <= now => QuestionStatus::Expired,
        QuestionStatus::Pending => QuestionStatus::Void,
        state => state,
    }
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
