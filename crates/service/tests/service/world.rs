//! A service over a database of its own, with a stopped clock, and agents whose capabilities
//! the test sets.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use api_types::{
    AutomationPage, AutomationRequest, CheckDepth, CheckFindings, SessionRequest, SessionTarget,
    TriggerRequest,
};
use model::{
    Clock as _, TenantId, Timestamp,
    agent::{AgentConfig, OfferedCapabilities},
};
use service::{AutomationQuery, Probe, ProbeError, ProbeFuture, Service};
use store::{Location, Store};
use tempfile::TempDir;
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
};

/// The capabilities of each program. Other programs cannot be started.
#[derive(Default)]
pub(crate) struct Agents {
    offers: Mutex<BTreeMap<String, OfferedCapabilities>>,
    pub(crate) starts: AtomicUsize,
}

impl Agents {
    pub(crate) fn install(&self, program: &str, offers: OfferedCapabilities) {
        self.offers.lock().unwrap().insert(program.into(), offers);
    }
}

impl Probe for Agents {
    fn probe<'a>(&'a self, config: &'a AgentConfig, _: CheckDepth) -> ProbeFuture<'a> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        let offers = self.offers.lock().unwrap().get(&config.command[0]).cloned();
        Box::pin(async move {
            let offers = offers.ok_or_else(|| ProbeError("no such program".into()))?;
            Ok(CheckFindings {
                offers,
                ..CheckFindings::default()
            })
        })
    }
}

pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) agents: Arc<Agents>,
    pub(crate) folder: TempDir,
}

/// 10:00 in Prague, on a Saturday.
pub(crate) const NOW: &str = "2026-11-21T09:00:00Z";

pub(crate) fn resuming() -> OfferedCapabilities {
    OfferedCapabilities {
        resume: true,
        ..OfferedCapabilities::default()
    }
}

impl World {
    /// A tenant with three agents: `good` resumes, `amnesiac` does not, `absent` cannot be started.
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let migrate = async |url: &str| {
            store::open(&url.parse()?).await?.close().await;
            Ok(())
        };
        let migrated = TestDatabase::migrated_sqlite(migrate).await.unwrap();
        let file = folder.path().join("matins.db");
        fs::copy(migrated.file().unwrap(), &file).unwrap();
        let database = store::open(&Location::SqliteFile(file)).await.unwrap();
        let entropy = Arc::new(SeededEntropy::new(7));
        let store = Store::new(database, entropy.clone(), folder.path().join("sessions"));
        let clock = Arc::new(FakeClock::at(NOW));
        let tenant = store
            .ensure_tenant("default", NOW.parse().unwrap())
            .await
            .unwrap();
        let agents = Arc::new(Agents::default());
        agents.install("good-agent", resuming());
        agents.install("amnesiac-agent", OfferedCapabilities::default());
        let service = Service::new(
            store.clone(),
            tenant,
            clock.clone(),
            entropy,
            agents.clone(),
        );
        for name in ["good", "amnesiac", "absent"] {
            let config = AgentConfig::new(vec![format!("{name}-agent")]);
            service.add_agent(name, &config).await.unwrap();
        }
        Self {
            service,
            store,
            tenant,
            clock,
            agents,
            folder,
        }
    }

    /// A session that a person began.
    pub(crate) async fn conversation(&self) -> model::entity::Session {
        let request = SessionRequest {
            agent: Some("good".into()),
            ..SessionRequest::default()
        };
        self.service.create_session(&request, None).await.unwrap()
    }

    pub(crate) fn clock_now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// All automations.
    pub(crate) async fn automations(&self) -> AutomationPage {
        let query = AutomationQuery {
            limit: 100,
            ..AutomationQuery::default()
        };
        self.service.automations(&query).await.unwrap()
    }

    /// A store over the same database, as after a restart.
    pub(crate) async fn reopen_store(&self) -> Store {
        let location = Location::SqliteFile(self.folder.path().join("matins.db"));
        let database = store::open(&location).await.unwrap();
        let entropy = Arc::new(SeededEntropy::new(8));
        Store::new(database, entropy, self.folder.path().join("sessions"))
    }

    /// The service of the same tenant over another store.
    pub(crate) fn service_over(&self, store: &Store) -> Service {
        Service::new(
            store.clone(),
            self.tenant,
            self.clock.clone(),
            Arc::new(SeededEntropy::new(9)),
            self.agents.clone(),
        )
    }
}

/// Returns a valid request for an automation, which the tests change.
pub(crate) fn request() -> AutomationRequest {
    AutomationRequest {
        name: Some("news".into()),
        triggers: vec![cron("0 9 * * 1-5")],
        zone: Some("Europe/Prague".into()),
        session: SessionTarget::Continuous,
        agent: Some("good".into()),
        ..AutomationRequest::new("Read the news")
    }
}

/// A trigger at the times of an expression, in the zone of its automation.
pub(crate) fn cron(expression: &str) -> TriggerRequest {
    TriggerRequest::Cron {
        expression: expression.into(),
        zone: None,
    }
}

/// A trigger at equal distances that begin at the present.
pub(crate) fn every(period: &str) -> TriggerRequest {
    TriggerRequest::Every {
        period: period.into(),
        anchor: None,
        zone: None,
    }
}

/// A trigger that fires once, in the zone of its automation.
pub(crate) fn at(at: &str) -> TriggerRequest {
    TriggerRequest::At {
        at: at.into(),
        zone: None,
    }
}

/// An error with all that caused it, as the command line prints it.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string())
        .chain(causes.map(ToString::to_string))
        .collect::<Vec<_>>()
        .join(": ")
}
