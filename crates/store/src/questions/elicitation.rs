//! Questions of agents that wait in their turns.
//!
//! **Invariant:** a pending elicitation belongs to a running attempt that is not being cancelled, as a pending approval
//! does.

use model::{
    QuestionId, RunId, Timestamp, WorkerId,
    event::{Change, QuestionChange},
    question::{Elicitation, Question, QuestionKind, asked_notice},
    turn::WriteOutcome,
};

use super::{expiry::expire_one, read::read_question};
use crate::{
    Error, Scope, boxed,
    locks::lock_run,
    owned_runs::locate_owned_runs,
    question_log::add_notice,
    session_log::SessionLogWriter,
    store::Store,
    stored::{self, DOCUMENT_FORMAT, StoredQuestionBody},
};

impl Store {
    /// Asks a question for a run that `worker` executes, whose agent waits. A repeated request with the same ID changes
    /// nothing. Returns [`WriteOutcome::Fenced`] if the run is no longer this worker's, or if it is being cancelled,
    /// because no answer would reach the agent.
    #[boxed]
    pub async fn request_answer(
        &self,
        run: RunId,
        worker: &WorkerId,
        id: QuestionId,
        asked: &Elicitation,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Result<WriteOutcome, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                // 1. Lock the run, and check that this worker still executes it.
                lock_run(tx, run).await?;
                let located = locate_owned_runs(tx, std::iter::once((run, worker))).await?;
                let Some(location) = located.into_values().next() else {
                    return Ok(WriteOutcome::Fenced);
                };
                // 2. Insert the question, unless it exists or the run is being cancelled.
                let body = stored::write::<StoredQuestionBody>(&asked.body);
                let inserted = tx
                    .fetch_optional(
                        sql!("questions/insert"),
                        params! { "questions/insert";
                            id: id,
                            run: run,
                            kind: QuestionKind::Elicitation.as_str(),
                            text: asked.text.as_str(),
                            body: body.value,
                            format: DOCUMENT_FORMAT,
                            needs_format: body.needs_format,
                            deadline: deadline,
                            now: now,
                        },
                    )
                    .await?;
                // The statement inserted no row: either this request is a repetition, or the run is being cancelled.
                if inserted.is_none() {
                    let existing = tx
                        .fetch_optional(sql!("questions/by_id"), params![location.tenant, id])
                        .await?;
                    return Ok(existing.map_or(WriteOutcome::Fenced, |_| WriteOutcome::Committed));
                }
                // 3. Log the question, and show it.
                let mut log = SessionLogWriter::default();
                let text = asked_notice(&asked.text, &asked.body, deadline);
                add_notice(self, &mut log, location, id, text, now);
                let change = Change::Question {
                    question_id: id,
                    run_id: run,
                    text: asked.text.clone(),
                    change: QuestionChange::Pending {
                        deadline_at: deadline,
                    },
                };
                log.add_change(location.session, change);
                log.write(tx, now).await?;
                Ok(WriteOutcome::Committed)
            })
        })
        .await
    }

    /// Expires a question whose deadline has passed, and returns it. Does nothing if the question is no longer pending.
    /// The caller must have checked the deadline.
    #[boxed]
    pub async fn expire_question(&self, id: QuestionId, now: Timestamp) -> Result<Question, Error> {
        self.transact(Scope::System, |tx, _| {
            Box::pin(async move {
                expire_one(self, tx, id, now).await?;
                read_question(tx, Scope::System, id).await
            })
        })
        .await
    }
}
