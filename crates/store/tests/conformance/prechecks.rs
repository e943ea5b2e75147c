//! Prechecks: occurrences that run a check before their turns, and the result "no".

use model::{
    AutomationId, RunId, WorkerId, WorkingDirectory,
    automation::AutomationState,
    event::{self, Change, RunChange},
    outcome::{FailureKind, Outcome, StopReason},
    policy::{Overlap, SessionMode},
    precheck::{Precheck, PrecheckJob},
    run::RunStatus::{Cancelled, Deferred, Delivered, Queued, Running, Skipped, Stalled},
    schedule::Spec,
    turn::{DeclineOutcome, StartReply, TurnResult, WriteOutcome},
};
use serde_json::json;
use store::{Error, Scope};

use crate::{
    event_summary::subject_id,
    fixtures::TestStore,
    stage::{Stage, failed},
};

impl Stage {
    /// Creates an automation with a precheck.
    async fn automation_with_precheck(&self, mode: SessionMode) -> AutomationId {
        let mut new = self.new_automation("report", mode);
        new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
        self.create(&new).await
    }

    /// Claims a run and returns its precheck.
    async fn precheck_question(&self, run: RunId) -> PrecheckJob {
        let claimed = self
            .store
            .claim(&self.worker, self.instance, 1, Some(run), self.now());
        assert_eq!(claimed.await.unwrap().len(), 1, "{run} cannot be claimed");
        match self.begin(run).await {
            StartReply::RunPrecheck(question) => *question,
            other => panic!("{run} has no precheck: {other:?}"),
        }
    }

    async fn begin_after_precheck(&self, run: RunId) -> StartReply {
        let reply =
            self.store
                .begin_after_precheck(run, &self.worker, self.instance, self.now(), None);
        reply.await.unwrap()
    }

    async fn decline(&self, run: RunId) -> DeclineOutcome {
        let kept = json!({ "precheck": { "ended": "exit code 1" } });
        let declined = self.store.decline(run, &self.worker, &kept, self.now());
        declined.await.unwrap()
    }
}

pub(crate) async fn precheck_of_occurrence_comes_before_its_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    let question = stage.precheck_question(run).await;
    let row = stage.run(run).await;
    assert_eq!((row.status(), row.state.started_at()), (Delivered, None));
    let session = row.session_id.unwrap();
    assert_eq!(
        question,
        PrecheckJob {
            run,
            session,
            directory: WorkingDirectory::Own(format!("/data/sessions/{session}")),
            automation,
            name: "report".into(),
            scheduled_for: row.scheduled_for,
            precheck: Precheck::new(vec!["is-there-news".into()]),
        }
    );
    assert!(
        stage.transcript(session).await.is_empty(),
        "the transcript is still empty"
    );
    // A repeated begin returns the precheck again, because only its result begins the turn.
    assert!(matches!(stage.begin(run).await, StartReply::RunPrecheck(_)));
    assert!(matches!(
        stage.begin_after_precheck(run).await,
        StartReply::Started(_)
    ));
    assert_eq!(stage.status(run).await, Running);
}

pub(crate) async fn message_of_person_has_no_precheck(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_precheck(SessionMode::Continuous)
        .await;
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    stage.begin_after_precheck(run).await;
    stage.succeed(run).await;
    let session = stage.session_of(run).await;
    let words = stage.send_message(session, "And you?").await.run_id;
    stage.start(words).await;
}

pub(crate) async fn precheck_is_repeated_until_first_turn_begins(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let first = stage.fire(automation).await.run_id;
    stage.precheck_question(first).await;
    // The worker is lost before it has the result.
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [first]);
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let second = stage.attempts(first).await[1].id;
    stage.precheck_question(second).await;
    assert!(matches!(
        stage.begin_after_precheck(second).await,
        StartReply::Started(_)
    ));
    stage.fail(second, FailureKind::AgentExited).await;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let third = stage.attempts(first).await[2].id;
    stage.start(third).await;
    stage.succeed(third).await;
}

pub(crate) async fn run_requeued_during_precheck_is_prechecked_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let first = stage.fire(automation).await.run_id;
    stage.precheck_question(first).await;
    // A turn that has not begun has no other end.
    let success = TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn));
    assert_eq!(stage.finish(first, &success).await, WriteOutcome::Fenced);
    stage
        .end(first, &failed(FailureKind::Requeued, false))
        .await;
    assert_eq!(stage.status(first).await, Stalled);
    let second = stage.attempts(first).await.pop().unwrap();
    assert_eq!((second.status(), second.failures), (Queued, 0));
    stage.precheck_question(second.id).await;
}

