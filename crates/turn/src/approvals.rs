//! The permission requests of a turn that people must decide, and its questions that people must answer.
//!
//! **Invariant:** an [`ApprovalDriver`] is polled beside the conversation for as long as it exists, because a request
//! in progress may hold a resource of the store for which the turn's other writes wait.

use std::time::Duration;

use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use model::{
    RunId, approval::approval_timeout, limits, permission::Verdict, question::ELICITATIONS_PER_TURN,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    log_warning, permissions::PendingRequest, time_limits::with_write_timeout,
    turn_store::TurnStore,
};

/// The permission requests of a turn that wait for people. Dropping it stops waiting for all of them.
pub(crate) struct ApprovalDriver<'a> {
    store: &'a dyn TurnStore,
    run: RunId,
    /// The longest wait for one decision.
    decision_timeout: Duration,
    /// The instant at which the turn must be over.
    deadline: Instant,
    requests: mpsc::Receiver<PendingRequest>,
    pending: FuturesUnordered<BoxFuture<'a, ()>>,
    /// The number of questions that have reached people.
    questions: usize,
    /// Reports the number of waiting requests to the conversation.
    pending_count: watch::Sender<usize>,
    stop: CancellationToken,
}

/// The conversation's view of the requests that [`ApprovalDriver`] drives.
pub(crate) struct PendingApprovals {
    pending_count: watch::Receiver<usize>,
    stop: CancellationToken,
}

impl PendingApprovals {
    /// Returns `true` if a request waits.
    pub(crate) fn is_any_pending(&self) -> bool {
        *self.pending_count.borrow() > 0
    }

    /// Waits until the number of waiting requests is reported again, after a new request or an answer.
    pub(crate) async fn changed(&mut self) {
        if self.pending_count.changed().await.is_err() {
            // The sender was dropped, so no change can follow. Returning here would make the conversation's loop spin.
            std::future::pending::<()>().await;
        }
    }

    /// Stops waiting for all requests. The caller must have asked the agent to cancel.
    pub(crate) fn stop_waiting(&self) {
        self.stop.cancel();
    }
}

impl<'a> ApprovalDriver<'a> {
    /// Returns the driver of the requests and the conversation's view of it.
    pub(crate) fn new(
        store: &'a dyn TurnStore,
        run: RunId,
        decision_timeout: Duration,
        deadline: Instant,
        requests: mpsc::Receiver<PendingRequest>,
    ) -> (Self, PendingApprovals) {
        let (count, count_receiver) = watch::channel(0);
        let stop = CancellationToken::new();
        let pending_approvals = PendingApprovals {
            pending_count: count_receiver,
            stop: stop.clone(),
        };
        let driver = Self {
            store,
            run,
            decision_timeout,
            deadline,
            requests,
            pending: FuturesUnordered::new(),
            questions: 0,
            pending_count: count,
            stop,
        };
        (driver, pending_approvals)
    }

    /// Sends requests to people and passes on their decisions until [`PendingApprovals::stop_waiting`]. Then
    /// withdraws the undecided requests.
    pub(crate) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                Some(()) = self.pending.next() => {}
                Some(request) = self.requests.recv() => self.start_request(request),
            }
            self.pending_count.send_replace(self.pending.len());
        }
        let undecided = !self.pending.is_empty();
        // Drop the requests before the write, because one in progress may hold a resource for which the write waits.
        self.pending.clear();
        if undecided
            && let Err(error) = with_write_timeout(self.store.withdraw_approvals(self.run)).await
        {
            // If the withdrawal fails, the end of the run voids the requests.
            log_warning(self.run, &error, "withdraw the permission requests");
        }
    }

    fn start_request(&mut self, request: PendingRequest) {
        // Dropping a request denies or declines it. The limits keep an agent from flooding the inbox.
        if self.pending.len() >= limits::PENDING_APPROVALS_PER_TURN {
            return;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (run, timeout) = (self.run, approval_timeout(self.decision_timeout, left));
        // Sending fails if the agent was asked to cancel meanwhile, and then it needs no answer.
        match request {
            PendingRequest::Approval { question, answer } => {
                let decision = self.store.request_approval(run, question, timeout);
                self.pending.push(Box::pin(async move {
                    let verdict = decision.await.unwrap_or_else(|error| {
                        log_warning(run, &error, "request an approval");
                        Verdict::Deny
                    });
                    answer.send(verdict).ok();
                }));
            }
            PendingRequest::Elicitation { question, answer } => {
                if self.questions >= ELICITATIONS_PER_TURN {
                    return;
                }
                self.questions += 1;
                let answered = self.store.request_answer(run, question, timeout);
                self.pending.push(Box::pin(async move {
                    let given = answered.await.unwrap_or_else(|error| {
                        log_warning(run, &error, "ask a question");
                        None
                    });
                    answer.send(given).ok();
                }));
            }
        }
    }
}
