//! Approvals: one attempt requests an approval, a person decides it once and in time, and it becomes void with the
//! attempt.

use std::time::Duration;

use model::{
    ApprovalId, TokenId, WorkerId,
    approval::{ApprovalRequest, ApprovalStatus, Decider},
    event::{ApprovalChange, Change},
    notification::NotificationKind,
    outcome::FailureKind,
    permission::Verdict,
    run::RunStatus,
    turn::WriteOutcome,
};
use serde_json::json;
use store::{ApprovalFilter, Error, FeedEvent, Page, Scope};
use uuid::Uuid;

use crate::{
    event_summary::{subject_id, summary},
    fixtures::TestStore,
    stage::{Stage, store_over},
};

/// Returns the permission that the agents of these tests request.
pub(crate) fn question(title: &str) -> ApprovalRequest {
    ApprovalRequest::new(
        "execute",
        title,
        "call-1",
        Some(json!({ "command": title })),
    )
}

/// Returns a person with a token.
pub(crate) fn decider(name: &str) -> Decider {
    Decider {
        token: Some(TokenId::from_uuid(Uuid::from_u128(77))),
        name: name.into(),
    }
}

pub(crate) async fn approval_request_without_running_turn_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let stranger = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let id = stage.approval_id();
    assert_eq!(
        stage.request_approval_as(&stranger, run, id).await,
        WriteOutcome::Fenced
    );
    let waits = stage.send_message(session, "and then").await.run_id;
    assert_eq!(
        stage.request_approval_as(&stage.worker, waits, id).await,
        WriteOutcome::Fenced
    );
    assert_eq!(stage.approval_events(session).await, []);

    assert_eq!(
        stage.request_approval_as(&stage.worker, run, id).await,
        WriteOutcome::Committed
    );
    let approval = stage.approval(id).await;
    assert_eq!(approval.request, question("rm -rf x").permission);
    assert_eq!((approval.session_id, approval.run_id), (session, run));
    assert_eq!(approval.deadline_at, stage.now() + Duration::from_mins(10));
    // A worker that does not know whether its request was committed repeats it.
    assert_eq!(
        stage.request_approval_as(&stage.worker, run, id).await,
        WriteOutcome::Committed
    );
    let events = [(id.to_string(), "pending".to_owned())];
    assert_eq!(stage.approval_events(session).await, events);

    stage.succeed(run).await;
    let late = stage.approval_id();
    assert_eq!(
        stage.request_approval_as(&stage.worker, run, late).await,
        WriteOutcome::Fenced
    );
    let absent = stage.store.approval(stage.scope(), late).await;
    assert!(matches!(absent, Err(Error::NotFound { .. })), "{absent:?}");
}

pub(crate) async fn approval_is_decided_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let [allowed, denied, waits] = [
        stage.request_approval(run).await,
        stage.request_approval(run).await,
        stage.request_approval(run).await,
    ];
    let now = stage.advance_seconds(5);
    let by = decider("laptop");
    let decided = stage.store.decide_approval(
        stage.tenant,
        allowed,
        Verdict::Allow,
        &by,
        Some("looks right"),
        now,
    );
    let decided = decided.await.unwrap();
    assert_eq!(decided, stage.approval(allowed).await);
    assert_eq!(decided.status(), ApprovalStatus::Allowed);
    let decision = decided.state.decision().unwrap();
    assert_eq!((decision.at, &decision.by), (now, &by));
    assert_eq!(decision.comment.as_deref(), Some("looks right"));
    let second = stage.decide(denied, Verdict::Deny).await.unwrap();
    assert_eq!(second.status(), ApprovalStatus::Denied);
    // Lists show that the turn waits until its last approval is decided.
    let waits_for_approval = async || {
        let names = stage.store.run_names(stage.scope(), run).await;
        names.unwrap().waits_for_approval
    };
    assert!(waits_for_approval().await);

    for verdict in [Verdict::Allow, Verdict::Deny] {
        assert_eq!(stage.refused_state(allowed, verdict).await, "allowed");
        assert_eq!(stage.refused_state(denied, verdict).await, "denied");
    }
    assert_eq!(stage.approval(allowed).await, decided);
    // A second request of the same permission is a separate approval.
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Pending);
    let events = stage.approval_events(session).await;
    let states: Vec<_> = events.iter().map(|(_, state)| state.as_str()).collect();
    assert_eq!(
        states,
        ["pending", "pending", "pending", "allowed", "denied"]
    );
    stage.decide(waits, Verdict::Allow).await.unwrap();
    assert!(!waits_for_approval().await);
}

