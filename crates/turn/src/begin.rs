//! The steps before a turn: the precheck and the beginning.
//!
//! The precheck runs before the turn begins, so that a run which it declines never starts an agent. The heartbeat is
//! renewed while the precheck runs.

use std::{ops::ControlFlow, time::Duration};

use futures::future::BoxFuture;
use model::{
    RunId,
    access::secret::RunSecret,
    outcome::{FailureKind, Outcome, RunFailure},
    precheck::{PrecheckDecision, PrecheckJob},
    turn::{DeclineOutcome, StartReply, TurnAssignment, TurnResult},
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

/// The pause before the next attempt to begin while the store is unreachable.
const BEGIN_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The result of beginning a run.
pub(crate) enum StartOutcome {
    /// The turn has begun. The second field is the result of the precheck, if the run has one.
    Started(Box<TurnAssignment>, PrecheckReport),
    /// The turn will not begin.
    Ended(TurnEnd),
}

/// Begins a run that this worker has claimed. If the run has a precheck, runs it first. Renews the run's heartbeat
/// meanwhile, and stops the precheck at an order to stop.
pub(crate) async fn begin(
    store: &dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    secret: &RunSecret,
    control: &TurnControl,
    state: &watch::Sender<HeartbeatState>,
) -> Result<StartOutcome, TurnStoreError> {
    let secret = secret.hash();
    let first = |run| store.begin(run, secret);
    match begin_with_retry(store, agents, run, control, state, first).await? {
        ControlFlow::Break(outcome) => Ok(outcome),
        ControlFlow::Continue(StartReply::RunPrecheck(job)) => {
            let heartbeat =
                send_heartbeats(store, run, control, agents.heartbeat, agents.lease, state);
            tokio::select! {
                outcome = begin_after_precheck(store, agents, &job, secret, control, state) => outcome,
                // `send_heartbeats` never returns, even after the run is lost.
                () = heartbeat => Ok(StartOutcome::Ended(TurnEnd::Lost)),
            }
        }
        ControlFlow::Continue(reply) => {
            Ok(StartOutcome::from_begin(reply, PrecheckReport::default()))
        }
    }
}

async fn begin_after_precheck(
    store: &dyn TurnStore,
    agents: &AgentRuntime,
    job: &PrecheckJob,
    secret: [u8; 32],
    control: &TurnControl,
    state: &watch::Sender<HeartbeatState>,
) -> Result<StartOutcome, TurnStoreError> {
    let run = job.run;
    // 1. Run the precheck.
    let report = match run_precheck(job, agents, state.subscribe()).await {
        PrecheckOutcome::Completed(report) => report,
        PrecheckOutcome::Stopped(Stop::Lost) => return Ok(StartOutcome::Ended(TurnEnd::Lost)),
        PrecheckOutcome::Stopped(Stop::Requeue) => {
            let kind = FailureKind::Requeued;
            return requeue(store, agents, run, kind, "the server stopped").await;
        }
        PrecheckOutcome::LeaseOver => {
            let message = "the lease was not renewed while the precheck ran";
            return requeue(store, agents, run, FailureKind::WorkerLost, message).await;
        }
        // The store knows of the cancellation. `begin_after_precheck` of the store reports it, so that the run ends as
        // cancelled.
        PrecheckOutcome::Stopped(Stop::Cancel(_)) => PrecheckReport::default(),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: precheck asked");
    // 2. Skip the run if the precheck declined it.
    if report.verdict() == Some(PrecheckDecision::Decline) {
        let decline = || store.decline(run, report.diagnostics());
        let decline_outcome = persist(run, agents.lease, decline).await?;
        if decline_outcome == DeclineOutcome::WithSession {
            remove_session_folder(&job.directory).await;
        }
        return Ok(StartOutcome::Ended(match decline_outcome {
            DeclineOutcome::Skipped | DeclineOutcome::WithSession => TurnEnd::NotBegun,
            DeclineOutcome::Fenced => TurnEnd::Lost,
        }));
    }
    // 3. Begin the turn.
    let second = |run| store.begin_after_precheck(run, secret);
    Ok(
        match begin_with_retry(store, agents, run, control, state, second).await? {
            ControlFlow::Break(outcome) => outcome,
            ControlFlow::Continue(reply) => StartOutcome::from_begin(reply, report),
        },
    )
}

impl StartOutcome {
    fn from_begin(reply: StartReply<TurnAssignment>, report: PrecheckReport) -> Self {
        match reply {
            StartReply::Started(assignment) => Self::Started(assignment, report),
            StartReply::Fenced => Self::Ended(TurnEnd::Lost),
            // A precheck runs at most once. If the store requests it again, the turn does not begin.
            StartReply::RunPrecheck(_)
            | StartReply::Deferred
            | StartReply::Cancelled
            | StartReply::Refused(_) => Self::Ended(TurnEnd::NotBegun),
        }
    }
}

/// Ends an attempt that has not begun, so that the run can be attempted again.
async fn requeue(
    store: &dyn TurnStore,
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
    let ended = finish(store, run, finished, agents.lease).await?;
    Ok(StartOutcome::Ended(ended))
}

/// Begins a run with `begin_once`. Retries for one lease while the store is unreachable, because this worker owns the run
/// for that time. Returns `Break` after it has requeued a run that may or may not have begun.
async fn begin_with_retry<'a>(
    store: &'a dyn TurnStore,
    agents: &AgentRuntime,
    run: RunId,
    control: &TurnControl,
    state: &watch::Sender<HeartbeatState>,
    begin_once: impl Fn(RunId) -> BoxFuture<'a, Result<StartReply<TurnAssignment>, TurnStoreError>>,
) -> Result<ControlFlow<StartOutcome, StartReply<TurnAssignment>>, TurnStoreError> {
    let until = Instant::now() + agents.lease;
    let mut reply_lost = false;
    loop {
        // The lease counts from before the call, because the reply may be under way for long.
        let sent_at = agent::uptime();
        match begin_once(run).await {
            Err(error) if error.transient && Instant::now() + BEGIN_RETRY_PAUSE <= until => {
                log_warning(run, &error, "begin the turn");
                // The failed call may have been committed nevertheless.
                reply_lost = true;
                if control.requeue.is_cancelled() {
                    break;
                }
            }
            // Another worker owns the run by now, or an earlier try has begun it and this server cannot take it any
            // more, because its documents were edited. In the second case no prompt was sent, and the run would stay
            // `running`, so it must be requeued. In the first case the fence rejects the requeue.
            Ok(StartReply::Fenced) if reply_lost => break,
            Ok(reply @ StartReply::Started(_)) => {
                // `begin` has renewed the heartbeat in the store, so the agent's lease starts again.
                state.send_modify(|state| state.lease_until = sent_at + agents.lease);
                return Ok(ControlFlow::Continue(reply));
            }
            reply => return reply.map(ControlFlow::Continue),
        }
        sleep(BEGIN_RETRY_PAUSE).await;
    }
    let message = "the server lost the connection to the database while the turn began";
    let kind = FailureKind::Requeued;
    let outcome = requeue(store, agents, run, kind, message).await?;
    Ok(ControlFlow::Break(outcome))
}
