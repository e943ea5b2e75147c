//! Runs no-op jobs through riverqueue on SQLite: `peers-sqlite --folder DIR --jobs N --at-once N --insert single|batches`.
//!
//! Every commit is synced, as in Matins. The jobs have no session, transcript, events or record, so the figure is the
//! cost of a queue alone. Prints one line of JSON: the version, the number of jobs, and the seconds from the first
//! insert until all of them are completed.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use clap::{Parser, ValueEnum};
use riverqueue::{
    Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers, migrate::SqliteMigrator,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

/// The allocator of Matins.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The interval of the counts in the database.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The number of jobs of one statement for [`Insert::Batches`].
const BATCH_JOBS: u64 = 1000;

/// The way in which jobs are inserted.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Insert {
    /// One job per statement, with many concurrent statements, as messages arrive in Matins.
    Single,
    /// A thousand jobs per statement.
    Batches,
}

/// Run no-op jobs with riverqueue on SQLite
#[derive(Debug, Parser)]
struct Load {
    /// Folder without a database of this program
    #[arg(long)]
    folder: PathBuf,
    /// Number of jobs
    #[arg(long)]
    jobs: u64,
    /// Maximum number of concurrent jobs, and of concurrent statements that insert
    #[arg(long)]
    at_once: usize,
    /// The way in which jobs are inserted
    #[arg(long, value_enum)]
    insert: Insert,
}

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "no_op")]
struct NoOp {
    text: String,
}

fn job() -> NoOp {
    NoOp {
        text: "What is due today?".into(),
    }
}

async fn no_op(_: WorkContext, _: Job<NoOp>) -> Result<WorkOutcome, std::io::Error> {
    Ok(WorkOutcome::Complete)
}

#[tokio::main]
async fn main() -> Result<()> {
    let load = Load::parse();
    let options = SqliteConnectOptions::new()
        .filename(load.folder.join("river.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(30));
    let pool = SqlitePoolOptions::new().connect_with(options).await?;
    SqliteMigrator::new(pool.clone()).migrate_up().await?;
    let mut workers = Workers::new();
    workers.add_fn(no_op)?;
    let client = Client::builder(pool.clone())
        .workers(workers)
        .queue("default", QueueConfig::new(load.at_once))
        .build()?;
    let mut run = client.start()?;
    let started = Instant::now();
    match load.insert {
        Insert::Single => insert_one_by_one(client, &load).await?,
        Insert::Batches => {
            let mut left = load.jobs;
            while left > 0 {
                let batch = left.min(BATCH_JOBS);
                client.insert_many((0..batch).map(|_| job())).await?;
                left -= batch;
            }
        }
    }
    while count_completed(&pool).await? < load.jobs {
        sleep(POLL_INTERVAL).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    run.stop().await?;
    pool.close().await;
    println!(
        "{}",
        json!({ "version": "0.5.0", "jobs": load.jobs, "seconds": seconds })
    );
    Ok(())
}

async fn insert_one_by_one(client: Client, load: &Load) -> Result<()> {
    let limit = Arc::new(Semaphore::new(load.at_once));
    let mut inserted = JoinSet::new();
    for _ in 0..load.jobs {
        let permit = Arc::clone(&limit).acquire_owned().await?;
        let client = client.clone();
        inserted.spawn(async move {
            let done = client.insert(job()).await;
            drop(permit);
            done.map(|_| ())
        });
        while let Some(done) = inserted.try_join_next() {
            done??;
        }
    }
    while let Some(done) = inserted.join_next().await {
        done??;
    }
    Ok(())
}

async fn count_completed(pool: &SqlitePool) -> Result<u64> {
    let statement = "select count(*) from river_job where state = 'completed'";
    let count: i64 = sqlx::query_scalar(statement).fetch_one(pool).await?;
    Ok(u64::try_from(count)?)
}
