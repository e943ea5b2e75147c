//! Measures the lag between the due instants of runs and their claims, for many runs at each second of a minute.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use daemon::{Host, scheduler};
use model::{Timestamp, schedule::Spec};
use sqlx::PgConnection;
use tokio::time::sleep;

use super::{
    due::{create_automations, new_automation},
    fixture::Fixture,
    folder::new_folder,
    loops::{OffsetClock, host_without_agents},
};
use crate::postgres::PostgresServer;

/// The number of due instants, one second apart.
pub(crate) const DUE_INSTANTS: u32 = 60;
/// The number of slots of the worker. No run ends during the measurement, so the number exceeds that of the runs due at
/// once, and no run waits for a slot.
const WORKER_SLOTS: u32 = 10_000;
/// The time from the start of the loops to the first instant.
const WARM_UP: Duration = Duration::from_secs(3);
/// The maximum time from the last instant to the last claim.
const CLAIM_TIMEOUT: Duration = Duration::from_mins(5);

/// The lags of all runs, sorted.
pub(crate) struct LagMeasurement {
    /// The time from the due instant to `claimed_at`, which is the start of the claim.
    pub(crate) claim_lags: Vec<Duration>,
    /// The time from the due instant to the commit of the claim.
    pub(crate) commit_lags: Vec<Duration>,
}

/// Fires and claims `schedules` runs at each instant.
pub(crate) async fn measure(
    server: &PostgresServer,
    folder: &Path,
    schedules: u32,
) -> Result<LagMeasurement> {
    let folder = new_folder(folder)?;
    let database = server.create_database("matins_lag").await?;
    let world = Fixture::open_postgres(&database, folder.path()).await?;
    let first: Timestamp = "2026-11-22T00:00:00Z".parse()?;
    create_schedules(&world, schedules, first).await?;
    database.vacuum_and_checkpoint().await?;

    let clock = Arc::new(OffsetClock::start(first.saturating_sub(WARM_UP)));
    let host = host_without_agents(&world, clock, 0, folder.path())?;
    let wanted = u64::from(schedules) * u64::from(DUE_INSTANTS);
    let mut connection = database.connect_superuser().await?;
    let measured = fire_and_claim(&host, wanted, &mut connection).await?;
    drop(connection);
    world.store.database().close().await;
    server.drop_database(&database).await?;
    Ok(measured)
}

/// Creates schedules that each fire once, `schedules` at each second of the first minute.
async fn create_schedules(world: &Fixture, schedules: u32, first: Timestamp) -> Result<()> {
    let before = first.saturating_sub(WARM_UP);
    let all =
        (0..DUE_INSTANTS).flat_map(|second| (0..schedules).map(move |number| (second, number)));
    let new = all.map(|(second, number)| {
        let cron = Spec::Cron {
            expression: format!("{second} 0 0 22 11 *"),
            zone: "UTC".into(),
        };
        new_automation(second * schedules + number, world.agent, cron)
    });
    create_automations(world, world.tenant, new, before).await
}

/// Does the work of the loops up to the claim: ticks the scheduler when a trigger is due, and claims the fired runs.
async fn fire_and_claim(
    host: &Host,
    wanted: u64,
    connection: &mut PgConnection,
) -> Result<LagMeasurement> {
    let started = Instant::now();
    let mut committed = Vec::new();
    let mut done = 0;
    while done < wanted {
        ensure!(
            started.elapsed()
                < WARM_UP + Duration::from_secs(u64::from(DUE_INSTANTS)) + CLAIM_TIMEOUT,
            "only {done} of {wanted} runs are claimed {CLAIM_TIMEOUT:?} after the last instant"
        );
        let tick = scheduler::tick(host, host.clock.now()).await?;
        loop {
            let now = host.clock.now();
            let claim = host
                .store
                .claim(&host.worker, host.instance, WORKER_SLOTS, None, now);
            let claimed = claim.await?;
            if claimed.is_empty() {
                break;
            }
            let at = host.clock.now();
            done += claimed.len() as u64;
            committed.extend(claimed.iter().map(|claim| (claim.run.uuid(), at)));
        }
        let longest = host.settings.tick;
        let next = tick.next.map(|next| next.since(host.clock.now()));
        sleep(next.map_or(longest, |next| next.min(longest))).await;
    }
    let claimed = column_lags(connection, "claimed_at").await?;
    let statement = "select id, cast(extract(epoch from scheduled_for) * 1000000 as bigint) \
         from automation.agent_runs";
    let due: Vec<(sqlx::types::Uuid, i64)> =
        sqlx::query_as(statement).fetch_all(connection).await?;
    let due: std::collections::HashMap<_, _> = due.into_iter().collect();
    let mut lags = Vec::with_capacity(committed.len());
    for (run, at) in committed {
        let due = *due.get(&run).context("a claimed run has no row")?;
        let late = at.as_microsecond() - due;
        lags.push(Duration::from_micros(u64::try_from(late)?));
    }
    lags.sort_unstable();
    Ok(LagMeasurement {
        claim_lags: claimed,
        commit_lags: lags,
    })
}

/// Returns the time from each due instant to the instant in a column, sorted.
async fn column_lags(connection: &mut PgConnection, column: &str) -> Result<Vec<Duration>> {
    let statement = format!(
        "select cast(extract(epoch from {column} - scheduled_for) * 1000000 as bigint) as lag \
         from automation.agent_runs where {column} is not null order by lag"
    );
    let lags: Vec<i64> = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
        .fetch_all(connection)
        .await?;
    lags.into_iter()
        .map(|lag| Ok(Duration::from_micros(u64::try_from(lag)?)))
        .collect()
}
