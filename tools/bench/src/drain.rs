//! Measures the rate at which workers drain a full queue on PostgreSQL, until every run has durably ended.
//!
//! The timed part is the work of a server's workers without agents: claim, begin and finish. Filling the queue is not
//! timed. Between the two, `vacuum analyze` and a checkpoint give every drain the same start.

use std::{future::Future, path::Path, sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use model::SessionId;
use sqlx::{Connection as _, PgConnection};
use tokio::{sync::Semaphore, task::JoinSet};

use super::{
    fixture::{Fixture, create_session, now},
    folder::new_folder,
    sql_baseline,
    throughput::{Throughput, drain_runs},
};
use crate::postgres::{Database, PostgresServer};

/// The number of queued inputs of each seat for [`QueueShape::Seats`].
pub(crate) const INPUTS_PER_SEAT: usize = 10;
/// The maximum number of concurrent requests that fill the queue. The store commits concurrent requests in batches.
const MAX_CONCURRENT_REQUESTS: usize = 256;

/// The distribution of the queued runs over sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueShape {
    /// Ten inputs for each seat: the first one is queued, the others wait behind it.
    Seats,
    /// A session for each run.
    Sessions,
}

impl QueueShape {
    pub(crate) const ALL: [Self; 2] = [Self::Seats, Self::Sessions];

    /// Returns the number of sessions for `runs` runs.
    pub(crate) fn session_count(self, runs: usize) -> usize {
        match self {
            Self::Seats => runs.div_ceil(INPUTS_PER_SEAT),
            Self::Sessions => runs,
        }
    }

    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seats => "seats with 10 inputs each",
            Self::Sessions => "a new session for each run",
        }
    }
}

/// The cost of a drain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainCost {
    pub(crate) throughput: Throughput,
    /// The bytes of the write-ahead log for each run.
    pub(crate) wal_bytes_per_run: f64,
    /// The writing transactions for each run.
    pub(crate) commits_per_run: f64,
}

/// Queues `runs` runs on an empty database and drains them with the store's transitions, up to `in_flight` at once.
/// Returns the cost and the number of written events.
pub(crate) async fn drain_with_matins(
    server: &PostgresServer,
    folder: &Path,
    shape: QueueShape,
    runs: usize,
    in_flight: usize,
) -> Result<(DrainCost, i64)> {
    measure_drain(server, folder, shape, runs, async |world, _| {
        run_workers(world, runs, in_flight).await
    })
    .await
}

/// Drains as [`drain_with_matins`], while another connection keeps a snapshot from before the first claim. Vacuum
/// therefore cannot remove any row version that the drain makes obsolete.
pub(crate) async fn drain_during_long_read(
    server: &PostgresServer,
    folder: &Path,
    shape: QueueShape,
    runs: usize,
    in_flight: usize,
) -> Result<(DrainCost, i64)> {
    measure_drain(server, folder, shape, runs, async |world, database| {
        let mut reading = database.connect_superuser().await?;
        let begin = "begin isolation level repeatable read, read only";
        let mut transaction = reading.begin_with(begin).await?;
        let statement = "select count(*) from automation.agent_runs where status = 'succeeded'";
        let before: i64 = sqlx::query_scalar(statement)
            .fetch_one(&mut *transaction)
            .await?;
        run_workers(world, runs, in_flight).await?;
        let after: i64 = sqlx::query_scalar(statement)
            .fetch_one(&mut *transaction)
            .await?;
        ensure!(
            before == after,
            "the snapshot of the reader changed from {before} to {after} ended runs"
        );
        transaction.rollback().await?;
        Ok(reading.close().await?)
    })
    .await
}

async fn run_workers(world: &Fixture, runs: usize, in_flight: usize) -> Result<()> {
    let ended = drain_runs(world, runs, in_flight).await?;
    ensure!(ended == runs, "only {ended} of {runs} runs have ended");
    Ok(())
}

/// Drains as [`drain_with_matins`], but with plain SQL statements that write the same rows.
pub(crate) async fn drain_with_sql(
    server: &PostgresServer,
    folder: &Path,
    shape: QueueShape,
    runs: usize,
) -> Result<(DrainCost, i64)> {
    measure_drain(server, folder, shape, runs, async |world, database| {
        sql_baseline::drain(world, database, runs).await
    })
    .await
}

/// Queues runs on an empty database, measures their drain, and checks the rows afterwards.
async fn measure_drain(
    server: &PostgresServer,
    folder: &Path,
    shape: QueueShape,
    runs: usize,
    drain: impl AsyncFnOnce(&Fixture, &Database) -> Result<()>,
) -> Result<(DrainCost, i64)> {
    let folder = new_folder(folder)?;
    let database = server.create_database("matins_drain").await?;
    let world = Fixture::open_postgres(&database, folder.path()).await?;
    queue_runs(&world, shape, runs).await?;
    let drained = measure_cost(&database, runs, drain(&world, &database)).await?;
    let events = check_drained(&database, runs).await?;
    world.store.database().close().await;
    server.drop_database(&database).await?;
    Ok((drained, events))
}

