//! Runs, as people look at them and call them off.

use model::{
    RunId,
    entity::{Run, RunRecord},
    run::RunStatus,
};
use serde::Serialize;
use store::RunFilter;

use crate::{Error, Service, Waiting, sessions};

/// Which runs a list shows.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// Those of a session: its key, its id or the beginning of that.
    pub session: Option<String>,
    /// Those of an automation: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// Those in a status.
    pub status: Option<RunStatus>,
    /// How many at the most.
    pub limit: u32,
}

/// One run with all that is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct RunView {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// All attempts at the same input, the first one first.
    pub attempts: Vec<Run>,
    /// What was really sent, and what went wrong in full.
    pub record: Option<RunRecord>,
    /// Whether it had such a record and retention has removed it.
    pub record_trimmed: bool,
}

impl Service {
    /// Lists runs, the newest first.
    pub async fn runs(&self, query: &RunQuery) -> Result<Vec<Run>, Error> {
        let session = match &query.session {
            Some(given) => Some(self.find_session(given).await?.id),
            None => None,
        };
        let automation = match &query.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let filter = RunFilter {
            session,
            automation,
            status: query.status,
        };
        Ok(self.store.runs(self.scope(), filter, query.limit).await?)
    }

    /// Reads one run: by its id or the beginning of that.
    pub async fn run(&self, given: &str) -> Result<RunView, Error> {
        let id = self.find_run(given).await?;
        let run = self.store.run(self.scope(), id).await?;
        let record = self.store.run_record(self.scope(), id).await?;
        // Whatever ends a run writes its record in the same transaction.
        let ended = matches!(
            run.status,
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Stalled
        );
        Ok(RunView {
            waiting: self.waits_for(&run).await?,
            attempts: self.store.attempts(self.scope(), run.input_id).await?,
            record_trimmed: ended && record.is_none(),
            record,
            run,
        })
    }

    /// Reads the row of one run.
    pub async fn run_by_id(&self, id: RunId) -> Result<Run, Error> {
        Ok(self.store.run(self.scope(), id).await?)
    }

    /// The newest attempt at the input of a run: the run itself, unless it was tried again.
    pub async fn latest_attempt(&self, run: &Run) -> Result<Run, Error> {
        let attempts = self.store.attempts(self.scope(), run.input_id).await?;
        Ok(attempts.into_iter().last().unwrap_or_else(|| run.clone()))
    }

    /// The answer that a running turn has written from a position on, in bytes, with the position of
    /// its end. Nothing once the turn has ended: the transcript has it then.
    pub async fn live_text(&self, id: RunId, from: i64) -> Result<(String, i64), Error> {
        Ok(self.store.live(self.scope(), id, from).await?)
    }

    /// Makes another attempt at the input of a run that is over and did not succeed.
    pub async fn retry_run(&self, given: &str) -> Result<Run, Error> {
        let id = self.find_run(given).await?;
        let again = self.store.retry_run(self.scope(), id, self.now()).await?;
        self.run_by_id(again.run_id).await
    }

    /// Calls a run off that somebody names by its id or the beginning of that. Gives it as it is then.
    pub async fn cancel_named_run(&self, given: &str) -> Result<Run, Error> {
        let id = self.find_run(given).await?;
        self.cancel_run(id, sessions::CALLED_OFF).await?;
        self.run_by_id(id).await
    }

    /// Calls a run off: at once where it waits, else as soon as its agent has stopped.
    pub async fn cancel_run(&self, id: RunId, reason: &str) -> Result<RunStatus, Error> {
        let cancelled = self
            .store
            .cancel_run(self.scope(), id, reason, self.now())
            .await?;
        Ok(cancelled)
    }
}
