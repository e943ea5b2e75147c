//! Claims runs and takes their turns, with the metrics and the tracing span of each.

use model::{RunId, turn::ClaimedRun};
use tokio::time::Instant;
use tracing::Instrument as _;
use turn::{TurnControl, TurnEnd, TurnStoreError, execute};

use crate::{Error, Host, WorkerTurnStore, approval_waits::ApprovalWaits};

/// Claims up to `limit` runs, or only the run `only`. Claims none while the time is unknown, because a claim carries
/// a date by which other servers judge it.
///
/// # Errors
///
/// Returns an error if processes of dead workers cannot be killed, or if the store fails.
pub(crate) async fn claim(
    host: &Host,
    limit: u32,
    only: Option<RunId>,
) -> Result<Vec<ClaimedRun>, Error> {
    if !host.time_is_known() {
        return Ok(Vec::new());
    }
    // Before each claim, kill leftover agents of dead workers. Otherwise the next turn of a session could run beside
    // the previous agent.
    let swept = host.worker_lock.kill_leftovers().await;
    swept.map_err(Error::LeftoverProcesses)?;
    let Host {
        store,
        worker,
        instance,
        metrics,
        ..
    } = host;
    let started = Instant::now();
    let claimed = store
        .claim(worker, *instance, limit, only, host.now())
        .await?;
    if !claimed.is_empty() {
        metrics.record_claim(started.elapsed());
    }
    let now = host.now();
    // Only first attempts are measured: a retry mostly waited for the attempts before it.
    for first in claimed.iter().filter(|run| run.attempt == 1) {
        metrics.record_queue_wait(now.since(first.input_at));
    }
    Ok(claimed)
}

/// Takes the turn of a claimed run, inside one tracing span. The span holds only IDs, so that no text of a turn
/// leaves the database.
pub(crate) async fn take_turn(
    host: &Host,
    claimed: ClaimedRun,
    control: &TurnControl,
    waits: &ApprovalWaits,
) -> Result<TurnEnd, TurnStoreError> {
    let run = claimed.run;
    // `session` is recorded once the turn has begun and its session is known.
    let span =
        tracing::info_span!("turn", %run, session = tracing::field::Empty, worker = %host.worker);
    let turn_store = WorkerTurnStore::for_turn(host.clone(), claimed.directory, waits.clone());
    let mut agents = host.agent_runtime.clone();
    agents.guard.worker = Some(host.worker_lock.mark().to_owned());
    execute(&turn_store, &agents, run, control)
        .instrument(span)
        .await
}