pub(crate) async fn decision_at_approval_deadline_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, run) = stage.running_turn().await;
    let [early, late] = [
        stage.request_approval(run).await,
        stage.request_approval(run).await,
    ];
    let deadline = stage.approval(early).await.deadline_at;
    stage
        .clock
        .set(deadline.saturating_sub(Duration::from_micros(1)));
    stage.decide(early, Verdict::Allow).await.unwrap();
    stage.clock.set(deadline);
    // The worker has not expired the approval yet.
    assert_eq!(stage.refused_state(late, Verdict::Allow).await, "expired");
    assert_eq!(stage.approval_status(late).await, ApprovalStatus::Pending);
}

pub(crate) async fn undecided_approval_expires_at_deadline(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let (other_session, other) = stage.running_turn().await;
    let waiter = stage.request_approval(run).await;
    let decided = stage.request_approval(run).await;
    let unnoticed = stage.request_approval(other).await;
    stage.decide(decided, Verdict::Allow).await.unwrap();
    // The waiting worker notices the deadline by itself.
    let expire = |id| stage.store.expire_approval(id, stage.now());
    assert_eq!(expire(waiter).await.unwrap(), ApprovalStatus::Expired);
    assert_eq!(expire(waiter).await.unwrap(), ApprovalStatus::Expired);
    // An earlier decision stays.
    assert_eq!(expire(decided).await.unwrap(), ApprovalStatus::Allowed);

    assert_eq!(
        stage
            .store
            .expire_overdue_approvals(stage.now())
            .await
            .unwrap(),
        0
    );
    let now = stage.advance_seconds(600);
    let late = stage.request_approval(other).await;
    assert_eq!(stage.store.expire_overdue_approvals(now).await.unwrap(), 1);
    assert_eq!(
        stage.approval_status(unnoticed).await,
        ApprovalStatus::Expired
    );
    let ended = stage.approval(unnoticed).await.state.decided_at();
    assert_eq!(ended, Some(now));
    assert_eq!(stage.approval_status(late).await, ApprovalStatus::Pending);
    assert_eq!(
        stage.refused_state(unnoticed, Verdict::Deny).await,
        "expired"
    );
    let events = stage.approval_events(session).await;
    assert_eq!(
        events[2..],
        [
            (decided.to_string(), "allowed".to_owned()),
            (waiter.to_string(), "expired".to_owned()),
        ]
    );
    assert_eq!(
        stage.approval_events(other_session).await,
        [
            (unnoticed.to_string(), "pending".to_owned()),
            (late.to_string(), "pending".to_owned()),
            (unnoticed.to_string(), "expired".to_owned()),
        ]
    );
}

pub(crate) async fn end_or_cancel_of_attempt_voids_its_approvals(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let [decided, waits] = [
        stage.request_approval(run).await,
        stage.request_approval(run).await,
    ];
    stage.decide(decided, Verdict::Deny).await.unwrap();
    let (_, beside) = stage.running_turn().await;
    let of_other = stage.request_approval(beside).await;
    stage.succeed(run).await;
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Void);
    assert_eq!(stage.approval_status(decided).await, ApprovalStatus::Denied);
    assert_eq!(
        stage.approval_status(of_other).await,
        ApprovalStatus::Pending
    );
    assert_eq!(stage.refused_state(waits, Verdict::Allow).await, "void");
    let events = stage.store.events(stage.scope(), session, 0, 100);
    let events = events.await.unwrap();
    let void = events
        .iter()
        .position(|it| summary(&it.change) == "approval void");
    let end = events
        .iter()
        .position(|it| summary(&it.change) == "run succeeded");
    assert!(void.unwrap() < end.unwrap(), "{events:#?}");

    // A run that is being cancelled receives no decision, although its turn has not ended.
    let (session, run) = stage.running_turn().await;
    let waits = stage.request_approval(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), RunStatus::Running);
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Void);
    assert_eq!(stage.refused_state(waits, Verdict::Allow).await, "void");
    let late = stage.approval_id();
    assert_eq!(
        stage.request_approval_as(&stage.worker, run, late).await,
        WriteOutcome::Fenced
    );
    let events = stage.approval_events(session).await;
    assert_eq!(events.last().unwrap().1, "void");

    let (_, run) = stage.running_turn().await;
    let waits = stage.request_approval(run).await;
    stage.fail(run, FailureKind::Requeued).await;
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Void);
}

