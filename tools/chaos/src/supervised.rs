//! A process that a supervisor task keeps running. Faults kill, freeze or stop the process, and the supervisor starts it
//! again while it is wanted.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Result;
use rustix::process::Signal;
use tokio::{
    process::Child,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::processes;

/// The interval at which the supervisor checks whether the process has ended.
const SUPERVISE_INTERVAL: Duration = Duration::from_millis(200);
/// The pause before the restart of a process that ended by itself.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// The maximum time for a graceful stop. After it, the process is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A supervised process. It is killed when the value is dropped.
pub(crate) struct SupervisedProcess {
    state: Arc<Mutex<State>>,
    supervisor: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    child: Option<Child>,
    /// `true` if the supervisor may start the process.
    wanted: bool,
    /// The number of starts so far.
    starts: usize,
    /// The process IDs of all starts.
    pids: HashSet<u32>,
    /// The number of ends that no fault caused.
    unexpected_ends: u32,
}

impl SupervisedProcess {
    /// Starts the supervisor, which starts the process and restarts it whenever it ends. `start` gets the number of
    /// earlier starts.
    pub(crate) fn start(start: impl Fn(usize) -> Result<Child> + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State {
            wanted: true,
            ..State::default()
        }));
        let supervisor = tokio::spawn(supervise(start, Arc::clone(&state)));
        Self { state, supervisor }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the process ID. Returns `None` if the process is not running.
    pub(crate) fn pid(&self) -> Option<i32> {
        let state = self.state();
        let pid = state.child.as_ref().and_then(Child::id)?;
        pid.try_into().ok()
    }

    /// Returns the process IDs of all starts so far.
    pub(crate) fn pids(&self) -> HashSet<u32> {
        self.state().pids.clone()
    }

    /// Sends a signal. Returns `false` if the process is not running.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.pid().is_some_and(|pid| processes::signal(pid, signal))
    }

    /// Sets whether the supervisor may start the process.
    pub(crate) fn set_wanted(&self, wanted: bool) {
        self.state().wanted = wanted;
    }

    /// Returns how often the process ended without a fault that stopped it.
    pub(crate) fn unexpected_ends(&self) -> u32 {
        self.state().unexpected_ends
    }

    /// Kills the process. The supervisor does not restart it until [`Self::set_wanted`] allows that.
    pub(crate) async fn kill(&self) {
        if let Some(mut child) = self.take_child() {
            child.kill().await.ok();
        }
    }

    /// Sends SIGKILL without waiting for the end. The supervisor does not restart the process until [`Self::set_wanted`]
    /// allows that. Returns `false` if the process was not running.
    pub(crate) fn kill_now(&self) -> bool {
        // Dropping the child sends SIGKILL (`kill_on_drop`), and the runtime collects the process.
        self.take_child().is_some()
    }

    /// Stops the process with SIGTERM, or kills it after [`STOP_TIMEOUT`]. The supervisor does not restart it until
    /// [`Self::set_wanted`] allows that. Returns `true` if the process ended in time or was not running.
    pub(crate) async fn stop(&self) -> bool {
        let Some(mut child) = self.take_child() else {
            return true;
        };
        if let Some(pid) = child.id().and_then(|pid| pid.try_into().ok()) {
            processes::signal(pid, Signal::TERM);
        }
        let ended = timeout(STOP_TIMEOUT, child.wait()).await.is_ok();
        if !ended {
            child.kill().await.ok();
        }
        ended
    }

    /// Takes the child and clears `wanted` under one lock. Otherwise, the supervisor could count the end as one by
    /// itself, or restart the process at once.
    fn take_child(&self) -> Option<Child> {
        let mut state = self.state();
        state.wanted = false;
        state.child.take()
    }
}

impl Drop for SupervisedProcess {
    fn drop(&mut self) {
        self.supervisor.abort();
        // Dropping the child sends SIGKILL (`kill_on_drop`), which also ends a process that SIGSTOP has frozen.
        self.state().child.take();
    }
}

/// Supervises the process: notes its end, and starts it while it is wanted.
async fn supervise(start: impl Fn(usize) -> Result<Child> + Send, state: Arc<Mutex<State>>) {
    loop {
        let mut pause = SUPERVISE_INTERVAL;
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = state
                .child
                .as_mut()
                .is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended {
                state.child = None;
                state.unexpected_ends += 1;
                pause = RESTART_PAUSE;
            } else if state.wanted && state.child.is_none() {
                // A failed start leaves `child` empty, so that the next round tries again.
                state.child = start(state.starts).ok();
                let pid = state.child.as_ref().and_then(Child::id);
                state.pids.extend(pid);
                state.starts += 1;
            }
        }
        sleep(pause).await;
    }
}
