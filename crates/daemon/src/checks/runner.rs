//! Runs the commands of claimed checks, renews their lease, and records their end.

use std::{path::PathBuf, time::Duration};

use agent::{Command, CommandEnd, ExitStatus, Lease};
use model::{
    agent::ResourceLimits,
    goal::{ChecksEnd, ChecksJob, last_lines},
    turn::{HeartbeatReply, WriteOutcome},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{Error, Host, boxed};

/// The exit codes of a shell for a program that cannot be executed, and for one that does not exist.
const SHELL_CANNOT_START: [i32; 2] = [126, 127];

/// The pause between two attempts to write the end while the database is unavailable.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The reason why checks must stop before their commands have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The task no longer needs the checks.
    Cancel,
    /// The server stops.
    Requeue,
    /// This worker no longer has the checks.
    Lost,
}

/// The lease of running commands, and the order to stop them.
#[derive(Debug, Clone)]
struct LeaseState {
    /// The uptime at which the lease is over. Uptime counts the time of suspend.
    lease_until: Duration,
    stop: Option<Stop>,
}

/// The end of one command.
enum CommandOutcome {
    Ended(CommandEnd),
    /// The command did not start, for this reason.
    NotStarted(String),
    TimedOut(CommandEnd),
    Stopped(Stop),
}

/// Runs claimed checks until one does not pass, and records the end. No process of the checks is left when the function
/// returns. `claim_sent_at` is the uptime before the claim was sent, from which the first lease counts.
///
/// # Errors
///
/// Returns an error of the store. The lease then ends, and another claim runs the checks again.
#[boxed]
pub async fn run_claimed(
    host: &Host,
    job: &ChecksJob,
    claim_sent_at: Duration,
    stop: &CancellationToken,
) -> Result<(), Error> {
    if job.is_cancelled {
        return finish(host, job, &ChecksEnd::Cancelled, &[]).await;
    }
    let (sender, state) = watch::channel(LeaseState {
        lease_until: claim_sent_at + host.settings.lease(),
        stop: None,
    });
    let mut evidence = Vec::with_capacity(job.checks.len());
    // The lease is renewed until no process is left.
    let ended = tokio::select! {
        ended = run_all(host, job, state, &mut evidence) => ended,
        () = renew_lease(host, job, stop, &sender) => Err(Stop::Lost),
    };
    match ended {
        Ok(end) => finish(host, job, &end, &evidence).await,
        Err(Stop::Cancel) => finish(host, job, &ChecksEnd::Cancelled, &evidence).await,
        Err(Stop::Requeue) => requeue(host, job).await,
        Err(Stop::Lost) => {
            tracing::warn!(task = %job.task, "this server has lost the checks of {}", job.task);
            Ok(())
        }
    }
}

/// Runs the checks one after the other until one does not pass.
async fn run_all(
    host: &Host,
    job: &ChecksJob,
    mut state: watch::Receiver<LeaseState>,
    evidence: &mut Vec<String>,
) -> Result<ChecksEnd, Stop> {
    for check in &job.checks {
        let name = check.name.clone();
        let Some(command) = &check.command else {
            evidence.push(format!("{name}: the team has no such check"));
            return Ok(ChecksEnd::Broken { check: name });
        };
        let (ended, output) =
            match run_command(host, job, (command.as_str(), check.timeout), &mut state).await {
                CommandOutcome::Stopped(stop) => return Err(stop),
                CommandOutcome::NotStarted(reason) => (Err(format!("not started: {reason}")), None),
                CommandOutcome::TimedOut(end) => (
                    Err(format!("not over after {} s", check.timeout.as_secs())),
                    Some(end),
                ),
                CommandOutcome::Ended(end) if end.lease_expired => return Err(Stop::Lost),
                CommandOutcome::Ended(end) => (judge(&end), Some(end)),
            };
        let lines = output.map(|end| last_lines(&end.output_tail));
        let lines = lines.unwrap_or_default();
        match ended {
            Ok(ExitStatus::Code(0)) => evidence.push(entry(&name, "passed", &lines)),
            Ok(status) => {
                evidence.push(entry(&name, &status.to_string(), &lines));
                return Ok(ChecksEnd::Failed {
                    check: name,
                    last_lines: if lines.is_empty() {
                        format!("{status}, without output")
                    } else {
                        lines
                    },
                });
            }
            Err(reason) => {
                evidence.push(entry(&name, &reason, &lines));
                return Ok(ChecksEnd::Broken { check: name });
            }
        }
    }
    Ok(ChecksEnd::Passed)
}

/// Returns the exit status of a command, or the reason for which it could not run.
fn judge(end: &CommandEnd) -> Result<ExitStatus, String> {
    if let Some(reason) = &end.start_error {
        return Err(format!("not started: {reason}"));
    }
    match end.status {
        ExitStatus::Code(code) if SHELL_CANNOT_START.contains(&code) => {
            Err(format!("exit code {code}: its program cannot be started"))
        }
        ExitStatus::Unknown => Err("its exit status is unknown".to_owned()),
        status => Ok(status),
    }
}

fn entry(name: &str, ended: &str, lines: &str) -> String {
    if lines.is_empty() {
        format!("{name}: {ended}")
    } else {
        format!("{name}: {ended}\n{lines}")
    }
}

