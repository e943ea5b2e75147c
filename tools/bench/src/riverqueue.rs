//! No-op jobs through riverqueue on SQLite, as the baseline of the throughput. Every commit is synced, as in Matins.
//! Its jobs have no session, transcript, events or record, so the figure is the cost of a queue alone.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use riverqueue::{
    Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers,
    migrate::SqliteMigrator,
    sqlx::{
        self, SqlitePool,
        sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
    },
};
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::JoinSet, time::sleep};

use super::throughput::{MAX_IN_FLIGHT, Throughput};

/// The interval at which the benchmark polls whether all jobs are completed.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The number of jobs of one statement for [`InsertMode::Batches`].
const BATCH_JOBS: usize = 1000;

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "no_op")]
struct NoOp {
    text: String,
}

async fn no_op(_: WorkContext, _: Job<NoOp>) -> Result<WorkOutcome, std::io::Error> {
    Ok(WorkOutcome::Complete)
}

/// The way in which jobs are inserted.
#[derive(Clone, Copy)]
pub(crate) enum InsertMode {
    /// One job per statement, with many concurrent statements, as messages arrive in Matins.
    Single,
    /// A thousand jobs per statement.
    Batches,
}

/// Inserts `jobs` jobs, runs them, and measures the time until all are completed.
pub(crate) async fn run_no_op_jobs(
    folder: &Path,
    jobs: usize,
    insert: InsertMode,
) -> Result<Throughput> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("river.db"))
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
        .queue("default", QueueConfig::new(MAX_IN_FLIGHT))
        .build()?;
    let mut run = client.start()?;
    let started = Instant::now();
    match insert {
        InsertMode::Single => insert_one_by_one(client, jobs).await?,
        InsertMode::Batches => {
            let mut left = jobs;
            while left > 0 {
                let batch = left.min(BATCH_JOBS);
                client.insert_many((0..batch).map(|_| job())).await?;
                left -= batch;
            }
        }
    }
    while count_completed(&pool).await? < jobs {
        sleep(POLL_INTERVAL).await;
    }
    let took = started.elapsed();
    run.stop().await?;
    pool.close().await;
    Ok(Throughput { runs: jobs, took })
}

fn job() -> NoOp {
    NoOp {
        text: "What is due today?".into(),
    }
}

async fn insert_one_by_one(client: Client, jobs: usize) -> Result<()> {
    let limit = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    let mut inserted = JoinSet::new();
    for _ in 0..jobs {
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

async fn count_completed(pool: &SqlitePool) -> Result<usize> {
    let statement = "select count(*) from river_job where state = 'completed'";
    let count: i64 = sqlx::query_scalar(statement).fetch_one(pool).await?;
    usize::try_from(count).map_err(|_| anyhow!("invalid count of jobs: {count}"))
}
