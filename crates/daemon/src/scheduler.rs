//! Fires what is due, and lets start what has waited long enough.

use std::time::Duration;

use model::Timestamp;
use store::Scope;

use crate::{Error, Host, Waker, runner::Look};

/// How long to wait before looking again at what another process holds.
const HELD: Duration = Duration::from_millis(250);

/// One look. Gives when the next is wanted.
pub async fn tick(host: &Host, now: Timestamp) -> Result<Tick, Error> {
    let mut started = 0;
    loop {
        let fired = host.store.fire_due(Scope::System, now).await?;
        started += fired.occurrences;
        if fired.missed > 0 {
            tracing::info!(
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
    // What is due and could not be fired is another process's, which holds it: no use in asking at once.
    let next = host.store.next_due(now).await?;
    let next = next.map(|at| if at > now { at } else { now + HELD });
    Ok(Tick {
        started: started + swept.backoffs + swept.faults,
        next,
    })
}

/// What a look did.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// Inputs that a worker may take up now.
    pub started: u32,
    /// When something is due next.
    pub next: Option<Timestamp>,
}

/// The scheduler of one server.
pub(crate) struct Scheduler {
    pub(crate) host: Host,
    pub(crate) waker: Waker,
}

impl Look for Scheduler {
    const NAME: &'static str = "scheduler";

    async fn look(&mut self, now: Timestamp) -> Result<Option<Timestamp>, Error> {
        let tick = tick(&self.host, now).await?;
        if tick.started > 0 {
            self.waker.pool.notify_one();
        }
        Ok(tick.next)
    }
}
