//! awa, on the storage of new installations. awa selects the storage when the first worker starts on an empty database,
//! so one worker is started and stopped before the jobs are queued. The tuned settings are those of its benchmarks: 256
//! workers, four claimers, no deadlines of jobs.

use std::time::Duration;

use anyhow::Result;
use awa::{
    Client, InsertOpts, JobArgs, JobResult, QueueConfig, QueueStorage, QueueStorageConfig,
    model::{insert::params_with, insert_many, migrations},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx_of_awa::postgres::{PgPool, PgPoolOptions};

use crate::{DrainResult, HandledCounter, Load, wait_for_completion};

const QUEUE: &str = "no_op";
/// The maximum number of jobs that one statement queues. A job has 12 parameters, and a statement takes 65535.
const MAX_ROWS_PER_STATEMENT: usize = 1000;

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
struct NoOp {
    text: String,
}

pub(crate) async fn drain(load: &Load) -> Result<DrainResult> {
    let connections = if load.is_tuned() { 20 } else { 10 };
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .connect(&load.url)
        .await?;
    migrations::run(&pool).await?;
    let first = client(&pool, load, HandledCounter::default())?;
    first.start().await?;
    first.shutdown(Duration::from_secs(5)).await;

    for batch in load.batch_sizes() {
        for from in (0..batch).step_by(MAX_ROWS_PER_STATEMENT) {
            let jobs = (from..batch.min(from + MAX_ROWS_PER_STATEMENT)).map(|_| {
                let text = "What is due today?".into();
                let opts = InsertOpts {
                    queue: QUEUE.into(),
                    ..InsertOpts::default()
                };
                params_with(&NoOp { text }, opts)
            });
            let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
            insert_many(&pool, &jobs).await?;
        }
    }
    sqlx_of_awa::query("vacuum analyze").execute(&pool).await?;
    sqlx_of_awa::query("checkpoint").execute(&pool).await?;

    let handled = HandledCounter::default();
    let client = client(&pool, load, handled.clone())?;
    let storage = QueueStorage::new(QueueStorageConfig::default())?;
    let queued = storage.queue_counts(&pool, QUEUE).await?;
    anyhow::ensure!(
        u64::try_from(queued.available)? == load.jobs,
        "only {} of {} jobs are queued",
        queued.available,
        load.jobs
    );
    client.start().await?;
    let (jobs, duration) = wait_for_completion(load, &handled, async || {
        let counts = storage.queue_counts(&pool, QUEUE).await?;
        Ok(u64::try_from(counts.terminal)?)
    })
    .await?;
    client.shutdown(Duration::from_secs(5)).await;
    let queue = queue(load);
    Ok(DrainResult {
        version: "0.6.9",
        settings: json!({
            "max_workers": queue.max_workers,
            "claimers": queue.claimers,
            "connections": connections,
        }),
        jobs,
        duration,
    })
}

fn queue(load: &Load) -> QueueConfig {
    if load.is_tuned() {
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

fn client(pool: &PgPool, load: &Load, handled: HandledCounter) -> Result<Client> {
    let client = Client::builder(pool.clone())
        .queue(QUEUE, queue(load))
        .register::<NoOp, _, _>(move |_, _| {
            let handled = handled.clone();
            async move {
                handled.increment();
                Ok(JobResult::Completed)
            }
        })
        .build()?;
    Ok(client)
}
