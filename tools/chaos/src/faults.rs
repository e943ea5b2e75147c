//! The fault injection: kills, freezes and disconnects servers, agents and the database.
//!
//! Several tasks inject faults concurrently, each with its own [`FaultInjector`]: into servers and agents, into the
//! database and the connections to it, into the runtimes of folders, and into the folders themselves. Each injector
//! shuffles its fault kinds with the seed and injects every kind once before it shuffles again. An injector repairs each
//! fault before it injects the next one.

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
    database::Database,
    folder_faults::{self, FOLDER_FAULTS, FolderFault, RUNTIME_FAULTS},
    folder_instance::FolderInstance,
    postgres_faults::{self, POSTGRES_FAULTS, PostgresFault},
    processes::{self, Process},
    replica::{BEYOND_LEASE, Replica},
    rng::Rng,
};

/// The pause between two faults of one injector, in milliseconds.
const PAUSE_MILLIS: std::ops::Range<u64> = 300..2000;
/// The downtime of a killed server, in milliseconds.
const SERVER_DOWNTIME_MILLIS: std::ops::Range<u64> = 0..3000;

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
    /// A fault of PostgreSQL or of the connections to it.
    InPostgres(PostgresFault),
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
            Self::InPostgres(fault) => fault.name(),
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
    pub(crate) database: Database,
    pub(crate) replicas: Vec<Replica>,
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
        database: Database,
        replicas: Vec<Replica>,
        folders: Vec<FolderInstance>,
    ) -> Self {
        Self {
            root,
            database,
            replicas,
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

    /// Notes an unexpected reaction to a fault. Returns `false` if the fault had no target.
    fn note_reaction(&self, done: Result<bool, String>) -> bool {
        done.unwrap_or_else(|problem| {
            self.add_problem(problem);
            true
        })
    }

    fn add_problem(&self, what: String) {
        let all = &self.problems;
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }
}

/// Returns the names of the faults that the database does not permit. The clock of a server on SQLite is that of its
/// database, so that it cannot be wrong.
pub(crate) fn left_out(database: &Database) -> Vec<&'static str> {
    match database {
        Database::Postgres { .. } => Vec::new(),
        Database::Sqlite(_) => {
            let names = POSTGRES_FAULTS.iter().map(|fault| fault.name());
            names.chain(["clock of a server wrong"]).collect()
        }
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
    let mut decks = vec![("processes", PROCESS_FAULTS.to_vec())];
    if matches!(field.database, Database::Postgres { .. }) {
        decks.push(("database", POSTGRES_FAULTS.map(Fault::InPostgres).to_vec()));
    }
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
            Fault::InPostgres(fault) => self.inject_into_postgres(fault).await,
            Fault::InFolder(fault) => self.inject_into_folder(fault).await,
        }
    }

    /// Injects a fault into PostgreSQL or the connections to it. Returns `false` if the database is another one.
    async fn inject_into_postgres(&mut self, fault: PostgresFault) -> bool {
        let field = Arc::clone(&self.targets);
        let Database::Postgres { server, proxy } = &field.database else {
            return false;
        };
        let done = postgres_faults::inject(fault, server, proxy, &mut self.rng).await;
        field.note_reaction(done)
    }

    /// Injects a fault into a random instance in a folder.
    async fn inject_into_folder(&mut self, fault: FolderFault) -> bool {
        let field = Arc::clone(&self.targets);
        let Some(instance) = field.folders.get(self.rng.below(field.folders.len())) else {
            return false;
        };
        let done = folder_faults::inject(fault, instance, &field.root, &mut self.rng).await;
        field.note_reaction(done)
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
}

/// Sends SIGKILL. Returns `false` if the process had ended already.
fn kill(process: &Process) -> bool {
    processes::signal(process.pid, Signal::KILL)
}

/// The maximum time from the last fault until the servers answer and no trigger is behind.
pub(crate) const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{super::sqlite::SqliteFile, *};

    #[test]
    fn faults_of_postgres_and_wrong_clock_are_left_out_on_sqlite() {
        let database = Database::Sqlite(SqliteFile::in_data_folder(Path::new("data")));
        let names = left_out(&database);
        assert_eq!(names.len(), POSTGRES_FAULTS.len() + 1);
        assert!(names.contains(&"database crashed"), "{names:?}");
        assert!(names.contains(&"clock of a server wrong"), "{names:?}");
    }
}
