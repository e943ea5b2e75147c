//! Approvals that are withdrawn before their attempt ends.

use model::{
    WorkerId, approval::ApprovalStatus, permission::Verdict, run::RunStatus, turn::WriteOutcome,
};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn withdrawn_approval_cannot_be_decided(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let [decided, waits] = [
        stage.request_approval(run).await,
        stage.request_approval(run).await,
    ];
    stage.decide(decided, Verdict::Allow).await.unwrap();
    let (_, beside) = stage.running_turn().await;
    let of_other = stage.request_approval(beside).await;
    let withdraw = async |worker: &WorkerId| {
        let withdrawn = stage.store.withdraw_approvals(run, worker, stage.now());
        withdrawn.await.unwrap()
    };
    // Another worker cannot withdraw them.
    let stranger = WorkerId::from_stored("host-2-bbbbbbbb".into());
    assert_eq!(withdraw(&stranger).await, WriteOutcome::Fenced);
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Pending);

    let now = stage.advance_seconds(5);
    assert_eq!(withdraw(&stage.worker).await, WriteOutcome::Committed);
    let withdrawn = stage.approval(waits).await;
    assert_eq!(withdrawn.status(), ApprovalStatus::Void);
    assert_eq!(withdrawn.state.decided_at(), Some(now));
    assert_eq!(stage.refused_state(waits, Verdict::Allow).await, "void");
    let events = stage.approval_events(session).await;
    assert_eq!(
        events.last().unwrap(),
        &(waits.to_string(), "void".to_owned())
    );
    // The turn continues, and nothing else changes.
    assert_eq!(stage.status(run).await, RunStatus::Running);
    assert_eq!(
        stage.approval_status(decided).await,
        ApprovalStatus::Allowed
    );
    assert_eq!(
        stage.approval_status(of_other).await,
        ApprovalStatus::Pending
    );

    // A worker that does not know whether its withdrawal was committed repeats it.
    assert_eq!(withdraw(&stage.worker).await, WriteOutcome::Committed);
    assert_eq!(stage.approval_events(session).await, events);
    stage.succeed(run).await;
    assert_eq!(withdraw(&stage.worker).await, WriteOutcome::Fenced);
    assert_eq!(stage.approval_events(session).await, events);
}
