//! The fault injection: kills, freezes and disconnects servers, agents and the database.
//!
//! Several tasks inject faults concurrently, each with its own [`FaultInjector`]: into servers and agents, into the
//! database and the connections to it, into the runtimes of folders, and into the folders themselves. Each injector shuffles its fault kinds with the seed and injects every kind once
//! before it shuffles again. An injector repairs each fault before it injects the next one.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::Signal;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    blocking::blocking,
    folder_faults::{self, FOLDER_FAULTS, FolderFault, RUNTIME_FAULTS},
    folder_instance::FolderInstance,
    idle_connections,
    postgres::{MAX_CONNECTIONS, Postgres},
    processes::{self, Process},
    proxy::{Mode, Proxy},
    replica::{BEYOND_LEASE, Replica},
    rng::Rng,
};

/// The pause between two faults of one injector, in milliseconds.
const PAUSE_MILLIS: std::ops::Range<u64> = 300..2000;
/// The downtime of the database, in milliseconds.
const DATABASE_DOWNTIME_MILLIS: std::ops::Range<u64> = 500..4000;
/// The time for which connections of the database are used up or transactions are open, in milliseconds.
const OCCUPIED_MILLIS: std::ops::Range<u64> = 2000..5000;
/// The time for which the proxy's connections are frozen or cut, in milliseconds.
const NETWORK_FAULT_MILLIS: std::ops::Range<u64> = 1500..8000;
/// The downtime of a killed server, in milliseconds.
const SERVER_DOWNTIME_MILLIS: std::ops::Range<u64> = 0..3000;
/// The number of requested connections that [`FaultInjector::occupy_connections`] leaves to the servers.
const SPARE_CONNECTIONS: usize = 2;
/// The requested number of open transactions. [`FaultInjector::occupy_connections`] opens [`SPARE_CONNECTIONS`] fewer.
const OPEN_TRANSACTIONS: usize = 5;

/// The maximum time for which the command of a check is awaited.
const CHECK_WAIT: Duration = Duration::from_secs(10);
/// The interval at which the command of a check is searched.
const CHECK_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// The time for which checks are spared after one was killed, so that the next attempt at it can succeed.
const CHECK_PAUSE: Duration = Duration::from_secs(5);

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillServer,
    KillServerWithGuards,
    FreezeServer,
    StopServer,
    KillAgent,
    KillGuard,
    /// A fault of the command that checks a task of a goal.
    KillCheck,
    CrashDatabase,
    TerminateBackends,
    ExhaustConnections,
    OpenTransactions,
    FreezeConnections,
    CutConnections,
    /// A fault of an instance in a folder.
    InFolder(FolderFault),
}

/// The faults of servers and agents. One injector injects them, so that at most one of them is active at a time.
const PROCESS_FAULTS: [Fault; 6] = [
    Fault::KillServer,
    Fault::FreezeServer,
    Fault::KillAgent,
    Fault::StopServer,
    Fault::KillServerWithGuards,
    Fault::KillGuard,
];
/// The faults of the database and the connections to it. Another injector injects them, so that they also coincide
/// with faults of processes.
const DATABASE_FAULTS: [Fault; 6] = [
    Fault::CrashDatabase,
    Fault::TerminateBackends,
    Fault::ExhaustConnections,
    Fault::FreezeConnections,
    Fault::CutConnections,
    Fault::OpenTransactions,
];

impl Fault {
    const fn name(self) -> &'static str {
        match self {
            Self::KillServer => "server killed",
            Self::KillServerWithGuards => "server killed with its guards",
            Self::FreezeServer => "server frozen beyond its lease",
            Self::StopServer => "server stopped by SIGTERM, and started again",
            Self::KillAgent => "agent killed",
            Self::KillGuard => "guard killed",
            Self::KillCheck => "check of a task killed",
            Self::CrashDatabase => "database crashed",
            Self::TerminateBackends => "backends terminated",
            Self::ExhaustConnections => "connections of the database used up",
            Self::OpenTransactions => "transactions left open",
            Self::FreezeConnections => "connections of a server frozen",
            Self::CutConnections => "connections of a server cut",
            Self::InFolder(fault) => fault.name(),
        }
    }
}

/// The statistics of a fault kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultCount {
    /// The number of times that an injector selected the kind.
    pub(crate) drawn: u32,
    /// The number of times that the fault had a target.
    pub(crate) injected: u32,
}

/// The targets of the faults, and the record of the injected faults.
pub(crate) struct FaultTargets {
    pub(crate) root: PathBuf,
    pub(crate) postgres: Arc<Postgres>,
    pub(crate) replicas: Vec<Replica>,
    /// The proxy between one replica and the database.
    pub(crate) proxy: Proxy,
    /// The instances in folders.
    pub(crate) folders: Vec<FolderInstance>,
    /// The statistics by the name of the fault kind.
    counts: Mutex<BTreeMap<&'static str, FaultCount>>,
    /// The unexpected reactions to faults: a server that did not stop, or a database that did not start.
    problems: Mutex<Vec<String>>,
}

