//! Runs, as people look at them and call them off.

use model::{
    InputId, RunId,
    entity::{Run, RunRecord},
    run::{Origin, RunStatus},
    turn::Submitted,
};
use store::RunFilter;
use wire::{LiveText, Page, RunCancelled, RunView};

use crate::{Error, Service, sessions};

/// Which runs a list shows.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// Those of a session: its key, its id or the beginning of that.
    pub session: Option<String>,
    /// Those of an automation: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// Those in a status.
    pub status: Option<RunStatus>,
    /// Those whose inputs came from there.
    pub origin: Option<Origin>,
    /// First attempts at occurrences only, with what was skipped and missed.
    pub occurrences: bool,
    /// The last one of the page before.
    pub after: Option<RunId>,
    /// How many at the most.
    pub limit: u32,
}

impl Service {
    /// Lists runs, the newest first.
    pub async fn runs(&self, query: &RunQuery) -> Result<Page<Run>, Error> {
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
            origin: query.origin,
            occurrences: query.occurrences,
        };
        let page = store::Page {
            after: query.after,
            limit: query.limit + 1,
        };
        let found = self.store.run_page(self.scope(), filter, page).await?;
        Ok(Page::of(found, query.limit, |run| run.id.to_string()))
    }

    /// Reads one run: by its id or the beginning of that.
    pub async fn run(&self, given: &str) -> Result<RunView, Error> {
        let id = self.find_run(given).await?;
        let run = self.store.run(self.scope(), id).await?;
        let record = self.store.run_record(self.scope(), id).await?;
        // Whatever ends a run writes its record in the same transaction.
        let ended = matches!(
            run.status(),
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Stalled
        );
        let attempts = self.store.attempts(self.scope(), run.input_id).await?;
        Ok(RunView {
            waiting: self.waits_for(&run).await?,
            attempts: attempts.into_iter().map(Into::into).collect(),
            record_trimmed: ended && record.is_none(),
            run: run.into(),
        })
    }

    /// Reads the internal record of a run, if there is one: by its id or the beginning of that.
    pub async fn run_record(&self, given: &str) -> Result<Option<RunRecord>, Error> {
        let id = self.find_run(given).await?;
        Ok(self.store.run_record(self.scope(), id).await?)
    }

    /// Reads the row of one run.
    pub async fn run_by_id(&self, id: RunId) -> Result<Run, Error> {
        Ok(self.store.run(self.scope(), id).await?)
    }

    /// The answer that a running turn has written from a position on, in bytes. Nothing once the turn has
    /// ended: the transcript has it then.
    pub async fn live_text(&self, given: &str, from: i64) -> Result<LiveText, Error> {
        let id = self.find_run(given).await?;
        let (text, end) = self.store.live(self.scope(), id, from).await?;
        Ok(LiveText { text, end })
    }

    /// Makes another attempt at the input of a run that is over and did not succeed. With an id that was
    /// reserved for the attempt, one that is there already is given as it is.
    pub async fn retry_run(&self, given: &str, attempt: Option<RunId>) -> Result<Run, Error> {
        let id = self.find_run(given).await?;
        let now = self.now();
        let Some(attempt) = attempt else {
            let again = self.store.retry_run(self.scope(), id, now).await?;
            return self.run_by_id(again.run_id).await;
        };
        let again = self.store.retry_run_as(self.scope(), id, attempt, now);
        match again.await {
            Ok(_) | Err(store::Error::Made { .. }) => self.run_by_id(attempt).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Calls a run off, named by its id or the beginning of that: at once where it waits, else as soon as its
    /// agent has stopped. Gives where it is then.
    pub async fn cancel_run(&self, given: &str) -> Result<RunCancelled, Error> {
        let run_id = self.find_run(given).await?;
        let status = self
            .store
            .cancel_run(self.scope(), run_id, sessions::CALLED_OFF, self.now())
            .await?;
        Ok(RunCancelled { run_id, status })
    }

    /// The run of an input whose id was reserved, where it is there already. What it belongs to may have moved
    /// on since.
    pub(crate) async fn made_by(&self, input: Option<InputId>) -> Result<Option<Run>, Error> {
        let Some(input) = input else { return Ok(None) };
        let attempts = self.store.attempts(self.scope(), input).await?;
        Ok(attempts.into_iter().next())
    }

    /// The run of an input that was given in with an id that was reserved for it, be it just made or made
    /// before.
    pub(crate) async fn run_of_input(
        &self,
        input: InputId,
        submitted: Result<Submitted, store::Error>,
    ) -> Result<Run, Error> {
        match submitted {
            Ok(submitted) => self.run_by_id(submitted.run_id).await,
            Err(store::Error::Made { .. }) => {
                let first = self.made_by(Some(input)).await?;
                first.ok_or_else(|| Error::NotFound {
                    what: "the run of the input",
                    given: input.to_string(),
                    nearest: None,
                })
            }
            Err(error) => Err(error.into()),
        }
    }
}
