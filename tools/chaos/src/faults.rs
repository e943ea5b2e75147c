//! What goes wrong, in an order that the seed deals: each kind once before any comes again.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustix::process::Signal;
use tokio::{task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    blocking::blocking,
    connections,
    dice::Dice,
    postgres::{CONNECTIONS, Postgres},
    processes::{self, Process},
    proxy::{Mode, Proxy},
    replica::{BEYOND_LEASE, Replica},
};

/// Pauses between faults of one hand, in milliseconds.
const PAUSES: std::ops::Range<u64> = 300..2000;
/// How long the database is away, connections are taken, frozen or cut, in milliseconds.
const AWAY: std::ops::Range<u64> = 500..4000;
const TAKEN: std::ops::Range<u64> = 2000..5000;
const FROZEN: std::ops::Range<u64> = 1500..8000;
/// How long a killed server stays away.
const DEAD: std::ops::Range<u64> = 0..3000;
/// How many places of the database are left to everybody when all others are taken.
const LEFT: usize = 2;
/// How many transactions stand open at once.
const OPEN: usize = 5;

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillServer,
    KillServerWithGuards,
    FreezeServer,
    StopServer,
    KillAgent,
    KillGuard,
    CrashDatabase,
    EndBackends,
    TakeConnections,
    OpenTransactions,
    FreezeConnections,
    CutConnections,
}

/// The faults of servers and agents, and those of the database and the way there: each in a hand of its own,
/// so that they fall together as well.
const OF_PROCESSES: [Fault; 6] = [
    Fault::KillServer,
    Fault::FreezeServer,
    Fault::KillAgent,
    Fault::StopServer,
    Fault::KillServerWithGuards,
    Fault::KillGuard,
];
const OF_DATABASE: [Fault; 6] = [
    Fault::CrashDatabase,
    Fault::EndBackends,
    Fault::TakeConnections,
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
            Self::StopServer => "server asked to stop, and started again",
            Self::KillAgent => "agent killed",
            Self::KillGuard => "guard killed",
            Self::CrashDatabase => "database crashed",
            Self::EndBackends => "backends terminated",
            Self::TakeConnections => "connections of the database used up",
            Self::OpenTransactions => "transactions left open",
            Self::FreezeConnections => "connections of a server frozen",
            Self::CutConnections => "connections of a server cut",
        }
    }
}

/// How often a kind of fault came up, and how often there was something to do it to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) dealt: u32,
    pub(crate) done: u32,
}

/// What faults are done to.
pub(crate) struct Field {
    pub(crate) root: PathBuf,
    pub(crate) postgres: Arc<Postgres>,
    pub(crate) replicas: Vec<Replica>,
    /// Between one replica and the database.
    pub(crate) proxy: Proxy,
    /// How often each kind came up, and how often it was done.
    counts: Mutex<BTreeMap<&'static str, Count>>,
    /// What did not go as a fault should: a server that did not stop, a database that did not start.
    complaints: Mutex<Vec<String>>,
}

impl Field {
    pub(crate) fn new(
        root: PathBuf,
        postgres: Arc<Postgres>,
        replicas: Vec<Replica>,
        proxy: Proxy,
    ) -> Self {
        Self {
            root,
            postgres,
            replicas,
            proxy,
            counts: Mutex::default(),
            complaints: Mutex::default(),
        }
    }

    /// How many of each kind there were.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, Count> {
        let counts = self.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, fault: Fault, done: bool) {
        let counts = self.counts.lock();
        let mut counts = counts.unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(fault.name()).or_default();
        count.dealt += 1;
        count.done += u32::from(done);
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        let all = &self.complaints;
        all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn complain(&self, what: String) {
        let all = &self.complaints;
        all.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }
}

/// Lets things go wrong until they are to stop; what went wrong is put right then.
pub(crate) fn begin(field: &Arc<Field>, dice: &Dice, stop: &CancellationToken) -> JoinSet<()> {
    let mut hands = JoinSet::new();
    for (name, deck) in [("processes", OF_PROCESSES), ("database", OF_DATABASE)] {
        let hand = Hand {
            field: Arc::clone(field),
            dice: dice.of(name),
        };
        hands.spawn(hand.deal(deck, stop.clone()));
    }
    hands
}

struct Hand {
    field: Arc<Field>,
    dice: Dice,
}

impl Hand {
    async fn deal(mut self, deck: [Fault; 6], stop: CancellationToken) {
        loop {
            for fault in self.dice.shuffled(deck.to_vec()) {
                tokio::select! {
                    () = sleep(self.dice.millis(PAUSES)) => {}
                    () = stop.cancelled() => {}
                }
                if stop.is_cancelled() {
                    return;
                }
                // Not cut short: it puts right what it has broken.
                let done = self.commit(fault).await;
                self.field.count(fault, done);
            }
        }
    }

