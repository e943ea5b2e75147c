//! Operations on many runs: counting, retrying and cancelling the runs that match a filter.
//!
//! Each run goes through the transition of the operation on a single run, in a transaction of its own. The expected
//! number protects people from a filter that matches more than they have seen.

use std::time::Duration;

use api_types::{
    Count, MAX_COUNT, RunCounts, RunFilterRequest, RunRefused, RunRetried, RunsCancelled,
    RunsRetried,
};
use model::{RunId, run::RunStatus};
use store::{CountedRun, Page, RunFilter};

use crate::{Error, ErrorKind, Service, boxed};

/// The time after which no further run is tried. A request that exceeds its own limit (30 s) would end without a response
/// that says what was done.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The number of pages of runs that a request reads to find those that its operation can change: a tenant may have turns of
/// tasks without end.
const MAX_PAGES: u32 = 20;

/// An operation on many runs.
#[derive(Clone, Copy)]
enum Operation {
    Retry,
    Cancel,
}

impl Operation {
    /// Returns `true` if the operation can change a run. A turn of a task is repeated by its task alone.
    fn applies_to(self, run: &CountedRun) -> bool {
        self.applies_to_status(run.status) && (matches!(self, Self::Cancel) || !run.is_of_task)
    }

    /// Returns `true` if the operation can change runs with this status.
    fn applies_to_status(self, status: RunStatus) -> bool {
        match self {
            Self::Retry => status.is_retryable(),
            Self::Cancel => !status.is_over(),
        }
    }

    /// Returns the word for the operation in errors, such as "can be retried".
    const fn participle(self) -> &'static str {
        match self {
            Self::Retry => "retried",
            Self::Cancel => "cancelled",
        }
    }
}

impl Service {
    /// Counts the runs that match a selection, and those of them that can be retried and cancelled. Each count stops at
    /// [`MAX_COUNT`].
    #[boxed]
    pub async fn count_runs(&self, selection: &RunFilterRequest) -> Result<RunCounts, Error> {
        let filter = self.run_filter(selection).await?;
        let page = Page::first(MAX_COUNT + 1);
        let matching = self.store.run_statuses(self.scope(), &filter, page);
        let matching = matching.await?;
        let retryable = self
            .count_applicable(&filter, &matching, Operation::Retry)
            .await?;
        let cancellable = self
            .count_applicable(&filter, &matching, Operation::Cancel)
            .await?;
        Ok(RunCounts {
            matching: Count::of_read(matching.len()),
            retryable,
            cancellable,
        })
    }

    /// Retries the runs that match a selection and can be retried, the oldest first, so that the inputs of a session
    /// keep their order.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OtherNumberOfRuns`] if their number is not `expected`.
    #[boxed]
    pub async fn retry_runs(
        &self,
        selection: &RunFilterRequest,
        expected: u32,
    ) -> Result<RunsRetried, Error> {
        let runs = self
            .expected_runs(selection, expected, Operation::Retry)
            .await?;
        let (mut retried, mut refused) = (Vec::new(), Vec::new());
        let began = self.now();
        for CountedRun { id: run_id, .. } in runs.into_iter().rev() {
            let now = self.now();
            if now.since(began) >= TIME_LIMIT {
                refused.push(not_tried(run_id));
                continue;
            }
            match self.store.retry_run(self.scope(), run_id, None, now).await {
                Ok(submitted) => retried.push(RunRetried {
                    run_id,
                    attempt_id: submitted.run_id,
                    status: submitted.status,
                }),
                Err(error) => refused.push(refusal(run_id, error.into())?),
            }
        }
        Ok(RunsRetried { retried, refused })
    }

