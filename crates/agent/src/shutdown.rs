//! Ending an agent gently, and certainly.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, timeout, timeout_at},
};

use crate::{Agent, Excess, Status, guard::launch::Life, limits::STATUS_WAIT};

/// The most that is waited for what is still to be written to an agent whose input is closed.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// How long each step of ending an agent may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grace {
    /// From asking for the end of a turn until the agent has ended it. Whoever prompts waits for it,
    /// before the shutdown.
    pub cancel: Duration,
    /// For the answer to `session/close`.
    pub close: Duration,
    /// From the end of input until the whole tree is gone. Agents save their session here.
    pub eof: Duration,
    /// From SIGTERM until the whole tree is gone.
    pub term: Duration,
}

impl Grace {
    /// How long it may take in all until an agent that ignores everything is gone.
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

/// What it took to end an agent's own process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// The end of its input, or it had ended before.
    Exit,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// How an agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// How its own process ended.
    pub status: Status,
    /// What it took.
    pub how: How,
    /// Whether it was killed because its lease was over.
    pub lease_over: bool,
    /// Whether it was killed because it used too much.
    pub excess: Option<Excess>,
    /// The end of what it wrote to standard error.
    pub stderr_tail: String,
    /// The end of what it wrote to standard output that was no message.
    pub noise_tail: String,
    /// How many lines of standard output were no messages.
    pub dropped_lines: u64,
}

impl Agent {
    /// Ends the agent: `session/close` if it offers that, end of input, SIGTERM, SIGKILL, each of the
    /// signals to the whole tree, with time in between. When it answers, nothing of the tree is
    /// left, and what it told is with whoever prompted it last. If the future is dropped, what is
    /// left of the tree is killed.
    pub async fn shutdown(self, grace: Grace) -> Exit {
        if self.prompting.load(Ordering::Acquire) {
            self.cancel();
        }
        if let Some(opened) = self.opened().filter(|_| self.offers.close) {
            // Whatever it answers, the next step comes.
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

        let until = Instant::now() + grace.eof;
        connection.close_input(FLUSH_LIMIT.min(grace.eof)).await;
        let mut how = How::Exit;
        if !clear_by(&mut life, until).await {
            let lives = |life: &watch::Receiver<Life>| life.borrow().exited.is_none();
            if lives(&life) {
                how = How::Term;
            }
            // Fails only if the guard is gone, and then its tree is being swept.
            control.term().ok();
            if !clear_by(&mut life, Instant::now() + grace.term).await && lives(&life) {
                how = How::Kill;
            }
        }
        drop(control);
        life.wait_for(|life| life.clear).await.ok();
        // Nobody can write any more, so what was written is read in no time.
        let reading = async {
            readers.stdout.await.ok();
            readers.stderr.await.ok();
        };
        timeout(STATUS_WAIT, reading).await.ok();
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

/// Waits until no process of the tree is left; tells whether that was in time.
async fn clear_by(life: &mut watch::Receiver<Life>, until: Instant) -> bool {
    timeout_at(until, life.wait_for(|life| life.clear))
        .await
        .is_ok()
}
