//! The world of one simulation: a database in memory, servers that start and end, and the actions of servers and
//! people, one step after another.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use agent::{GracePeriods, GuardProgram, WorkerLock};
use anyhow::Context as _;
use daemon::{DirectTurnStores, Host, Settings};
use model::{
    AgentId, AutomationId, Entropy, InstanceId, SessionId, TenantId, Timestamp, WorkerId,
    agent::AgentConfig,
};
use store::{Location, Scope, Store};
use tempfile::TempDir;
use testkit::clock::{FakeClock, SeededEntropy};
use turn::AgentRuntime as Agency;

use crate::{
    agents::AgentLog,
    defects::Defect,
    rng::Rng,
    schedules::Schedules,
    simulated_server::SimulatedServer,
    sql,
    time::{MACHINE_COUNT, MINUTE, Micros, SECOND, SimulatedTime},
};

/// The time at which every simulation begins, plus or minus a week.
const EPOCH: i64 = 1_780_000_000 * SECOND;

/// The number of steps of one seed before faults stop and everything ends.
pub(crate) const STEPS_PER_SEED: u64 = 900;

/// The number of steps in which all runs must end once faults have stopped.
const MAX_DRAIN_STEPS: u64 = 6_000;

/// The highest number of servers on one machine.
const MAX_SERVERS_PER_MACHINE: usize = 2;

/// The number of steps between two checks of the whole database.
const STEPS_PER_CHECK: u64 = 150;

/// The accepted requests, to compare with the database at the end.
#[derive(Default)]
pub(crate) struct ExpectedInputs {
    /// The number of accepted messages.
    pub(crate) messages: i64,
    /// The number of accepted fires on demand.
    pub(crate) fires: i64,
}

pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) time: SimulatedTime,
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) agent: AgentId,
    pub(crate) servers: Vec<SimulatedServer>,
    pub(crate) agents: AgentLog,
    pub(crate) schedules: Schedules,
    pub(crate) expected_inputs: ExpectedInputs,
    pub(crate) sessions: Vec<SessionId>,
    pub(crate) automations: Vec<AutomationId>,
    /// The limit of waiting first attempts of each automation.
    pub(crate) queue_limits: BTreeMap<AutomationId, i64>,
    /// The number of runs of each automation that were claimed and deferred again.
    pub(crate) redeferred: BTreeMap<AutomationId, i64>,
    /// `true` once faults have stopped and people request nothing new.
    pub(crate) calm: bool,
    pub(crate) defect: Defect,
    /// The number of calls of each transition and tick, by name.
    pub(crate) call_counts: BTreeMap<&'static str, u64>,
    pub(crate) steps: u64,
    /// The trace of all events.
    pub(crate) trace: Vec<String>,
    entropy: Arc<SeededEntropy>,
    /// The folders with the lock files of the servers.
    folders: TempDir,
}

impl World {
    pub(crate) async fn new(seed: u64, broken: Defect) -> anyhow::Result<Self> {
        let mut chance = Rng::new(seed);
        let database = store::open(&Location::SqliteMemory).await?;
        let entropy = Arc::new(SeededEntropy::new(seed));
        let ids: Arc<dyn Entropy> = entropy.clone();
        let store = Store::new(database, ids, PathBuf::from("/data/sessions"));
        let ahead = [0, chance.between(-SECOND, SECOND)];
        let epoch = EPOCH + chance.below(7 * 24 * 60) * MINUTE;
        let time = SimulatedTime::new(crate::time::instant(epoch), ahead);
        let now = time.wall_clock(0);
        let tenant = store.ensure_tenant("default", now).await?;
        let config = AgentConfig::new(vec!["agent".into()]);
        let agent = store.put_agent(tenant, "agent", &config, None, now);
        let agent = agent.await?.id;
        for (machine, name) in (0..MACHINE_COUNT).zip(["here", "there"]) {
            let id = instance_id(machine);
            store.register_instance(tenant, id, name, now).await?;
        }
        for sql in broken.sql() {
            sql::execute(&store, sql)
                .await
                .context("break the schema")?;
        }
        let mut world = Self {
            rng: chance,
            time,
            store,
            tenant,
            agent,
            servers: Vec::new(),
            agents: AgentLog::default(),
            schedules: Schedules::default(),
            expected_inputs: ExpectedInputs::default(),
            sessions: Vec::new(),
            automations: Vec::new(),
            queue_limits: BTreeMap::new(),
            redeferred: BTreeMap::new(),
            calm: false,
            defect: broken,
            call_counts: BTreeMap::new(),
            steps: 0,
            trace: Vec::new(),
            entropy,
            folders: tempfile::tempdir()?,
        };
        for machine in [0, 0, 1] {
            world.start_server(machine);
        }
        Ok(world)
    }

    pub(crate) fn scope(&self) -> Scope {
        Scope::Tenant(self.tenant)
    }

    /// Returns the time of the people's clock, which is the clock of the first machine.
    pub(crate) fn person_clock(&self) -> Timestamp {
        self.time.wall_clock(0)
    }

    /// Counts a call and adds it to the trace.
    pub(crate) fn record_call(&mut self, name: &'static str, what: impl FnOnce() -> String) {
        self.steps += 1;
        *self.call_counts.entry(name).or_default() += 1;
        self.trace_event(|| format!("{name} {}", what()));
    }

