//! The shutdown of an agent: gentle steps first, then SIGKILL.
//!
//! Each step has a limit of time, so that even an agent that ignores all of them has ended after
//! [`GracePeriods::total`].

use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    Agent, ExceededLimit, ExitStatus, boxed, guard::launch::ProcessState,
    limits::EXIT_STATUS_TIMEOUT,
};

/// The longest wait for the rest of the messages to an agent whose input is being closed.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The limit of time for each step of ending an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GracePeriods {
    /// The time from the request to cancel a turn until the agent has ended the turn. The caller of [`Agent::prompt`]
    /// waits for it before the shutdown.
    pub cancel: Duration,
    /// The time for the reply to `session/close`.
    pub close: Duration,
    /// The time from the end of input until the whole tree has ended. Agents save their sessions in this step.
    pub eof: Duration,
    /// The time from the worker's SIGTERM until SIGKILL. If the agent's own process ends first, its descendants get
    /// `ORPHAN_GRACE` of the guard.
    pub term: Duration,
}

impl GracePeriods {
    /// Returns the sum of all steps: the longest life of an agent that ignores all of them.
    pub fn total(&self) -> Duration {
        self.cancel + self.close + self.eof + self.term
    }
}

impl Default for GracePeriods {
    fn default() -> Self {
        Self {
            cancel: Duration::from_secs(15),
            close: Duration::from_secs(5),
            eof: Duration::from_secs(10),
            term: Duration::from_secs(5),
        }
    }
}

/// The step that ended an agent's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownStep {
    /// The process ended at the end of its input, or had ended before.
    Exit,
    /// The process ended after SIGTERM.
    Term,
    /// The process ended after SIGKILL.
    Kill,
}

/// The end of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit status of the agent's own process.
    pub status: ExitStatus,
    /// The step that ended the agent's own process.
    pub step: ShutdownStep,
    /// `true` if the guard killed the agent because its lease was over.
    pub lease_expired: bool,
    /// The limit for which the guard killed the agent, if any.
    pub exceeded_limit: Option<ExceededLimit>,
    /// The last bytes that the agent wrote to standard error.
    pub stderr_tail: String,
    /// The last bytes of the lines on standard output that were no messages.
    pub noise_tail: String,
    /// The number of lines on standard output that were no messages.
    pub dropped_lines: u64,
}

impl Agent {
    /// Ends the agent: sends `session/close` if the agent offers it, closes its input, and then sends SIGTERM and
    /// SIGKILL to the whole tree, with a wait after each step. When the function returns, no process of the tree is
    /// left, and the updates that the agent wrote are in the receiver of the last prompt. If the future is dropped,
    /// the guard kills the rest of the tree.
    #[boxed]
    pub async fn shutdown(self, grace: GracePeriods) -> Exit {
        // 1. Ask the agent to end its prompt and its session.
        if self.is_prompting.load(Ordering::Acquire) {
            self.cancel();
        }
        if let Some(opened) = self.open_session().filter(|_| self.capabilities.close) {
            // The reply does not matter, because the next step follows in any case.
            timeout(grace.close, self.connection.close_session(&opened.id))
                .await
                .ok();
        }
        let Self {
            connection,
            control,
            process_state: mut state,
            diagnostics,
            readers,
            router,
            ..
        } = self;

        // 2. End of input, then SIGTERM, then SIGKILL.
        let until = Instant::now() + grace.eof;
        connection.close_input(FLUSH_TIMEOUT.min(grace.eof)).await;
        let mut step = ShutdownStep::Exit;
        if !all_ended_by(&mut state, until).await {
            // The agent's own process may have ended in time while a descendant still lives. Then the agent counts as
            // ended by itself.
            let lives =
                |state: &watch::Receiver<ProcessState>| state.borrow().exit_status.is_none();
            if lives(&state) {
                step = ShutdownStep::Term;
            }
            // Sending fails only if the guard has ended, and then its tree is being swept.
            control.terminate().ok();
            if !all_ended_by(&mut state, Instant::now() + grace.term).await && lives(&state) {
                step = ShutdownStep::Kill;
            }
        }
        // SIGKILL: dropping the control closes the guard's socket, and the guard then kills the rest of the tree.
        drop(control);
        state.wait_for(|state| state.all_ended).await.ok();
        // 3. Read the rest of the output.
        // No process can write any more, so the readers reach the end of the output at once.
        let reading = async {
            readers.stdout.await.ok();
            readers.stderr.await.ok();
        };
        timeout(EXIT_STATUS_TIMEOUT, reading).await.ok();
        router.end_turn().await;
        let ended = state.borrow().clone();
        Exit {
            status: ended.exit_status.unwrap_or(ExitStatus::Unknown),
            step,
            lease_expired: ended.lease_expired,
            exceeded_limit: ended.exceeded_limit,
            stderr_tail: diagnostics.stderr_tail(),
            noise_tail: diagnostics.noise_tail(),
            dropped_lines: diagnostics.dropped_lines(),
        }
    }
}

/// Waits until no process of the tree is left. Returns `true` if that was before `until`.
async fn all_ended_by(state: &mut watch::Receiver<ProcessState>, until: Instant) -> bool {
    timeout_at(until, state.wait_for(|state| state.all_ended))
        .await
        .is_ok()
}
