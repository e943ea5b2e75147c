//! The runs that this process works on, and the turns among them that have been claimed.

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::RunId;
use tokio::sync::Notify;

/// The runs that this process works on. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningTurns {
    state: Arc<Mutex<State>>,
    /// Notified when a turn begins, so that the presence names it.
    changed: Arc<Notify>,
    /// Notified when the work on a file ends, so that another file of its run need not wait longer.
    released: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// The runs whose files are at work.
    runs: HashSet<RunId>,
    /// The claimed runs among them.
    turns: HashMap<RunId, Turn>,
}

#[derive(Debug)]
struct Turn {
    /// Makes the turn send its heartbeat at once, so that it learns of a cancellation without delay.
    heartbeat_now: Arc<Notify>,
    /// `true` once the turn was told to send its heartbeat. The presence then names it no more.
    is_disturbed: bool,
}

/// The registration of a run, until it is dropped.
pub(crate) struct RunRegistration {
    turns: RunningTurns,
    run: RunId,
}

impl RunningTurns {
    /// Registers a run whose file is at work. Returns `None` if another file of the run is at work.
    pub(crate) fn register(&self, run: RunId) -> Option<RunRegistration> {
        let is_new = self.state().runs.insert(run);
        is_new.then(|| RunRegistration {
            turns: self.clone(),
            run,
        })
    }

    /// Waits until no file of a run is at work.
    pub(crate) async fn released(&self, run: RunId) {
        loop {
            let mut released = pin!(self.released.notified());
            // A release between the look and the wait must not be missed.
            released.as_mut().enable();
            if !self.state().runs.contains(&run) {
                return;
            }
            released.await;
        }
    }

    /// Returns the claimed runs whose turns have not been disturbed.
    pub(crate) fn undisturbed(&self) -> Vec<RunId> {
        let state = self.state();
        let turns = state.turns.iter();
        turns
            .filter(|(_, turn)| !turn.is_disturbed)
            .map(|(run, _)| *run)
            .collect()
    }

    /// Makes the turns of runs send their heartbeats now.
    pub(crate) fn disturb(&self, runs: &[RunId]) {
        let mut state = self.state();
        for run in runs {
            if let Some(turn) = state.turns.get_mut(run) {
                turn.is_disturbed = true;
                turn.heartbeat_now.notify_one();
            }
        }
    }

    /// Waits until a turn begins.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunRegistration {
    /// Notes that the run is claimed. Returns the signal that makes its turn send a heartbeat.
    pub(crate) fn begin_turn(&self) -> Arc<Notify> {
        let heartbeat_now = Arc::new(Notify::new());
        let turn = Turn {
            heartbeat_now: Arc::clone(&heartbeat_now),
            is_disturbed: false,
        };
        self.turns.state().turns.insert(self.run, turn);
        self.turns.changed.notify_one();
        heartbeat_now
    }
}

impl Drop for RunRegistration {
    fn drop(&mut self) {
        {
            let mut state = self.turns.state();
            state.turns.remove(&self.run);
            state.runs.remove(&self.run);
        }
        self.turns.released.notify_waiters();
    }
}
