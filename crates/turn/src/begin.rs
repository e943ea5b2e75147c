//! The steps before a turn: the precheck and the beginning.
//!
//! The precheck runs before the turn begins, so that a run which it declines never starts an agent. The heartbeat is
//! renewed while the precheck runs.

use std::{ops::ControlFlow, time::Duration};

use model::{
    RunId,
    outcome::{Failure, FailureKind, Outcome},
    precheck::{Question, Verdict},
    turn::{Assignment, Begin, Declined, Finished},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    agents::Agents,
    finish::{Ended, finish, persist},
    ledger::{Ledger, TurnStoreError},
    own_folder::remove_session_folder,
    precheck::{Answer, Asked, ask},
    pulse::{Orders, Pulse, Stop, beat},
    warn,
};

/// The pause before the next attempt to begin while the ledger is unreachable.
const BEGIN_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The result of beginning a run.
pub(crate) enum Begun {
    /// The turn has begun. The second field is the result of the precheck, if the run has one.
    Started(Box<Assignment>, Asked),
    /// The turn will not begin.
    Ended(Ended),
}

/// Begins a run that this worker has claimed. If the run has a precheck, runs it first. Renews the run's heartbeat
/// meanwhile, and stops the precheck at an order to stop.
pub(crate) async fn begin(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
) -> Result<Begun, TurnStoreError> {
    match patiently(ledger, agents, run, orders, pulse, false).await? {
        ControlFlow::Break(given_back) => Ok(given_back),
        ControlFlow::Continue(Begin::Ask(question)) => {
            let heartbeat = beat(ledger, run, orders, agents.heartbeat, agents.lease, pulse);
            tokio::select! {
                begun = begin_after_precheck(ledger, agents, &question, orders, pulse) => begun,
                // `beat` never returns, even after the run is lost.
                () = heartbeat => Ok(Begun::Ended(Ended::Lost)),
            }
        }
        ControlFlow::Continue(begun) => Ok(Begun::of(begun, Asked::default())),
    }
}

async fn begin_after_precheck(
    ledger: &dyn Ledger,
    agents: &Agents,
    question: &Question,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
) -> Result<Begun, TurnStoreError> {
    let run = question.run;
    // 1. Run the precheck.
    let asked = match ask(question, agents, pulse.subscribe()).await {
        Answer::Given(asked) => asked,
        Answer::Stopped(Stop::Lost) => return Ok(Begun::Ended(Ended::Lost)),
        Answer::Stopped(Stop::Requeue) => {
            let kind = FailureKind::Requeued;
            return requeue(ledger, agents, run, kind, "the server stopped").await;
        }
        Answer::LeaseOver => {
            let message = "nobody renewed its lease while its precheck was asked";
            return requeue(ledger, agents, run, FailureKind::WorkerLost, message).await;
        }
        // The ledger knows of the cancellation. `begin_asked` reports it, so that the run ends as cancelled.
        Answer::Stopped(Stop::Cancel(_)) => Asked::default(),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: precheck asked");
    // 2. Skip the run if the precheck declined it.
    if asked.verdict() == Some(Verdict::Decline) {
        let decline = || ledger.decline(run, asked.diagnostics());
        let declined = persist(run, agents.lease, decline).await?;
        if declined == Declined::WithSession {
            remove_session_folder(question);
        }
        return Ok(Begun::Ended(match declined {
            Declined::Skipped | Declined::WithSession => Ended::NotBegun,
            Declined::Lost => Ended::Lost,
        }));
    }
    // 3. Begin the turn.
    Ok(
        match patiently(ledger, agents, run, orders, pulse, true).await? {
            ControlFlow::Break(given_back) => given_back,
            ControlFlow::Continue(begun) => Begun::of(begun, asked),
        },
    )
}

impl Begun {
    fn of(begun: Begin, asked: Asked) -> Self {
        match begun {
            Begin::Started(assignment) => Self::Started(assignment, asked),
            Begin::Lost => Self::Ended(Ended::Lost),
            // A precheck runs at most once. If the ledger requests it again, the turn does not begin.
            Begin::Ask(_) | Begin::Held | Begin::Cancelled | Begin::Refused(_) => {
                Self::Ended(Ended::NotBegun)
            }
        }
    }
}

/// Ends an attempt that has not begun, so that the run can be attempted again.
async fn requeue(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    kind: FailureKind,
    message: &str,
) -> Result<Begun, TurnStoreError> {
    let failure = Failure {
        kind,
        prompted: false,
        message: message.into(),
    };
    let finished = Finished::bare(Outcome::Failed(failure));
    let ended = finish(ledger, run, finished, agents.lease).await?;
    Ok(Begun::Ended(ended))
}

/// Begins a run. Retries for one lease while the ledger is unreachable, because this worker owns the run for that
/// time. Returns `Break` after it has requeued a run that may or may not have begun.
async fn patiently(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
    asked: bool,
) -> Result<ControlFlow<Begun, Begin>, TurnStoreError> {
    let until = Instant::now() + agents.lease;
    let mut unanswered = false;
    loop {
        let asked_at = agent::uptime();
        let begin = if asked {
            ledger.begin_asked(run)
        } else {
            ledger.begin(run)
        };
        match begin.await {
            Err(error) if error.transient && Instant::now() + BEGIN_RETRY_PAUSE <= until => {
                warn(run, &error, "begin the turn");
                unanswered = true;
                if orders.requeue.is_cancelled() {
                    break;
                }
            }
            // Either another worker owns the run by now, or an earlier try of this worker has begun it without a
            // reply. In the second case no prompt was sent, and the run would stay `running`, so it must be requeued.
            // In the first case the fence rejects the requeue.
            Ok(Begin::Lost) if unanswered => break,
            Ok(begun @ Begin::Started(_)) => {
                // Beginning has renewed the heartbeat. The lease counts from before the call, because the reply may
                // have been under way for long.
                pulse.send_modify(|pulse| pulse.lease_until = asked_at + agents.lease);
                return Ok(ControlFlow::Continue(begun));
            }
            begun => return begun.map(ControlFlow::Continue),
        }
        sleep(BEGIN_RETRY_PAUSE).await;
    }
    let message = "the server lost touch with the database as it began";
    let kind = FailureKind::Requeued;
    let given_back = requeue(ledger, agents, run, kind, message).await?;
    Ok(ControlFlow::Break(given_back))
}
