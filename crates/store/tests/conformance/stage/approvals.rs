//! Approvals of running turns.

use std::time::Duration;

use model::{
    ApprovalId, RunId, SessionId, WorkerId,
    approval::{Approval, ApprovalStatus},
    event::Change,
    permission::Verdict,
    turn::WriteOutcome,
};
use store::Error;
use testkit::clock::SeededEntropy;

use super::{Stage, unique};
use crate::{
    approvals::{decider, question},
    event_summary::approval_state,
};

impl Stage {
    pub(crate) fn approval_id(&self) -> ApprovalId {
        ApprovalId::generate(self.now(), &SeededEntropy::new(unique()))
    }

    /// Begins a turn in a new session.
    pub(crate) async fn running_turn(&self) -> (SessionId, RunId) {
        let session = self.session().await;
        let run = self.send_message(session, "hello").await.run_id;
        self.start(run).await;
        (session, run)
    }

    pub(crate) async fn request_approval_as(
        &self,
        worker: &WorkerId,
        run: RunId,
        id: ApprovalId,
    ) -> WriteOutcome {
        let deadline = self.now() + Duration::from_mins(10);
        let question = question("rm -rf x");
        let requested =
            self.store
                .request_approval(run, worker, id, &question, deadline, self.now());
        requested.await.unwrap()
    }

    /// Requests an approval with a deadline in ten minutes.
    pub(crate) async fn request_approval(&self, run: RunId) -> ApprovalId {
        let id = self.approval_id();
        assert_eq!(
            self.request_approval_as(&self.worker, run, id).await,
            WriteOutcome::Committed
        );
        id
    }

    pub(crate) async fn decide(&self, id: ApprovalId, verdict: Verdict) -> Result<Approval, Error> {
        let by = decider("ci");
        let decided = self
            .store
            .decide_approval(self.tenant, id, verdict, &by, None, self.now());
        decided.await
    }

    pub(crate) async fn approval(&self, id: ApprovalId) -> Approval {
        self.store.approval(self.scope(), id).await.unwrap()
    }

    pub(crate) async fn approval_status(&self, id: ApprovalId) -> ApprovalStatus {
        self.approval(id).await.status()
    }

    /// Returns the state that the refusal of a decision names.
    pub(crate) async fn refused_state(&self, id: ApprovalId, verdict: Verdict) -> String {
        match self.decide(id, verdict).await {
            Err(Error::Refused(refused)) => refused.state,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the approval events of a session's log, each as the approval's ID and its state.
    pub(crate) async fn approval_events(&self, session: SessionId) -> Vec<(String, String)> {
        let events = self.store.events(self.scope(), session, 0, 1000);
        let events = events.await.unwrap().into_iter();
        events
            .filter_map(|event| match event.change {
                Change::Approval {
                    approval_id,
                    change,
                    ..
                } => Some((approval_id.to_string(), approval_state(&change).to_owned())),
                _ => None,
            })
            .collect()
    }
}
