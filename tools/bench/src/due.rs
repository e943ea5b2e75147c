//! How long it takes until everything that is due at one instant is committed.

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

use super::world::World;

/// How many automations are made at once; no more than a server has connections for.
const CREATING: usize = 16;

/// What was measured.
pub(crate) struct Measured {
    pub(crate) triggers: u32,
    pub(crate) took: Duration,
    /// The longest that one transaction kept others from writing.
    pub(crate) longest: Duration,
}

/// Makes `triggers` automations that are due at one instant, each with its own session for each run.
pub(crate) async fn make(world: &World, triggers: u32) -> Result<Timestamp> {
    let cron = Spec::Cron {
        expression: "0 9 * * *".into(),
        zone: "Europe/Prague".into(),
    };
    let before: Timestamp = "2026-11-22T00:00:00Z".parse()?;
    let new = (0..triggers).map(|number| automation(number, world.agent, cron.clone()));
    create_automations(world, world.tenant, new, before).await?;
    Ok("2026-11-22T08:00:00Z".parse()?)
}

/// Makes automations, several at once.
pub(crate) async fn create_automations(
    world: &World,
    tenant: TenantId,
    all: impl Iterator<Item = NewAutomation>,
    now: Timestamp,
) -> Result<()> {
    let room = Arc::new(Semaphore::new(CREATING));
    let mut made = JoinSet::new();
    for new in all {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let store = world.store.clone();
        made.spawn(async move {
            let created = store.create_automation(tenant, None, &new, now).await;
            drop(permit);
            created.map(|_| ())
        });
        while let Some(done) = made.try_join_next() {
            done??;
        }
    }
    while let Some(done) = made.join_next().await {
        done??;
    }
    Ok(())
}

/// An automation with a session for each run.
pub(crate) fn automation(number: u32, agent: AgentId, schedule: Spec) -> NewAutomation {
    NewAutomation {
        name: format!("automation {number}"),
        prompt: "What is due today?".into(),
        agent,
        cwd: None,
        session_mode: SessionMode::Fresh,
        bound_session_key: None,
        policies: Policies::default(),
        settings: SeatSettings::default(),
        permissions: PermissionRules::default(),
        triggers: vec![schedule],
    }
}

/// Fires everything that is due at `due`.
pub(crate) async fn fire(world: &World, due: Timestamp, triggers: u32) -> Result<Measured> {
    let started = Instant::now();
    let (mut fired, mut longest) = (0, Duration::ZERO);
    loop {
        let look = Instant::now();
        let done = world.store.fire_due(Scope::System, due).await?;
        longest = longest.max(look.elapsed());
        fired += done.occurrences;
        if !done.more {
            break;
        }
    }
    let took = started.elapsed();
    ensure!(fired == triggers, "{fired} of {triggers} have fired");
    Ok(Measured {
        triggers,
        took,
        longest,
    })
}
