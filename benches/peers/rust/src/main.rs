//! Drains no-op jobs with another job queue: `peers <peer> --url ... --jobs N --settings default|tuned`.
//!
//! Queues the jobs (not timed), vacuums the tables and writes a checkpoint, drains the jobs, and counts the completed
//! jobs in the database. Prints one line of JSON. Each queue has a module with a function `drain`; read `river` first.

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

/// The interval of the counts in the database, once every job has been handled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum number of jobs that one request queues.
const MAX_BATCH: usize = 5000;

/// A job queue.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Peer {
    Riverqueue,
    GraphileWorker,
    Awa,
}

/// The settings of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Settings {
    /// The settings at the beginning of the queue's documentation.
    Default,
    /// The settings of the queue's own benchmarks.
    Tuned,
}

/// Drain no-op jobs with another job queue
#[derive(Debug, Parser)]
struct Load {
    /// The job queue
    #[arg(value_enum)]
    peer: Peer,
    /// Address of an empty database, for a role that may write checkpoints
    #[arg(long)]
    url: String,
    /// Number of jobs
    #[arg(long)]
    jobs: u64,
    /// Settings of the queue
    #[arg(long, value_enum)]
    settings: Settings,
    /// Maximum duration of the drain in seconds; a slower queue is measured by its rate until then
    #[arg(long, default_value_t = 60)]
    limit: u64,
}

impl Load {
    fn is_tuned(&self) -> bool {
        self.settings == Settings::Tuned
    }

    /// Returns the sizes of the batches in which the jobs are queued.
    fn batch_sizes(&self) -> impl Iterator<Item = usize> {
        let jobs = usize::try_from(self.jobs).unwrap_or(usize::MAX);
        (0..jobs)
            .step_by(MAX_BATCH)
            .map(move |from| MAX_BATCH.min(jobs - from))
    }
}

/// The result of a drain.
struct DrainResult {
    version: &'static str,
    settings: Value,
    jobs: u64,
    duration: Duration,
}

/// The number of jobs that this process has handled. Clones share it.
#[derive(Debug, Clone, Default)]
struct HandledCounter(Arc<AtomicU64>);

impl HandledCounter {
    fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until all jobs are completed in the database, or until the limit. Returns the number of completed jobs and the
/// duration. Counts in the database only after every job was handled, so that the counts do not slow the drain down.
async fn wait_for_completion<F>(
    load: &Load,
    handled: &HandledCounter,
    completed: impl Fn() -> F,
) -> Result<(u64, Duration)>
where
    F: Future<Output = Result<u64>>,
{
    let started = Instant::now();
    let limit = Duration::from_secs(load.limit);
    loop {
        let is_late = started.elapsed() > limit;
        if is_late || handled.0.load(Ordering::Relaxed) >= load.jobs {
            let duration = started.elapsed();
            let done = completed().await?;
            ensure!(
                done <= load.jobs,
                "the database has {done} completed jobs, but only {} were queued",
                load.jobs
            );
            if is_late || done == load.jobs {
                return Ok((done, duration));
            }
        }
        sleep(POLL_INTERVAL).await;
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
        "seconds": drained.duration.as_secs_f64(),
    });
    println!("{line}");
    Ok(())
}