    /// Cancels the runs that match a selection and have not ended, the deferred ones first. Otherwise the end of another
    /// run would start one of them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OtherNumberOfRuns`] if their number is not `expected`.
    #[boxed]
    pub async fn cancel_runs(
        &self,
        selection: &RunFilterRequest,
        expected: u32,
    ) -> Result<RunsCancelled, Error> {
        let mut runs = self
            .expected_runs(selection, expected, Operation::Cancel)
            .await?;
        runs.sort_by_key(|run| run.status != RunStatus::Deferred);
        let (mut cancelled, mut refused) = (Vec::new(), Vec::new());
        let began = self.now();
        for CountedRun { id: run_id, .. } in runs {
            if self.now().since(began) >= TIME_LIMIT {
                refused.push(not_tried(run_id));
                continue;
            }
            match self.cancel_run_by_id(run_id).await {
                Ok(run) => cancelled.push(run),
                Err(error) => refused.push(refusal(run_id, error)?),
            }
        }
        Ok(RunsCancelled { cancelled, refused })
    }

    /// Returns the runs of a selection that an operation can change, the newest first, if their number is `expected`.
    async fn expected_runs(
        &self,
        selection: &RunFilterRequest,
        expected: u32,
        operation: Operation,
    ) -> Result<Vec<CountedRun>, Error> {
        if !(1..=MAX_COUNT).contains(&expected) {
            let problem = format!("accepted are 1 to {MAX_COUNT}");
            return Err(Error::invalid("expected", &expected.to_string(), problem));
        }
        let filter = self.run_filter(selection).await?;
        let (runs, actual) = self.read_applicable(&filter, operation).await?;
        if actual.more || actual.count != expected {
            return Err(Error::OtherNumberOfRuns {
                operation: operation.participle(),
                expected,
                actual,
            });
        }
        Ok(runs)
    }

    /// Counts the runs of a filter that an operation can change. `matching` are all runs of the filter, or the newest ones.
    async fn count_applicable(
        &self,
        filter: &RunFilter,
        matching: &[CountedRun],
        operation: Operation,
    ) -> Result<Count, Error> {
        if Count::of_read(matching.len()).more {
            let (_, count) = self.read_applicable(filter, operation).await?;
            return Ok(count);
        }
        let applicable = matching.iter().filter(|run| operation.applies_to(run));
        Ok(Count::of_read(applicable.count()))
    }

    /// Reads the runs of a filter that an operation can change, and counts them. The count has more if the runs are more than
    /// [`MAX_COUNT`], or behind more than [`MAX_PAGES`] pages of runs of the filter.
    async fn read_applicable(
        &self,
        filter: &RunFilter,
        operation: Operation,
    ) -> Result<(Vec<CountedRun>, Count), Error> {
        let accepts = |status: &RunStatus| {
            operation.applies_to_status(*status)
                && (filter.statuses.is_empty() || filter.statuses.contains(status))
        };
        let statuses: Vec<_> = RunStatus::ALL.iter().copied().filter(accepts).collect();
        if statuses.is_empty() {
            return Ok((Vec::new(), Count::of_read(0)));
        }
        let filter = RunFilter {
            statuses,
            ..filter.clone()
        };
        let mut page = Page::first(MAX_COUNT + 1);
        let mut applicable = Vec::new();
        // A whole page can consist of turns of tasks, which no status tells apart.
        for _ in 0..MAX_PAGES {
            let read = self.store.run_statuses(self.scope(), &filter, page).await?;
            let may_have_more = Count::of_read(read.len()).more;
            page.after = read.last().map(|run| run.id);
            applicable.extend(read.into_iter().filter(|run| operation.applies_to(run)));
            let count = Count::of_read(applicable.len());
            if !may_have_more || count.more {
                return Ok((applicable, count));
            }
        }
        let count = Count::of_read(applicable.len());
        Ok((
            applicable,
            Count {
                more: true,
                ..count
            },
        ))
    }
}

/// Returns the entry of a run that was refused. Returns the error itself if the database failed, because the next runs
/// would fail in the same way.
fn refusal(run_id: RunId, error: Error) -> Result<RunRefused, Error> {
    if error.kind() == ErrorKind::Database {
        return Err(error);
    }
    let reason = error.chain();
    Ok(RunRefused { run_id, reason })
}

fn not_tried(run_id: RunId) -> RunRefused {
    RunRefused {
        run_id,
        reason: format!(
            "not tried within {} s; repeat the request",
            TIME_LIMIT.as_secs()
        ),
    }
}