pub(crate) async fn declined_run_is_skipped_and_starts_next_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_precheck(SessionMode::Continuous)
        .await;
    let before = stage.fire(automation).await.run_id;
    stage.precheck_question(before).await;
    stage.begin_after_precheck(before).await;
    stage.succeed(before).await;
    let session = stage.session_of(before).await;

    let run = stage.fire(automation).await.run_id;
    let words = stage.send_message(session, "And you?").await.run_id;
    let later = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    let shown = stage.transcript(session).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::Skipped);
    let row = stage.run(run).await;
    assert_eq!(
        (row.status(), row.state.reason()),
        (Skipped, Some("precheck"))
    );
    assert_eq!(row.state.ended_at(), Some(stage.now()));
    assert_eq!(
        (row.state.started_at(), row.session_id),
        (None, Some(session))
    );
    assert_eq!(stage.statuses([words, later]).await, [Queued, Deferred]);
    stage.assert_nothing_promotable().await;
    assert_eq!(db.count(Scope::System, "run_heartbeats").await, 0);

    // The transcript does not mention it; the log, and therefore the trace, does.
    assert_eq!(stage.transcript(session).await, shown);
    let log = stage.store.events(stage.scope(), session, 0, 100).await;
    let log = log.unwrap();
    let skipped = Change::Run {
        run_id: run,
        change: RunChange::Skipped {
            reason: "precheck".into(),
            skipped: event::SkippedWork::Attempt(1),
        },
    };
    let of_run = log
        .iter()
        .rfind(|event| subject_id(&event.change) == run.to_string());
    assert_eq!(of_run.unwrap().change, skipped);
    let record = stage.store.run_record(stage.scope(), run).await;
    let record = record.unwrap().unwrap();
    assert_eq!(record.diagnostics["precheck"]["ended"], "exit code 1");
    assert_eq!(record.rendered_prompt, None);
}

pub(crate) async fn declined_run_deletes_its_otherwise_empty_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    let session = stage.session_of(run).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::WithSession);
    let row = stage.run(run).await;
    assert_eq!(
        (row.status(), row.state.reason()),
        (Skipped, Some("precheck"))
    );
    assert_eq!((row.session_id, row.seat_id), (None, None));
    let missing = stage.store.session(stage.scope(), session).await;
    assert!(
        matches!(missing, Err(Error::NotFound { .. })),
        "{missing:?}"
    );
    assert_eq!(db.count(Scope::System, "agent_definitions").await, 0);

    // Its row is in the automation's own log, like that of any other skip.
    let log = db.run(
        Scope::System,
        "select kind, body from automation_events order by seq desc limit 1",
        Vec::new(),
    );
    let log = log.await.unwrap();
    assert_eq!(log[0].get::<String>("kind").unwrap(), "run");
    let body: serde_json::Value = log[0].get("body").unwrap();
    assert_eq!(
        (body["status"].as_str(), body["reason"].as_str()),
        (Some("skipped"), Some("precheck"))
    );
    assert_eq!(body["scheduled_for"], json!(row.scheduled_for));
}

pub(crate) async fn declined_run_keeps_session_with_other_content(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    // A person sends a message in the session while the precheck runs.
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    let session = stage.session_of(run).await;
    let words = stage.send_message(session, "Wait for me.").await.run_id;
    assert_eq!(stage.decline(run).await, DeclineOutcome::Skipped);
    assert_eq!(stage.run(run).await.session_id, Some(session));
    assert_eq!(stage.status(words).await, Queued);

    // The session has the end of an earlier attempt.
    let first = stage.fire(automation).await.run_id;
    stage.precheck_question(first).await;
    stage
        .end(first, &failed(FailureKind::Requeued, false))
        .await;
    let second = stage.attempts(first).await[1].id;
    stage.precheck_question(second).await;
    assert_eq!(stage.decline(second).await, DeclineOutcome::Skipped);
    assert!(stage.run(second).await.session_id.is_some());

    // The session of a continuous automation stays for its next turn.
    let mut new = stage.new_automation("diary", SessionMode::Continuous);
    new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    let continuous = stage.create(&new).await;
    let run = stage.fire(continuous).await.run_id;
    stage.precheck_question(run).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::Skipped);
    let own = stage.session_of(run).await;
    let next = stage.fire(continuous).await.run_id;
    assert_eq!(stage.session_of(next).await, own);
}

