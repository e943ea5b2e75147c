//! `matins run retry` and `matins run cancel` with a filter: operations on many runs.

use api_types::{
    Count, MAX_COUNT, RunBatchRequest, RunCounts, RunRefused, RunsCancelled, RunsRetried,
};
use serde::Serialize;

use super::filter_args::FilterArgs;
use crate::{
    app::App,
    error::{CliError, Exit},
    output::clean,
};

/// The options of an operation on many runs.
#[derive(Debug, clap::Args)]
pub(super) struct BatchArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// Confirm the operation on all matching runs, whatever their number
    #[arg(long, requires = "filter")]
    yes: bool,
    /// Confirm the operation if it changes this number of runs
    #[arg(long, value_name = "N", requires = "filter", conflicts_with = "yes")]
    expect: Option<u32>,
}

/// The result of the check whether the user has confirmed an operation.
enum Confirmation {
    /// The user has confirmed this request.
    Given(RunBatchRequest),
    /// The user has not confirmed, and knows the number of runs now.
    Missing,
    /// No run matches, so there is nothing to confirm.
    NoRun,
}

/// Retries the runs that the options choose.
pub(super) async fn retry(app: &App, args: BatchArgs) -> Result<Exit, CliError> {
    let result = match confirm(app, args, "retried", |counts| counts.retryable).await? {
        Confirmation::Given(request) => app.client.retry_runs(&request).await?,
        Confirmation::Missing => return Ok(Exit::Blocked),
        Confirmation::NoRun => RunsRetried::default(),
    };
    let done = result.retried.len();
    print(app, &result, ("Retried", done), &result.refused)
}

/// Cancels the runs that the options choose.
pub(super) async fn cancel(app: &App, args: BatchArgs) -> Result<Exit, CliError> {
    let result = match confirm(app, args, "cancelled", |counts| counts.cancellable).await? {
        Confirmation::Given(request) => app.client.cancel_runs(&request).await?,
        Confirmation::Missing => return Ok(Exit::Blocked),
        Confirmation::NoRun => RunsCancelled::default(),
    };
    let done = result.cancelled.len();
    print(app, &result, ("Cancelled", done), &result.refused)
}

/// Returns the request if the user has confirmed it. Otherwise prints the number of runs and how to confirm it.
async fn confirm(
    app: &App,
    args: BatchArgs,
    participle: &str,
    applicable: impl Fn(&RunCounts) -> Count,
) -> Result<Confirmation, CliError> {
    let filter = args.filter.resolve(app)?;
    if let Some(expected) = args.expect {
        return Ok(Confirmation::Given(RunBatchRequest { filter, expected }));
    }
    let counts = app.client.count_runs(&filter).await?;
    let found = applicable(&counts);
    if found.more {
        let message = format!("more than {MAX_COUNT} of the matching runs can be {participle}");
        return Err(CliError::message(Exit::Refused, message).with_hint(format!(
            "narrow the filter, for example with --since: one command changes up to {MAX_COUNT} runs"
        )));
    }
    let expected = found.count;
    if expected == 0 {
        return Ok(Confirmation::NoRun);
    }
    if args.yes {
        return Ok(Confirmation::Given(RunBatchRequest { filter, expected }));
    }
    if app.output.json {
        app.output.document(&counts)?;
    } else {
        app.output.line(&format!(
            "Nothing was {participle}. Of {} matching runs, {expected} can be {participle}.\n\
             To confirm, add --expect {expected}, or --yes for any number.",
            counts.matching
        ))?;
    }
    Ok(Confirmation::Missing)
}

/// Prints the result of an operation: the number of changed runs, and the reason for each other one.
fn print(
    app: &App,
    result: &impl Serialize,
    (verb, done): (&str, usize),
    refused: &[RunRefused],
) -> Result<Exit, CliError> {
    let exit = if refused.is_empty() {
        Exit::Done
    } else {
        Exit::Refused
    };
    if app.output.json {
        app.output.document(result)?;
        return Ok(exit);
    }
    let runs = if done == 1 { "run" } else { "runs" };
    app.output.line(&format!("{verb} {done} {runs}."))?;
    for RunRefused { run_id, reason } in refused {
        app.output
            .line(&format!("  Not {run_id}: {}", clean(reason)))?;
    }
    Ok(exit)
}
