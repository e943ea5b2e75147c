//! Reading runs.

use model::{
    AutomationId, InputId, RunId, SessionId,
    entity::{Run, RunRecord},
    run::RunStatus,
};

use crate::{Error, Scope, rows, store::Store};

/// Which runs a list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunFilter {
    /// Those of a session.
    pub session: Option<SessionId>,
    /// Those of an automation, with what was skipped and missed.
    pub automation: Option<AutomationId>,
    /// Those in a status.
    pub status: Option<RunStatus>,
}

impl Store {
    /// Reads one run.
    pub async fn run(&self, scope: Scope, id: RunId) -> Result<Run, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("runs/by_id"), params![scope.tenant(), id])
            .await?;
        rows::run(&row.ok_or_else(|| Error::not_found("run", id))?)
    }

    /// Lists runs, the newest first.
    pub async fn runs(
        &self,
        scope: Scope,
        filter: RunFilter,
        limit: u32,
    ) -> Result<Vec<Run>, Error> {
        let mut tx = self.db.read(scope).await?;
        let status = filter.status.map(RunStatus::as_str);
        let found = tx
            .fetch_all(
                sql!("runs/list"),
                params![
                    scope.tenant(),
                    filter.session,
                    filter.automation,
                    status,
                    limit
                ],
            )
            .await?;
        found.iter().map(rows::run).collect()
    }

    /// Lists the attempts at one input, the first one first.
    pub async fn attempts(&self, scope: Scope, input: InputId) -> Result<Vec<Run>, Error> {
        let mut tx = self.db.read(scope).await?;
        let found = tx
            .fetch_all(sql!("runs/attempts"), params![scope.tenant(), input])
            .await?;
        found.iter().map(rows::run).collect()
    }

    /// Reads the internal record of a run, if there is one yet.
    pub async fn run_record(&self, scope: Scope, id: RunId) -> Result<Option<RunRecord>, Error> {
        let mut tx = self.db.read(scope).await?;
        let row = tx
            .fetch_optional(sql!("records/read"), params![scope.tenant(), id])
            .await?;
        row.as_ref().map(rows::run_record).transpose()
    }
}