/// Runs one command under a guard, within its time limit.
async fn run_command(
    host: &Host,
    job: &ChecksJob,
    (command, timeout): (&str, Duration),
    state: &mut watch::Receiver<LeaseState>,
) -> CommandOutcome {
    let agents = &host.agent_runtime;
    let mut guard = agents.guard.clone();
    guard.worker = Some(host.worker_lock.mark().to_owned());
    let lease_until = state.borrow().lease_until;
    let command = Command {
        command: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(),
        cwd: PathBuf::from(job.directory.path()),
        env: job.environment(&agents.environment),
        guard,
        marker: job.marker(),
        lease: lease_until.saturating_sub(agent::uptime()),
        resources: ResourceLimits::default(),
    };
    let deadline = Instant::now() + timeout;
    let running = match command.start() {
        Ok(running) => running,
        Err(error) => return CommandOutcome::NotStarted(error.to_string()),
    };
    let lease = running.lease();
    let stopped = wait_for_end(running.wait(), &lease, state, deadline).await;
    // Read the status before the rest is killed: the status of the command's own process counts, even if its descendants
    // exceeded the time limit.
    let status = running.status();
    let end = running.kill().await;
    match stopped {
        WaitEnd::Stopped(stop) => CommandOutcome::Stopped(stop),
        WaitEnd::TimedOut if status.is_none() => CommandOutcome::TimedOut(end),
        WaitEnd::Ended | WaitEnd::TimedOut => CommandOutcome::Ended(CommandEnd {
            status: status.unwrap_or(end.status),
            ..end
        }),
    }
}

enum WaitEnd {
    Ended,
    TimedOut,
    Stopped(Stop),
}

/// Waits for a command, and passes each renewed lease on to its guard.
async fn wait_for_end(
    command: impl Future<Output = ()>,
    lease: &Lease,
    state: &mut watch::Receiver<LeaseState>,
    deadline: Instant,
) -> WaitEnd {
    let mut command = std::pin::pin!(command);
    loop {
        let LeaseState { lease_until, stop } = state.borrow_and_update().clone();
        if let Some(stop) = stop {
            return WaitEnd::Stopped(stop);
        }
        // Renewing fails only if the guard has ended.
        lease
            .renew(lease_until.saturating_sub(agent::uptime()))
            .ok();
        tokio::select! {
            () = &mut command => return WaitEnd::Ended,
            Ok(()) = state.changed() => {}
            () = sleep_until(deadline) => return WaitEnd::TimedOut,
        }
    }
}

/// Renews the lease of the checks every heartbeat, and passes cancellations and the stop of the server on. Never returns.
async fn renew_lease(
    host: &Host,
    job: &ChecksJob,
    stop: &CancellationToken,
    state: &watch::Sender<LeaseState>,
) {
    let (store, worker) = (&host.store, &host.worker);
    let period = host.settings.heartbeat;
    let mut next = Instant::now() + period;
    loop {
        // 1. Wait for an order or the next heartbeat.
        let waited = tokio::select! {
            waited = store.wait_for_checks_order(job, worker, next) => waited,
            () = stop.cancelled() => {
                request_stop(state, Stop::Requeue);
                return std::future::pending().await;
            }
        };
        // 2. Renew the lease. It counts from before the call, because the reply may be under way for long.
        let (sent_at, sent_uptime) = (Instant::now(), agent::uptime());
        let reply = match waited {
            Ok(HeartbeatReply::Continue) => {
                let now = host.now();
                let until = now + host.settings.heartbeat_stale;
                store.renew_checks(job, worker, until, now).await
            }
            other => other,
        };
        match reply {
            Ok(HeartbeatReply::Continue) => {
                next = sent_at + period;
                state.send_modify(|state| {
                    state.lease_until = sent_uptime + host.settings.lease();
                });
            }
            Ok(HeartbeatReply::Cancel(_)) => {
                request_stop(state, Stop::Cancel);
                return std::future::pending().await;
            }
            Ok(HeartbeatReply::Fenced) => {
                request_stop(state, Stop::Lost);
                return std::future::pending().await;
            }
            Err(error) => {
                let task = job.task;
                tracing::warn!(%task, %error, "cannot renew the lease of the checks of {task}");
                // Retry sooner than a whole period, because the lease runs on.
                sleep(RETRY_PAUSE.min(period / 4)).await;
                next = Instant::now() + period / 4;
            }
        }
    }
}

fn request_stop(state: &watch::Sender<LeaseState>, stop: Stop) {
    state.send_modify(|state| state.stop = Some(stop));
}

/// Records the end. Retries while the database is unavailable, for as long as the lease can last.
async fn finish(
    host: &Host,
    job: &ChecksJob,
    end: &ChecksEnd,
    evidence: &[String],
) -> Result<(), Error> {
    let (store, worker) = (&host.store, &host.worker);
    let until = Instant::now() + host.settings.heartbeat_stale;
    loop {
        match store
            .finish_checks(job, worker, end, evidence, host.now())
            .await
        {
            Ok(WriteOutcome::Committed) => return Ok(()),
            Ok(WriteOutcome::Fenced) => {
                tracing::warn!(task = %job.task, "the checks of {} are no longer this server's", job.task);
                return Ok(());
            }
            Err(error) if error.is_transient() && Instant::now() < until => {
                tracing::warn!(task = %job.task, %error, "cannot record the checks of {}, will retry", job.task);
                sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives the checks back. If they were cancelled meanwhile, the next claim ends them.
async fn requeue(host: &Host, job: &ChecksJob) -> Result<(), Error> {
    let (store, worker) = (&host.store, &host.worker);
    match store.requeue_checks(job, worker, host.now()).await? {
        WriteOutcome::Committed => {
            tracing::info!(task = %job.task, "the checks of {} wait for the next server", job.task);
        }
        WriteOutcome::Fenced => {}
    }
    Ok(())
}
