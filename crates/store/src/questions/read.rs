//! Queries for questions.

use model::{
    QuestionId, SessionId, TenantId,
    approval::Decider,
    question::{Question, QuestionState, QuestionStatus},
};

use crate::{
    Error, Page, Scope, boxed,
    database::{Row, Tx},
    store::Store,
    stored::{self, StoredQuestionBody},
};

/// The filters of a list of questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuestionFilter {
    /// The accepted state.
    pub state: Option<QuestionStatus>,
    /// The session of the questions.
    pub session: Option<SessionId>,
}

impl Store {
    /// Reads one question.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the question does not exist in `scope`.
    #[boxed]
    pub async fn question(&self, scope: Scope, id: QuestionId) -> Result<Question, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        read_question(&mut tx, scope, id).await
    }

    /// Lists one page of a tenant's questions, the newest first. An index serves each filter.
    #[boxed]
    pub async fn question_page(
        &self,
        tenant: TenantId,
        filter: QuestionFilter,
        page: Page<QuestionId>,
    ) -> Result<Vec<Question>, Error> {
        let mut tx = self.db.begin_read(Scope::Tenant(tenant)).await?;
        read_page(&mut tx, tenant, filter, page).await
    }

    /// Lists up to `limit` IDs of questions from `first` to `last`, both included, in order.
    #[boxed]
    pub async fn question_ids_between(
        &self,
        scope: Scope,
        first: QuestionId,
        last: QuestionId,
        limit: u32,
    ) -> Result<Vec<QuestionId>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(
                sql!("questions/ids_between"),
                params![scope.tenant(), first, last, limit],
            )
            .await?;
        found.iter().map(|row| Ok(row.get("id")?)).collect()
    }
}

/// Lists one page of a tenant's questions, the newest first. An index serves each filter.
pub(crate) async fn read_page(
    tx: &mut Tx,
    tenant: TenantId,
    filter: QuestionFilter,
    page: Page<QuestionId>,
) -> Result<Vec<Question>, Error> {
    let state = filter.state.map(QuestionStatus::as_str);
    let mut params = params![tenant, page.before(), state, page.limit];
    let statement = match filter.session {
        Some(session) => {
            params.extend(params![session]);
            sql!("questions/page_of_session")
        }
        None if filter.state == Some(QuestionStatus::Pending) => {
            params = params![tenant, page.before(), page.limit];
            sql!("questions/page_pending")
        }
        None => sql!("questions/page"),
    };
    let found = tx.fetch_all(statement, params).await?;
    found.iter().map(question).collect()
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
pub(super) async fn read_with_format(
    tx: &mut Tx,
    scope: Scope,
    id: QuestionId,
) -> Result<(Question, i64), Error> {
    let row = tx
        .fetch_optional(sql!("questions/by_id"), params![scope.tenant(), id])
        .await?;
    let row = row.ok_or_else(|| Error::not_found("question", id))?;
    Ok((question(&row)?, stored::needs_format(&row)?))
}

/// Returns the question of a row.
pub(crate) fn question(row: &Row) -> Result<Question, Error> {
    Ok(Question {
        id: row.get("id")?,
        tenant_id: row.get("tenant_id")?,
        session_id: row.get("session_id")?,
        seat_id: row.get("seat_id")?,
        run_id: row.get("run_id")?,
        automation_id: row.optional("automation_id")?,
        kind: row.parse("kind")?,
        text: row.get("text")?,
        body: stored::read::<StoredQuestionBody>(row, "body")?,
        state: state(row)?,
        deadline_at: row.get("deadline_at")?,
        created_at: row.get("created_at")?,
    })
}

/// Returns the state of a question.
fn state(row: &Row) -> Result<QuestionState, Error> {
    let at = || row.get("closed_at");
    Ok(match row.parse("state")? {
        QuestionStatus::Pending => QuestionState::Pending,
        QuestionStatus::Answered => QuestionState::Answered {
            at: at()?,
            by: Decider {
                token: row.optional("answered_by_token")?,
                name: row.get("answered_by")?,
            },
            answer: row.get("answer")?,
            input: row.optional("answer_input_id")?,
        },
        QuestionStatus::Expired => QuestionState::Expired {
            at: at()?,
            answer: row.optional("answer")?,
            input: row.optional("answer_input_id")?,
        },
        QuestionStatus::Void => QuestionState::Void { at: at()? },
    })
}
