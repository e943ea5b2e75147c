//! What a turn asks of people, from its ledger's point of view.

use std::time::Duration;

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use model::{RunId, approval::patience, limits, permission::Verdict};
use tokio::{sync::mpsc, time::Instant};

use crate::{ledger::Ledger, permissions::Enquiry, warn};

/// The permission requests of a turn that wait for people. Dropped, it waits for none of them any more.
pub(crate) struct Asking<'a> {
    ledger: &'a dyn Ledger,
    run: RunId,
    /// The longest that one of them waits.
    ask: Duration,
    /// When the turn must be over.
    deadline: Instant,
    asked: mpsc::Receiver<Enquiry>,
    waiting: FuturesUnordered<BoxFuture<'a, ()>>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(
        ledger: &'a dyn Ledger,
        run: RunId,
        ask: Duration,
        deadline: Instant,
        asked: mpsc::Receiver<Enquiry>,
    ) -> Self {
        Self {
            ledger,
            run,
            ask,
            deadline,
            asked,
            waiting: FuturesUnordered::new(),
        }
    }

    /// Whether anything waits.
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Goes on until something more is asked, or something was answered. Nothing is lost if whoever calls
    /// stops waiting.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            biased;
            Some(()) = self.waiting.next() => {}
            Some(asked) = self.asked.recv() => self.begin(asked),
            else => std::future::pending().await,
        }
    }

    /// Waits for nothing any more: the turn is to end, and the agent has been told so.
    pub(crate) fn give_up(&mut self) {
        self.waiting.clear();
    }

    fn begin(&mut self, asked: Enquiry) {
        // What is dropped is denied: an agent cannot fill the inbox.
        if self.waiting.len() >= limits::ASKED_AT_ONCE {
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
            // Nobody listens once the agent was told to stop.
            asked.answer.send(verdict).ok();
        }));
    }
}
