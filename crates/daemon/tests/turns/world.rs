//! A small server for tests: a database, a scripted agent, and a clock that tests move.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent::{GracePeriods, GuardProgram, WorkerLock};
use daemon::{Daemon, DirectTurnStores, Host, Settings, TurnStores};
use model::{
    AgentId, AutomationId, Clock, Entropy, InstanceId, RunId, SessionId, TenantId, Timestamp,
    WorkerId,
    agent::{AgentConfig, RestoreBy},
    entity::{Automation, Message, Run, SeatSettings},
    run::RunStatus,
    session::{SessionKind, SessionType},
};
use store::{NewAutomation, NewSeat, NewSession, RunFilter, Scope, Store};
use tempfile::TempDir;
use testkit::{
    clock::{FakeClock, SeededEntropy},
    databases::TestDatabase,
    scripted::{Event, PromptLog, Script, program_path},
};
use turn::AgentRuntime;

use crate::api_stores::{self, ApiTurnStores};

pub(crate) use crate::automations::{automation, on_demand};

/// The longest wait of a test. It is reached only if something hangs.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// The interval at which conditions without a signal are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Longer than any test, so that a missing wake-up makes a test fail.
const HOUR: Duration = Duration::from_hours(1);

/// The database of a world, and the way on which its turns write to it.
#[derive(Clone, Copy)]
pub(crate) enum Storage {
    Sqlite,
    Postgres,
    /// SQLite, over the API.
    SqliteOverApi,
}

pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) host: Host,
    pub(crate) tenant: TenantId,
    pub(crate) database: TestDatabase,
    /// The instance on which all seats are placed. A runtime takes only the turns of its own instance.
    pub(crate) placed_on: Option<InstanceId>,
}

