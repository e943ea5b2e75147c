//! Taking the turn of one input in this process, without the loops.

use std::{sync::Arc, time::Duration};

use model::{RunId, entity::Run, run::RunStatus};
use store::Scope;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use turn::Orders;

use crate::{Error, Host, scheduler, turns, waits::Waits, watchdog::Watch};

/// How often a run that waits is looked at. Another process may end what it waits for, and cannot
/// tell.
const LOOK: Duration = Duration::from_millis(250);

/// How often a turn asks what is wanted of it.
const BEAT: Duration = Duration::from_secs(1);

/// Takes the turn of a run in this process, and of the attempts that follow it, while others may be at
/// work beside. It waits while the seat is busy. Gives the last attempt, over or, when `stop` came
/// first, as it stands.
pub async fn take_one(host: &Host, run: RunId, stop: CancellationToken) -> Result<Run, Error> {
    let mut watch = Watch::default();
    // It has one turn, and nobody to lend a slot to.
    let waits = Waits::default();
    let mut run = host.store.run(Scope::System, run).await?;
    loop {
        if run.status() == RunStatus::Queued {
            let claimed = turns::claim(host, 1, Some(run.id)).await?;
            if !claimed.is_empty() {
                let orders = Orders {
                    hand_back: stop.clone(),
                    beat: Arc::new(Notify::new()),
                };
                tokio::select! {
                    ended = turns::take(host, run.id, &orders, &waits) => {
                        ended?;
                    }
                    () = ask_often(&orders.beat) => {}
                }
            }
        }
        run = newest_attempt(host, &run).await?;
        if run.status().is_over() || stop.is_cancelled() {
            return Ok(run);
        }
        // A queued run that could not be claimed is about to be taken by somebody else, or its agent's
        // memory lies on another instance.
        tokio::select! {
            () = sleep(LOOK) => {}
            () = stop.cancelled() => {}
        }
        // Without a server nobody else sees that a backoff is over or a worker is lost.
        watch.look(host, host.now(), Instant::now()).await?;
        scheduler::promote(host, host.now()).await?;
        run = newest_attempt(host, &run).await?;
    }
}

/// Makes the turn ask often whether it is to be called off: nobody can wake this process.
async fn ask_often(beat: &Notify) {
    loop {
        sleep(BEAT).await;
        beat.notify_one();
    }
}

async fn newest_attempt(host: &Host, run: &Run) -> Result<Run, Error> {
    let attempts = host.store.attempts(Scope::System, run.input_id).await?;
    match attempts.into_iter().next_back() {
        Some(newest) => Ok(newest),
        None => Ok(host.store.run(Scope::System, run.id).await?),
    }
}