    /// Lets one thing go wrong, and puts it right. False if there was nothing to do it to.
    async fn commit(&mut self, fault: Fault) -> bool {
        let field = Arc::clone(&self.field);
        let place = self.dice.below(field.replicas.len());
        let Some(replica) = field.replicas.get(place) else {
            return false;
        };
        match fault {
            Fault::KillServer => {
                let there = replica.pid().is_some();
                replica.kill().await;
                sleep(self.dice.millis(DEAD)).await;
                replica.want(true);
                there
            }
            Fault::KillServerWithGuards => {
                let Some(pid) = replica.pid() else {
                    return false;
                };
                // It can start no other guard meanwhile, nor look after those that end.
                replica.signal(Signal::STOP);
                let guards = self.agents(|one| one.is_guard() && one.parent == pid);
                replica.kill().await;
                let killed = guards.iter().filter(|guard| kill(guard)).count();
                sleep(self.dice.millis(DEAD)).await;
                replica.want(true);
                killed > 0
            }
            Fault::FreezeServer => {
                let pid = replica.pid();
                let frozen = replica.signal(Signal::STOP);
                sleep(BEYOND_LEASE + self.dice.millis(0..2000)).await;
                // Nobody else has it killed or restarted meanwhile: this hand holds all servers.
                pid.is_some_and(|pid| processes::signal(pid, Signal::CONT)) && frozen
            }
            Fault::StopServer => {
                let there = replica.pid().is_some();
                if !replica.stop().await {
                    let number = replica.plan.number;
                    field.complain(format!("replica {number} did not stop when asked to"));
                }
                replica.want(true);
                there
            }
            Fault::KillAgent => self.kill_one(|one| !one.is_guard()),
            Fault::KillGuard => self.kill_one(Process::is_guard),
            Fault::CrashDatabase => self.crash_database().await,
            Fault::EndBackends => self.end_backends().await,
            Fault::TakeConnections => self.hold(CONNECTIONS, false).await,
            Fault::OpenTransactions => self.hold(OPEN, true).await,
            Fault::FreezeConnections => self.proxy(Mode::Frozen).await,
            Fault::CutConnections => self.proxy(Mode::Cut).await,
        }
    }

    fn agents(&self, which: impl Fn(&Process) -> bool) -> Vec<Process> {
        let mut all = processes::of_agents(&self.field.root);
        all.retain(|one| which(one));
        all
    }

    fn kill_one(&mut self, which: impl Fn(&Process) -> bool) -> bool {
        let all = self.agents(which);
        self.dice.one_of(&all).is_some_and(kill)
    }

    async fn crash_database(&mut self) -> bool {
        let postgres = Arc::clone(&self.field.postgres);
        let away = self.dice.millis(AWAY);
        let stopped = blocking(move || postgres.stop()).await;
        sleep(away).await;
        let postgres = Arc::clone(&self.field.postgres);
        if let Err(error) = blocking(move || postgres.start()).await {
            self.field
                .complain(format!("the database did not start: {error:#}"));
        }
        stopped.is_ok()
    }

    async fn end_backends(&mut self) -> bool {
        let share = 20 + self.dice.below(80);
        let postgres = Arc::clone(&self.field.postgres);
        let statement = format!(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity \
             where usename = 'matins' and abs(hashint4(pid)) % 100 < {share}"
        );
        let ended = blocking(move || postgres.sql(&statement)).await;
        ended.is_ok_and(|count| count.trim() != "0")
    }

    /// Holds places of the database for a while: as many as there are but a few, or some with transactions.
    async fn hold(&mut self, places: usize, transactions: bool) -> bool {
        let mut held = Vec::new();
        while held.len() + LEFT < places {
            let Ok(mut stream) = connections::hold(&self.field.postgres).await else {
                break;
            };
            if transactions && connections::begin(&mut stream).await.is_err() {
                break;
            }
            held.push(stream);
        }
        sleep(self.dice.millis(TAKEN)).await;
        !held.is_empty()
    }

    async fn proxy(&mut self, mode: Mode) -> bool {
        let met = self.field.proxy.carries();
        self.field.proxy.set(mode);
        sleep(self.dice.millis(FROZEN)).await;
        self.field.proxy.set(Mode::Open);
        met
    }
}

fn kill(process: &Process) -> bool {
    processes::signal(process.pid, Signal::KILL)
}

/// How long all that was broken may take to be whole again.
pub(crate) const MEND: Duration = Duration::from_mins(1);
