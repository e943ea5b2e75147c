//! The agents' own record of their turns, outside the database, and the owner of each run according to the replies to
//! the workers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{bail, ensure};
use model::{RunId, SeatId, WorkerId, outcome::StopReason};

use crate::time::Micros;

/// The turn of an agent.
struct Turn {
    seat: SeatId,
    /// The time at which the guard kills the agent.
    lease_until: Micros,
    ended: bool,
}

/// The record of all agents' turns.
#[derive(Default)]
pub(crate) struct AgentLog {
    turns: BTreeMap<RunId, Turn>,
    /// The newest turn of each seat.
    newest_turns: BTreeMap<SeatId, RunId>,
    /// The stop reason of each turn that its agent ended.
    stop_reasons: BTreeMap<RunId, StopReason>,
    /// The worker that owns each claimed run.
    owners: BTreeMap<RunId, WorkerId>,
}

impl AgentLog {
    /// Starts a turn of a seat. Fails if another agent works on the seat (I2).
    pub(crate) fn start(
        &mut self,
        seat: SeatId,
        run: RunId,
        lease_until: Micros,
        now: Micros,
    ) -> anyhow::Result<()> {
        if let Some(before) = self.newest_turns.insert(seat, run) {
            ensure!(
                !self.is_alive(before, now),
                "I2: {run} begins on {seat} while the agent of {before} is at work there"
            );
        }
        let turn = Turn {
            seat,
            lease_until,
            ended: false,
        };
        ensure!(
            self.turns.insert(run, turn).is_none(),
            "I2: the turn of {run} begins a second time"
        );
        Ok(())
    }

    /// Returns `true` if the agent of a run works.
    pub(crate) fn is_alive(&self, run: RunId, now: Micros) -> bool {
        self.turns
            .get(&run)
            .is_some_and(|turn| !turn.ended && now < turn.lease_until)
    }

    pub(crate) fn renew(&mut self, run: RunId, lease_until: Micros, now: Micros) {
        // A dead agent stays dead.
        if self.is_alive(run, now)
            && let Some(turn) = self.turns.get_mut(&run)
        {
            turn.lease_until = lease_until;
        }
    }

    /// Records the stop reason of a turn.
    pub(crate) fn record_stop(&mut self, run: RunId, reason: StopReason) {
        self.stop_reasons.insert(run, reason);
    }

    /// Ends the processes of a run's agent.
    pub(crate) fn end_turn(&mut self, run: RunId) {
        if let Some(turn) = self.turns.get_mut(&run) {
            turn.ended = true;
        }
    }

    /// Returns the stop reason of a run's agent.
    pub(crate) fn stop_of(&self, run: RunId) -> Option<StopReason> {
        self.stop_reasons.get(&run).copied()
    }

    /// Returns the seat on which an agent took the turn of a run.
    pub(crate) fn seat_of(&self, run: RunId) -> Option<SeatId> {
        self.turns.get(&run).map(|turn| turn.seat)
    }

    /// Records that a worker has claimed a run.
    pub(crate) fn record_claim(&mut self, run: RunId, worker: &WorkerId) -> anyhow::Result<()> {
        if let Some(before) = self.owners.insert(run, worker.clone()) {
            bail!("I2: {run} was given to {worker} while {before} had it");
        }
        Ok(())
    }

    /// Records that no worker owns a run. Returns the previous owner.
    pub(crate) fn release(&mut self, run: RunId) -> Option<WorkerId> {
        self.owners.remove(&run)
    }

    /// Keeps only these runs.
    pub(crate) fn retain(&mut self, left: &BTreeSet<RunId>) {
        self.owners.retain(|run, _| left.contains(run));
    }

    /// Returns `true` if the worker owns the run.
    pub(crate) fn is_owned_by(&self, run: RunId, worker: &WorkerId) -> bool {
        self.owners.get(&run) == Some(worker)
    }

    /// Returns the number of claimed runs.
    pub(crate) fn owned_count(&self) -> usize {
        self.owners.len()
    }
}
