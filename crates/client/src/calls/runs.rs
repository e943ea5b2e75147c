//! Operations on runs.

use api_types::{LiveText, Page, Run, RunCancelled, RunItem, RunRecordView, RunView};
use model::{
    Timestamp,
    run::{Origin, RunStatus},
};

use super::{PageParams, comma_separated};
use crate::{Client, Error, boxed};

/// The filter of a list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The session of the runs, by its key, its ID or a prefix of its ID.
    pub session: Option<String>,
    /// The automation of the runs, by its name, its ID or a prefix of its ID.
    pub automation: Option<String>,
    /// The accepted statuses. Empty to accept all.
    pub statuses: Vec<RunStatus>,
    /// The source of the runs' inputs.
    pub origin: Option<Origin>,
    /// The accepted reason, in one word.
    pub reason: Option<String>,
    /// The instant from which on the runs were created.
    pub from: Option<Timestamp>,
    /// The instant before which the runs were created.
    pub to: Option<Timestamp>,
    /// `true` to list each attempt, not only the last one at each input.
    pub all_attempts: bool,
    /// The requested part of the list.
    pub page: PageParams,
}

impl Client {
    /// Lists runs, the newest first.
    #[boxed]
    pub async fn runs(&self, filter: &RunFilter) -> Result<Page<RunItem>, Error> {
        self.get(&["runs"])
            .query_param("session", filter.session.as_ref())
            .query_param("automation", filter.automation.as_ref())
            .query_param("status", comma_separated(&filter.statuses))
            .query_param("origin", filter.origin)
            .query_param("reason", filter.reason.as_ref())
            .query_param("from", filter.from)
            .query_param("to", filter.to)
            .flag("all_attempts", filter.all_attempts)
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Returns a run and all attempts at the same input, by its ID or a prefix of its ID.
    #[boxed]
    pub async fn run(&self, run: &str) -> Result<RunView, Error> {
        self.get(&["runs", run]).fetch().await
    }

    /// Returns the internal record of a run.
    #[boxed]
    pub async fn run_record(&self, run: &str) -> Result<RunRecordView, Error> {
        self.get(&["runs", run, "record"]).fetch().await
    }

    /// Returns the text that a running turn has written, from a position in bytes.
    #[boxed]
    pub async fn live_text(&self, run: &str, from: i64) -> Result<LiveText, Error> {
        let call = self.get(&["runs", run, "text"]);
        call.query_param("from", (from > 0).then_some(from))
            .fetch()
            .await
    }

    /// Retries a run, and returns the new attempt.
    #[boxed]
    pub async fn retry_run(&self, run: &str) -> Result<Run, Error> {
        self.post(&["runs", run, "retry"])
            .idempotent()
            .fetch()
            .await
    }

    /// Cancels a run.
    #[boxed]
    pub async fn cancel_run(&self, run: &str) -> Result<RunCancelled, Error> {
        self.post(&["runs", run, "cancel"]).fetch().await
    }
}
