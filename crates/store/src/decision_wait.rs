//! Waits for the decisions and answers of people, which may come over any server.

use model::{
    ApprovalId, QuestionId,
    approval::ApprovalStatus,
    question::{QuestionState, QuestionStatus},
};
use tokio::time::{Instant, timeout_at};

use crate::{Error, Scope, boxed, store::Store};

impl Store {
    /// Waits until an approval is no longer pending, at most until `until`. Returns its state.
    #[boxed]
    pub async fn wait_for_decision(
        &self,
        id: ApprovalId,
        until: Instant,
    ) -> Result<ApprovalStatus, Error> {
        // Subscribe before the first read. Otherwise a decision between the two would go unnoticed until the next poll.
        let mut changes = self.changes();
        loop {
            // Read the state first and wait afterwards: a wake-up says only that the log of the session has grown.
            let approval = self.approval(Scope::System, id).await?;
            if approval.status() != ApprovalStatus::Pending {
                return Ok(approval.status());
            }
            let change = changes.next_of_session(approval.session_id);
            if timeout_at(until, change).await.is_err() {
                return Ok(ApprovalStatus::Pending);
            }
        }
    }

    /// Waits until a question is no longer pending, at most until `until`. Returns its state.
    #[boxed]
    pub async fn wait_for_answer(
        &self,
        id: QuestionId,
        until: Instant,
    ) -> Result<QuestionState, Error> {
        let mut changes = self.changes();
        loop {
            let question = self.question(Scope::System, id).await?;
            if question.status() != QuestionStatus::Pending {
                return Ok(question.state);
            }
            let change = changes.next_of_session(question.session_id);
            if timeout_at(until, change).await.is_err() {
                return Ok(QuestionState::Pending);
            }
        }
    }
}
