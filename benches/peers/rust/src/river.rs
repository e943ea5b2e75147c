//! riverqueue. The tuned settings are those of its `riverqueue bench`: 2000 workers, 50 connections, and a pause of 2
//! ms between fetches instead of 100 ms.

use std::time::Duration;

use anyhow::Result;
use riverqueue::{
    Client, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers, migrate::PostgresMigrator,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::postgres::PgPoolOptions;

use crate::{DrainResult, HandledCounter, Load, wait_for_completion};

#[derive(Clone, Debug, Deserialize, JobArgs, Serialize)]
#[river(kind = "no_op")]
struct NoOp {
    text: String,
}

pub(crate) async fn drain(load: &Load) -> Result<DrainResult> {
    // The introduction of riverqueue uses 100 workers; 10 connections are the default of the pool.
    let (workers, connections) = if load.is_tuned() {
        (2000, 50)
    } else {
        (100, 10)
    };
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .connect(&load.url)
        .await?;
    PostgresMigrator::new(pool.clone()).migrate_up().await?;
    let handled = HandledCounter::default();
    let mut all = Workers::new();
    let counter = handled.clone();
    all.add_fn(move |_: WorkContext, _: Job<NoOp>| {
        let counter = counter.clone();
        async move {
            counter.increment();
            Ok::<_, std::io::Error>(WorkOutcome::Complete)
        }
    })?;
    let mut queue = QueueConfig::new(workers);
    if load.is_tuned() {
        queue = queue
            .with_fetch_cooldown(Duration::from_millis(2))
            .with_fetch_poll_interval(Duration::from_millis(20));
    }
    let client = Client::builder(pool.clone())
        .workers(all)
        .queue("default", queue)
        .build()?;
    for batch in load.batch_sizes() {
        let jobs = (0..batch).map(|_| NoOp {
            text: "What is due today?".into(),
        });
        client.insert_many(jobs).await?;
    }
    sqlx::query("vacuum analyze").execute(&pool).await?;
    sqlx::query("checkpoint").execute(&pool).await?;

    let mut running = client.start()?;
    let count = "select count(*) from river_job where state = 'completed'";
    let (jobs, duration) = wait_for_completion(load, &handled, async || {
        let count: i64 = sqlx::query_scalar(count).fetch_one(&pool).await?;
        Ok(u64::try_from(count)?)
    })
    .await?;
    running.stop().await?;
    Ok(DrainResult {
        version: "0.5.0",
        settings: json!({
            "max_workers": workers,
            "connections": connections,
            "fetch_cooldown_ms": if load.is_tuned() { 2 } else { 100 },
        }),
        jobs,
        duration,
    })
}
