//! A database with a tenant, and the servers that use it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use agent::{GracePeriods, GuardProgram, WorkerLock};
use daemon::{DirectTurnStores, Host, Settings};
use model::{
    AgentId, Entropy, InstanceId, SessionId, TenantId, Timestamp, WorkerId,
    agent::AgentConfig,
    entity::SeatSettings,
    permission::PermissionRules,
    policy::{Overlap, Policies, SessionMode},
    schedule::Spec,
    session::{SessionKind, SessionType},
};
use store::{NewAutomation, NewSeat, NewSession, Store};
use tempfile::TempDir;
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
    scripted::program_path,
};
use turn::AgentRuntime;
use uuid::Uuid;

/// The time at which each test begins, in microseconds since 1970.
const EPOCH: i64 = 1_780_000_000_000_000;

/// Longer than any test, because time passes only when a test advances it.
const HOUR: Duration = Duration::from_hours(1);

/// Longer than any step of a shutdown takes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

pub(crate) fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap()
}

/// Returns the instance on which agents run.
pub(crate) fn test_instance() -> InstanceId {
    InstanceId::from_uuid(Uuid::from_u128(1))
}

/// Opens a store over the database at this address. Its IDs are unique to this process.
pub(crate) async fn open(url: &str, home: &Path) -> Store {
    let database = store::open(&url.parse().unwrap()).await.unwrap();
    let seed = u64::from(std::process::id()) << 20;
    let entropy = Arc::new(SeededEntropy::new(seed));
    Store::new(database, entropy, home.join("sessions"))
}

/// Returns a server over a store, with a clock that shows `now`.
pub(crate) fn host(store: &Store, home: &Path, now: Timestamp) -> (Host, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::new(now));
    let seed = u64::from(std::process::id()) << 20 | 0xFFFF;
    let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(seed));
    let settings = Settings {
        workers: 2,
        waiting_turns: 2,
        tick: HOUR,
        heartbeat: HOUR,
        heartbeat_stale: 4 * HOUR,
        watchdog: HOUR,
        stop_deadline: SHUTDOWN_TIMEOUT,
        ..Settings::default()
    };
    let agents = AgentRuntime {
        guard: GuardProgram {
            program: program_path().unwrap(),
            args: vec!["guard".into()],
            worker: None,
        },
        environment: BTreeMap::new(),
        clock: clock.clone(),
        entropy: entropy.clone(),
        heartbeat: settings.heartbeat,
        lease: settings.lease(),
        tools: None,
        grace: GracePeriods {
            cancel: SHUTDOWN_TIMEOUT,
            close: SHUTDOWN_TIMEOUT,
            eof: SHUTDOWN_TIMEOUT,
            term: SHUTDOWN_TIMEOUT,
        },
    };
    let worker = WorkerId::generate("test", std::process::id(), &*entropy);
    let worker_lock = WorkerLock::acquire(&home.join("workers"), &worker).unwrap();
    let host = Host {
        store: store.clone(),
        clock: clock.clone(),
        worker,
        worker_lock: Arc::new(worker_lock),
        turn_stores: Arc::new(DirectTurnStores),
        artifacts: None,
        entropy,
        instance: test_instance(),
        agent_runtime: agents,
        settings,
        metrics: telemetry::Metrics::new("test"),
    };
    (host, clock)
}

/// The database, the folder and the clock of one test.
pub(crate) struct TestBed {
    pub(crate) home: TempDir,
    pub(crate) url: String,
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) agent: AgentId,
    /// The instance on which new automations are placed.
    pub(crate) placed_on: Option<InstanceId>,
    /// The time of the clock, in microseconds since 1970.
    pub(crate) now: i64,
    created_count: u32,
    _database: TestDatabase,
}

impl TestBed {
    pub(crate) async fn new(database: Database) -> Self {
        let migrate = async |url: &str| {
            store::open(&url.parse()?).await?.close().await;
            Ok(())
        };
        let database = match database {
            Database::Sqlite => TestDatabase::migrated_sqlite(migrate).await,
            Database::Postgres => TestDatabase::migrated_postgres(migrate).await,
        };
        let database = database.unwrap();
        let home = tempfile::tempdir().unwrap();
        let url = database.url().to_owned();
        let store = open(&url, home.path()).await;
        let now = instant(EPOCH);
        let tenant = store.ensure_tenant("default", now).await.unwrap();
        store
            .register_instance(tenant, test_instance(), "here", now)
            .await
            .unwrap();
        let config = AgentConfig::new(vec!["agent".into()]);
        let agent = store.put_agent(tenant, "agent", &config, None, now);
        let agent = agent.await.unwrap().id;
        Self {
            home,
            url,
            store,
            tenant,
            agent,
            placed_on: None,
            now: EPOCH,
            created_count: 0,
            _database: database,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    pub(crate) fn instant(&self) -> Timestamp {
        instant(self.now)
    }

    /// Advances the clock.
    pub(crate) fn advance(&mut self, duration: Duration) -> Timestamp {
        self.now += i64::try_from(duration.as_micros()).unwrap();
        self.instant()
    }

    /// Creates an interactive session, and returns it with its key.
    pub(crate) async fn create_session(&mut self) -> (SessionId, String) {
        self.created_count += 1;
        let key = format!("web:{}", self.created_count);
        let id = SessionId::from_uuid(Uuid::from_u128(1000 + u128::from(self.created_count)));
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(key.clone()),
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: None,
            automation_id: None,
            entry: NewSeat::only(self.agent, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        let made = self
            .store
            .create_session(self.tenant, &new, self.instant())
            .await;
        (made.unwrap().0, key)
    }

    /// Creates an automation that is due once, in one second.
    pub(crate) async fn create_automation(
        &mut self,
        agent: AgentId,
        bound: Option<String>,
        policies: Policies,
    ) -> model::AutomationId {
        self.created_count += 1;
        let mode = match bound {
            Some(_) => SessionMode::Bound,
            None => SessionMode::Continuous,
        };
        let at = instant(self.now + 1_000_000);
        let new = NewAutomation {
            name: format!("job {}", self.created_count),
            prompt: "Do it.".into(),
            agent,
            cwd: None,
            placed_on: self.placed_on,
            session_mode: mode,
            bound_session_key: bound,
            policies: Policies {
                overlap: Some(Overlap::Queue),
                ..policies
            },
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers: vec![Spec::At {
                at,
                zone: "UTC".into(),
            }],
        };
        let made = self
            .store
            .create_automation(self.tenant, None, &new, self.instant())
            .await;
        made.unwrap()
    }
}