pub(crate) async fn attempt_after_stall_requests_new_approval(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let waits = stage.request_approval(run).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Void);
    let next = &stage.attempts(run).await[1];
    stage.clock.set(next.state.not_before().unwrap());
    stage.store.promote_due(stage.now()).await.unwrap();
    let next = next.id;
    stage.start(next).await;
    let new_approval = stage.request_approval(next).await;

    // A decision on the old approval changes nothing, and does not decide the new one.
    assert_eq!(stage.refused_state(waits, Verdict::Allow).await, "void");
    assert_eq!(stage.approval_status(waits).await, ApprovalStatus::Void);
    assert_eq!(
        stage.approval_status(new_approval).await,
        ApprovalStatus::Pending
    );
    // The lost worker cannot request an approval either.
    let late = stage.approval_id();
    assert_eq!(
        stage.request_approval_as(&stage.worker, run, late).await,
        WriteOutcome::Fenced
    );
    let expired = stage
        .store
        .expire_approval(waits, stage.now())
        .await
        .unwrap();
    assert_eq!(expired, ApprovalStatus::Void);
    let allowed = stage.decide(new_approval, Verdict::Allow).await.unwrap();
    assert_eq!((allowed.session_id, allowed.run_id), (session, next));
}

pub(crate) async fn approval_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let id = stage.request_approval(run).await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let by = decider("them");
    let decided = stage
        .store
        .decide_approval(other, id, Verdict::Allow, &by, None, stage.now());
    let decided = decided.await;
    assert!(
        matches!(decided, Err(Error::NotFound { .. })),
        "{decided:?}"
    );
    let found = stage.store.approval(Scope::Tenant(other), id).await;
    assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
    for filter in [
        ApprovalFilter::default(),
        ApprovalFilter {
            session: Some(session),
            ..ApprovalFilter::default()
        },
        ApprovalFilter {
            run: Some(run),
            ..ApprovalFilter::default()
        },
    ] {
        let page = stage.store.approval_page(other, filter, Page::first(9));
        assert_eq!(page.await.unwrap(), []);
    }
    let theirs = stage
        .store
        .pending_approvals(Scope::Tenant(other), session, 9);
    assert_eq!(theirs.await.unwrap(), []);
    assert_eq!(stage.approval_status(id).await, ApprovalStatus::Pending);
}

pub(crate) async fn approvals_are_listed_by_session_automation_run_and_state(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let key = "web:1";
    let session = stage.keyed_session(Some(key)).await;
    let automation = stage.bound_automation("standup", key).await;
    let message_run = stage.send_message(session, "hello").await.run_id;
    stage.start(message_run).await;
    let of_person = stage.request_approval(message_run).await;
    stage.succeed(message_run).await;
    let fired = stage.fire(automation).await.run_id;
    stage.start(fired).await;
    stage.advance_seconds(1);
    let first = stage.request_approval(fired).await;
    stage.advance_seconds(1);
    let second = stage.request_approval(fired).await;
    stage.decide(first, Verdict::Allow).await.unwrap();

    let list = async |filter: ApprovalFilter, page: Page<ApprovalId>| {
        let found = stage.store.approval_page(stage.tenant, filter, page);
        let found = found.await.unwrap();
        found.iter().map(|approval| approval.id).collect::<Vec<_>>()
    };
    let all = ApprovalFilter::default();
    let pending = ApprovalFilter {
        state: Some(ApprovalStatus::Pending),
        ..all
    };
    let of_session = ApprovalFilter {
        session: Some(session),
        ..all
    };
    let automation_change = ApprovalFilter {
        automation: Some(automation),
        ..all
    };
    let of_run = ApprovalFilter {
        run: Some(fired),
        ..all
    };
    let nobodys = ApprovalFilter {
        run: Some(message_run),
        automation: Some(automation),
        ..all
    };
    let allowed = ApprovalFilter {
        state: Some(ApprovalStatus::Allowed),
        ..automation_change
    };
    let newest = Page::first(9);
    for (filter, expected) in [
        (all, vec![second, first, of_person]),
        (pending, vec![second]),
        (of_session, vec![second, first, of_person]),
        (automation_change, vec![second, first]),
        (of_run, vec![second, first]),
        (nobodys, vec![]),
        (allowed, vec![first]),
    ] {
        assert_eq!(list(filter, newest).await, expected, "{filter:?}");
    }
    let after = Page {
        after: Some(second),
        limit: 1,
    };
    for filter in [all, of_session, automation_change, of_run] {
        assert_eq!(list(filter, after).await, [first], "{filter:?}");
    }
    assert_eq!(list(pending, after).await, []);
    let waiting = stage.store.pending_approvals(stage.scope(), session, 9);
    let waiting = waiting.await.unwrap();
    assert_eq!(waiting.iter().map(|it| it.id).collect::<Vec<_>>(), [second]);
    let between = stage
        .store
        .approval_ids_between(stage.scope(), first, second, 9);
    assert_eq!(between.await.unwrap(), [first, second]);
    assert_eq!(stage.approval(second).await.automation_id, Some(automation));
}

