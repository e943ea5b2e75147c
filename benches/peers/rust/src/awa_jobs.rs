//! awa, on the storage that new installations get: it is chosen when a first worker starts on an empty
//! database, so one is started and stopped before jobs are queued. Tuned as its benchmarks are: 256
//! workers, four that claim, no deadlines of jobs.

use std::time::Duration;

use anyhow::Result;
use awa::{
    Client, InsertOpts, JobArgs, JobResult, QueueConfig, QueueStorage, QueueStorageConfig,
    model::{insert::params_with, insert_many, migrations},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx_of_awa::postgres::{PgPool, PgPoolOptions};

use crate::{Drained, Handled, Load, wait};

const QUEUE: &str = "no_op";
/// How many jobs one statement queues: each has 12 parameters, of which a statement takes 65535.
const ROWS: usize = 1000;

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
struct NoOp {
    words: String,
}

pub(crate) async fn drain(load: &Load) -> Result<Drained> {
    let connections = if load.tuned() { 20 } else { 10 };
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .connect(&load.url)
        .await?;
    migrations::run(&pool).await?;
    let first = client(&pool, load, Handled::default())?;
    first.start().await?;
    first.shutdown(Duration::from_secs(5)).await;

    for batch in load.batches() {
        for from in (0..batch).step_by(ROWS) {
            let jobs = (from..batch.min(from + ROWS)).map(|_| {
                let words = "What is due today?".into();
                let opts = InsertOpts {
                    queue: QUEUE.into(),
                    ..InsertOpts::default()
                };
                params_with(&NoOp { words }, opts)
            });
            let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
            insert_many(&pool, &jobs).await?;
        }
    }
    sqlx_of_awa::query("vacuum analyze").execute(&pool).await?;
    sqlx_of_awa::query("checkpoint").execute(&pool).await?;

    let handled = Handled::default();
    let client = client(&pool, load, handled.clone())?;
    let storage = QueueStorage::new(QueueStorageConfig::default())?;
    let queued = storage.queue_counts(&pool, QUEUE).await?;
    anyhow::ensure!(
        u64::try_from(queued.available)? == load.jobs,
        "{} of {} jobs are queued",
        queued.available,
        load.jobs
    );
    client.start().await?;
    let (jobs, took) = wait(load, &handled, async || {
        let counts = storage.queue_counts(&pool, QUEUE).await?;
        Ok(u64::try_from(counts.terminal)?)
    })
    .await?;
    client.shutdown(Duration::from_secs(5)).await;
    let queue = queue(load);
    Ok(Drained {
        version: "0.6.9",
        settings: json!({
            "max_workers": queue.max_workers,
            "claimers": queue.claimers,
            "connections": connections,
        }),
        jobs,
        took,
    })
}

fn queue(load: &Load) -> QueueConfig {
    if load.tuned() {
        QueueConfig {
            max_workers: 256,
            claimers: 4,
            poll_interval: Duration::from_millis(50),
            deadline_duration: Duration::ZERO,
            ..QueueConfig::default()
        }
    } else {
        QueueConfig::default()
    }
}

fn client(pool: &PgPool, load: &Load, handled: Handled) -> Result<Client> {
    let client = Client::builder(pool.clone())
        .queue(QUEUE, queue(load))
        .register::<NoOp, _, _>(move |_, _| {
            let handled = handled.clone();
            async move {
                handled.one();
                Ok(JobResult::Completed)
            }
        })
        .build()?;
    Ok(client)
}
