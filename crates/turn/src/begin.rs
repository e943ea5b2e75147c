//! The steps before a turn: the precheck and the beginning.
//!
//! The precheck runs before the turn begins, so that a run which it declines never starts an agent. The heartbeat is
//! renewed while the precheck runs.

use std::{ops::ControlFlow, time::Duration};

use model::{
    RunId,
    outcome::{FailureKind, Outcome, RunFailure},
    precheck::{PrecheckDecision, PrecheckJob},
    turn::{Assignment, DeclineOutcome, StartReply, TurnResult},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    agent_runtime::AgentRuntime,
    finish::{TurnEnd, finish, persist},
    heartbeat::{HeartbeatState, Stop, TurnControl, send_heartbeats},
    log_warning,
    precheck::{PrecheckOutcome, PrecheckReport, run_precheck},
    session_folder::remove_session_folder,
    turn_store::{TurnStore, TurnStoreError},
};

/// The pause before the next attempt to begin while the ledger is unreachable.
const BEGIN_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The result of beginning a run.
pub(crate) enum StartOutcome {
    /// The turn has begun. The second field is the result of the precheck, if the run has one.
    Started(Box<Assignment>, PrecheckReport),
    /// The turn will not begin.
    Ended(TurnEnd),
}

/// Begins a run that this worker has claimed. If the run has a precheck, runs it first. Renews the run's heartbeat
/// meanwhile, and stops the precheck at an order to stop.
pub(crate) async fn begin(
    ledger: &dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    orders: &TurnControl,
    pulse: &watch::Sender<HeartbeatState>,
) -> Result<StartOutcome, TurnStoreError> {
    match begin_with_retry(ledger, agents, run, orders, pulse, false).await? {
        ControlFlow::Break(given_back) => Ok(given_back),
        ControlFlow::Continue(StartReply::RunPrecheck(question)) => {
            let heartbeat =
                send_heartbeats(ledger, run, orders, agents.heartbeat, agents.lease, pulse);
            tokio::select! {
                begun = begin_after_precheck(ledger, agents, &question, orders, pulse) => begun,
                // `beat` never returns, even after the run is lost.
                () = heartbeat => Ok(StartOutcome::Ended(TurnEnd::Lost)),
            }
        }
        ControlFlow::Continue(begun) => {
            Ok(StartOutcome::from_begin(begun, PrecheckReport::default()))
        }
    }
}

async fn begin_after_precheck(
    ledger: &dyn TurnStore,
    agents: &AgentRuntime,
    question: &PrecheckJob,
    orders: &TurnControl,
    pulse: &watch::Sender<HeartbeatState>,
) -> Result<StartOutcome, TurnStoreError> {
    let run = question.run;
    // 1. Run the precheck.
    let asked = match run_precheck(question, agents, pulse.subscribe()).await {
        PrecheckOutcome::Completed(asked) => asked,
        PrecheckOutcome::Stopped(Stop::Lost) => return Ok(StartOutcome::Ended(TurnEnd::Lost)),
        PrecheckOutcome::Stopped(Stop::Requeue) => {
            let kind = FailureKind::Requeued;
            return requeue(ledger, agents, run, kind, "the server stopped").await;
        }
        PrecheckOutcome::LeaseOver => {
            let message = "nobody renewed its lease while its precheck was asked";
            return requeue(ledger, agents, run, FailureKind::WorkerLost, message).await;
        }
        // The ledger knows of the cancellation. `begin_asked` reports it, so that the run ends as cancelled.
        PrecheckOutcome::Stopped(Stop::Cancel(_)) => PrecheckReport::default(),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: precheck asked");
    // 2. Skip the run if the precheck declined it.
    if asked.verdict() == Some(PrecheckDecision::Decline) {
        let decline = || ledger.decline(run, asked.diagnostics());
        let declined = persist(run, agents.lease, decline).await?;
        if declined == DeclineOutcome::WithSession {
            remove_session_folder(question);
        }
        return Ok(StartOutcome::Ended(match declined {
            DeclineOutcome::Skipped | DeclineOutcome::WithSession => TurnEnd::NotBegun,
            DeclineOutcome::Fenced => TurnEnd::Lost,
        }));
    }
    // 3. Begin the turn.
    Ok(
        match begin_with_retry(ledger, agents, run, orders, pulse, true).await? {
            ControlFlow::Break(given_back) => given_back,
            ControlFlow::Continue(begun) => StartOutcome::from_begin(begun, asked),
        },
    )
}

impl StartOutcome {
    fn from_begin(begun: StartReply, asked: PrecheckReport) -> Self {
        match begun {
            StartReply::Started(assignment) => Self::Started(assignment, asked),
            StartReply::Fenced => Self::Ended(TurnEnd::Lost),
            // A precheck runs at most once. If the ledger requests it again, the turn does not begin.
            StartReply::RunPrecheck(_)
            | StartReply::Deferred
            | StartReply::Cancelled
            | StartReply::Refused(_) => Self::Ended(TurnEnd::NotBegun),
        }
    }
}

/// Ends an attempt that has not begun, so that the run can be attempted again.
async fn requeue(
    ledger: &dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    kind: FailureKind,
    message: &str,
) -> Result<StartOutcome, TurnStoreError> {
    let failure = RunFailure {
        kind,
        prompted: false,
        message: message.into(),
    };
    let finished = TurnResult::with_outcome(Outcome::Failed(failure));
    let ended = finish(ledger, run, finished, agents.lease).await?;
    Ok(StartOutcome::Ended(ended))
}

/// Begins a run. Retries for one lease while the ledger is unreachable, because this worker owns the run for that
/// time. Returns `Break` after it has requeued a run that may or may not have begun.
async fn begin_with_retry(
    ledger: &dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    orders: &TurnControl,
    pulse: &watch::Sender<HeartbeatState>,
    asked: bool,
) -> Result<ControlFlow<StartOutcome, StartReply>, TurnStoreError> {
    let until = Instant::now() + agents.lease;
    let mut unanswered = false;
    loop {
        let asked_at = agent::uptime();
        let begin = if asked {
            ledger.begin_after_precheck(run)
        } else {
            ledger.begin(run)
        };
        match begin.await {
            Err(error) if error.transient && Instant::now() + BEGIN_RETRY_PAUSE <= until => {
                log_warning(run, &error, "begin the turn");
                unanswered = true;
                if orders.requeue.is_cancelled() {
                    break;
                }
            }
            // Either another worker owns the run by now, or an earlier try of this worker has begun it without a
            // reply. In the second case no prompt was sent, and the run would stay `running`, so it must be requeued.
            // In the first case the fence rejects the requeue.
            Ok(StartReply::Fenced) if unanswered => break,
            Ok(begun @ StartReply::Started(_)) => {
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
