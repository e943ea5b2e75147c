//! How much longer a turn takes than a bare client of the protocol needs for the same.

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

/// Medians of one measurement.
pub(crate) struct TurnMeasurement {
    pub(crate) turns: usize,
    /// A bare client.
    pub(crate) bare_client: Duration,
    /// From the claim to the end of the run, when everything is in the database.
    pub(crate) claim_to_end: Duration,
    /// From the words to the end of the run: queue and claim as well.
    pub(crate) message_to_end: Duration,
}

/// Takes turns by turns: one by a bare client, one by a worker, so that both meet the same noise.
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
    let (mut bare, mut turn, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = None;
    for _ in 0..turns {
        let started = Instant::now();
        memory = Some(bare_client::run_turn(&agent, folder, memory).await?);
        bare.push(started.elapsed());

        let started = Instant::now();
        let words = "What is due today?";
        let said = world
            .store
            .send_message(world.tenant, session, None, words, now())
            .await?;
        let claimed = host
            .store
            .claim(&host.worker, host.instance, 1, None, now())
            .await?;
        let run = claimed.first().context("nothing was claimed")?.run;
        ensure!(run == said.run_id, "another run was claimed");
        let taken = Instant::now();
        let ledger = WorkerTurnStore::new(host.clone());
        let orders = TurnControl {
            requeue: CancellationToken::new(),
            heartbeat_now: Arc::new(Notify::new()),
        };
        let ended = execute(&ledger, &host.agent_runtime, run, &orders).await?;
        turn.push(taken.elapsed());
        whole.push(started.elapsed());
        ensure!(ended == TurnEnd::Finished, "{ended:?}");
        let run = world.store.run(Scope::System, run).await?;
        ensure!(run.status() == RunStatus::Succeeded, "{run:?}");
    }
    Ok(TurnMeasurement {
        turns,
        bare_client: median(bare),
        claim_to_end: median(turn),
        message_to_end: median(whole),
    })
}
