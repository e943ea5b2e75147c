//! Measures the time until the runs of all triggers that are due at one instant are committed, on SQLite.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use model::{
    AgentId, TenantId, Timestamp,
    entity::SeatSettings,
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::Spec,
};
use store::{NewAutomation, Scope};
use tokio::{sync::Semaphore, task::JoinSet};

use super::fixture::Fixture;

/// The maximum number of automations that are created concurrently. More would only wait for a connection.
const MAX_CONCURRENT_CREATES: usize = 16;

/// The result of the benchmark.
pub(crate) struct DueMeasurement {
    pub(crate) triggers: u32,
    pub(crate) took: Duration,
    /// The duration of the longest transaction, in which no other transaction could write.
    pub(crate) longest_transaction: Duration,
}

/// Creates `triggers` automations that are due at one instant, each with a new session for each run. Returns the
/// instant.
pub(crate) async fn create_due_automations(world: &Fixture, triggers: u32) -> Result<Timestamp> {
    let cron = Spec::Cron {
        expression: "0 9 * * *".into(),
        zone: "Europe/Prague".into(),
    };
    let before: Timestamp = "2026-11-22T00:00:00Z".parse()?;
    let new = (0..triggers).map(|number| new_automation(number, world.agent, cron.clone()));
    create_automations(world, world.tenant, new, before).await?;
    Ok("2026-11-22T08:00:00Z".parse()?)
}

/// Creates automations, several at once.
pub(crate) async fn create_automations(
    world: &Fixture,
    tenant: TenantId,
    all: impl Iterator<Item = NewAutomation>,
    now: Timestamp,
) -> Result<()> {
    let limit = Arc::new(Semaphore::new(MAX_CONCURRENT_CREATES));
    let mut tasks = JoinSet::new();
    for new in all {
        let permit = Arc::clone(&limit).acquire_owned().await?;
        let store = world.store.clone();
        tasks.spawn(async move {
            let created = store.create_automation(tenant, None, &new, now).await;
            drop(permit);
            created.map(|_| ())
        });
        while let Some(done) = tasks.try_join_next() {
            done??;
        }
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Returns an automation with a new session for each run.
pub(crate) fn new_automation(number: u32, agent: AgentId, schedule: Spec) -> NewAutomation {
    NewAutomation {
        name: format!("automation {number}"),
        prompt: "What is due today?".into(),
        agent,
        cwd: None,
        placed_on: None,
        session_mode: SessionMode::Fresh,
        bound_session_key: None,
        policies: Policies::default(),
        settings: SeatSettings::default(),
        permissions: PermissionRules::default(),
        triggers: vec![schedule],
    }
}

/// Fires all triggers that are due at `due`, in as many transactions as the store needs.
pub(crate) async fn fire_all(
    world: &Fixture,
    due: Timestamp,
    triggers: u32,
) -> Result<DueMeasurement> {
    let started = Instant::now();
    let (mut fired, mut longest) = (0, Duration::ZERO);
    loop {
        let transaction = Instant::now();
        let done = world.store.fire_due(Scope::System, due).await?;
        longest = longest.max(transaction.elapsed());
        fired += done.occurrences;
        if !done.has_more {
            break;
        }
    }
    let took = started.elapsed();
    ensure!(
        fired == triggers,
        "{fired} of {triggers} triggers have fired"
    );
    Ok(DueMeasurement {
        triggers,
        took,
        longest_transaction: longest,
    })
}
