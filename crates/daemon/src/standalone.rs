//! Takes the turn of one input in this process, without a server and its loops.

use std::{sync::Arc, time::Duration};

use model::{
    RunId,
    entity::Run,
    run::{RunState, RunStatus},
};
use store::Scope;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use turn::TurnControl;

use crate::{
    Error, Host, approval_waits::ApprovalWaits, boxed, directories, scheduler, turns,
    watchdog::HeartbeatMonitor,
};

/// The interval at which a waiting run is polled. Another process may end the run that it waits for, and cannot wake
/// this process.
const RUN_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The interval at which a turn sends its heartbeat, and so learns of a cancellation.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Takes the turn of a run in this process, and the turns of the retries that follow it. Waits while the seat is
/// busy. Other processes may work on the same database at the same time.
///
/// Returns the last attempt once it is over. After `stop` is cancelled, ends a running turn, requeues its run and
/// returns the newest attempt in its present state.
#[boxed]
pub async fn take_standalone_turn(
    host: &Host,
    run: RunId,
    stop: CancellationToken,
) -> Result<Run, Error> {
    let mut monitor = HeartbeatMonitor::default();
    // A counter that no pool reads: this process has one turn and no slot to lend.
    let waits = ApprovalWaits::default();
    let mut run = host.store.run(Scope::System, run).await?;
    loop {
        if run.status() == RunStatus::Queued {
            let claim_sent_at = agent::uptime();
            let claimed = turns::claim(host, 1, Some(run.id)).await?;
            if let Some(claimed) = claimed.into_iter().next() {
                let control = TurnControl {
                    requeue: stop.clone(),
                    heartbeat_now: Arc::new(Notify::new()),
                    claim_sent_at,
                };
                tokio::select! {
                    ended = turns::take_turn(host, claimed, &control, &waits) => {
                        ended?;
                    }
                    // Never completes; it only runs beside the turn.
                    () = request_heartbeats(&control.heartbeat_now) => {}
                }
            }
        }
        run = newest_attempt(host, &run).await?;
        if run.status().is_over() || stop.is_cancelled() {
            return Ok(run);
        }
        // The run is deferred, or another worker is about to claim it, or its agent's memory lies on another
        // instance.
        tokio::select! {
            () = sleep(RUN_POLL_INTERVAL) => {}
            () = stop.cancelled() => {}
        }
        // Do the work of the watchdog and the scheduler, because no server may be running: otherwise a lost worker or
        // a backoff that is over would block this run forever.
        monitor.tick(host, host.now(), Instant::now()).await?;
        scheduler::promote(host, host.now()).await?;
        if matches!(
            run.state,
            RunState::Queued {
                missing_directory: Some(_)
            }
        ) {
            directories::review(host, host.now()).await?;
        }
        run = newest_attempt(host, &run).await?;
    }
}

/// Makes the turn send its heartbeat often, because no other process can wake this one for a cancellation.
async fn request_heartbeats(heartbeat_now: &Notify) {
    loop {
        sleep(HEARTBEAT_INTERVAL).await;
        heartbeat_now.notify_one();
    }
}

async fn newest_attempt(host: &Host, run: &Run) -> Result<Run, Error> {
    let attempts = host.store.attempts(Scope::System, run.input_id).await?;
    match attempts.into_iter().next_back() {
        Some(newest) => Ok(newest),
        None => Ok(host.store.run(Scope::System, run.id).await?),
    }
}
