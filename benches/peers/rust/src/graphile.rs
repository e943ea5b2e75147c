//! graphile_worker. The tuned settings are those of its benchmark of 200,000 jobs: 500 concurrent jobs, a local queue
//! of 5000, completions batched for 5 ms. The worker deletes completed jobs, so the remaining jobs are counted.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, anyhow};
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler, WorkerContext,
    WorkerOptions, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::postgres::PgPoolOptions;

use crate::{DrainResult, HandledCounter, Load, wait_for_completion};

const SCHEMA: &str = "graphile_worker";

#[derive(Clone, Debug, Deserialize, Serialize)]
struct NoOp {
    text: String,
}

impl TaskHandler for NoOp {
    const IDENTIFIER: &'static str = "no_op";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        if let Some(handled) = context.get_ext::<HandledCounter>() {
            handled.increment();
        }
        Ok::<(), String>(())
    }
}

pub(crate) async fn drain(load: &Load) -> Result<DrainResult> {
    let connections = if load.is_tuned() { 100 } else { 20 };
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .connect(&load.url)
        .await?;
    let utils = WorkerUtils::new(pool.clone(), SCHEMA);
    utils.migrate().await?;
    for batch in load.batch_sizes() {
        let jobs: Vec<RawJobSpec> = (0..batch)
            .map(|_| RawJobSpec {
                identifier: NoOp::IDENTIFIER.to_owned(),
                payload: json!({ "text": "What is due today?" }),
                spec: JobSpec::default(),
            })
            .collect();
        utils.add_raw_jobs(&jobs).await?;
    }
    sqlx::query("vacuum analyze").execute(&pool).await?;
    sqlx::query("checkpoint").execute(&pool).await?;

    let handled = HandledCounter::default();
    let mut options = WorkerOptions::default()
        .pg_pool(pool.clone())
        .schema(SCHEMA)
        .listen_os_shutdown_signals(false)
        .add_extension(handled.clone())
        .define_job::<NoOp>();
    let mut settings = json!({ "connections": connections, "concurrency": "one for each core" });
    if load.is_tuned() {
        options = options
            .concurrency(500)
            .poll_interval(Duration::from_millis(5))
            .complete_job_batch_delay(Duration::from_millis(5))
            .local_queue(LocalQueueConfig::default().with_size(5000));
        settings = json!({
            "connections": connections,
            "concurrency": 500,
            "poll_interval_ms": 5,
            "complete_job_batch_delay_ms": 5,
            "local_queue": 5000,
        });
    }
    let worker = Arc::new(options.init().await?);
    let running = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.run().await }
    });
    let (jobs, duration) = wait_for_completion(load, &handled, async || {
        let left: i64 = sqlx::query_scalar("select count(*) from graphile_worker._private_jobs")
            .fetch_one(&pool)
            .await?;
        Ok(load.jobs - u64::try_from(left)?)
    })
    .await?;
    worker.request_shutdown();
    running.await?.map_err(|error| anyhow!("{error}"))?;
    Ok(DrainResult {
        version: "0.14.1",
        settings,
        jobs,
        duration,
    })
}
