//! The heartbeat of a turn: renews the run in the store, and passes leases and orders to the turn.

use std::{sync::Arc, time::Duration};

use model::{RunId, turn::HeartbeatReply};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{log_warning, turn_store::TurnStore};

/// The control of a running turn from outside.
#[derive(Clone)]
pub struct TurnControl {
    /// Cancelled when the server stops: the turn must end, and the run is requeued.
    pub requeue: CancellationToken,
    /// Triggers a heartbeat at once, so that a cancellation takes effect without waiting for the period.
    pub heartbeat_now: Arc<Notify>,
    /// The uptime of the machine before the claim of the run was sent, which dates its first heartbeat. The first lease
    /// counts from it, because the reply to the claim may have been under way for long.
    pub claim_sent_at: Duration,
}

impl TurnControl {
    /// Returns a control that demands nothing yet, of a run that has just been claimed.
    pub fn idle() -> Self {
        Self {
            requeue: CancellationToken::new(),
            heartbeat_now: Arc::new(Notify::new()),
            claim_sent_at: agent::uptime(),
        }
    }
}

/// The reason why a turn must stop before its agent has ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The run was cancelled, for this reason.
    Cancel(String),
    /// The server stops, and the run is requeued.
    Requeue,
    /// This worker no longer owns the run.
    Lost,
}

/// The result of the last heartbeats.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatState {
    /// The uptime at which the agent's lease is over. Uptime counts the time of suspend, so a machine that sleeps
    /// does not prolong the lease.
    pub(crate) lease_until: Duration,
    /// The reason why the turn must stop, if any.
    pub(crate) stop: Option<Stop>,
}

impl HeartbeatState {
    pub(crate) fn lease(&self) -> Duration {
        self.lease_until.saturating_sub(agent::uptime())
    }
}

/// Sends heartbeats every `period`, and at once on request, until the future is dropped. Passes the server's stop on
/// to the turn. Never returns.
///
/// If the store is unreachable, the lease is not renewed: it ends, and the guard kills the agent before another
/// worker may claim the run.
pub(crate) async fn send_heartbeats(
    store: &dyn TurnStore,
    run: RunId,
    control: &TurnControl,
    period: Duration,
    lease: Duration,
    state: &watch::Sender<HeartbeatState>,
) {
    let mut next = Instant::now() + period;
    let mut requeue_passed_on = false;
    loop {
        tokio::select! {
            () = sleep_until(next) => {}
            () = control.heartbeat_now.notified() => {}
            // Only once: the token stays cancelled, and the loop would spin without the flag.
            () = control.requeue.cancelled(), if !requeue_passed_on => {
                requeue_passed_on = true;
                state.send_modify(|state| {
                    state.stop.get_or_insert(Stop::Requeue);
                });
                continue;
            }
        }
        // The lease counts from before the call, because the reply may be under way for long. Counting from the reply
        // would let the agent live after the heartbeat in the store is stale.
        let (sent_at, sent_uptime) = (Instant::now(), agent::uptime());
        let reply = store.heartbeat(run).await;
        next = sent_at + period;
        match reply {
            Ok(HeartbeatReply::Continue) => {
                state.send_modify(|state| state.lease_until = sent_uptime + lease);
            }
            Ok(HeartbeatReply::Cancel(reason)) => state.send_modify(|state| {
                state.lease_until = sent_uptime + lease;
                state.stop.get_or_insert(Stop::Cancel(reason));
            }),
            // `Stop::Lost` replaces any other reason, because the turn may write nothing from now on.
            Ok(HeartbeatReply::Fenced) => {
                state.send_modify(|state| state.stop = Some(Stop::Lost));
                return std::future::pending().await;
            }
            Err(error) => {
                log_warning(run, &error, "renew the heartbeat");
                // Retry sooner than a whole period, because the lease runs on.
                next = sent_at + period / 4;
            }
        }
    }
}
