//! The policies that a team gives the turns of its seats.

use model::{
    approval::OnUnmatched,
    goal::Reviews,
    outcome::FailureKind,
    permission::{PermissionRule, PermissionRules, Verdict},
    policy::Policies,
    team::SeatPolicies,
    turn::StartReply,
};
use store::Recipients;

use super::stage::{done, team, work};
use crate::{fixtures::TestStore, stage::Stage};

pub(crate) async fn turns_of_seat_have_policies_of_team(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_goal(team(1, Some(Reviews::All)));
    let edits = PermissionRule {
        tool: "edit".into(),
        title: None,
        verdict: Verdict::Allow,
    };
    let of_worker = SeatPolicies {
        timeout_seconds: 5400,
        inactivity_seconds: 1200,
        on_unmatched: OnUnmatched::RequestApproval,
        ask_seconds: 3600,
        permissions: PermissionRules(vec![edits.clone()]),
    };
    let of_judge = SeatPolicies {
        timeout_seconds: 60,
        ..SeatPolicies::default()
    };
    new.team.seats[1].policies = of_worker.clone();
    new.team.seats[2].policies = of_judge.clone();
    let session = stage.store.create_goal(stage.tenant, &new, stage.now());
    let session = session.await.unwrap();
    // 1. The planner has the defaults.
    let (planner, assignment) = stage.begin_turn(db, session, "planner").await;
    assert_eq!(assignment.policies, Policies::default());
    assert_eq!(assignment.permissions.0, []);
    // 2. The worker has its own, in turns of messages and of tasks.
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let worker = seats.iter().find(|seat| seat.role == "worker").unwrap().id;
    let to = Recipients::Seat(worker);
    let now = stage.tick();
    let sent = stage.store.send_seat_message(&planner, to, "Hello.", now);
    assert_eq!(sent.await.unwrap().len(), 1);
    let (receiver, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(assignment.policies, of_worker.of_turn());
    assert_eq!(assignment.permissions.0, std::slice::from_ref(&edits));
    stage.succeed(receiver.run).await;
    stage.stage_task(&planner, &work("a", &[])).await.unwrap();
    stage.succeed(planner.run).await;
    let (worker, assignment) = stage.begin_turn(db, session, "worker").await;
    assert_eq!(assignment.policies, of_worker.of_turn());
    assert_eq!(assignment.permissions.0, [edits]);
    let (instance, now) = (stage.instance, stage.now());
    let again = stage.store.begin(
        worker.run,
        &stage.worker,
        instance,
        now,
        Some(worker.secret),
    );
    match again.await.unwrap() {
        StartReply::Started(again) => {
            assert_eq!(again.policies, assignment.policies);
            assert_eq!(again.permissions, assignment.permissions);
        }
        other => panic!("the start is not repeated: {other:?}"),
    }
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    // 3. So has the judge.
    let (_, assignment) = stage.begin_turn(db, session, "judge").await;
    assert_eq!(assignment.policies, of_judge.of_turn());
}

pub(crate) async fn time_of_turn_counts_up_to_limit_of_its_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, None);
    team.seats[1].policies.timeout_seconds = 5400;
    let session = stage.planned_goal(db, team, &[work("a", &[])]).await;
    // The turn is longer than the default limit, and the machine sleeps in the second attempt at it.
    for (seconds, counted) in [(3600, 3600), (36_000, 9000)] {
        let (worker, _) = stage.begin_turn(db, session, "worker").await;
        stage.advance_seconds(seconds);
        stage.fail(worker.run, FailureKind::AgentError).await;
        let used = stage.tenant_usage().await.month.time;
        assert_eq!(used.as_secs(), counted);
    }
    assert_eq!(stage.tenant_usage().await.month.minutes(), 150);
}
