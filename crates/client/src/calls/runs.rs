//! Runs.

use model::run::{Origin, RunStatus};
use wire::{LiveText, Page, Run, RunCancelled, RunRecordView, RunView};

use super::Part;
use crate::{Client, Error};

/// Which runs a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Those of a session: its key, its id or the beginning of that.
    pub session: Option<String>,
    /// Those of an automation: its name, its id or the beginning of that.
    pub automation: Option<String>,
    /// Those in a status.
    pub status: Option<RunStatus>,
    /// Those whose inputs came from there.
    pub origin: Option<Origin>,
    /// Which part.
    pub part: Part,
}

impl Client {
    /// Lists runs, the newest first.
    pub async fn runs(&self, filter: &RunFilter) -> Result<Page<Run>, Error> {
        self.get(&["runs"])
            .ask("session", filter.session.as_ref())
            .ask("automation", filter.automation.as_ref())
            .ask("status", filter.status)
            .ask("origin", filter.origin)
            .part(&filter.part)
            .fetch()
            .await
    }

    /// Shows a run with all attempts at the same input, by its id or the beginning of that.
    pub async fn run(&self, run: &str) -> Result<RunView, Error> {
        self.get(&["runs", run]).fetch().await
    }

    /// Shows the internal record of a run.
    pub async fn run_record(&self, run: &str) -> Result<RunRecordView, Error> {
        self.get(&["runs", run, "record"]).fetch().await
    }

    /// Reads the text that a run is writing, from a position on.
    pub async fn live_text(&self, run: &str, from: i64) -> Result<LiveText, Error> {
        let call = self.get(&["runs", run, "text"]);
        call.ask("from", (from > 0).then_some(from)).fetch().await
    }

    /// Tries a run again; gives the new attempt.
    pub async fn retry_run(&self, run: &str) -> Result<Run, Error> {
        self.post(&["runs", run, "retry"]).once().fetch().await
    }

    /// Calls a run off.
    pub async fn cancel_run(&self, run: &str) -> Result<RunCancelled, Error> {
        self.post(&["runs", run, "cancel"]).fetch().await
    }
}
