//! Operations on runs.

use api_types::{
    LiveText, Page, Run, RunBatchRequest, RunCancelled, RunCounts, RunFilterRequest, RunItem,
    RunPatch, RunRecordView, RunView, RunsCancelled, RunsRetried,
};

use http::Method;

use super::{PageParams, comma_separated};
use crate::{Client, Error, boxed, request::Call};

/// The filter of a list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// The filter that lists of runs and operations on many runs share.
    pub runs: RunFilterRequest,
    /// `true` to list each attempt, not only the last one at each input.
    pub all_attempts: bool,
    /// The requested part of the list.
    pub page: PageParams,
}

impl Client {
    /// Lists runs, the newest first.
    #[boxed]
    pub async fn runs(&self, filter: &RunFilter) -> Result<Page<RunItem>, Error> {
        filter_runs(self.get(&["runs"]), &filter.runs)
            .flag("all_attempts", filter.all_attempts)
            .page(&filter.page)
            .fetch()
            .await
    }

    /// Counts the runs that match a filter, and those of them that can be retried and cancelled.
    #[boxed]
    pub async fn count_runs(&self, filter: &RunFilterRequest) -> Result<RunCounts, Error> {
        filter_runs(self.get(&["runs", "count"]), filter)
            .fetch()
            .await
    }

    /// Retries the runs that match a filter, if their number is the expected one.
    #[boxed]
    pub async fn retry_runs(&self, request: &RunBatchRequest) -> Result<RunsRetried, Error> {
        let call = self.post(&["runs", "retry"]).json(request);
        call.idempotent().fetch().await
    }

    /// Cancels the runs that match a filter, if their number is the expected one.
    #[boxed]
    pub async fn cancel_runs(&self, request: &RunBatchRequest) -> Result<RunsCancelled, Error> {
        let call = self.post(&["runs", "cancel"]).json(request);
        call.idempotent().fetch().await
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

    /// Changes the text of a message that waits. `seen` is the entity tag of the version that the caller read.
    #[boxed]
    pub async fn edit_run(
        &self,
        run: &str,
        patch: &RunPatch,
        seen: Option<&str>,
    ) -> Result<RunView, Error> {
        let call = self.call(Method::PATCH, &["runs", run]);
        call.json(patch).if_match(seen).fetch().await
    }

    /// Cancels a run.
    #[boxed]
    pub async fn cancel_run(&self, run: &str) -> Result<RunCancelled, Error> {
        self.post(&["runs", run, "cancel"]).fetch().await
    }
}

/// Adds a filter of runs to the query of a request.
fn filter_runs<'a>(call: Call<'a>, filter: &RunFilterRequest) -> Call<'a> {
    call.query_param("session", filter.session.as_ref())
        .query_param("automation", filter.automation.as_ref())
        .query_param("instance", filter.instance.as_ref())
        .query_param("status", comma_separated(&filter.status))
        .query_param("origin", filter.origin)
        .query_param("reason", filter.reason.as_ref())
        .query_param("from", filter.from)
        .query_param("to", filter.to)
}