impl FaultTargets {
    pub(crate) fn new(
        root: PathBuf,
        postgres: Arc<Postgres>,
        replicas: Vec<Replica>,
        proxy: Proxy,
        folders: Vec<FolderInstance>,
    ) -> Self {
        Self {
            root,
            postgres,
            replicas,
            proxy,
            folders,
            counts: Mutex::default(),
            problems: Mutex::default(),
        }
    }

    /// Returns the statistics of each fault kind by its name.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, FaultCount> {
        let counts = self.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a draw of a fault kind. `done` is `true` if the fault had a target.
    fn record_draw(&self, fault: Fault, done: bool) {
        let counts = self.counts.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(fault.name()).or_default();
        count.drawn += 1;
        count.injected += u32::from(done);
    }

    /// Returns the unexpected reactions to faults.
    pub(crate) fn problems(&self) -> Vec<String> {
        let all = &self.problems;
        all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add_problem(&self, what: String) {
        let all = &self.problems;
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }
}

/// Starts all injectors. After `stop` is cancelled, each injector finishes and repairs its current fault, then its
/// task ends.
pub(crate) fn start(
    field: &Arc<FaultTargets>,
    dice: &Rng,
    has_goals: bool,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut injectors = JoinSet::new();
    let mut decks = vec![
        ("processes", PROCESS_FAULTS.to_vec()),
        ("database", DATABASE_FAULTS.to_vec()),
    ];
    if !field.folders.is_empty() {
        let in_folders =
            |faults: &[FolderFault]| faults.iter().copied().map(Fault::InFolder).collect();
        decks.push(("runtimes", in_folders(&RUNTIME_FAULTS)));
        decks.push(("folders", in_folders(&FOLDER_FAULTS)));
    }
    if has_goals {
        decks.push(("checks", vec![Fault::KillCheck]));
    }
    for (name, deck) in decks {
        let injector = FaultInjector {
            targets: Arc::clone(field),
            rng: dice.derive(name),
        };
        injectors.spawn(injector.run(deck, stop.clone()));
    }
    injectors
}

/// A task that injects one fault at a time.
struct FaultInjector {
    targets: Arc<FaultTargets>,
    rng: Rng,
}

impl FaultInjector {
    /// Injects the faults of `deck` in random order, again and again, until `stop` is cancelled.
    async fn run(mut self, deck: Vec<Fault>, stop: CancellationToken) {
        loop {
            for fault in self.rng.shuffled(deck.clone()) {
                tokio::select! {
                    () = sleep(self.rng.millis(PAUSE_MILLIS)) => {}
                    () = stop.cancelled() => {}
                }
                if stop.is_cancelled() {
                    return;
                }
                // Do not cancel the fault at `stop`: it would leave a frozen server or a stopped database behind.
                let done = self.inject(fault).await;
                self.targets.record_draw(fault, done);
            }
        }
    }

    /// Injects one fault and repairs it. Returns `false` if the fault had no target, for example if no agent was
    /// running.
    async fn inject(&mut self, fault: Fault) -> bool {
        let field = Arc::clone(&self.targets);
        let place = self.rng.below(field.replicas.len());
        let Some(replica) = field.replicas.get(place) else {
            return false;
        };
        match fault {
            Fault::KillServer => {
                let there = replica.process.pid().is_some();
                replica.process.kill().await;
                sleep(self.rng.millis(SERVER_DOWNTIME_MILLIS)).await;
                replica.process.set_wanted(true);
                there
            }
            Fault::KillServerWithGuards => {
                let Some(pid) = replica.process.pid() else {
                    return false;
                };
                // Freeze the server first. Otherwise, the server could start another guard that the list does not
                // have, or handle the death of a guard before its own.
                replica.process.signal(Signal::STOP);
                let guards =
                    self.agent_processes(|process| process.is_guard() && process.parent == pid);
                replica.process.kill().await;
                let killed = guards.iter().filter(|guard| kill(guard)).count();
                sleep(self.rng.millis(SERVER_DOWNTIME_MILLIS)).await;
                replica.process.set_wanted(true);
                killed > 0
            }
            Fault::FreezeServer => {
                let pid = replica.process.pid();
                let frozen = replica.process.signal(Signal::STOP);
                sleep(BEYOND_LEASE + self.rng.millis(0..2000)).await;
                // Only this injector kills and restarts servers, so the PID still belongs to the frozen server. The
                // fault counts only if the server was alive until now.
                pid.is_some_and(|pid| processes::signal(pid, Signal::CONT)) && frozen
            }
            Fault::StopServer => {
                let there = replica.process.pid().is_some();
                if !replica.process.stop().await {
                    let number = replica.config.number;
                    field.add_problem(format!(
                        "replica {number} did not stop in time after SIGTERM"
                    ));
                }
                replica.process.set_wanted(true);
                there
            }
            Fault::KillAgent => self.kill_one(|process| !process.is_guard()),
            Fault::KillGuard => self.kill_one(Process::is_guard),
            Fault::KillCheck => self.kill_check().await,
            Fault::CrashDatabase => self.crash_database().await,
            Fault::TerminateBackends => self.terminate_backends().await,
            Fault::ExhaustConnections => self.occupy_connections(MAX_CONNECTIONS, false).await,
            Fault::OpenTransactions => self.occupy_connections(OPEN_TRANSACTIONS, true).await,
            Fault::FreezeConnections => self.disturb_proxy(Mode::Frozen).await,
            Fault::CutConnections => self.disturb_proxy(Mode::Cut).await,
            Fault::InFolder(fault) => self.inject_into_folder(fault).await,
        }
    }

