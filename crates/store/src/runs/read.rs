//! Queries for runs and their internal records.

use model::{
    AutomationId, InputId, RunId, SessionId,
    entity::{Run, RunRecord},
    run::{Origin, RunStatus},
};

use crate::{Error, Page, Scope, boxed, rows, store::Store};

/// The filters of a list of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunFilter {
    /// The session of the runs.
    pub session: Option<SessionId>,
    /// The automation of the runs. Its list includes skipped and missed occurrences.
    pub automation: Option<AutomationId>,
    /// The accepted status.
    pub status: Option<RunStatus>,
    /// The accepted origin.
    pub origin: Option<Origin>,
    /// `true` to list only the first attempts at occurrences: one row for each due instant.
    pub first_attempts_only: bool,
}

/// The names of the objects to which a run belongs, and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunContext {
    /// The name of the automation, which may be deleted. `None` if the run has no automation.
    pub automation_name: Option<String>,
    /// The title of the session. `None` if the session has no title, or the run no session.
    pub session_title: Option<String>,
    /// The name of the agent. `None` if the run has no session.
    pub agent_name: Option<String>,
    /// The name of the instance that executes the run or did. `None` if no instance has taken the run.
    pub instance_name: Option<String>,
    /// The answer, at most [`model::limits::ANSWER_BYTES`] long. `None` if the run has none, or none yet.
    pub answer: Option<String>,
}

impl Store {
    /// Reads one run.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the run does not exist in `scope`.
    #[boxed]
    pub async fn run(&self, scope: Scope, id: RunId) -> Result<Run, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("runs/by_id"), params![scope.tenant(), id])
            .await?;
        rows::run(&row.ok_or_else(|| Error::not_found("run", id))?)
    }

    /// Reads the names of the objects to which a run belongs, and its answer.
    ///
    /// # Errors
    ///
    /// Returns a not-found error if the run does not exist in `scope`.
    #[boxed]
    pub async fn run_context(&self, scope: Scope, id: RunId) -> Result<RunContext, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("runs/context"), params![scope.tenant(), id])
            .await?;
        let row = row.ok_or_else(|| Error::not_found("run", id))?;
        Ok(RunContext {
            automation_name: row.optional("automation_name")?,
            session_title: row.optional("session_title")?,
            agent_name: row.optional("agent_name")?,
            instance_name: row.optional("instance_name")?,
            answer: row.optional("answer")?,
        })
    }

    /// Lists the newest runs, the newest first.
    #[boxed]
    pub async fn runs(
        &self,
        scope: Scope,
        filter: RunFilter,
        limit: u32,
    ) -> Result<Vec<Run>, Error> {
        self.run_page(scope, filter, Page::first(limit)).await
    }

    /// Lists one page of runs, the newest first. An index serves each filter, so that the cost of a page grows with
    /// its length, not with the number of runs.
    #[boxed]
    pub async fn run_page(
        &self,
        scope: Scope,
        filter: RunFilter,
        page: Page<RunId>,
    ) -> Result<Vec<Run>, Error> {
        let origin = filter.origin.map(Origin::as_str);
        let status = filter.status.map(RunStatus::as_str);
        let (statement, params) = match (filter.session, filter.automation) {
            (Some(session), automation) => {
                let params = params! { "runs/page_of_session";
                    tenant: scope.tenant(),
                    before: page.before(),
                    origin: origin,
                    first_attempts: filter.first_attempts_only,
                    status: status,
                    limit: page.limit,
                    session: session,
                    automation: automation,
                };
                (sql!("runs/page_of_session"), params)
            }
            (None, Some(automation)) => {
                let params = params! { "runs/page_of_automation";
                    tenant: scope.tenant(),
                    before: page.before(),
                    origin: origin,
                    first_attempts: filter.first_attempts_only,
                    status: status,
                    limit: page.limit,
                    automation: automation,
                };
                (sql!("runs/page_of_automation"), params)
            }
            (None, None) => {
                let statement = match (scope, filter.status) {
                    (_, Some(status)) if !status.is_over() => sql!("runs/page_open"),
                    (Scope::System, _) => sql!("runs/page_of_all"),
                    (Scope::Tenant(_), Some(status)) if status != RunStatus::Succeeded => {
                        sql!("runs/page_without_success")
                    }
                    (Scope::Tenant(_), _) => sql!("runs/page"),
                };
                let params = params![
                    scope.tenant(),
                    page.before(),
                    origin,
                    filter.first_attempts_only,
                    status,
                    page.limit
                ];
                (statement, params)
            }
        };
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx.fetch_all(statement, params).await?;
        found.iter().map(rows::run).collect()
    }

    /// Lists the attempts at an input, the first one first.
    #[boxed]
    pub async fn attempts(&self, scope: Scope, input: InputId) -> Result<Vec<Run>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let found = tx
            .fetch_all(sql!("runs/attempts"), params![scope.tenant(), input])
            .await?;
        found.iter().map(rows::run).collect()
    }

    /// Reads the internal record of a run. Returns `None` if the run has none yet.
    #[boxed]
    pub async fn run_record(&self, scope: Scope, id: RunId) -> Result<Option<RunRecord>, Error> {
        let mut tx = self.db.begin_read(scope).await?;
        let row = tx
            .fetch_optional(sql!("records/read"), params![scope.tenant(), id])
            .await?;
        row.as_ref().map(rows::run_record).transpose()
    }
}
