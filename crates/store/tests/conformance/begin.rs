//! Beginning a turn: the transcript's event, the internal record, the pin.

use model::{
    WorkerId,
    outcome::FailureKind,
    permission::{PermissionRule, PermissionRules, Verdict},
    policy::{Policies, SessionMode},
    run::RunStatus::{Cancelled, Deferred, Failed, Running},
    turn::StartReply,
};
use serde_json::json;
use store::{Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly, instance},
};

pub(crate) async fn begin_of_unclaimed_or_foreign_run_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert!(
        matches!(stage.begin(run).await, StartReply::Fenced),
        "not claimed"
    );
    stage.claim().await;
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let reply = stage
        .store
        .begin(run, &other, stage.instance, stage.now(), None);
    assert!(matches!(reply.await.unwrap(), StartReply::Fenced));
    assert!(stage.transcript(session).await.is_empty());
    assert!(matches!(stage.begin(run).await, StartReply::Started(_)));
    assert!(
        matches!(stage.begin(run).await, StartReply::Fenced),
        "already begun"
    );
    let nobody = model::RunId::from_uuid(crate::fixtures::id());
    assert!(matches!(stage.begin(nobody).await, StartReply::Fenced));
}

pub(crate) async fn begin_repeated_with_its_secret_returns_same_assignment(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("digest", SessionMode::Continuous).await;
    let run = stage.fire(id).await.run_id;
    stage.claim().await;
    let begin = async |secret: Option<[u8; 32]>, worker: &WorkerId| {
        let (instance, now) = (stage.instance, stage.now());
        let reply = stage.store.begin(run, worker, instance, now, secret);
        reply.await.unwrap()
    };
    let StartReply::Started(first) = begin(Some([1; 32]), &stage.worker).await else {
        panic!("it begins")
    };
    let transcript = stage.transcript(first.session.id).await;
    // The prompt stays as it was sent first, whatever is edited meanwhile.
    let edited = stage.edit(id, false, |to| to.name = "report".into());
    edited.await.unwrap();
    stage.advance_seconds(60);
    let StartReply::Started(again) = begin(Some([1; 32]), &stage.worker).await else {
        panic!("its worker gets the reply that was lost")
    };
    assert_eq!(again.prompt, first.prompt);
    assert_eq!((again.run.id, again.seat.id), (run, first.seat.id));
    assert_eq!(again.run.state, first.run.state, "the turn began once");
    assert_eq!(stage.transcript(first.session.id).await, transcript);
    let oldest = stage.store.oldest_heartbeat().await.unwrap();
    assert_eq!(oldest, Some(stage.now()), "its agent gets a full lease");
    // Nobody else gets the assignment.
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    for (secret, worker) in [
        (Some([2; 32]), &stage.worker),
        (None, &stage.worker),
        (Some([1; 32]), &other),
    ] {
        let reply = begin(secret, worker).await;
        assert!(matches!(reply, StartReply::Fenced), "{secret:?} {worker}");
    }
    stage.succeed(run).await;
    let reply = begin(Some([1; 32]), &stage.worker).await;
    assert!(matches!(reply, StartReply::Fenced), "the run is over");
}

pub(crate) async fn cancelled_run_does_not_begin(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.claim().await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "changed my mind", stage.now());
    cancelled.await.unwrap();
    assert!(matches!(stage.begin(run).await, StartReply::Cancelled));
    let run = stage.run(run).await;
    assert_eq!(run.status(), Cancelled);
    assert_eq!(run.state.reason(), Some("changed my mind"));
    assert_eq!(
        stage.transcript(session).await,
        ["system: The turn was cancelled: changed my mind."]
    );
}

pub(crate) async fn begin_on_instance_without_memory_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let registered =
        stage
            .store
            .register_instance(stage.tenant, instance(2), "other host", stage.now());
    registered.await.unwrap();
    let session = stage.session().await;
    let first = stage.send_message(session, "one").await.run_id;
    let second = stage.send_message(session, "two").await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    stage.claim().await;
    let reply = stage
        .store
        .begin(second, &stage.worker, instance(2), stage.now(), None);
    let StartReply::Refused(failure) = reply.await.unwrap() else {
        panic!("the turn began on another instance");
    };
    assert_eq!(failure.kind, FailureKind::InstanceGone);
    assert_eq!(stage.status(second).await, Failed);
}

pub(crate) async fn scheduled_turn_is_readable_in_transcript(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("daily monitor", SessionMode::Continuous);
    new.prompt = "Check the mail.".into();
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    let run = stage.runs_of(automation).await[0].id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.run.status(), Running);

    let session = stage.session_of(run).await;
    let shown = stage.store.messages(stage.scope(), session, 0, 10);
    let shown = shown.await.unwrap();
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].role.as_str(), "user");
    assert_eq!(
        shown[0].content,
        "Scheduled automation triggered: daily monitor\n\nCheck the mail."
    );
    let reference = &assignment.prompt.prompt_ref;
    assert_eq!(
        shown[0].metadata,
        json!({
            "_automation_turn": true,
            "automation_id": automation.to_string(),
            "automation_name": "daily monitor",
            "automation_run_id": run.to_string(),
            "automation_prompt_ref": {
                "id": "cron.agent_turn.reminder", "version": 1, "sha256": reference.sha256,
            },
        })
    );
    assert_eq!(shown[0].run_id, Some(run));
}

