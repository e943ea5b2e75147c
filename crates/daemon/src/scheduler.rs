//! Fires what is due, and lets start what has waited long enough.

use std::time::Duration;

use model::Timestamp;
use store::Scope;

use crate::{Error, Host, Waker, runner::Look};

/// How long to wait before looking again at what another process holds.
const HELD: Duration = Duration::from_millis(250);
/// How many transactions fire what is due until it is looked at what waits otherwise.
const IN_A_ROW: u32 = 16;

/// One look. Gives when the next is wanted. Where nothing is to be done, that is one statement.
pub async fn tick(host: &Host, now: Timestamp) -> Result<Tick, Error> {
    // Whoever reads the clock wakes the scheduler once it is known.
    if !host.knows_the_time() {
        return Ok(Tick {
            started: 0,
            next: None,
        });
    }
    let mut outlook = host.store.outlook(now).await?;
    let mut started = 0;
    let mut more = false;
    if outlook.due.is_some_and(|at| at <= now) {
        (started, more) = fire(host, now).await?;
    }
    if outlook.waiting {
        started += promote(host, now).await?;
    }
    if outlook.gone {
        let failed = host.store.fail_gone(now).await?;
        tracing::warn!(
            failed,
            "{failed} runs fail whose memory lies on an instance that is gone"
        );
    }
    if outlook.waiting || outlook.due.is_some_and(|at| at <= now) {
        outlook = host.store.outlook(now).await?;
    }
    let next = match outlook.next() {
        _ if more => Some(now),
        // What is due and could not be fired is another process's, which holds it: no use in asking at once.
        Some(at) if at <= now => Some(now + HELD),
        next => next,
    };
    Ok(Tick { started, next })
}

/// Fires what is due, and what becomes due meanwhile: whose much is due does not hold up the others. Gives
/// how many inputs that started, and whether more is due.
async fn fire(host: &Host, now: Timestamp) -> Result<(u32, bool), Error> {
    let (mut started, mut at) = (0, now);
    for _ in 0..IN_A_ROW {
        let fired = host.store.fire_due(Scope::System, at).await?;
        if let Some(due) = fired.due {
            let lag = host.now().since(due);
            host.metrics.fired(fired.occurrences, fired.missed, lag);
        }
        started += fired.occurrences;
        if fired.missed > 0 {
            tracing::info!(
                missed = fired.missed,
                "{} instants were missed",
                fired.missed
            );
        }
        if !fired.more {
            return Ok((started, false));
        }
        at = at.max(host.now());
    }
    Ok((started, true))
}

/// Lets start what has waited long enough.
pub(crate) async fn promote(host: &Host, now: Timestamp) -> Result<u32, Error> {
    let swept = host.store.promote_due(now).await?;
    host.metrics.left_behind(swept.faults);
    if swept.faults > 0 {
        tracing::error!(
            faults = swept.faults,
            "{} inputs had been left behind and start now",
            swept.faults
        );
    }
    Ok(swept.backoffs + swept.faults)
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