    /// Adds an event that is no call to the trace.
    pub(crate) fn trace_event(&mut self, what: impl FnOnce() -> String) {
        let seconds = Duration::from_micros(self.time.now.unsigned_abs());
        self.trace.push(format!("{seconds:?}: {}", what()));
    }

    /// Returns a new secret of a turn. A turn's begin is recognised by it when it is repeated.
    pub(crate) fn turn_secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        self.entropy.fill(&mut secret);
        secret
    }

    /// Returns a new ID of a session.
    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::generate(self.person_clock(), &*self.entropy)
    }

    /// Starts a server process on a machine.
    pub(crate) fn start_server(&mut self, machine: usize) {
        let there = self.servers.iter();
        if there.filter(|server| server.machine == machine).count() >= MAX_SERVERS_PER_MACHINE {
            return;
        }
        if self.time.is_suspended(machine) {
            return;
        }
        let number = self.rng.below(1 << 32);
        let worker = WorkerId::from_stored(format!("machine{machine}-1-{number:08x}"));
        self.trace_event(|| format!("{worker} starts"));
        // Other servers detect the death of a process by its lock file in the shared folder. Some processes have
        // another folder, so only their heartbeats can reveal their death.
        let folder = if self.rng.one_in(3) {
            format!("unseen{number}")
        } else {
            format!("machine{machine}")
        };
        let host = self.host(worker, machine, &folder);
        let server = SimulatedServer::new(host, machine, self.time.now);
        self.servers.push(server);
    }

    fn host(&self, worker: WorkerId, machine: usize, folder: &str) -> Host {
        let folder = self.folders.path().join(folder);
        let worker_lock = WorkerLock::acquire(&folder, &worker).expect("a folder for locks");
        let mut settings = Settings {
            workers: 3,
            waiting_turns: 3,
            ..Settings::default()
        };
        let clock = Arc::new(FakeClock::new(self.person_clock()));
        let entropy: Arc<dyn Entropy> = self.entropy.clone();
        let agents = Agency {
            tools: None,
            guard: GuardProgram {
                program: PathBuf::from("/nowhere"),
                args: Vec::new(),
                worker: None,
            },
            environment: BTreeMap::new(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            heartbeat: settings.heartbeat,
            lease: settings.lease(),
            grace: GracePeriods::default(),
        };
        if self.defect == Defect::StaleBeforeLeaseEnds {
            settings.heartbeat_stale /= 3;
        }
        Host {
            store: self.store.clone(),
            clock,
            entropy,
            instance: instance_id(machine),
            worker,
            worker_lock: Arc::new(worker_lock),
            turn_stores: Arc::new(DirectTurnStores),
            artifacts: None,
            agent_runtime: agents,
            settings,
            metrics: telemetry::Metrics::new("test"),
        }
    }

    /// Runs all steps, lets everything end, and checks the history.
    pub(crate) async fn run_to_end(&mut self) -> anyhow::Result<()> {
        while self.steps < STEPS_PER_SEED {
            let before = self.steps / STEPS_PER_CHECK;
            if self.rng.below(100) < 30 {
                self.run_random_action().await?;
            } else {
                self.run_next_event().await?;
            }
            if self.steps / STEPS_PER_CHECK > before {
                self.check_state().await?;
            }
        }
        self.drain().await?;
        self.check_state().await?;
        self.check_history().await
    }

    /// Runs until nothing waits any more.
    async fn drain(&mut self) -> anyhow::Result<()> {
        self.stop_faults().await?;
        let until = self.steps + MAX_DRAIN_STEPS;
        while self.open_run_count().await? > 0 {
            let next = self.steps + 20;
            anyhow::ensure!(
                next < until,
                "I3: runs are not over though nothing is in their way: {:?}",
                self.random_open_run().await?
            );
            while self.steps < next {
                self.run_next_event().await?;
            }
        }
        Ok(())
    }

    /// Runs the next event that needs no person: the tick of a loop or a step of a turn.
    async fn run_next_event(&mut self) -> anyhow::Result<()> {
        if self.calm {
            // Operators restart a server on each machine that has none.
            let there = |machine| self.servers.iter().any(|server| server.machine == machine);
            let missing: Vec<usize> = (0..MACHINE_COUNT)
                .filter(|machine| !there(*machine))
                .collect();
            for machine in missing {
                self.start_server(machine);
            }
        }
        let next = self.servers.iter().enumerate();
        let next = next.map(|(index, server)| (server.next_task_at(), index));
        let Some((due, index)) = next.min() else {
            // No server runs, and time passes nevertheless.
            self.time.now += self.rng.between(MINUTE, 90 * MINUTE);
            if self.calm || self.rng.one_in(3) {
                let machine = usize::from(self.rng.one_in(2));
                self.start_server(machine);
            }
            return Ok(());
        };
        // Timers are never early, and sometimes late.
        let late = if self.rng.one_in(4) {
            self.rng.below(2 * SECOND)
        } else {
            self.rng.below(20_000)
        };
        self.time.now = self.time.now.max(due + late);
        self.run_next_task(index).await
    }

    /// Wakes the servers after a change, mostly within moments.
    pub(crate) fn wake_servers(&mut self) {
        let now: Micros = self.time.now;
        for server in &mut self.servers {
            if !self.rng.one_in(8) {
                server.wake(now + self.rng.below(SECOND));
            }
        }
    }
}

/// Returns the instance of a machine.
pub(crate) fn instance_id(machine: usize) -> InstanceId {
    InstanceId::from_uuid(uuid::Uuid::from_u128(machine as u128 + 1))
}
