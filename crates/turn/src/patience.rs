//! How long a turn waits for its ledger, and for what comes before its prompt.

use std::{pin::pin, time::Duration};

use agent::Lease;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    ledger::LedgerError,
    pulse::{Pulse, Stop},
};

/// How long one write of the progress may take.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// Gives a write of the turn's progress up that takes too long: limits and orders must be looked at
/// meanwhile, and it is made again the next time.
pub(crate) async fn in_time<T>(
    write: impl Future<Output = Result<T, LedgerError>>,
) -> Result<T, LedgerError> {
    let written = timeout(WRITE_LIMIT, write).await;
    written.unwrap_or_else(|late| {
        Err(LedgerError {
            source: Box::new(late),
            transient: true,
        })
    })
}

/// Keeps an agent alive through a step that takes time, and gives up when the turn must stop.
pub(crate) async fn attended<T>(
    lease: Option<&Lease>,
    pulse: &mut watch::Receiver<Pulse>,
    deadline: Instant,
    step: impl Future<Output = T>,
) -> Result<T, Stopped> {
    let mut step = pin!(step);
    loop {
        let known = pulse.borrow_and_update().clone();
        if let Some(stop) = known.stop {
            return Err(Stopped::Order(stop));
        }
        if let Some(lease) = lease {
            lease.renew(known.lease()).ok();
        }
        tokio::select! {
            done = &mut step => return Ok(done),
            Ok(()) = pulse.changed() => {}
            () = sleep_until(deadline) => return Err(Stopped::Timeout),
        }
    }
}

/// Why a step before the prompt was given up.
pub(crate) enum Stopped {
    Order(Stop),
    Timeout,
}
