//! Follows a run until it ends. The answer goes to standard output, all other text to standard error.

mod blocked_on;
mod follower;

use api_types::{BlockedOn, Run, RunFlags};
use model::{RunId, run::RunStatus};
use serde::Serialize;
use server::LocalInstance;
use tokio_util::sync::CancellationToken;

pub(crate) use blocked_on::format_blocked_on;

use self::follower::{FollowOutcome, Follower};

use crate::{
    app::{App, Target},
    error::{CliError, Exit},
    signals::Signals,
};

/// The result of a run, as JSON.
#[derive(Serialize)]
struct FollowedRun<'a> {
    run: &'a Run,
    answer: Option<&'a str>,
}

/// Follows a newly requested run until it ends. If the data folder has no server, takes the turn in this process.
/// With `only_queue`, leaves the run to a server and returns at once.
pub(crate) async fn follow_to_end(app: &App, run: Run, only_queue: bool) -> Result<Exit, CliError> {
    if run.status.is_over() {
        return print_result(app, &run, None);
    }
    if only_queue {
        let waiting = app.client.run(&run.id.to_string()).await?.blocked_on;
        return print_queued(app, &run, waiting.as_ref(), app.has_server());
    }
    let mut signals = Signals::listen()?;
    let mut follower = Follower::new(app, &run);
    if let Target::InProcess(local) = &app.target {
        app.output
            .aside("This data folder has no server, so this process takes the turn.");
        return Box::pin(take_turn(app, local, run, follower, signals)).await;
    }
    let id = run.id;
    let followed = tokio::select! {
        followed = Box::pin(follow(app, &mut follower, run, CancellationToken::new())) => followed,
        () = signals.next() => {
            app.output.aside(&stopped_following(id));
            Ok(Exit::Interrupted)
        }
    };
    follower.close().await;
    followed
}

/// Returns the text for a run that this process no longer follows. It says nothing of the run's state, because the run
/// may be in a turn or wait for one.
fn stopped_following(id: RunId) -> String {
    format!("Stopped following; the run is not cancelled. `matins run show {id}` shows its state.")
}

/// Takes the turn in this process and follows it. The first Ctrl-C cancels the run; the second one ends the process.
async fn take_turn(
    app: &App,
    local: &LocalInstance,
    run: Run,
    mut follower: Follower<'_>,
    mut signals: Signals,
) -> Result<Exit, CliError> {
    let stop = CancellationToken::new();
    let id = run.id;
    let both = take_and_follow(app, local, run, &mut follower, stop.clone());
    let interrupted = async {
        signals.next().await;
        app.output
            .aside("Cancelling the run. Press Ctrl-C again to stop at once.");
        if let Err(error) = cancel_newest_attempt(app, id).await {
            tracing::debug!(
                ?error,
                "cannot cancel the run; its turn is stopped all the same"
            );
        }
        // Stop the turn even if the cancellation was not recorded. Then its run is requeued.
        stop.cancel();
        signals.next().await;
    };
    tokio::select! {
        ended = both => match ended {
            Err(failure) if stop.is_cancelled() && failure.exit() == Exit::TurnFailed => {
                app.output.aside("Cancelled.");
                Ok(Exit::Interrupted)
            }
            ended => ended,
        },
        () = interrupted => Ok(Exit::Interrupted),
    }
}

/// Takes the turn in this process and follows it. The turn continues to its end even if the follower fails.
async fn take_and_follow(
    app: &App,
    local: &LocalInstance,
    run: Run,
    follower: &mut Follower<'_>,
    stop: CancellationToken,
) -> Result<Exit, CliError> {
    let taken = server::take_turn(local, &app.client, run.id, stop.clone());
    let mut taking = std::pin::pin!(taken);
    let mut following = std::pin::pin!(follow(app, follower, run, stop));
    tokio::select! {
        taken = &mut taking => {
            if !taken?.status.is_over() {
                return Ok(Exit::Interrupted);
            }
            // The end of the run is committed, so the follower reads it and prints it.
            following.await
        }
        followed = &mut following => {
            // Any other failure comes from the follower, and the turn continues.
            let results_of_run = [Exit::TurnFailed, Exit::Refused];
            if let Err(failure) = &followed
                && !results_of_run.contains(&failure.exit())
            {
                app.output.aside("Stopped following; the turn continues.");
            }
            taking.await?;
            followed
        }
    }
}

