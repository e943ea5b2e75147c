//! Approvals that are withdrawn before their attempt is over.

use model::{
    WorkerId, approval::ApprovalStatus, permission::Verdict, run::RunStatus, turn::Settled,
};

use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn withdrawn_approval_cannot_be_decided(db: &TestStore) {
    let stage = Stage::set(db).await;
    let (session, run) = stage.under_way().await;
    let [decided, waits] = [stage.ask(run).await, stage.ask(run).await];
    stage.decide(decided, Verdict::Allow).await.unwrap();
    let (_, beside) = stage.under_way().await;
    let of_other = stage.ask(beside).await;
    let withdraw = async |worker: &WorkerId| {
        let withdrawn = stage.store.withdraw(run, worker, stage.now());
        withdrawn.await.unwrap()
    };
    // By nobody but whoever has the turn.
    let stranger = WorkerId::from_stored("host-2-bbbbbbbb".into());
    assert_eq!(withdraw(&stranger).await, Settled::Lost);
    assert_eq!(stage.state(waits).await, ApprovalStatus::Pending);

    let now = stage.wait(5);
    assert_eq!(withdraw(&stage.worker).await, Settled::Written);
    let withdrawn = stage.approval(waits).await;
    assert_eq!(withdrawn.status(), ApprovalStatus::Void);
    assert_eq!(withdrawn.state.decided_at(), Some(now));
    assert_eq!(stage.refused(waits, Verdict::Allow).await, "void");
    let told = stage.told(session).await;
    assert_eq!(
        told.last().unwrap(),
        &(waits.to_string(), "void".to_owned())
    );
    // The turn goes on, and nothing else is touched.
    assert_eq!(stage.status(run).await, RunStatus::Running);
    assert_eq!(stage.state(decided).await, ApprovalStatus::Allowed);
    assert_eq!(stage.state(of_other).await, ApprovalStatus::Pending);

    // Whoever does not know whether it was withdrawn does it again.
    assert_eq!(withdraw(&stage.worker).await, Settled::Written);
    assert_eq!(stage.told(session).await, told);
    stage.succeed(run).await;
    assert_eq!(withdraw(&stage.worker).await, Settled::Lost);
    assert_eq!(stage.told(session).await, told);
}
