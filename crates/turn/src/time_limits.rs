//! Time limits for writes of progress and for the steps before the prompt.

use std::{pin::pin, time::Duration};

use agent::Lease;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    heartbeat::{HeartbeatState, Stop},
    turn_store::TurnStoreError,
};

/// The longest time of one write of progress.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits the time of a write of progress. The conversation does not check its limits and orders during a write, and
/// it repeats a write that was given up.
pub(crate) async fn with_write_timeout<T>(
    write: impl Future<Output = Result<T, TurnStoreError>>,
) -> Result<T, TurnStoreError> {
    let written = timeout(WRITE_TIMEOUT, write).await;
    written.unwrap_or_else(|late| {
        Err(TurnStoreError {
            source: Box::new(late),
            transient: true,
        })
    })
}

/// Keeps an agent alive during a step before the prompt by renewing its lease.
///
/// # Errors
///
/// Returns [`StepStopped`] if the turn must stop, or if the deadline passes first.
pub(crate) async fn with_lease_renewal<T>(
    lease: Option<&Lease>,
    heartbeat: &mut watch::Receiver<HeartbeatState>,
    deadline: Instant,
    step: impl Future<Output = T>,
) -> Result<T, StepStopped> {
    let mut step = pin!(step);
    loop {
        let state = heartbeat.borrow_and_update().clone();
        if let Some(stop) = state.stop {
            return Err(StepStopped::Stop(stop));
        }
        if let Some(lease) = lease {
            lease.renew(state.lease()).ok();
        }
        tokio::select! {
            done = &mut step => return Ok(done),
            Ok(()) = heartbeat.changed() => {}
            () = sleep_until(deadline) => return Err(StepStopped::Timeout),
        }
    }
}

/// The reason why a step before the prompt was given up.
pub(crate) enum StepStopped {
    Stop(Stop),
    Timeout,
}
