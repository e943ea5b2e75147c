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
use turn::{Ended, Orders, execute};

use super::{
    bare_client,
    loops::{self, SystemClock},
    programs::Programs,
    statistics::median,
    world::{World, now, session},
};

/// Medians of one measurement.
pub(crate) struct Measured {
    pub(crate) turns: usize,
    /// A bare client.
    pub(crate) bare: Duration,
    /// From the claim to the end of the run, when everything is in the database.
    pub(crate) turn: Duration,
    /// From the words to the end of the run: queue and claim as well.
    pub(crate) whole: Duration,
}

/// Takes turns by turns: one by a bare client, one by a worker, so that both meet the same noise.
pub(crate) async fn measure(programs: &Programs, folder: &Path, turns: usize) -> Result<Measured> {
    let agent = programs.instant_agent();
    let world = World::open_for(folder, agent.clone()).await?;
    let session = session(&world, folder).await?;
    let (guard, settings) = (programs.guard(), Settings::default());
    let host = loops::host(&world, guard, Arc::new(SystemClock), settings, folder)?;
    let (mut bare, mut turn, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let mut memory = None;
    for _ in 0..turns {
        let started = Instant::now();
        memory = Some(bare_client::turn(&agent, folder, memory).await?);
        bare.push(started.elapsed());

        let started = Instant::now();
        let words = "What is due today?";
        let said = world
            .store
            .say(world.tenant, session, None, words, now())
            .await?;
        let claimed = host
            .store
            .claim(&host.worker, host.instance, 1, None, now())
            .await?;
        let run = claimed.first().context("nothing was claimed")?.run;
        ensure!(run == said.run_id, "another run was claimed");
        let taken = Instant::now();
        let ledger = WorkerTurnStore::new(host.clone());
        let orders = Orders {
            requeue: CancellationToken::new(),
            beat: Arc::new(Notify::new()),
        };
        let ended = execute(&ledger, &host.agents, run, &orders).await?;
        turn.push(taken.elapsed());
        whole.push(started.elapsed());
        ensure!(ended == Ended::Finished, "{ended:?}");
        let run = world.store.run(Scope::System, run).await?;
        ensure!(run.status() == RunStatus::Succeeded, "{run:?}");
    }
    Ok(Measured {
        turns,
        bare: median(bare),
        turn: median(turn),
        whole: median(whole),
    })
}
