//! A database for benchmarks, with a tenant, an instance and an agent.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use model::{
    AgentId, Entropy, InstanceId, SessionId, TenantId, Timestamp, WorkerId,
    agent::AgentConfig,
    entity::SeatSettings,
    session::{SessionKind, SessionType},
};
use store::{Location, NewSeat, NewSession, Store};

use crate::postgres::Database;

/// A database with the rows that runs refer to. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) tenant: TenantId,
    pub(crate) agent: AgentId,
    pub(crate) instance: InstanceId,
    pub(crate) worker: WorkerId,
}

/// Returns the time of the system's clock.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_jiff(jiff::Timestamp::now())
}

struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        // Ignore an error: IDs would repeat then, and the database would refuse them.
        let _ = getrandom::fill(bytes);
    }
}

/// Returns the system's randomness.
pub(crate) fn system_entropy() -> Arc<dyn Entropy> {
    Arc::new(SystemEntropy)
}

impl Fixture {
    /// Opens a new SQLite file below `folder`.
    pub(crate) async fn open_sqlite(folder: &Path) -> Result<Self> {
        Self::open_sqlite_with_agent(folder, vec!["true".into()]).await
    }

    /// Opens a new SQLite file below `folder`, with an agent that runs `command`.
    pub(crate) async fn open_sqlite_with_agent(
        folder: &Path,
        command: Vec<String>,
    ) -> Result<Self> {
        let location = Location::SqliteFile(folder.join("matins.db"));
        Self::open_at(&location, folder, command).await
    }

    /// Opens an empty database of a PostgreSQL server. Files of sessions go below `folder`.
    pub(crate) async fn open_postgres(database: &Database, folder: &Path) -> Result<Self> {
        let location = database.url.parse()?;
        Self::open_at(&location, folder, vec!["true".into()]).await
    }

    async fn open_at(location: &Location, folder: &Path, command: Vec<String>) -> Result<Self> {
        let entropy = system_entropy();
        let database = store::open(location).await?;
        let store = Store::new(database, Arc::clone(&entropy), folder.join("sessions"));
        let tenant = store.ensure_tenant("default", now()).await?;
        let instance = InstanceId::generate(now(), &*entropy);
        store
            .register_instance(tenant, instance, "bench", now())
            .await?;
        let config = AgentConfig::new(command);
        let agent = store
            .put_agent(tenant, "bench", &config, None, now())
            .await?
            .id;
        let worker = WorkerId::generate("bench", std::process::id(), &*entropy);
        Ok(Self {
            store,
            entropy,
            tenant,
            agent,
            instance,
            worker,
        })
    }
}

/// Creates an interactive session in a folder.
pub(crate) async fn create_session(world: &Fixture, cwd: &Path) -> Result<SessionId> {
    let id = SessionId::generate(now(), &*world.entropy);
    let new = NewSession {
        id,
        kind: SessionKind::Interactive,
        session_type: SessionType::Regular,
        key: None,
        title: Some("bench".into()),
        draft: false,
        channel: None,
        cwd: Some(cwd.to_string_lossy().into_owned()),
        placed_on: None,
        automation_id: None,
        entry: NewSeat::only(world.agent, SeatSettings::default()),
        other_seats: Vec::new(),
    };
    let (session, _) = world
        .store
        .create_session(world.tenant, &new, now())
        .await?;
    Ok(session)
}
