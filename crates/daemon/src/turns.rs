//! Claiming runs and taking their turns, seen by those who watch the server.

use model::{RunId, turn::Claimed};
use tokio::time::Instant;
use tracing::Instrument as _;
use turn::{Ended, LedgerError, Orders, execute};

use crate::{Error, Host, StoreLedger, waits::Waits};

/// Claims up to `limit` runs, or only the run `only`; none while the time is not known, since a claim is dated
/// and judged by others.
pub(crate) async fn claim(
    host: &Host,
    limit: u32,
    only: Option<RunId>,
) -> Result<Vec<Claimed>, Error> {
    if !host.knows_the_time() {
        return Ok(Vec::new());
    }
    host.sign_of_life.clear().await?;
    let Host {
        store,
        worker,
        instance,
        metrics,
        ..
    } = host;
    let asked = Instant::now();
    let claimed = store
        .claim(worker, *instance, limit, only, host.now())
        .await?;
    if !claimed.is_empty() {
        metrics.claimed(asked.elapsed());
    }
    let now = host.now();
    // What a later attempt waited for is mostly the attempts before it.
    for first in claimed.iter().filter(|one| one.attempt == 1) {
        metrics.waited(now.since(first.input_at));
    }
    Ok(claimed)
}

/// Takes the turn of a run that was claimed. One span holds all of it, with ids alone: of what is said in a
/// turn nothing leaves the database.
pub(crate) async fn take(
    host: &Host,
    run: RunId,
    orders: &Orders,
    waits: &Waits,
) -> Result<Ended, LedgerError> {
    // The session is known once the turn has begun.
    let span =
        tracing::info_span!("turn", %run, session = tracing::field::Empty, worker = %host.worker);
    let ledger = StoreLedger::new(host.clone()).waiting_in(waits.clone());
    let mut agents = host.agents.clone();
    agents.guard.worker = Some(host.sign_of_life.mark().to_owned());
    execute(&ledger, &agents, run, orders)
        .instrument(span)
        .await
}