    /// Injects a fault into a random instance in a folder.
    async fn inject_into_folder(&mut self, fault: FolderFault) -> bool {
        let field = Arc::clone(&self.targets);
        let Some(instance) = field.folders.get(self.rng.below(field.folders.len())) else {
            return false;
        };
        match folder_faults::inject(fault, instance, &field.root, &mut self.rng).await {
            Ok(done) => done,
            Err(problem) => {
                field.add_problem(problem);
                true
            }
        }
    }

    /// Returns the agent processes, guards included, that satisfy a condition.
    fn agent_processes(&self, which: impl Fn(&Process) -> bool) -> Vec<Process> {
        let mut all = processes::find_agents(&self.targets.root);
        all.retain(|process| which(process));
        all
    }

    /// Kills a random agent process that satisfies a condition. Returns `false` if there is none.
    fn kill_one(&mut self, which: impl Fn(&Process) -> bool) -> bool {
        let all = self.agent_processes(which);
        self.rng.choose(&all).is_some_and(kill)
    }

    /// Waits for the command of a check, kills it, and spares the next ones for a while. Returns `false` if none runs in time.
    async fn kill_check(&mut self) -> bool {
        let until = Instant::now() + CHECK_WAIT;
        while Instant::now() < until {
            if self.kill_one(Process::is_check) {
                sleep(CHECK_PAUSE).await;
                return true;
            }
            sleep(CHECK_POLL_INTERVAL).await;
        }
        false
    }

    /// Stops the database like a crash, waits, and starts it again.
    async fn crash_database(&mut self) -> bool {
        let postgres = Arc::clone(&self.targets.postgres);
        let away = self.rng.millis(DATABASE_DOWNTIME_MILLIS);
        let stopped = blocking(move || postgres.stop()).await;
        sleep(away).await;
        let postgres = Arc::clone(&self.targets.postgres);
        if let Err(error) = blocking(move || postgres.start()).await {
            self.targets
                .add_problem(format!("the database did not start: {error:#}"));
        }
        stopped.is_ok()
    }

    /// Terminates a random 20 to 99 percent of the servers' database connections.
    async fn terminate_backends(&mut self) -> bool {
        let share = 20 + self.rng.below(80);
        let postgres = Arc::clone(&self.targets.postgres);
        let statement = format!(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity \
             where usename = 'matins' and abs(hashint4(pid)) % 100 < {share}"
        );
        let ended = blocking(move || postgres.sql(&statement)).await;
        ended.is_ok_and(|count| count.trim() != "0")
    }

    /// Holds up to `places` minus [`SPARE_CONNECTIONS`] connections of the database for a while, each with an open
    /// transaction if `transactions` is set. Returns `false` if it got none.
    async fn occupy_connections(&mut self, places: usize, transactions: bool) -> bool {
        let mut held = Vec::new();
        while held.len() + SPARE_CONNECTIONS < places {
            // A refused connection is the expected end when the servers hold connections too: then all are used up.
            let Ok(mut stream) = idle_connections::open_idle(&self.targets.postgres).await else {
                break;
            };
            if transactions
                && idle_connections::begin_transaction(&mut stream)
                    .await
                    .is_err()
            {
                break;
            }
            held.push(stream);
        }
        sleep(self.rng.millis(OCCUPIED_MILLIS)).await;
        !held.is_empty()
    }

    /// Freezes or cuts the connections of one server for a while. Returns `false` if the server had none.
    async fn disturb_proxy(&mut self, mode: Mode) -> bool {
        let met = self.targets.proxy.has_connections();
        self.targets.proxy.set_mode(mode);
        sleep(self.rng.millis(NETWORK_FAULT_MILLIS)).await;
        self.targets.proxy.set_mode(Mode::Open);
        met
    }
}

/// Sends SIGKILL. Returns `false` if the process had ended already.
fn kill(process: &Process) -> bool {
    processes::signal(process.pid, Signal::KILL)
}

/// The maximum time from the last fault until the servers answer and no trigger is behind.
pub(crate) const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);
