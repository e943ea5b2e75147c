//! Other job queues that drain no-op jobs: `peers <peer> --url ... --jobs N --settings default|tuned`.
//!
//! Queues the jobs (not timed), looks at the tables and writes them down, drains, and counts in the
//! database what is completed. Prints one line of JSON.

mod awa_jobs;
mod graphile;
mod river;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use tokio::time::sleep;

/// How often the database is asked, once every job has been handled.
const LOOK: Duration = Duration::from_millis(5);
/// How many jobs one request queues.
const BATCH: usize = 5000;

/// The queues.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Peer {
    Riverqueue,
    GraphileWorker,
    Awa,
}

/// How they are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Settings {
    /// As their documentation begins.
    Default,
    /// As their own benchmarks are.
    Tuned,
}

/// Drain no-op jobs of another queue
#[derive(Debug, Parser)]
struct Load {
    #[arg(value_enum)]
    peer: Peer,
    /// An empty database, for a role that may write checkpoints
    #[arg(long)]
    url: String,
    #[arg(long)]
    jobs: u64,
    #[arg(long, value_enum)]
    settings: Settings,
    /// After so many seconds the rate until then is given
    #[arg(long, default_value_t = 60)]
    limit: u64,
}

impl Load {
    fn tuned(&self) -> bool {
        self.settings == Settings::Tuned
    }

    /// The sizes of the batches in which the jobs are queued.
    fn batches(&self) -> impl Iterator<Item = usize> {
        let jobs = usize::try_from(self.jobs).unwrap_or(usize::MAX);
        (0..jobs)
            .step_by(BATCH)
            .map(move |from| BATCH.min(jobs - from))
    }
}

/// What was drained.
struct Drained {
    version: &'static str,
    settings: Value,
    jobs: u64,
    took: Duration,
}

/// Counts jobs that were handled, in this process.
#[derive(Debug, Clone, Default)]
struct Handled(Arc<AtomicU64>);

impl Handled {
    fn one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until all jobs are completed in the database, or time is up. Gives how many are, and when
/// that was. The database is asked only when every job was handled, so that asking costs no jobs.
async fn wait<F>(
    load: &Load,
    handled: &Handled,
    completed: impl Fn() -> F,
) -> Result<(u64, Duration)>
where
    F: Future<Output = Result<u64>>,
{
    let started = Instant::now();
    let limit = Duration::from_secs(load.limit);
    loop {
        let late = started.elapsed() > limit;
        if late || handled.0.load(Ordering::Relaxed) >= load.jobs {
            let took = started.elapsed();
            let done = completed().await?;
            ensure!(done <= load.jobs, "{done} of {} jobs", load.jobs);
            if late || done == load.jobs {
                return Ok((done, took));
            }
        }
        sleep(LOOK).await;
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let load = Load::parse();
    let (peer, drained) = match load.peer {
        Peer::Riverqueue => ("riverqueue", river::drain(&load).await?),
        Peer::GraphileWorker => ("graphile_worker", graphile::drain(&load).await?),
        Peer::Awa => ("awa", awa_jobs::drain(&load).await?),
    };
    let line = json!({
        "peer": peer,
        "version": drained.version,
        "settings": drained.settings,
        "jobs": drained.jobs,
        "seconds": drained.took.as_secs_f64(),
    });
    println!("{line}");
    Ok(())
}
