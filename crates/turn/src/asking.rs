//! The permission requests of a turn that people must decide.
//!
//! **Invariant:** an [`Asking`] is polled beside the conversation for as long as it exists, because a request in
//! progress may hold a resource of the ledger for which the turn's other writes wait.

use std::time::Duration;

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use model::{RunId, approval::patience, limits, permission::Verdict};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{ledger::Ledger, patience::in_time, permissions::Enquiry, warn};

/// The permission requests of a turn that wait for people. Dropping it stops waiting for all of them.
pub(crate) struct Asking<'a> {
    ledger: &'a dyn Ledger,
    run: RunId,
    /// The longest wait for one decision.
    ask: Duration,
    /// The instant at which the turn must be over.
    deadline: Instant,
    asked: mpsc::Receiver<Enquiry>,
    waiting: FuturesUnordered<BoxFuture<'a, ()>>,
    /// Reports the number of waiting requests to the conversation.
    count: watch::Sender<usize>,
    over: CancellationToken,
}

/// The conversation's view of the requests that [`Asking`] drives.
pub(crate) struct Waiting {
    count: watch::Receiver<usize>,
    over: CancellationToken,
}

impl Waiting {
    /// Returns `true` if a request waits.
    pub(crate) fn any(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Waits until the number of waiting requests is reported again, after a new request or an answer.
    pub(crate) async fn changed(&mut self) {
        if self.count.changed().await.is_err() {
            // The sender was dropped, so no change can follow. Returning here would make the conversation's loop spin.
            std::future::pending::<()>().await;
        }
    }

    /// Stops waiting for all requests. The caller must have asked the agent to cancel.
    pub(crate) fn give_up(&self) {
        self.over.cancel();
    }
}

impl<'a> Asking<'a> {
    /// Returns the driver of the requests and the conversation's view of it.
    pub(crate) fn new(
        ledger: &'a dyn Ledger,
        run: RunId,
        ask: Duration,
        deadline: Instant,
        asked: mpsc::Receiver<Enquiry>,
    ) -> (Self, Waiting) {
        let (count, counted) = watch::channel(0);
        let over = CancellationToken::new();
        let waiting = Waiting {
            count: counted,
            over: over.clone(),
        };
        let asking = Self {
            ledger,
            run,
            ask,
            deadline,
            asked,
            waiting: FuturesUnordered::new(),
            count,
            over,
        };
        (asking, waiting)
    }

    /// Sends requests to people and passes on their decisions until [`Waiting::give_up`]. Then withdraws the
    /// undecided requests.
    pub(crate) async fn go_on(mut self) {
        loop {
            tokio::select! {
                biased;
                () = self.over.cancelled() => break,
                Some(()) = self.waiting.next() => {}
                Some(asked) = self.asked.recv() => self.begin(asked),
            }
            self.count.send_replace(self.waiting.len());
        }
        let undecided = !self.waiting.is_empty();
        // Drop the requests before the write, because one in progress may hold a resource for which the write waits.
        self.waiting.clear();
        if undecided && let Err(error) = in_time(self.ledger.withdraw(self.run)).await {
            // If the withdrawal fails, the end of the run voids the requests.
            warn(self.run, &error, "withdraw the permission requests");
        }
    }

    fn begin(&mut self, asked: Enquiry) {
        // Dropping a request denies it. The limit keeps an agent from flooding the inbox.
        if self.waiting.len() >= limits::PENDING_APPROVALS_PER_TURN {
            return;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (run, patience) = (self.run, patience(self.ask, left));
        let answer = self.ledger.ask(run, asked.question, patience);
        self.waiting.push(Box::pin(async move {
            let verdict = answer.await.unwrap_or_else(|error| {
                warn(run, &error, "ask for a permission");
                Verdict::Deny
            });
            // Sending fails if the agent was asked to cancel meanwhile, and then it needs no answer.
            asked.answer.send(verdict).ok();
        }));
    }
}
