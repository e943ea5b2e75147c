//! What a turn asks of people, from its ledger's point of view.
//!
//! **Invariant:** whatever asks is driven for as long as it is there, beside the conversation: it may hold what
//! the turn's other writes wait for.

use std::time::Duration;

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use model::{RunId, approval::patience, limits, permission::Verdict};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{ledger::Ledger, patience::in_time, permissions::Enquiry, warn};

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
    /// Tells the conversation how many wait.
    count: watch::Sender<usize>,
    over: CancellationToken,
}

/// The same, as the conversation beside it sees it.
pub(crate) struct Waiting {
    count: watch::Receiver<usize>,
    over: CancellationToken,
}

impl Waiting {
    /// Whether anything waits.
    pub(crate) fn any(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Goes on once something more was asked, or something was answered.
    pub(crate) async fn changed(&mut self) {
        if self.count.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Has nothing wait any more: the turn is to end, and the agent has been told so.
    pub(crate) fn give_up(&self) {
        self.over.cancel();
    }
}

impl<'a> Asking<'a> {
    /// What asks, and what is seen of it.
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

    /// Asks and answers until all is given up, and then withdraws what nobody has decided.
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
        // Before the write: what is dropped half done may hold what that waits for.
        self.waiting.clear();
        if undecided && let Err(error) = in_time(self.ledger.withdraw(self.run)).await {
            // The end of the run makes them void.
            warn(self.run, &error, "withdraw the permission requests");
        }
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
