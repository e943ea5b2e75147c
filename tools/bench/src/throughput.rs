//! Measures the rate of runs without agents, from the message to the end of the run.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use model::{
    AcpSessionId, SessionId, TenantId,
    outcome::{Outcome, StopReason},
    turn::{StartReply, TurnResult, WriteOutcome},
};
use store::{Scope, Store};
use tokio::{sync::Semaphore, task::JoinSet};

use super::fixture::{Fixture, create_session, now};

/// The maximum number of concurrent runs.
pub(crate) const MAX_IN_FLIGHT: usize = 256;
/// The number of sessions with runs.
const SESSION_COUNT: usize = 1000;

/// A number of runs or jobs, and the time for all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Throughput {
    pub(crate) runs: usize,
    pub(crate) took: Duration,
}

impl Throughput {
    pub(crate) fn per_second(&self) -> f64 {
        f64::from(u32::try_from(self.runs).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }
}

/// Takes `runs` messages through queue, claim, begin and finish, several at once, and checks the rows afterwards.
pub(crate) async fn run_no_op_runs(world: &Fixture, runs: usize) -> Result<Throughput> {
    let sessions = create_sessions(world).await?;
    let started = Instant::now();
    let producer = tokio::spawn(queue_inputs(
        world.store.clone(),
        world.tenant,
        sessions.clone(),
        runs,
    ));
    let ended = drain_runs(world, runs, MAX_IN_FLIGHT).await?;
    producer
        .await
        .context("the task that queues messages panicked")??;
    let took = started.elapsed();
    ensure!(ended == runs, "only {ended} of {runs} runs have ended");
    check_transcripts(world, &sessions, runs).await?;
    Ok(Throughput { runs, took })
}

async fn create_sessions(world: &Fixture) -> Result<Vec<SessionId>> {
    let mut sessions = Vec::with_capacity(SESSION_COUNT);
    for _ in 0..SESSION_COUNT {
        sessions.push(create_session(world, Path::new("/tmp")).await?);
    }
    Ok(sessions)
}

async fn queue_inputs(
    store: Store,
    tenant: TenantId,
    sessions: Vec<SessionId>,
    runs: usize,
) -> Result<()> {
    let limit = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    let mut requests = JoinSet::new();
    for session in sessions.into_iter().cycle().take(runs) {
        let permit = Arc::clone(&limit).acquire_owned().await?;
        let store = store.clone();
        requests.spawn(async move {
            let submitted = store
                .send_message(tenant, session, None, "What is due today?", now())
                .await;
            drop(permit);
            submitted.map(|_| ())
        });
        while let Some(done) = requests.try_join_next() {
            done??;
        }
    }
    while let Some(done) = requests.join_next().await {
        done??;
    }
    Ok(())
}

/// Claims, begins and finishes runs, up to `in_flight` at once, until `runs` have ended. Returns the number of ended
/// runs.
pub(crate) async fn drain_runs(world: &Fixture, runs: usize, in_flight: usize) -> Result<usize> {
    let mut turns = JoinSet::new();
    let mut ended = 0;
    while ended < runs {
        let free = u32::try_from(in_flight.saturating_sub(turns.len()))?;
        if free > 0 {
            let claimed = world
                .store
                .claim(&world.worker, world.instance, free, None, now())
                .await?;
            for claimed in claimed {
                let store = world.store.clone();
                let (worker, instance) = (world.worker.clone(), world.instance);
                turns.spawn(async move {
                    let start = store
                        .begin(claimed.run, &worker, instance, now(), None)
                        .await?;
                    ensure!(
                        matches!(start, StartReply::Started(_)),
                        "the run did not start: {start:?}"
                    );
                    let finished = TurnResult {
                        answer: "Nothing is due today.".into(),
                        acp_session_id: Some(AcpSessionId::new("bench")),
                        turn_ended: true,
                        ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
                    };
                    let outcome = store.finish(claimed.run, &worker, &finished, now()).await?;
                    ensure!(
                        outcome == WriteOutcome::Committed,
                        "the end of the run was not committed: {outcome:?}"
                    );
                    Ok(())
                });
            }
        }
        // Wait for one end, then take all ends that have happened meanwhile, as a server's pool does. The next claim
        // then fills several slots with one statement.
        if let Some(done) = turns.join_next().await {
            done??;
            ended += 1;
        }
        tokio::task::yield_now().await;
        while let Some(done) = turns.try_join_next() {
            done??;
            ended += 1;
        }
    }
    Ok(ended)
}

/// Checks that every run has its input and its answer in the transcript, and that no log has a gap.
async fn check_transcripts(world: &Fixture, sessions: &[SessionId], runs: usize) -> Result<()> {
    let mut messages = 0;
    for session in sessions {
        let scope = Scope::Tenant(world.tenant);
        let found = world.store.messages(scope, *session, 0, u32::MAX).await?;
        messages += found.len();
        let events = world.store.events(scope, *session, 0, u32::MAX).await?;
        let numbers = events.iter().map(|event| event.seq);
        ensure!(
            numbers.eq(1..=i64::try_from(events.len())?),
            "the log of {session} has gaps"
        );
    }
    ensure!(
        messages == 2 * runs,
        "{runs} runs have {messages} messages instead of two each"
    );
    Ok(())
}
