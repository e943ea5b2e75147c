//! The heartbeat of a turn, and what it is told by it.

use std::{sync::Arc, time::Duration};

use model::{RunId, turn::Beat};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{ledger::Ledger, warn};

/// What a running turn can be told from outside.
#[derive(Clone)]
pub struct Orders {
    /// The server stops: end the turn and hand the run back.
    pub hand_back: CancellationToken,
    /// Ask the ledger at once what is wanted, without waiting for the next heartbeat.
    pub beat: Arc<Notify>,
}

impl Orders {
    /// Orders of which none is given yet.
    pub fn none() -> Self {
        Self {
            hand_back: CancellationToken::new(),
            beat: Arc::new(Notify::new()),
        }
    }
}

/// Why a turn is to stop before its agent has ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody called it off, for this reason.
    Cancel(String),
    /// The server stops and hands the run back.
    HandBack,
    /// The run is no longer this worker's.
    Lost,
}

/// What the heartbeat has learned.
#[derive(Debug, Clone)]
pub(crate) struct Pulse {
    /// At which uptime the agent's lease is over: a machine that sleeps does not make it longer.
    pub(crate) lease_until: Duration,
    /// Whether the turn is to stop.
    pub(crate) stop: Option<Stop>,
}

impl Pulse {
    pub(crate) fn lease(&self) -> Duration {
        self.lease_until.saturating_sub(agent::uptime())
    }
}

/// Beats until it is dropped: every `period`, and at once when somebody asks for it. When the server
/// stops, it tells the turn.
///
/// A ledger that cannot be reached renews nothing: the lease runs out, and the guard kills the agent
/// before anyone else may take the run.
pub(crate) async fn beat(
    ledger: &dyn Ledger,
    run: RunId,
    orders: &Orders,
    period: Duration,
    lease: Duration,
    pulse: &watch::Sender<Pulse>,
) {
    let mut next = Instant::now() + period;
    let mut handed_back = false;
    loop {
        tokio::select! {
            () = sleep_until(next) => {}
            () = orders.beat.notified() => {}
            () = orders.hand_back.cancelled(), if !handed_back => {
                handed_back = true;
                pulse.send_modify(|pulse| {
                    pulse.stop.get_or_insert(Stop::HandBack);
                });
                continue;
            }
        }
        // The lease counts from before the question: the answer may have been long on its way.
        let (asked, asked_at) = (Instant::now(), agent::uptime());
        let answer = ledger.heartbeat(run).await;
        next = asked + period;
        match answer {
            Ok(Beat::GoOn) => pulse.send_modify(|pulse| pulse.lease_until = asked_at + lease),
            Ok(Beat::Cancel(reason)) => pulse.send_modify(|pulse| {
                pulse.lease_until = asked_at + lease;
                pulse.stop.get_or_insert(Stop::Cancel(reason));
            }),
            Ok(Beat::Lost) => {
                pulse.send_modify(|pulse| pulse.stop = Some(Stop::Lost));
                return std::future::pending().await;
            }
            Err(error) => {
                warn(run, &error, "renew the heartbeat");
                next = asked + period / 4;
            }
        }
    }
}