pub(crate) async fn decline_of_foreign_or_begun_run_is_fenced(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    assert_eq!(
        stage.decline(run).await,
        DeclineOutcome::Fenced,
        "not claimed"
    );
    stage.precheck_question(run).await;
    let other = WorkerId::from_stored("host-2-bbbbbbbb".into());
    let nothing = json!({});
    let declined = stage.store.decline(run, &other, &nothing, stage.now());
    assert_eq!(declined.await.unwrap(), DeclineOutcome::Fenced);
    assert_eq!(stage.status(run).await, Delivered);
    stage.begin_after_precheck(run).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::Fenced, "begun");
    stage.succeed(run).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::Fenced, "over");

    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.decline(run).await, DeclineOutcome::Fenced, "stalled");
    assert_eq!(stage.status(run).await, Stalled);
}

pub(crate) async fn declined_run_does_not_change_failure_count(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    new.policies.pause_after_failures = 2;
    let automation = stage.create(&new).await;
    let failures = async || {
        let found = stage.store.automation(stage.scope(), automation).await;
        let found = found.unwrap();
        (found.state, found.consecutive_failures)
    };
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    stage.begin_after_precheck(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    assert_eq!(failures().await, (AutomationState::Enabled, 1));
    for _ in 0..3 {
        let run = stage.fire(automation).await.run_id;
        stage.precheck_question(run).await;
        assert_eq!(stage.decline(run).await, DeclineOutcome::WithSession);
        assert_eq!(failures().await, (AutomationState::Enabled, 1));
    }
}

pub(crate) async fn declined_run_frees_overlap_slot(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    new.policies.overlap = Some(Overlap::Queue);
    let automation = stage.create(&new).await;
    let first = stage.fire(automation).await.run_id;
    let second = stage.fire(automation).await.run_id;
    assert_eq!(stage.statuses([first, second]).await, [Queued, Deferred]);
    stage.precheck_question(first).await;
    assert_eq!(stage.decline(first).await, DeclineOutcome::WithSession);
    assert_eq!(stage.statuses([first, second]).await, [Skipped, Queued]);
    stage.assert_nothing_promotable().await;
}

pub(crate) async fn run_cancelled_during_precheck_ends_cancelled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation_with_precheck(SessionMode::Fresh).await;
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "not wanted", stage.now());
    assert_eq!(cancelled.await.unwrap(), Delivered);
    assert!(matches!(
        stage.begin_after_precheck(run).await,
        StartReply::Cancelled
    ));
    assert_eq!(stage.status(run).await, Cancelled);

    // A run that a server requeued instead is not retried.
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(run).await;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "not wanted", stage.now());
    cancelled.await.unwrap();
    stage.end(run, &failed(FailureKind::Requeued, false)).await;
    assert_eq!(stage.status(run).await, Cancelled);
    assert_eq!(stage.attempts(run).await.len(), 1);
}

pub(crate) async fn run_in_precheck_of_deleted_automation_does_not_begin(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    let limit = "1 turns/day".parse().unwrap();
    new.policies.budget.set(limit).unwrap();
    let automation = stage.create(&new).await;
    let first = stage.fire(automation).await.run_id;
    let run = stage.fire(automation).await.run_id;
    stage.precheck_question(first).await;
    stage.precheck_question(run).await;
    // It does not wait for the budget either, of which nothing is left by now.
    assert!(matches!(
        stage.begin_after_precheck(first).await,
        StartReply::Started(_)
    ));
    let deleted = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    deleted.await.unwrap();
    assert!(matches!(
        stage.begin_after_precheck(run).await,
        StartReply::Cancelled
    ));
    let row = stage.run(run).await;
    assert_eq!(
        (row.status(), row.state.reason()),
        (Cancelled, Some("the automation was deleted"))
    );
    assert_eq!(stage.attempts(run).await.len(), 1);
    stage.assert_nothing_promotable().await;
    // The turn that has begun ends normally.
    stage.succeed(first).await;
}

pub(crate) async fn declined_webhook_run_keeps_no_payload(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("deploy", SessionMode::Fresh);
    new.policies.precheck = Some(Precheck::new(vec!["is-it-mine".into()]));
    new.triggers = vec![Spec::Webhook {}];
    let automation = stage.create(&new).await;
    let triggers = stage.store.triggers(stage.scope(), automation).await;
    let triggers = triggers.unwrap();
    let hook = triggers
        .iter()
        .find(|trigger| trigger.spec == Spec::Webhook {});
    let fired =
        stage
            .store
            .fire_webhook(stage.tenant, hook.unwrap().id, "msg_1", "{}", stage.now());
    let run = fired.await.unwrap().run_id;
    assert_eq!(db.count(Scope::System, "webhook_payloads").await, 1);
    stage.precheck_question(run).await;
    assert_eq!(stage.decline(run).await, DeclineOutcome::WithSession);
    assert_eq!(stage.status(run).await, Skipped);
    assert_eq!(db.count(Scope::System, "webhook_payloads").await, 0);
}
