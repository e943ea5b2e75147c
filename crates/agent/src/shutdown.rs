//! The shutdown of an agent: gentle steps first, then SIGKILL.
//!
//! Each step has a limit of time, so that even an agent that ignores all of them has ended after [`Grace::whole`].

use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use crate::{Agent, Excess, Status, guard::launch::Life, limits::EXIT_STATUS_TIMEOUT};

/// The longest wait for the rest of the messages to an agent whose input is being closed.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The limit of time for each step of ending an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// The time from the request to cancel a turn until the agent has ended the turn. The caller of [`Agent::prompt`]
    /// waits for it before the shutdown.
    pub cancel: Duration,
    /// The time for the reply to `session/close`.
    pub close: Duration,
    /// The time from the end of input until the whole tree has ended. Agents save their sessions in this step.
    pub eof: Duration,
    /// The time from SIGTERM until the whole tree has ended.
    pub term: Duration,
}

impl Grace {
    /// Returns the sum of all steps: the longest life of an agent that ignores all of them.
    pub fn whole(&self) -> Duration {
        self.cancel + self.close + self.eof + self.term
    }
}

impl Default for Grace {
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
pub enum How {
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
    pub status: Status,
    /// The step that ended the agent's own process.
    pub how: How,
    /// `true` if the guard killed the agent because its lease was over.
    pub lease_over: bool,
    /// The limit for which the guard killed the agent, if any.
    pub excess: Option<Excess>,
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
    pub async fn shutdown(self, grace: Grace) -> Exit {
        // 1. Ask the agent to end its prompt and its session.
        if self.prompting.load(Ordering::Acquire) {
            self.cancel();
        }
        if let Some(opened) = self.opened().filter(|_| self.offers.close) {
            // The reply does not matter, because the next step follows in any case.
            timeout(grace.close, self.connection.close_session(&opened.id))
                .await
                .ok();
        }
        let Self {
            connection,
            control,
            mut life,
            diagnostics,
            readers,
            router,
            ..
        } = self;

        // 2. End of input, then SIGTERM, then SIGKILL.
        let until = Instant::now() + grace.eof;
        connection.close_input(FLUSH_TIMEOUT.min(grace.eof)).await;
        let mut how = How::Exit;
        if !all_ended_by(&mut life, until).await {
            // The agent's own process may have ended in time while a descendant still lives. Then the agent counts as
            // ended by itself.
            let lives = |life: &watch::Receiver<Life>| life.borrow().exited.is_none();
            if lives(&life) {
                how = How::Term;
            }
            // Sending fails only if the guard has ended, and then its tree is being swept.
            control.term().ok();
            if !all_ended_by(&mut life, Instant::now() + grace.term).await && lives(&life) {
                how = How::Kill;
            }
        }
        // Dropping the control closes the guard's socket, and the guard then kills the rest of the tree.
        drop(control);
        life.wait_for(|life| life.clear).await.ok();
        // 3. Read the rest of the output.
        // No process can write any more, so the readers reach the end of the output at once.
        let reading = async {
            readers.stdout.await.ok();
            readers.stderr.await.ok();
        };
        timeout(EXIT_STATUS_TIMEOUT, reading).await.ok();
        router.end().await;
        let ended = life.borrow().clone();
        Exit {
            status: ended.exited.unwrap_or(Status::Unknown),
            how,
            lease_over: ended.lease_over,
            excess: ended.excess,
            stderr_tail: diagnostics.stderr_tail(),
            noise_tail: diagnostics.noise_tail(),
            dropped_lines: diagnostics.dropped_lines(),
        }
    }
}

/// Waits until no process of the tree is left. Returns `true` if that was before `until`.
async fn all_ended_by(life: &mut watch::Receiver<Life>, until: Instant) -> bool {
    timeout_at(until, life.wait_for(|life| life.clear))
        .await
        .is_ok()
}