pub(crate) async fn rendered_prompt_is_only_in_run_record(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    let record = stage.store.run_record(stage.scope(), run).await.unwrap();
    assert_eq!(record, None);
    let assignment = stage.start(run).await;
    let sent = assignment.prompt.text;
    assert_ne!(sent, "Do the report.");
    let record = stage.store.run_record(stage.scope(), run).await;
    let record = record.unwrap().unwrap();
    assert_eq!(record.rendered_prompt.as_deref(), Some(sent.as_str()));
    assert_eq!(record.prompt_ref, stage.run(run).await.prompt_ref);
    assert_eq!(record.variables["automation_name"], "report");
    let session = stage.session_of(run).await;
    for row in stage.transcript(session).await {
        assert!(!row.contains(&sent), "{row}");
    }
    let events = stage.store.events(stage.scope(), session, 0, 100);
    for event in events.await.unwrap() {
        assert!(!format!("{event:?}").contains(&sent), "{event:?}");
    }
    let sql = "select content from agent_runs where id = $1";
    let rows = db.run(Scope::System, sql, params![run]).await.unwrap();
    assert_eq!(rows[0].get::<String>("content").unwrap(), "Do the report.");
}

pub(crate) async fn message_of_person_is_stored_verbatim(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello {{ name }}").await.run_id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.prompt.text, "hello {{ name }}");
    let shown = stage.store.messages(stage.scope(), session, 0, 10);
    let shown = shown.await.unwrap();
    assert_eq!(shown[0].content, "hello {{ name }}");
    assert_eq!(shown[0].metadata, json!({}));
}

pub(crate) async fn first_completed_turn_pins_seat_to_instance(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let pinned = || async {
        let seats = stage.store.seats(stage.scope(), session).await.unwrap();
        seats[0].instance_id
    };
    let first = stage.send_message(session, "one").await.run_id;
    assert_eq!(pinned().await, None);
    stage.start(first).await;
    assert_eq!(pinned().await, Some(stage.instance));
    // No turn has ended yet, so a retry may run on another instance.
    stage.fail(first, FailureKind::SignIn).await;
    assert_eq!(pinned().await, None);
    let second = stage.send_message(session, "two").await.run_id;
    stage.start(second).await;
    stage.succeed(second).await;
    assert_eq!(pinned().await, Some(stage.instance));
    // From now on the seat is pinned, whatever the results of later turns.
    let third = stage.send_message(session, "three").await.run_id;
    stage.start(third).await;
    stage.fail(third, FailureKind::SignIn).await;
    assert_eq!(pinned().await, Some(stage.instance));
}

pub(crate) async fn permission_rules_of_agent_and_automation_are_combined(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut config = model::agent::AgentConfig::new(vec!["agent".into()]);
    let allow = |tool: &str| PermissionRule {
        tool: tool.into(),
        title: None,
        verdict: Verdict::Allow,
    };
    config.permissions = PermissionRules(vec![allow("read")]);
    let put = stage
        .store
        .put_agent(stage.tenant, "agent", &config, None, stage.now());
    assert_eq!(put.await.unwrap().id, stage.agent);
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.permissions = PermissionRules(vec![allow("edit")]);
    new.policies.timeout_seconds = 77;
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.permissions.0, [allow("read"), allow("edit")]);
    assert_eq!(assignment.policies.timeout_seconds, 77);
    assert_eq!(assignment.agent.config, config);
}

pub(crate) async fn messages_of_seats_wait_for_budget_of_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.limit_tenant(&["1 turns/day"]).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "Hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    // A person waits for the answer, and gets the refusal at once.
    let run = stage.send_message(session, "Hello").await.run_id;
    let reply = stage.claim_and_begin(run).await;
    assert!(matches!(reply, StartReply::Refused(_)), "{reply:?}");
    let run = stage.send_seat_message(session).await;
    let reply = stage.claim_and_begin(run).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    let midnight = at("2026-05-05T00:00:00Z");
    let waiting = stage.run(run).await;
    assert_eq!(waiting.status(), Deferred);
    assert_eq!(waiting.state.not_before(), Some(midnight));
    stage.clock.set(midnight);
    stage.assert_nothing_promotable().await;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.policies, Policies::default());
    assert!(assignment.prompt.text.contains("\nhello\n"));
    assert_eq!(stage.tenant_usage().await.day.turns, 1);
    stage.succeed(run).await;
    // A person behind such a message lends it the place in the queue, until it waits for the next period.
    let session = stage.session().await;
    let of_seat = stage.send_seat_message(session).await;
    let behind = stage.send_message(session, "Hello").await.run_id;
    let reply = stage.claim_and_begin(of_seat).await;
    assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    let reply = stage.claim_and_begin(behind).await;
    assert!(matches!(reply, StartReply::Refused(_)), "{reply:?}");
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let fired = stage.fire(automation).await.run_id;
    stage.clock.set(at("2026-05-06T00:00:00Z"));
    stage.store.promote_due(stage.now()).await.unwrap();
    let mut order = Vec::new();
    while let Some(claimed) = stage.claim().await {
        order.push(claimed);
    }
    assert_eq!(order, [fired, of_seat]);
}
