//! Webhooks that fire a trigger: once each, with the transitions of every other occurrence.

use std::time::Duration;

use futures::future::join_all;
use model::{
    AutomationId, RunId, TriggerId,
    automation::AutomationState,
    limits,
    outcome::FailureKind,
    policy::{Overlap, SessionMode},
    run::RunStatus::{Deferred, Queued, Skipped, Stalled},
    schedule::{QuietHours, Spec},
};
use store::{AutomationEdit, Error, NewAutomation, Scope, WebhookReceipt};

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed, hourly, new_trigger, store_over},
};

impl Stage {
    /// Creates an automation with a webhook trigger.
    async fn automation_with_webhook(&self, mode: SessionMode) -> (AutomationId, TriggerId) {
        let mut new = self.new_automation("deploy", mode);
        new.triggers = vec![Spec::Webhook {}];
        let automation = self.create(&new).await;
        (automation, self.newest_webhook(automation).await.unwrap())
    }

    /// Returns the newest webhook trigger of an automation.
    async fn newest_webhook(&self, automation: AutomationId) -> Option<TriggerId> {
        let triggers = self.store.triggers(self.scope(), automation).await.unwrap();
        let hooks = triggers.iter().rev();
        let mut hooks = hooks.filter(|trigger| trigger.spec == Spec::Webhook {});
        hooks.next().map(|trigger| trigger.id)
    }

    async fn receive(&self, trigger: TriggerId, id: &str) -> Result<WebhookReceipt, Error> {
        let payload = r#"{"ref":"main"}"#;
        self.store
            .fire_webhook(self.tenant, trigger, id, payload, self.now())
            .await
    }

    async fn receive_new(&self, trigger: TriggerId, id: &str) -> RunId {
        let received = self.receive(trigger, id).await.unwrap();
        assert!(!received.is_duplicate);
        received.run_id
    }
}