/// Queues runs as messages of a person, without waiting for any of them.
pub(crate) async fn queue_runs(world: &Fixture, shape: QueueShape, runs: usize) -> Result<()> {
    let sessions = create_sessions(world, shape.session_count(runs)).await?;
    let limit = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let mut requests = JoinSet::new();
    for session in sessions.into_iter().cycle().take(runs) {
        let permit = Arc::clone(&limit).acquire_owned().await?;
        let (store, tenant) = (world.store.clone(), world.tenant);
        requests.spawn(async move {
            let text = "What is due today?";
            let submitted = store.send_message(tenant, session, None, text, now()).await;
            drop(permit);
            submitted.map(|_| ())
        });
        while let Some(done) = requests.try_join_next() {
            done??;
        }
    }
    while let Some(done) = requests.join_next().await {
        done??;
    }
    Ok(())
}

/// Creates sessions, several at once.
pub(crate) async fn create_sessions(world: &Fixture, count: usize) -> Result<Vec<SessionId>> {
    let limit = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        let permit = Arc::clone(&limit).acquire_owned().await?;
        let world = world.clone();
        tasks.spawn(async move {
            let session = create_session(&world, Path::new("/tmp")).await;
            drop(permit);
            session
        });
    }
    let mut sessions = Vec::with_capacity(count);
    while let Some(session) = tasks.join_next().await {
        sessions.push(session??);
    }
    Ok(sessions)
}

/// Measures the duration of a drain, and its writes by the counters of the server.
pub(crate) async fn measure_cost(
    database: &Database,
    runs: usize,
    drain: impl Future<Output = Result<()>>,
) -> Result<DrainCost> {
    database.vacuum_and_checkpoint().await?;
    let mut connection = database.connect_superuser().await?;
    let before = write_counters(&mut connection).await?;
    let started = Instant::now();
    drain.await?;
    let took = started.elapsed();
    let after = write_counters(&mut connection).await?;
    connection.close().await?;
    let each = |after: f64, before: f64| (after - before) / count_as_f64(runs);
    Ok(DrainCost {
        throughput: Throughput { runs, took },
        wal_bytes_per_run: each(after.0, before.0),
        commits_per_run: each(after.1, before.1),
    })
}

/// Returns the position in the write-ahead log and the next transaction ID.
async fn write_counters(connection: &mut PgConnection) -> Result<(f64, f64)> {
    let statement = "select cast(pg_current_wal_insert_lsn() - '0/0' as double precision), \
         cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as double precision)";
    Ok(sqlx::query_as(statement).fetch_one(connection).await?)
}

/// Checks that every run has succeeded, that the transcripts have each input and answer, that each run has its record,
/// that the logs have no gap, and that no heartbeat is left. Returns the number of events.
pub(crate) async fn check_drained(database: &Database, runs: usize) -> Result<i64> {
    let mut connection = database.connect_superuser().await?;
    let runs = i64::try_from(runs)?;
    for (rows, statement, expected) in [
        (
            "succeeded runs",
            "select count(*) from automation.agent_runs where status = 'succeeded'",
            runs,
        ),
        (
            "messages",
            "select count(*) from automation.agent_messages",
            2 * runs,
        ),
        (
            "complete records",
            "select count(*) from automation.run_records \
             where rendered_prompt is not null and diagnostics is not null",
            runs,
        ),
        (
            "heartbeats",
            "select count(*) from automation.run_heartbeats",
            0,
        ),
        (
            "logs with a gap",
            "select count(*) from (select 1 from automation.agent_sessions s \
             left join automation.session_events e on e.session_id = s.id \
             group by s.id having count(e.seq) <> s.last_seq or max(e.seq) <> s.last_seq) gaps",
            0,
        ),
    ] {
        let found: i64 = sqlx::query_scalar(statement)
            .fetch_one(&mut connection)
            .await?;
        ensure!(found == expected, "{found} {rows} instead of {expected}");
    }
    let events = sqlx::query_scalar("select count(*) from automation.session_events")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(events)
}

/// Converts a count for a division.
pub(crate) fn count_as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl DrainCost {
    /// Formats a line of the report.
    pub(crate) fn format_line(&self, name: &str) -> String {
        format!(
            "  {name:<58} {:8.0}/s  {:6.0} B of WAL and {:.3} commits per run",
            self.throughput.per_second(),
            self.wal_bytes_per_run,
            self.commits_per_run,
        )
    }
}
