//! Everything that is due at one instant on PostgreSQL, fired by a server's scheduler, and how late
//! another tenant's triggers are meanwhile.

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

/// How far apart the other tenant's triggers are.
const OTHER_TRIGGER_INTERVAL: Duration = Duration::from_millis(100);
/// How many of them there are: as long as the burst may take.
const OTHER_TRIGGERS: u32 = 300;
/// How long the loops run before the instant.
const WARM_UP: Duration = Duration::from_secs(3);
/// How often it is asked whether everything has been fired. When what was committed says the server.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How long is waited afterwards.
const SETTLE_PAUSE: Duration = Duration::from_secs(2);
/// The longest that the burst may take.
const BURST_TIMEOUT: Duration = Duration::from_mins(5);

/// What was measured.
pub(crate) struct BurstMeasurement {
    /// From the instant until every run was committed.
    pub(crate) took: Duration,
    /// How late those runs of the other tenant were committed that were due meanwhile, sorted.
    pub(crate) other_tenant_lags: Vec<Duration>,
    /// The peak of this process's memory, in MB, before and after.
    pub(crate) peak_mb: (f64, f64),
}

/// Fires `triggers` triggers of one tenant at one instant, and from then on one of another tenant each
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

    let first = machine::peak_mb()?;
    let clock = Arc::new(OffsetClock::start(before));
    // No workers: what is measured is until the runs are there.
    let host = host_without_agents(&world, clock.clone(), 0, folder.path())?;
    let daemon = Daemon::start(host);
    let mut connection = database.connect_superuser().await?;
    let started = Instant::now();
    while !all_fired(&mut connection, world.tenant).await? {
        ensure!(
            started.elapsed() < BURST_TIMEOUT,
            "not everything has fired after {BURST_TIMEOUT:?}"
        );
        sleep(POLL_INTERVAL).await;
    }
    // Those that were due until then may still come.
    sleep(SETTLE_PAUSE).await;
    daemon.stop().await;
    let statement = "select count(*) from automation.agent_runs where tenant_id = $1";
    let runs: i64 = sqlx::query_scalar(statement)
        .bind(world.tenant.uuid())
        .fetch_one(&mut connection)
        .await?;
    ensure!(
        runs == i64::from(triggers),
        "{runs} runs of {triggers} triggers"
    );
    let all_at = commit_times(&mut connection, world.tenant, &clock).await?;
    let all_at = all_at.into_values().max().context("nothing was fired")?;
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
            at.context("a run of the other tenant never came")?
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

/// Makes another tenant with what its automations need.
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

/// When the runs of a tenant were committed, by the instants of their triggers: the last of each. Nobody has
/// claimed them, so that each row is the one that was made.
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

/// Whether no trigger of a tenant is left to fire.
async fn all_fired(connection: &mut PgConnection, tenant: TenantId) -> Result<bool> {
    let statement = "select not exists (select 1 from automation.automation_triggers \
         where next_fire_at is not null and tenant_id = $1)";
    let tenant: Uuid = tenant.uuid();
    Ok(sqlx::query_scalar(statement)
        .bind(tenant)
        .fetch_one(connection)
        .await?)
}