pub(crate) async fn webhook_creates_run_with_payload(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (automation, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let run = stage.receive_new(trigger, "msg_1").await;
    let row = stage.run(run).await;
    assert_eq!((row.status(), row.trigger_id), (Queued, Some(trigger)));
    assert_eq!(row.scheduled_for, Some(stage.now()));
    let prompt = stage.start(run).await.prompt;
    assert_eq!(prompt.prompt_ref.id, "webhook.received");
    let fenced = model::prompt::fenced(r#"{"ref":"main"}"#);
    assert!(prompt.text.ends_with(&fenced), "{}", prompt.text);
    let shown = stage.transcript(stage.session_of(run).await).await;
    let expected =
        format!("user: Automation triggered by a webhook: deploy\n\nDo the deploy.\n\n{fenced}");
    assert_eq!(shown, [expected]);
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().state, AutomationState::Enabled);
}

pub(crate) async fn retry_of_webhook_run_keeps_payload(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let first = stage.receive_new(trigger, "msg_1").await;
    stage.start(first).await;
    stage
        .end(first, &failed(FailureKind::WorkerLost, true))
        .await;
    assert_eq!(stage.status(first).await, Stalled);
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let attempts = stage.attempts(first).await;
    let prompt = stage.start(attempts[1].id).await.prompt;
    assert_eq!(prompt.prompt_ref.id, "turn.interrupted");
    assert!(prompt.text.contains(r#"{"ref":"main"}"#), "{}", prompt.text);
}

pub(crate) async fn replayed_webhook_returns_first_run_without_effect(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (automation, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let run = stage.receive_new(trigger, "msg_1").await;
    stage.advance_seconds(60);
    let again = WebhookReceipt {
        run_id: run,
        is_duplicate: true,
    };
    assert_eq!(stage.receive(trigger, "msg_1").await.unwrap(), again);
    // The same holds after the end of the run, and after a restart.
    let session = stage.session_of(run).await;
    stage.start(run).await;
    stage.succeed(run).await;
    let deleted = stage
        .store
        .delete_session(stage.tenant, session, false, stage.now());
    deleted.await.unwrap();
    let restarted = store_over(&store::open(&db.location()).await.unwrap());
    let replayed = restarted.fire_webhook(stage.tenant, trigger, "msg_1", "{}", stage.now());
    assert_eq!(replayed.await.unwrap(), again);
    assert_eq!(db.count(Scope::System, "webhook_payloads").await, 0);
    assert!(stage.runs_of(automation).await.is_empty());
    // A webhook with another ID is a separate one, even in the same microsecond.
    let second = stage.receive_new(trigger, "msg_2").await;
    let third = stage.receive_new(trigger, "msg_3").await;
    assert_ne!(second, third);
    assert_eq!(stage.runs_of(automation).await.len(), 2);
}

pub(crate) async fn webhook_id_is_scoped_to_trigger(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (automation, first) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let added = stage.store.add_trigger(
        stage.scope(),
        automation,
        new_trigger(&Spec::Webhook {}),
        stage.now(),
    );
    let second = added.await.unwrap();
    assert_ne!(
        stage.receive_new(first, "msg_1").await,
        stage.receive_new(second, "msg_1").await
    );
}

pub(crate) async fn concurrent_webhooks_fire_once_per_id(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (automation, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let ids = ["msg_1", "msg_2", "msg_3"];
    let racing = ids
        .iter()
        .cycle()
        .take(12)
        .map(|id| stage.receive(trigger, id));
    let received: Vec<_> = join_all(racing)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        received
            .iter()
            .filter(|receipt| !receipt.is_duplicate)
            .count(),
        3
    );
    assert_eq!(stage.runs_of(automation).await.len(), 3);
}

pub(crate) async fn webhook_respects_overlap_pause_and_quiet_hours(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("deploy", SessionMode::Continuous);
    new.triggers = vec![Spec::Webhook {}];
    let automation = stage.create(&new).await;
    let trigger = stage.newest_webhook(automation).await.unwrap();
    let first = stage.receive_new(trigger, "msg_1").await;
    let second = stage.receive_new(trigger, "msg_2").await;
    assert_eq!(stage.statuses([first, second]).await, [Queued, Deferred]);

    let edit = async |to: &mut NewAutomation, change: fn(&mut NewAutomation)| {
        let seen = to.clone();
        change(to);
        let edit = AutomationEdit {
            expected: &seen,
            updated: to,
            detach_session: false,
        };
        let edited = stage
            .store
            .edit_automation(stage.tenant, automation, edit, stage.now());
        edited.await.unwrap();
    };
    let reason = async |id: &str| {
        let run = stage.run(stage.receive_new(trigger, id).await).await;
        assert_eq!((run.status(), run.session_id), (Skipped, None));
        run.state.reason().unwrap().to_owned()
    };
    edit(&mut new, |to| to.policies.overlap = Some(Overlap::Skip)).await;
    assert_eq!(reason("msg_3").await, "overlap");
    edit(&mut new, |to| {
        to.policies.overlap = None;
        let all_day = vec!["00:00-23:59".parse().unwrap()];
        to.policies.quiet_hours = QuietHours::new(all_day).unwrap();
    })
    .await;
    assert_eq!(reason("msg_4").await, "quiet hours");
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    paused.await.unwrap();
    assert_eq!(reason("msg_5").await, "paused");
    // A skipped webhook is not accepted a second time either.
    assert!(stage.receive(trigger, "msg_5").await.unwrap().is_duplicate);
    assert_eq!(db.count(Scope::System, "webhook_payloads").await, 2);
}

pub(crate) async fn webhook_secret_is_deleted_with_its_trigger(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("deploy", SessionMode::Fresh).await;
    let scope = stage.scope();
    let add = async |spec: &Spec| {
        let added = stage
            .store
            .add_trigger(scope, automation, new_trigger(spec), stage.now());
        added.await.unwrap()
    };
    let known = async |id| {
        let found = stage.store.webhook_trigger(Scope::System, id).await;
        found.unwrap().is_some()
    };
    let (hook, other, timed) = (
        add(&Spec::Webhook {}).await,
        add(&Spec::Webhook {}).await,
        add(&hourly()).await,
    );
    assert!(known(hook).await && known(other).await && !known(timed).await);
    let triggers = stage.store.triggers(scope, automation).await.unwrap();
    let due = triggers.iter().find(|trigger| trigger.id == timed);
    assert!(due.unwrap().next_fire_at.is_some());
    let run = stage.receive_new(hook, "msg_1").await;

    let remove = async |id| {
        let removed = stage.store.remove_trigger(scope, id, None, stage.now());
        removed.await
    };
    remove(hook).await.unwrap();
    remove(timed).await.unwrap();
    assert!(!known(hook).await && known(other).await);
    for removed in [hook, timed] {
        assert!(matches!(remove(removed).await, Err(Error::NotFound { .. })));
        let received = stage.receive(removed, "msg_1").await;
        assert!(
            matches!(received, Err(Error::NotFound { .. })),
            "{received:?}"
        );
    }
    let manual = stage.store.triggers(scope, automation).await.unwrap()[0].id;
    assert!(matches!(remove(manual).await, Err(Error::Refused(_))));
    let fired = stage.receive(manual, "msg_1").await;
    assert!(matches!(fired, Err(Error::NotFound { .. })), "{fired:?}");
    assert_eq!(stage.run(run).await.trigger_id, Some(hook));

    let deleted = stage
        .store
        .delete_automation(scope, automation, stage.now());
    deleted.await.unwrap();
    assert!(!known(other).await);
    let received = stage.receive(other, "msg_2").await;
    assert!(
        matches!(received, Err(Error::NotFound { .. })),
        "{received:?}"
    );
    assert_eq!(db.count(Scope::System, "webhook_secrets").await, 0);
}

pub(crate) async fn webhook_trigger_of_other_tenant_is_not_found(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let theirs = stage.store.ensure_tenant("theirs", stage.now()).await;
    let (theirs, now) = (theirs.unwrap(), stage.now());
    let scope = Scope::Tenant(theirs);
    assert_eq!(
        stage.store.webhook_trigger(scope, trigger).await.unwrap(),
        None
    );
    let fired = stage
        .store
        .fire_webhook(theirs, trigger, "msg_1", "", now)
        .await;
    assert!(matches!(fired, Err(Error::NotFound { .. })), "{fired:?}");
    let rotated = stage
        .store
        .rotate_webhook_secret(scope, trigger, now, None, now)
        .await;
    assert!(
        matches!(rotated, Err(Error::NotFound { .. })),
        "{rotated:?}"
    );
    let removed = stage.store.remove_trigger(scope, trigger, None, now).await;
    assert!(
        matches!(removed, Err(Error::NotFound { .. })),
        "{removed:?}"
    );
}

pub(crate) async fn rotated_webhook_secret_stays_valid_until_its_end(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    let secrets = async || {
        let found = stage.store.webhook_trigger(stage.scope(), trigger).await;
        found.unwrap().unwrap().secrets
    };
    let first = secrets().await;
    assert_eq!(first.previous, None);
    let until = stage.now() + Duration::from_hours(24);
    let rotate = async |until| {
        let rotated =
            stage
                .store
                .rotate_webhook_secret(stage.scope(), trigger, until, None, stage.now());
        rotated.await.unwrap()
    };
    let second = rotate(until).await;
    assert_ne!(second, first.current);
    let both = secrets().await;
    assert_eq!(both.current, second);
    assert_eq!(both.previous, Some((first.current, until)));
    let third = rotate(stage.now()).await;
    let last = secrets().await;
    assert_eq!(last.valid_at(stage.now()), [&third]);
}

pub(crate) async fn webhook_receipts_are_kept_for_replay_window(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (_, trigger) = stage.automation_with_webhook(SessionMode::Fresh).await;
    stage.receive_new(trigger, "msg_1").await;
    stage.clock.advance(limits::RETAIN_WEBHOOK_IDS);
    stage.receive_new(trigger, "msg_2").await;
    let trim = async || {
        let before = stage.now().saturating_sub(limits::RETAIN_WEBHOOK_IDS);
        stage.store.trim_receipts(before).await.unwrap()
    };
    assert_eq!(trim().await, 0);
    stage.advance_seconds(1);
    assert_eq!(trim().await, 1);
    assert!(stage.receive(trigger, "msg_2").await.unwrap().is_duplicate);
}