pub(crate) async fn approval_request_and_decision_are_in_feed_and_notices(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("standup", "web:1").await;
    let from = stage.store.feed_head(stage.tenant).await.unwrap();
    let fired = stage.fire(automation).await.run_id;
    stage.start(fired).await;
    let id = stage.request_approval(fired).await;
    stage.decide(id, Verdict::Deny).await.unwrap();
    // The feed shows an event only once all transactions that began earlier have ended, in all tests.
    let events = loop {
        let page = stage
            .store
            .automation_feed(stage.tenant, automation, from, 1000);
        let events = page.await.unwrap().events;
        let is_approval = |it: &FeedEvent| matches!(it.event.change, Change::Approval { .. });
        let of_approvals = events.into_iter().filter(is_approval);
        let of_approvals: Vec<_> = of_approvals.collect();
        if of_approvals.len() == 2 {
            break of_approvals;
        }
        tokio::task::yield_now().await;
    };
    for event in &events {
        assert_eq!(event.session_id, Some(session));
        assert_eq!(event.automation_id, Some(automation));
        assert_eq!(subject_id(&event.event.change), id.to_string());
    }
    let changes = [&events[0], &events[1]].map(|it| match &it.event.change {
        Change::Approval { change, title, .. } => {
            assert_eq!(title, "rm -rf x");
            change.clone()
        }
        other => panic!("{other:?}"),
    });
    let deadline_at = stage.approval(id).await.deadline_at;
    let pending = ApprovalChange::Pending { deadline_at };
    let decided_by = "ci".to_owned();
    assert_eq!(changes, [pending, ApprovalChange::Denied { decided_by }]);

    let requested = events[0].clone();
    let notices = stage.store.notices(stage.tenant, events).await.unwrap();
    assert_eq!(notices.len(), 1, "a decided approval is not announced");
    assert_eq!(notices[0].kind, NotificationKind::ApprovalRequested);
    assert_eq!(notices[0].event, requested);
    assert_eq!(notices[0].run.as_ref().unwrap().id, fired);
    assert_eq!(notices[0].automation.as_ref().unwrap().name, "standup");
}

pub(crate) async fn approval_decision_of_other_process_wakes_subscriber(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, run) = stage.running_turn().await;
    let id = stage.request_approval(run).await;
    let mut changes = stage.store.changes();
    // The first notification covers all earlier changes.
    assert!(changes.next().await.everything);
    let second = store_over(&store::open(&db.location()).await.unwrap());
    let by = decider("elsewhere");
    let decided = second.decide_approval(stage.tenant, id, Verdict::Allow, &by, None, stage.now());
    decided.await.unwrap();
    let woken = async {
        loop {
            let changed = changes.next().await;
            if changed.everything || changed.logs.contains(&session.uuid()) {
                return;
            }
        }
    };
    // The fallback poll comes every five seconds. This notification must come earlier.
    let woken = tokio::time::timeout(Duration::from_secs(2), woken).await;
    assert!(woken.is_ok(), "the subscription was not woken");
    assert_eq!(stage.approval_status(id).await, ApprovalStatus::Allowed);
}