/// Cancels the newest attempt. The run then ends as cancelled; a mere stop would requeue it.
async fn cancel_newest_attempt(app: &App, id: RunId) -> Result<(), CliError> {
    let newest = server::newest_attempt(&app.client, id).await?.run.id;
    app.client.cancel_run(&newest.to_string()).await?;
    Ok(())
}

/// Follows a run and prints its result. Cancels `stop` if a budget has deferred the run, so that this process does not
/// wait to take its turn.
async fn follow(
    app: &App,
    follower: &mut Follower<'_>,
    run: Run,
    stop: CancellationToken,
) -> Result<Exit, CliError> {
    match follower.follow(&run).await? {
        FollowOutcome::Finished { run, answer } => print_result(app, &run, answer.as_deref()),
        FollowOutcome::ServerStopped(view) => {
            app.output
                .aside("The server of this data folder has stopped.");
            print_queued(app, &view.run, view.blocked_on.as_ref(), false)
        }
        FollowOutcome::OverBudget { run, reason } => {
            stop.cancel();
            print_over_budget(app, &run, &reason)
        }
    }
}

/// Prints that a budget has deferred the run of an automation, and returns the error for that.
fn print_over_budget(app: &App, run: &Run, reason: &str) -> Result<Exit, CliError> {
    if app.output.json {
        app.output.document(&FollowedRun { run, answer: None })?;
    }
    let message = format!("the run waits: {reason}");
    let hint = format!(
        "change the budget and resume the automation, or cancel the run: `matins run cancel {}`",
        run.id
    );
    Err(CliError::message(Exit::Refused, message).with_hint(hint))
}

/// Prints that the run is queued, and the condition that it waits for.
fn print_queued(
    app: &App,
    run: &Run,
    waiting: Option<&BlockedOn>,
    has_server: bool,
) -> Result<Exit, CliError> {
    if app.output.json {
        app.output.document(&FollowedRun { run, answer: None })?;
        return Ok(Exit::Done);
    }
    let next = match &app.target {
        Target::Remote => "the server will take it",
        _ if has_server => "the server of this data folder will take it",
        _ => "this data folder has no server: `matins serve` starts one, which will take it",
    };
    app.output.line(&format!("Queued as {}; {next}.", run.id))?;
    if let Some(waiting) = waiting {
        app.output.aside(&format_blocked_on(app, waiting));
    }
    Ok(Exit::Done)
}

/// Prints the result of a run and returns the exit code.
fn print_result(app: &App, run: &Run, answer: Option<&str>) -> Result<Exit, CliError> {
    if app.output.json {
        app.output.document(&FollowedRun { run, answer })?;
    }
    let hint = format!("`matins run show {}` shows the details", run.id);
    let reason = run.message.as_deref().or(run.reason.as_deref());
    let reason = reason.unwrap_or("no reason was given");
    let failed = |exit, result: &str| {
        Err(CliError::message(exit, format!("{result}: {reason}")).with_hint(hint.clone()))
    };
    match run.status {
        RunStatus::Succeeded => {
            print_flags(app, run.flags);
            Ok(Exit::Done)
        }
        RunStatus::Skipped => failed(Exit::Refused, "the run was skipped"),
        RunStatus::Cancelled => failed(Exit::TurnFailed, "the turn was cancelled"),
        _ => failed(Exit::TurnFailed, "the turn did not succeed"),
    }
}

/// Prints remarks on a succeeded run.
fn print_flags(app: &App, flags: RunFlags) {
    if flags.empty_answer {
        app.output.aside("The agent gave no answer.");
    }
    if flags.precheck_unclear {
        app.output.aside(
            "The precheck was unclear: its exit code was neither 0 nor 1, so the turn was taken.",
        );
    }
    if flags.permissions_denied > 0 {
        app.output.aside(&format!(
            "Permissions denied: {}. To allow them, add rules to the agent or the automation (--allow).",
            flags.permissions_denied
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_following_claims_no_turn() {
        let id = "run_0199ab00000070008000000000000000";
        let text = stopped_following(id.parse().unwrap());
        assert!(text.contains(id) && !text.contains("turn"), "{text}");
    }
}
