//! Fires what is due, and lets start what has waited long enough.

use model::Timestamp;
use store::Scope;
use tokio_util::sync::CancellationToken;

use crate::{Error, Host, Waker, runner};

/// One look. Gives when the next is wanted.
pub(crate) async fn tick(host: &Host, now: Timestamp) -> Result<Tick, Error> {
    let mut started = 0;
    loop {
        let fired = host.store.fire_due(Scope::System, now).await?;
        started += fired.occurrences;
        if fired.missed > 0 {
            tracing::warn!(
                missed = fired.missed,
                "{} instants were missed",
                fired.missed
            );
        }
        if !fired.more {
            break;
        }
    }
    let swept = host.store.promote_due(now).await?;
    if swept.faults > 0 {
        tracing::error!(
            faults = swept.faults,
            "{} inputs had been left behind and start now",
            swept.faults
        );
    }
    let next = host.store.next_due().await?;
    Ok(Tick {
        started: started + swept.backoffs + swept.faults,
        next,
    })
}

/// What a look did.
pub(crate) struct Tick {
    /// Inputs that a worker may take up now.
    pub(crate) started: u32,
    /// When something is due next.
    pub(crate) next: Option<Timestamp>,
}

/// Looks whenever something is due, until it is stopped.
pub(crate) async fn run(host: Host, waker: Waker, stop: CancellationToken) {
    let longest = host.settings.tick;
    runner::run(
        "scheduler",
        &host,
        longest,
        &waker.scheduler,
        &stop,
        async |now| {
            let tick = tick(&host, now).await?;
            if tick.started > 0 {
                waker.pool.notify_one();
            }
            Ok(tick.next)
        },
    )
    .await;
}
