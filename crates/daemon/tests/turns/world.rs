//! One server in miniature: a database, a scripted agent, a clock that tests move.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use agent::{Grace, GuardProgram};
use daemon::{Daemon, Host, Settings};
use model::{
    Clock, Entropy, HarnessId, InstanceId, RunId, SessionId, TenantId, WorkerId,
    entity::{Message, Run, SeatSettings},
    harness::{HarnessConfig, RestoreBy},
    permission::PermissionRules,
    policy::{Policies, SessionMode},
    schedule::Spec,
    session::{SessionKind, SessionType},
};
use store::{NewAutomation, NewSession, RunFilter, Scope, Store};
use tempfile::TempDir;
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
    scripted::{Ledger, Script, program},
};
use turn::Agents;

#[derive(Clone, Copy)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) host: Host,
    pub(crate) tenant: TenantId,
    _database: TestDatabase,
}

impl World {
    pub(crate) async fn new(database: Database) -> Self {
        let database = match database {
            Database::Sqlite => TestDatabase::sqlite(),
            Database::Postgres => {
                TestDatabase::postgres(async |url| {
                    store::open(&url.parse()?).await?.close().await;
                    Ok(())
                })
                .await
            }
        };
        let database = database.unwrap();
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T07:59:50Z"));
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(1));
        let opened = store::open(&database.url().parse().unwrap()).await.unwrap();
        let store = Store::new(opened, Arc::clone(&entropy), home.path().join("sessions"));
        let tenant = store.ensure_tenant("default", clock.now()).await.unwrap();
        let instance = InstanceId::generate(clock.now(), &*entropy);
        store
            .register_host(tenant, instance, "test", clock.now())
            .await
            .unwrap();
        let settings = Settings {
            stop_deadline: Duration::from_millis(200),
            ..Settings::default()
        };
        let agents = Agents {
            guard: GuardProgram {
                program: program().unwrap(),
                args: vec!["guard".into()],
            },
            environment: BTreeMap::new(),
            clock: Arc::<FakeClock>::clone(&clock),
            entropy: Arc::clone(&entropy),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: Grace::default(),
        };
        let worker = WorkerId::generate("test", std::process::id(), &*entropy);
        let host = Host {
            store,
            clock: Arc::<FakeClock>::clone(&clock),
            entropy,
            instance,
            worker,
            agents,
            settings,
        };
        Self {
            home,
            clock,
            host,
            tenant,
            _database: database,
        }
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }

    pub(crate) fn store(&self) -> &Store {
        &self.host.store
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// A script for an agent that lives in this world.
    pub(crate) fn script(&self) -> Script {
        Script::new(self.path("agent"))
    }

    pub(crate) async fn harness(&self, script: &Script) -> HarnessId {
        let mut config = HarnessConfig::new(script.command().unwrap());
        config.restore = RestoreBy::Auto;
        self.harness_with(&config).await
    }

    pub(crate) async fn harness_with(&self, config: &HarnessConfig) -> HarnessId {
        let now = self.clock.now();
        let made = self
            .store()
            .put_harness(self.tenant, "scripted", config, None, now)
            .await;
        made.unwrap().id
    }

    pub(crate) async fn session(&self, harness: HarnessId) -> SessionId {
        let id = SessionId::generate(self.clock.now(), &*self.host.entropy);
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(format!("web:{id}")),
            title: None,
            cwd: self.store().working_directory(None, id),
            schedule_id: None,
            harness,
            settings: SeatSettings::default(),
        };
        self.store()
            .create_session(self.tenant, &new, self.clock.now())
            .await
            .unwrap();
        id
    }

    /// An automation that is due at 08:00 UTC each day, ten seconds from the beginning.
    pub(crate) fn automation(&self, harness: HarnessId, mode: SessionMode) -> NewAutomation {
        NewAutomation {
            name: "daily monitor".into(),
            prompt: "Check the logs".into(),
            harness,
            cwd: None,
            session_mode: mode,
            bound_session_key: None,
            policies: Policies::default(),
            settings: SeatSettings::default(),
            permissions: PermissionRules::default(),
            triggers: vec![Spec::Cron {
                expression: "0 8 * * *".into(),
                zone: "UTC".into(),
            }],
        }
    }

    /// Fires what is due.
    pub(crate) async fn fire_due(&self) {
        daemon::scheduler::tick(&self.host, self.clock.now())
            .await
            .unwrap();
    }

    /// Takes all turns that can be taken, one after the other.
    pub(crate) async fn take_turns(&self) {
        loop {
            let filter = RunFilter {
                status: Some(model::run::RunStatus::Queued),
                ..RunFilter::default()
            };
            let queued = self.store().runs(Scope::System, filter, 100).await.unwrap();
            let Some(run) = queued.last() else { return };
            self.take(run.id).await;
        }
    }

    /// Takes the turn of one attempt, and not of the attempts that follow.
    pub(crate) async fn take(&self, run: RunId) -> Run {
        let worker = &self.host.worker;
        let claimed = self
            .store()
            .claim(worker, self.host.instance, 1, Some(run), self.clock.now())
            .await
            .unwrap();
        assert_eq!(claimed.len(), 1, "{run} could not be claimed");
        let ledger = daemon::StoreLedger::new(self.host.clone());
        turn::execute(&ledger, &self.host.agents, run, &turn::Orders::none())
            .await
            .unwrap();
        self.store().run(Scope::System, run).await.unwrap()
    }

    pub(crate) fn daemon(&self) -> Daemon {
        Daemon::start(self.host.clone())
    }

    pub(crate) async fn transcript(&self, session: SessionId) -> Vec<Message> {
        self.store()
            .messages(self.scope(), session, 0, 1000)
            .await
            .unwrap()
    }

    /// Role and words of each message and notice.
    pub(crate) async fn words(&self, session: SessionId) -> Vec<(String, String)> {
        let transcript = self.transcript(session).await.into_iter();
        let shown = transcript.filter(|row| matches!(row.kind.as_str(), "message" | "notice"));
        shown.map(|row| (row.role, row.content)).collect()
    }

    pub(crate) fn ledger(&self, script: &Script) -> Ledger {
        let ledger = Ledger::read(&script.ledger()).unwrap();
        ledger.check_disjoint().unwrap();
        ledger
    }
}
