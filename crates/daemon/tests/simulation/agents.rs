//! What the agents know themselves: the ledger of turns that is kept outside the database, and whose
//! each run is by what the workers were answered.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{bail, ensure};
use model::{RunId, SeatId, WorkerId, outcome::StopReason};

use crate::time::Micros;

/// A turn of an agent.
struct Turn {
    seat: SeatId,
    /// When its guard kills it.
    lease_until: Micros,
    ended: bool,
}

/// The agents' ledger.
#[derive(Default)]
pub(crate) struct AgentLog {
    turns: BTreeMap<RunId, Turn>,
    /// The newest turn of each seat.
    newest_turns: BTreeMap<SeatId, RunId>,
    /// How agents ended their turns.
    stop_reasons: BTreeMap<RunId, StopReason>,
    /// Whose the runs are that somebody has.
    owners: BTreeMap<RunId, WorkerId>,
}

impl AgentLog {
    /// An agent takes a turn of a seat. No other agent may be at work there (I2).
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

    /// Whether the agent of a run is at work.
    pub(crate) fn is_alive(&self, run: RunId, now: Micros) -> bool {
        self.turns
            .get(&run)
            .is_some_and(|turn| !turn.ended && now < turn.lease_until)
    }

    pub(crate) fn renew(&mut self, run: RunId, lease_until: Micros, now: Micros) {
        // Who is dead stays dead.
        if self.is_alive(run, now)
            && let Some(turn) = self.turns.get_mut(&run)
        {
            turn.lease_until = lease_until;
        }
    }

    /// The agent of a run says why it ends its turn.
    pub(crate) fn record_stop(&mut self, run: RunId, reason: StopReason) {
        self.stop_reasons.insert(run, reason);
    }

    /// The agent's processes are gone.
    pub(crate) fn end_turn(&mut self, run: RunId) {
        if let Some(turn) = self.turns.get_mut(&run) {
            turn.ended = true;
        }
    }

    /// The stop reason that the agent of a run gave.
    pub(crate) fn stop_of(&self, run: RunId) -> Option<StopReason> {
        self.stop_reasons.get(&run).copied()
    }

    /// The seat on which an agent took the turn of a run.
    pub(crate) fn seat_of(&self, run: RunId) -> Option<SeatId> {
        self.turns.get(&run).map(|turn| turn.seat)
    }

    /// A worker was given a run.
    pub(crate) fn record_claim(&mut self, run: RunId, worker: &WorkerId) -> anyhow::Result<()> {
        if let Some(before) = self.owners.insert(run, worker.clone()) {
            bail!("I2: {run} was given to {worker} while {before} had it");
        }
        Ok(())
    }

    /// Nobody has a run any more. Gives who had it.
    pub(crate) fn release(&mut self, run: RunId) -> Option<WorkerId> {
        self.owners.remove(&run)
    }

    /// Only these runs are left.
    pub(crate) fn retain(&mut self, left: &BTreeSet<RunId>) {
        self.owners.retain(|run, _| left.contains(run));
    }

    /// Whether a run is the worker's.
    pub(crate) fn is_owned_by(&self, run: RunId, worker: &WorkerId) -> bool {
        self.owners.get(&run) == Some(worker)
    }

    /// How many runs somebody has.
    pub(crate) fn owned_count(&self) -> usize {
        self.owners.len()
    }
}
