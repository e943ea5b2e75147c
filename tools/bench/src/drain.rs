//! How many queued runs a second go to their durable end, on PostgreSQL.
//!
//! Queueing comes before and is not timed, and the tables are looked at and written down in between.
//! What is timed is what a server's workers do without agents: claim, begin and finish.

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

/// How many inputs of one seat are queued where seats have several.
pub(crate) const INPUTS_PER_SEAT: usize = 10;
/// How many requests queue at once; the store lets those that meet share a transaction.
const MAX_CONCURRENT_REQUESTS: usize = 256;

/// Where the queued runs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueShape {
    /// To seats that have ten inputs each: one is queued, the others wait behind it.
    Seats,
    /// To a session of its own each.
    Sessions,
}

impl QueueShape {
    pub(crate) const ALL: [Self; 2] = [Self::Seats, Self::Sessions];

    /// How many sessions take so many runs.
    pub(crate) fn session_count(self, runs: usize) -> usize {
        match self {
            Self::Seats => runs.div_ceil(INPUTS_PER_SEAT),
            Self::Sessions => runs,
        }
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seats => "seats with 10 inputs each",
            Self::Sessions => "a fresh session each",
        }
    }
}

/// What a drain cost the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainCost {
    pub(crate) throughput: Throughput,
    /// Bytes of the write-ahead log for each run.
    pub(crate) wal_bytes_per_run: f64,
    /// Transactions that wrote, for each run.
    pub(crate) commits_per_run: f64,
}

/// Queues `runs` runs on an empty database and drains them by the store's transitions, up to
/// `in_flight` at once. Gives the number of events as well.
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

/// The same while a transaction on another connection holds on to what it saw before the first claim, so
/// that nothing that dies meanwhile can be cleared away.
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
        ensure!(before == after, "the reader saw {after} runs end");
        transaction.rollback().await?;
        Ok(reading.close().await?)
    })
    .await
}

async fn run_workers(world: &Fixture, runs: usize, in_flight: usize) -> Result<()> {
    let ended = drain_runs(world, runs, in_flight).await?;
    ensure!(ended == runs, "{ended} of {runs} runs have ended");
    Ok(())
}

/// The same by statements that write the same rows.
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

/// Queues runs on an empty database, takes the time of their drain, and checks what is left of them.
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

/// Queues runs as people do, without waiting for any of them.
pub(crate) async fn queue_runs(world: &Fixture, shape: QueueShape, runs: usize) -> Result<()> {
    let sessions = create_sessions(world, shape.session_count(runs)).await?;
    let room = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let mut said = JoinSet::new();
    for session in sessions.into_iter().cycle().take(runs) {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let (store, tenant) = (world.store.clone(), world.tenant);
        said.spawn(async move {
            let words = "What is due today?";
            let submitted = store
                .send_message(tenant, session, None, words, now())
                .await;
            drop(permit);
            submitted.map(|_| ())
        });
        while let Some(done) = said.try_join_next() {
            done??;
        }
    }
    while let Some(done) = said.join_next().await {
        done??;
    }
    Ok(())
}

/// Makes sessions, several at once.
pub(crate) async fn create_sessions(world: &Fixture, count: usize) -> Result<Vec<SessionId>> {
    let room = Arc::new(Semaphore::new(MAX_CONCURRENT_REQUESTS));
    let mut made = JoinSet::new();
    for _ in 0..count {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let world = world.clone();
        made.spawn(async move {
            let session = create_session(&world, Path::new("/tmp")).await;
            drop(permit);
            session
        });
    }
    let mut sessions = Vec::with_capacity(count);
    while let Some(session) = made.join_next().await {
        sessions.push(session??);
    }
    Ok(sessions)
}

/// Takes the time of a drain, and reads what it wrote.
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

/// Bytes of the log and transactions with an id so far.
async fn write_counters(connection: &mut PgConnection) -> Result<(f64, f64)> {
    let statement = "select cast(pg_current_wal_insert_lsn() - '0/0' as double precision), \
         cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as double precision)";
    Ok(sqlx::query_as(statement).fetch_one(connection).await?)
}

/// Every run has succeeded, with its input and its answer in the transcript, every event its number
/// and every run its record; no worker has anything. Gives the number of events.
pub(crate) async fn check_drained(database: &Database, runs: usize) -> Result<i64> {
    let mut connection = database.connect_superuser().await?;
    let runs = i64::try_from(runs)?;
    for (what, statement, expected) in [
        (
            "runs that have succeeded",
            "select count(*) from automation.agent_runs where status = 'succeeded'",
            runs,
        ),
        (
            "rows of the transcript",
            "select count(*) from automation.agent_messages",
            2 * runs,
        ),
        (
            "records that were begun and ended",
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
        ensure!(found == expected, "{found} {what}, expected {expected}");
    }
    let events = sqlx::query_scalar("select count(*) from automation.session_events")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(events)
}

/// A count as a divisor.
pub(crate) fn count_as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl DrainCost {
    /// What is printed of it.
    pub(crate) fn format_line(&self, what: &str) -> String {
        format!(
            "  {what:<58} {:8.0}/s  {:6.0} B of WAL and {:.3} commits a run",
            self.throughput.per_second(),
            self.wal_bytes_per_run,
            self.commits_per_run,
        )
    }
}
