//! The process of a server: its loops and its turns.

use daemon::{Host, watchdog::HeartbeatMonitor};
use model::{AutomationId, RunId};

use crate::time::{MINUTE, Micros, SECOND};

/// The longest sleep of the scheduler.
pub(crate) const MAX_SCHEDULER_SLEEP: Micros = 10 * MINUTE;

/// One server process.
pub(crate) struct SimulatedServer {
    pub(crate) host: Host,
    pub(crate) machine: usize,
    pub(crate) monitor: HeartbeatMonitor,
    /// The time until which the process does nothing: it is stopped by a signal, starved, or cut off from the database.
    pub(crate) frozen_until: Micros,
    /// The time of the scheduler's next tick.
    pub(crate) schedules_at: Micros,
    pub(crate) watches_at: Micros,
    pub(crate) claims_at: Micros,
    pub(crate) turns: Vec<SimulatedTurn>,
}

/// The stage of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnStage {
    /// The run is claimed.
    Claimed,
    /// The agent works.
    Running,
    /// The worker was informed that it lost the run, and continues nevertheless.
    Lost,
}

/// A turn of a server.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedTurn {
    pub(crate) run: RunId,
    pub(crate) secret: [u8; 32],
    pub(crate) automation: Option<AutomationId>,
    pub(crate) stage: TurnStage,
    /// The time at which the guard kills the agent, unless a heartbeat succeeds.
    pub(crate) lease_until: Micros,
    pub(crate) heartbeat_at: Micros,
    pub(crate) acts_at: Micros,
    /// The number of writes before the end of the turn.
    pub(crate) remaining_writes: i64,
    /// The length of the live text.
    pub(crate) live_text_bytes: i64,
    pub(crate) cancelled: Option<String>,
    /// `true` if the reply to its begin was lost.
    pub(crate) begin_in_doubt: bool,
}

/// The next task of a server.
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

    /// Returns the next task and its time.
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

    /// Returns the time of the next task.
    pub(crate) fn next_task_at(&self) -> Micros {
        self.next_task().0
    }

    /// Makes every loop tick soon.
    pub(crate) fn wake(&mut self, at: Micros) {
        self.claims_at = self.claims_at.min(at);
        self.schedules_at = self.schedules_at.min(at);
        for turn in &mut self.turns {
            turn.heartbeat_at = turn.heartbeat_at.min(at + SECOND / 10);
        }
    }

    /// Suspends the server's machine. Timers stand still meanwhile, except those of the loops that read the clock.
    /// Guards count the time of suspend, and kill agents whose lease is over when the machine wakes.
    pub(crate) fn suspend(&mut self, for_: Micros, until: Micros) {
        self.frozen_until = self.frozen_until.max(until);
        for turn in &mut self.turns {
            turn.heartbeat_at += for_;
        }
    }

    /// Returns the number of free slots.
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
