//! Measures the time until the runs of all triggers that are due at one instant are committed on PostgreSQL, by a
//! server's scheduler, and the lag of another tenant's triggers during this burst.

use std::{
    collections::HashMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use daemon::Daemon;
use model::{AgentId, Clock as _, TenantId, Timestamp, agent::AgentConfig, schedule::Spec};
use sqlx::{PgConnection, types::Uuid};
use tokio::time::sleep;

use super::{
    due::{create_automations, new_automation},
    fixture::Fixture,
    folder::new_folder,
    loops::{OffsetClock, host_without_agents},
    machine,
};
use crate::postgres::PostgresServer;

/// The interval between the other tenant's triggers.
const OTHER_TRIGGER_INTERVAL: Duration = Duration::from_millis(100);
/// The number of the other tenant's triggers. Together they must last longer than the burst.
const OTHER_TRIGGERS: u32 = 300;
/// The time for which the loops run before the instant.
const WARM_UP: Duration = Duration::from_secs(3);
/// The interval at which the benchmark polls whether all triggers have fired. It does not limit the precision, because
/// the database records the time of each commit.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The time for which the benchmark waits after the burst for late runs of the other tenant.
const SETTLE_PAUSE: Duration = Duration::from_secs(2);
/// The maximum duration of the burst.
const BURST_TIMEOUT: Duration = Duration::from_mins(5);

/// The result of the benchmark.
pub(crate) struct BurstMeasurement {
    /// The time from the instant until every run was committed.
    pub(crate) took: Duration,
    /// The time from the due instant to the commit for each run of the other tenant that was due during the burst,
    /// sorted.
    pub(crate) other_tenant_lags: Vec<Duration>,
    /// The memory of this process before the burst, and its peak during the burst, in MB.
    pub(crate) peak_mb: (f64, f64),
}

/// Fires `triggers` triggers of one tenant at one instant, and from then on one trigger of another tenant every
/// 100 ms.
pub(crate) async fn measure(
    server: &PostgresServer,
    folder: &Path,
    triggers: u32,
) -> Result<BurstMeasurement> {
    let folder = new_folder(folder)?;
    let database = server.create_database("matins_due").await?;
    let world = Fixture::open_postgres(&database, folder.path()).await?;
    let instant: Timestamp = "2026-11-22T08:00:00Z".parse()?;
    let before = instant.saturating_sub(WARM_UP);
    let at = |at| Spec::At {
        at,
        zone: "UTC".into(),
    };
    let burst = (0..triggers).map(|number| new_automation(number, world.agent, at(instant)));
    create_automations(&world, world.tenant, burst, before).await?;
    let (other, agent) = create_other_tenant(&world).await?;
    let apart = (0..OTHER_TRIGGERS)
        .map(|number| new_automation(number, agent, at(instant + OTHER_TRIGGER_INTERVAL * number)));
    create_automations(&world, other, apart, before).await?;
    database.vacuum_and_checkpoint().await?;

    let first = machine::reset_peak_mb()?;
    let clock = Arc::new(OffsetClock::start(before));
    // Start no workers, because the measurement ends when the runs are committed.
    let host = host_without_agents(&world, clock.clone(), 0, folder.path())?;
    let daemon = Daemon::start(host);
    let mut connection = database.connect_superuser().await?;
    let started = Instant::now();
    while !all_fired(&mut connection, world.tenant).await? {
        ensure!(
            started.elapsed() < BURST_TIMEOUT,
            "some triggers have not fired within {BURST_TIMEOUT:?}"
        );
        sleep(POLL_INTERVAL).await;
    }
    // Runs of the other tenant that were due before now may not be committed yet.
    sleep(SETTLE_PAUSE).await;
    daemon.stop().await;
    let statement = "select count(*) from automation.agent_runs where tenant_id = $1";
    let runs: i64 = sqlx::query_scalar(statement)
        .bind(world.tenant.uuid())
        .fetch_one(&mut connection)
        .await?;
    ensure!(
        runs == i64::from(triggers),
        "{triggers} triggers made {runs} runs"
    );
    let all_at = commit_times(&mut connection, world.tenant, &clock).await?;
    let all_at = all_at.into_values().max().context("no trigger has fired")?;
    let seen = commit_times(&mut connection, other, &clock).await?;
    drop(connection);
    world.store.database().close().await;
    server.drop_database(&database).await?;

    let mut others = Vec::new();
    for number in 0..OTHER_TRIGGERS {
        let due = instant + OTHER_TRIGGER_INTERVAL * number;
        if due > all_at {
            break;
        }
        let at = seen.get(&due.as_microsecond());
        others.push(
            at.context("a trigger of the other tenant has not fired")?
                .since(due),
        );
    }
    others.sort_unstable();
    Ok(BurstMeasurement {
        took: all_at.since(instant),
        other_tenant_lags: others,
        peak_mb: (first, machine::peak_mb()?),
    })
}

/// Creates another tenant, with an instance and an agent for its automations.
async fn create_other_tenant(world: &Fixture) -> Result<(TenantId, AgentId)> {
    let (store, now) = (&world.store, super::fixture::now());
    let tenant = store.ensure_tenant("other", now).await?;
    store
        .register_instance(tenant, world.instance, "bench", now)
        .await?;
    let config = AgentConfig::new(vec!["true".into()]);
    let agent = store.put_agent(tenant, "bench", &config, None, now).await?;
    Ok((tenant, agent.id))
}

/// Returns the time of the last commit of a tenant's runs for each due instant. Reads the commit time of each row's
/// last version, which is its first one because no worker has claimed the runs.
async fn commit_times(
    connection: &mut PgConnection,
    tenant: TenantId,
    clock: &OffsetClock,
) -> Result<HashMap<i64, Timestamp>> {
    let statement = "select cast(extract(epoch from scheduled_for) * 1000000 as bigint), \
         cast(extract(epoch from clock_timestamp() - max(pg_xact_commit_timestamp(xmin))) * 1000000 as bigint) \
         from automation.agent_runs where tenant_id = $1 and scheduled_for is not null group by scheduled_for";
    let found: Vec<(i64, i64)> = sqlx::query_as(statement)
        .bind(tenant.uuid())
        .fetch_all(connection)
        .await?;
    let now = clock.now();
    let at = |(due, ago): (i64, i64)| {
        let ago = Duration::from_micros(u64::try_from(ago)?);
        Ok((due, now.saturating_sub(ago)))
    };
    found.into_iter().map(at).collect()
}

/// Returns `true` if no trigger of a tenant is left to fire.
async fn all_fired(connection: &mut PgConnection, tenant: TenantId) -> Result<bool> {
    let statement = "select not exists (select 1 from automation.automation_triggers \
         where next_fire_at is not null and tenant_id = $1)";
    let tenant: Uuid = tenant.uuid();
    Ok(sqlx::query_scalar(statement)
        .bind(tenant)
        .fetch_one(connection)
        .await?)
}
