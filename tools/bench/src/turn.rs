//! Measures the duration of a turn, compared with a bare client that does the same with the same agent.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use daemon::{Settings, WorkerTurnStore};
use model::run::RunStatus;
use store::Scope;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use turn::{TurnControl, TurnEnd, execute};

use super::{
    bare_client,
    fixture::{Fixture, create_session, now},
    loops::{self, SystemClock},
    programs::Programs,
    statistics::median,
};

/// The medians of the durations.
pub(crate) struct TurnMeasurement {
    pub(crate) turns: usize,
    /// The duration of a turn by the bare client.
    pub(crate) bare_client: Duration,
    /// The time from the claim until the end of the run is committed.
    pub(crate) claim_to_end: Duration,
    /// The time from the message until the end of the run is committed, which includes queue and claim.
    pub(crate) message_to_end: Duration,
}

/// Runs turns by the bare client and by a worker, alternating, so that both meet the same noise of the machine.
pub(crate) async fn measure(
    programs: &Programs,
    folder: &Path,
    turns: usize,
) -> Result<TurnMeasurement> {
    let agent = programs.instant_agent();
    let world = Fixture::open_sqlite_with_agent(folder, agent.clone()).await?;
    let session = create_session(&world, folder).await?;
    let (guard, settings) = (programs.guard(), Settings::default());
    let host = loops::host(&world, guard, Arc::new(SystemClock), settings, folder)?;
    let (mut bare, mut turn, mut total) = (Vec::new(), Vec::new(), Vec::new());
    let mut acp_session = None;
    for _ in 0..turns {
        let started = Instant::now();
        acp_session = Some(bare_client::run_turn(&agent, folder, acp_session).await?);
        bare.push(started.elapsed());

        let started = Instant::now();
        let text = "What is due today?";
        let sent = world
            .store
            .send_message(world.tenant, session, None, text, now())
            .await?;
        let claimed = host
            .store
            .claim(&host.worker, host.instance, 1, None, now())
            .await?;
        let run = claimed.first().context("the worker claimed no run")?.run;
        ensure!(run == sent.run_id, "the worker claimed another run");
        let claimed_at = Instant::now();
        let turn_store = WorkerTurnStore::new(host.clone());
        let control = TurnControl {
            requeue: CancellationToken::new(),
            heartbeat_now: Arc::new(Notify::new()),
            claim_sent_at: agent::uptime(),
        };
        let ended = execute(&turn_store, &host.agent_runtime, run, &control).await?;
        turn.push(claimed_at.elapsed());
        total.push(started.elapsed());
        ensure!(
            ended == TurnEnd::Finished,
            "the turn did not finish: {ended:?}"
        );
        let run = world.store.run(Scope::System, run).await?;
        ensure!(
            run.status() == RunStatus::Succeeded,
            "the run did not succeed: {run:?}"
        );
    }
    Ok(TurnMeasurement {
        turns,
        bare_client: median(bare),
        claim_to_end: median(turn),
        message_to_end: median(total),
    })
}
