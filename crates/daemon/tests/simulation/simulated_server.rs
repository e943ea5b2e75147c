//! A server's process: its loops, and the turns that it takes.

use daemon::{Host, watchdog::HeartbeatMonitor};
use model::{AutomationId, RunId};

use crate::time::{MINUTE, Micros, SECOND};

/// How long the scheduler sleeps at the most.
pub(crate) const MAX_SCHEDULER_SLEEP: Micros = 10 * MINUTE;

/// One process that serves.
pub(crate) struct SimulatedServer {
    pub(crate) host: Host,
    pub(crate) machine: usize,
    pub(crate) monitor: HeartbeatMonitor,
    /// Until when it does nothing: stopped by a signal, starved, or cut off from the database.
    pub(crate) frozen_until: Micros,
    /// When each loop looks.
    pub(crate) schedules_at: Micros,
    pub(crate) watches_at: Micros,
    pub(crate) claims_at: Micros,
    pub(crate) turns: Vec<SimulatedTurn>,
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStage {
    /// Its run is claimed.
    Claimed,
    /// Its agent is at work.
    Running,
    /// It was told that its run is lost, and will not believe it.
    Lost,
}

/// A turn that a server takes.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedTurn {
    pub(crate) run: RunId,
    pub(crate) automation: Option<AutomationId>,
    pub(crate) stage: TurnStage,
    /// When the agent's guard kills it, unless a heartbeat is answered.
    pub(crate) lease_until: Micros,
    pub(crate) heartbeat_at: Micros,
    pub(crate) acts_at: Micros,
    /// How much it still writes before it ends.
    pub(crate) remaining_writes: i64,
    /// How long its live text is.
    pub(crate) live_text_bytes: i64,
    pub(crate) cancelled: Option<String>,
    /// Whether it is not known what became of its wish to begin.
    pub(crate) begin_in_doubt: bool,
}

/// What a server does next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    Schedule,
    Watch,
    Claim,
    Heartbeat(usize),
    AdvanceTurn(usize),
}

impl SimulatedServer {
    pub(crate) fn new(host: Host, machine: usize, now: Micros) -> Self {
        Self {
            host,
            machine,
            monitor: HeartbeatMonitor::default(),
            frozen_until: 0,
            schedules_at: now,
            watches_at: now,
            claims_at: now,
            turns: Vec::new(),
        }
    }

    /// What it does next, and when.
    pub(crate) fn next_task(&self) -> (Micros, Task) {
        let mut next = (self.schedules_at, Task::Schedule);
        let mut or = |at: Micros, task: Task| {
            if at < next.0 {
                next = (at, task);
            }
        };
        or(self.watches_at, Task::Watch);
        or(self.claims_at, Task::Claim);
        for (index, turn) in self.turns.iter().enumerate() {
            or(turn.acts_at, Task::AdvanceTurn(index));
            if turn.stage == TurnStage::Running {
                or(turn.heartbeat_at, Task::Heartbeat(index));
            }
        }
        (next.0.max(self.frozen_until), next.1)
    }

    /// When it does something next.
    pub(crate) fn next_task_at(&self) -> Micros {
        self.next_task().0
    }

    /// Makes every loop look soon.
    pub(crate) fn wake(&mut self, at: Micros) {
        self.claims_at = self.claims_at.min(at);
        self.schedules_at = self.schedules_at.min(at);
        for turn in &mut self.turns {
            turn.heartbeat_at = turn.heartbeat_at.min(at + SECOND / 10);
        }
    }

    /// Its machine is suspended. Timers stand still meanwhile, only those of the loops that ask the
    /// clock do not; guards count on, and end what is over when the machine wakes.
    pub(crate) fn suspend(&mut self, for_: Micros, until: Micros) {
        self.frozen_until = self.frozen_until.max(until);
        for turn in &mut self.turns {
            turn.heartbeat_at += for_;
        }
    }

    /// How many more turns it may take.
    pub(crate) fn free_slots(&self) -> u32 {
        let taken = u32::try_from(self.turns.len()).unwrap_or(u32::MAX);
        self.host.settings.workers.saturating_sub(taken)
    }

    pub(crate) fn lease(&self) -> Micros {
        micros(self.host.agent_runtime.lease)
    }

    pub(crate) fn heartbeat(&self) -> Micros {
        micros(self.host.settings.heartbeat)
    }
}

fn micros(duration: std::time::Duration) -> Micros {
    Micros::try_from(duration.as_micros()).unwrap_or(Micros::MAX)
}