impl World {
    pub(crate) async fn new(storage: Storage) -> Self {
        let migrate = async |url: &str| {
            store::open(&url.parse()?).await?.close().await;
            Ok(())
        };
        let database = match storage {
            Storage::Postgres => TestDatabase::migrated_postgres(migrate).await,
            Storage::Sqlite | Storage::SqliteOverApi => {
                TestDatabase::migrated_sqlite(migrate).await
            }
        };
        let database = database.unwrap();
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(FakeClock::at("2026-11-23T07:59:50Z"));
        let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::new(unique_seed()));
        let opened = store::open(&database.url().parse().unwrap()).await.unwrap();
        let store = Store::new(opened, Arc::clone(&entropy), home.path().join("sessions"));
        let tenant = store.ensure_tenant("default", clock.now()).await.unwrap();
        let instance = InstanceId::generate(clock.now(), &*entropy);
        store
            .register_instance(tenant, instance, "test", clock.now())
            .await
            .unwrap();
        let over_api = matches!(storage, Storage::SqliteOverApi);
        let turn_stores: Arc<dyn TurnStores> = if over_api {
            let token = api_stores::runtime_token(&store, tenant, instance, &*entropy).await;
            Arc::new(ApiTurnStores {
                token,
                session_folders: home.path().join("sessions"),
            })
        } else {
            Arc::new(DirectTurnStores)
        };
        let settings = Settings {
            workers: 4,
            waiting_turns: 4,
            tick: HOUR,
            heartbeat: HOUR,
            heartbeat_stale: 4 * HOUR,
            watchdog: HOUR,
            stop_deadline: TEST_TIMEOUT,
            // Tests set the clock far forward, so retention is off.
            retain_records: None,
            retain_events: None,
            webhook_allow: "127.0.0.0/8".parse().unwrap(),
        };
        let agents = AgentRuntime {
            guard: GuardProgram {
                program: program_path().unwrap(),
                args: vec!["guard".into()],
                worker: None,
            },
            environment: BTreeMap::new(),
            clock: Arc::<FakeClock>::clone(&clock),
            entropy: Arc::clone(&entropy),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            tools: None,
            grace: GracePeriods {
                cancel: TEST_TIMEOUT,
                close: TEST_TIMEOUT,
                eof: TEST_TIMEOUT,
                term: TEST_TIMEOUT,
            },
        };
        let worker = WorkerId::generate("test", std::process::id(), &*entropy);
        let workers = home.path().join("workers");
        let worker_lock = Arc::new(WorkerLock::acquire(&workers, &worker).unwrap());
        let host = Host {
            store,
            clock: Arc::<FakeClock>::clone(&clock),
            entropy,
            instance,
            worker,
            worker_lock,
            turn_stores,
            artifacts: Some(artifacts::ContentFolder::new(home.path().join("artifacts"))),
            agent_runtime: agents,
            settings,
            metrics: telemetry::Metrics::new("test"),
        };
        Self {
            home,
            clock,
            host,
            tenant,
            database,
            placed_on: over_api.then_some(instance),
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

    /// Returns a script for an agent of this world.
    pub(crate) fn script(&self) -> Script {
        Script::new(self.path("agent"))
    }

    pub(crate) async fn agent(&self, script: &Script) -> AgentId {
        let mut config = AgentConfig::new(script.command().unwrap());
        config.restore = RestoreBy::Auto;
        self.agent_with(&config).await
    }

    pub(crate) async fn agent_with(&self, config: &AgentConfig) -> AgentId {
        self.put_agent("scripted", config).await
    }

    /// Creates an agent with this name.
    pub(crate) async fn agent_named(&self, name: &str, script: &Script) -> AgentId {
        let config = AgentConfig::new(script.command().unwrap());
        self.put_agent(name, &config).await
    }

    pub(crate) async fn put_agent(&self, name: &str, config: &AgentConfig) -> AgentId {
        let now = self.clock.now();
        let made = self.store().put_agent(self.tenant, name, config, None, now);
        made.await.unwrap().id
    }

    pub(crate) async fn session(&self, agent: AgentId) -> SessionId {
        let id = SessionId::generate(self.clock.now(), &*self.host.entropy);
        let new = NewSession {
            id,
            kind: SessionKind::Interactive,
            session_type: SessionType::Regular,
            key: Some(format!("web:{id}")),
            title: None,
            draft: false,
            channel: None,
            cwd: None,
            placed_on: self.placed_on,
            automation_id: None,
            entry: NewSeat::only(agent, SeatSettings::default()),
            other_seats: Vec::new(),
        };
        let now = self.clock.now();
        let created = self.store().create_session(self.tenant, &new, now);
        created.await.unwrap();
        id
    }

    /// Fires the due triggers.
    pub(crate) async fn fire_due(&self) {
        daemon::scheduler::tick(&self.host, self.clock.now())
            .await
            .unwrap();
    }

    /// Takes all queued turns, one after the other.
    pub(crate) async fn take_turns(&self) {
        loop {
            let filter = RunFilter {
                statuses: vec![RunStatus::Queued],
                ..RunFilter::default()
            };
            let queued = self.store().runs(Scope::System, filter, 100).await.unwrap();
            let Some(run) = queued.last() else { return };
            self.take_turn(run.id).await;
        }
    }

    /// Takes the turn of one attempt, without the attempts that follow.
    pub(crate) async fn take_turn(&self, run: RunId) -> Run {
        let worker = &self.host.worker;
        let claimed = self
            .store()
            .claim(worker, self.host.instance, 1, Some(run), self.clock.now())
            .await
            .unwrap();
        assert_eq!(claimed.len(), 1, "{run} could not be claimed");
        let ledger = daemon::WorkerTurnStore::new(self.host.clone());
        turn::execute(
            &ledger,
            &self.host.agent_runtime,
            run,
            &turn::TurnControl::idle(),
        )
        .await
        .unwrap();
        self.store().run(Scope::System, run).await.unwrap()
    }

    pub(crate) fn daemon(&self) -> Daemon {
        Daemon::start(self.host.clone())
    }

    pub(crate) async fn transcript(&self, session: SessionId) -> Vec<Message> {
        let mut all: Vec<Message> = Vec::new();
        loop {
            let after = all.last().map_or(0, |last| last.seq);
            let page = self.store().messages(self.scope(), session, after, 1000);
            let page = page.await.unwrap();
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    /// Returns the role and text of each message and notice.
    pub(crate) async fn messages(&self, session: SessionId) -> Vec<(String, String)> {
        let transcript = self.transcript(session).await.into_iter();
        let shown = transcript.filter(|row| matches!(row.kind.as_str(), "message" | "notice"));
        shown
            .map(|row| (row.role.to_string(), row.content))
            .collect()
    }

    /// Returns the host with other settings.
    pub(crate) fn host_with(&self, change: impl FnOnce(&mut Settings, &mut GracePeriods)) -> Host {
        let mut host = self.host.clone();
        change(&mut host.settings, &mut host.agent_runtime.grace);
        host.agent_runtime.heartbeat = host.settings.heartbeat;
        host.agent_runtime.lease = host.settings.lease();
        host
    }

    /// Returns a host whose agents get no time to end.
    pub(crate) fn host_without_grace(&self) -> Host {
        self.host_with(|_, grace| {
            *grace = GracePeriods {
                cancel: Duration::from_millis(200),
                close: Duration::ZERO,
                eof: Duration::ZERO,
                term: Duration::ZERO,
            };
        })
    }

    /// Returns the host of another process on the same machine, which starts after the first one has died.
    pub(crate) fn successor(&self) -> Host {
        let mut host = self.host.clone();
        let workers = self.path("workers");
        // A killed process leaves its lock file, without a lock.
        let left = workers.join(format!("{}.lock", host.worker));
        std::fs::remove_file(&left).unwrap();
        std::fs::write(&left, "").unwrap();
        host.worker = WorkerId::generate("test", std::process::id(), &*host.entropy);
        host.worker_lock = Arc::new(WorkerLock::acquire(&workers, &host.worker).unwrap());
        host
    }

    pub(crate) async fn create_automation(&self, new: &NewAutomation) -> AutomationId {
        let new = NewAutomation {
            placed_on: new.placed_on.or(self.placed_on),
            ..new.clone()
        };
        let made = self
            .store()
            .create_automation(self.tenant, None, &new, self.clock.now());
        made.await.unwrap()
    }

    pub(crate) async fn automation_of(&self, id: AutomationId) -> Automation {
        self.store().automation(self.scope(), id).await.unwrap()
    }

    /// Fires an automation on demand.
    pub(crate) async fn fire(&self, id: AutomationId) -> RunId {
        let fired = self
            .store()
            .fire_automation(self.tenant, id, None, self.clock.now());
        fired.await.unwrap().run_id
    }

    /// Sends a message. Returns its run.
    pub(crate) async fn send_message(&self, session: SessionId, words: &str) -> RunId {
        // Each message is later than the one before.
        let now = self.clock.advance(Duration::from_millis(1));
        let said = self
            .store()
            .send_message(self.tenant, session, None, words, now);
        said.await.unwrap().run_id
    }

    /// Sends a message and takes the turn.
    pub(crate) async fn send_and_take_turn(&self, session: SessionId, words: &str) -> Run {
        let run = self.send_message(session, words).await;
        self.take_turn(run).await
    }

    pub(crate) async fn cancel(&self, run: RunId, reason: &str) -> RunStatus {
        let now = self.clock.now();
        let cancelled = self.store().cancel_run(self.scope(), run, reason, now);
        cancelled.await.unwrap()
    }

    pub(crate) async fn run(&self, run: RunId) -> Run {
        self.store().run(Scope::System, run).await.unwrap()
    }

    /// Returns all attempts at the input of a run, first attempt first.
    pub(crate) async fn attempts(&self, run: RunId) -> Vec<Run> {
        let input = self.run(run).await.input_id;
        self.store().attempts(Scope::System, input).await.unwrap()
    }

    /// Returns all runs, oldest first.
    pub(crate) async fn runs(&self) -> Vec<Run> {
        let all = RunFilter::default();
        let mut runs = self.store().runs(Scope::System, all, 1000).await.unwrap();
        runs.reverse();
        runs
    }

    /// Waits until a run is over.
    pub(crate) async fn wait_until_over(&self, run: RunId) -> Run {
        self.wait_for_status(run, RunStatus::is_over).await
    }

    /// Waits until the status of a run satisfies a condition.
    pub(crate) async fn wait_for_status(&self, run: RunId, wanted: fn(RunStatus) -> bool) -> Run {
        eventually("a run's status", async || {
            Some(self.run(run).await).filter(|run| wanted(run.status()))
        })
        .await
    }

    /// Advances the clock past the backoff of an attempt, and takes its turn.
    pub(crate) async fn take_after_backoff(&self, run: &Run) -> Run {
        assert_eq!(run.status(), RunStatus::Deferred, "{run:#?}");
        let at = run.state.not_before().unwrap();
        let just_before = at.saturating_sub(Duration::from_micros(1));
        self.clock.set(just_before);
        self.fire_due().await;
        assert_eq!(self.run(run.id).await.status(), RunStatus::Deferred);
        self.clock.set(at);
        self.fire_due().await;
        self.take_turn(run.id).await
    }

    /// Returns the newest notice of a session.
    pub(crate) async fn last_notice(&self, session: SessionId) -> String {
        let transcript = self.transcript(session).await;
        let notice = transcript
            .into_iter()
            .rfind(|row| row.kind.as_str() == "notice");
        notice.unwrap().content
    }

    /// Returns everything that is stored about a session and its runs, to compare before and after.
    pub(crate) async fn snapshot(&self, session: SessionId) -> Vec<String> {
        let (store, scope) = (self.store(), self.scope());
        let of_session = RunFilter {
            session: Some(session),
            ..RunFilter::default()
        };
        let runs = store.runs(scope, of_session, 1000).await.unwrap();
        let mut rows = vec![format!(
            "{:?}",
            store.session(scope, session).await.unwrap()
        )];
        for seat in store.seats(scope, session).await.unwrap() {
            rows.push(format!("{seat:?}"));
        }
        for row in self.transcript(session).await {
            rows.push(format!("{row:?}"));
        }
        for event in store.events(scope, session, 0, 10_000).await.unwrap() {
            rows.push(format!("{event:?}"));
        }
        for run in runs {
            let record = store.run_record(scope, run.id).await.unwrap();
            let live = store.live_text(scope, run.id, 0).await.unwrap();
            rows.push(format!("{run:?} {record:?} {live:?}"));
        }
        rows
    }
}

/// Returns a different seed for each world on this machine, because agents are found by the IDs of their runs.
pub(crate) fn unique_seed() -> u64 {
    static WORLD_COUNT: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 32 | WORLD_COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Polls until a condition of the outside world holds.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let until = tokio::time::Instant::now() + TEST_TIMEOUT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        let now = tokio::time::Instant::now();
        assert!(now < until, "{what} did not happen in time");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Waits until a file exists.
pub(crate) async fn wait_for_file(path: &Path) {
    let name = path.display().to_string();
    eventually(&name, async || path.exists().then_some(())).await;
}

/// Creates a file that an agent waits for.
pub(crate) fn create_file(path: &Path) {
    std::fs::write(path, "").unwrap();
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn prompt_log(script: &Script) -> PromptLog {
    let prompt_log = PromptLog::read(&script.prompt_log_path()).unwrap();
    prompt_log.check_turns_disjoint().unwrap();
    prompt_log
}

/// Returns how the agents of a script opened their sessions, in order.
pub(crate) fn session_openings(script: &Script) -> Vec<&'static str> {
    let log = prompt_log(script);
    let opened = log.events().filter_map(|event| match event {
        Event::New(..) => Some("new"),
        Event::Resume(..) => Some("resume"),
        Event::Load(..) => Some("load"),
        _ => None,
    });
    opened.collect()
}
