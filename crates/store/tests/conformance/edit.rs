//! Editing an automation: the consequences, the settings that stay, and the refused edits.

use model::{
    AutomationId, Timestamp,
    agent::AgentConfig,
    entity::Trigger,
    policy::SessionMode,
    run::RunStatus,
    schedule::{QuietHours, Spec},
};
use store::{AutomationEdit, Error, NewAutomation};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

fn every(period: &str, anchor: &str) -> Spec {
    Spec::Every {
        period: period.parse().unwrap(),
        anchor: at(anchor),
        zone: "UTC".into(),
    }
}

impl Stage {
    /// Returns an automation's present definition.
    pub(crate) async fn current_definition(&self, id: AutomationId) -> NewAutomation {
        let automation = self.store.automation(self.scope(), id).await.unwrap();
        NewAutomation::of(&automation, &self.timed_triggers(id).await)
    }

    async fn timed_triggers(&self, id: AutomationId) -> Vec<Trigger> {
        let triggers = self.store.triggers(self.scope(), id).await.unwrap();
        assert_eq!(triggers[0].spec, Spec::Manual {});
        triggers[1..].to_vec()
    }

    /// Edits an automation, based on its present definition.
    pub(crate) async fn edit(
        &self,
        id: AutomationId,
        reset: bool,
        change: impl FnOnce(&mut NewAutomation),
    ) -> Result<(), Error> {
        let seen = self.current_definition(id).await;
        let mut to = seen.clone();
        change(&mut to);
        let edit = AutomationEdit {
            expected: &seen,
            updated: &to,
            detach_session: reset,
        };
        self.store
            .edit_automation(self.tenant, id, edit, self.now())
            .await
    }

    /// Binds an automation to the session with another key.
    pub(crate) async fn rebind(&self, id: AutomationId, key: &str) {
        let edited = self.edit(id, false, |to| {
            to.session_mode = SessionMode::Bound;
            to.bound_session_key = Some(key.into());
        });
        edited.await.unwrap();
    }

    /// Creates an automation with triggers that is bound to the session with a key.
    pub(crate) async fn bound_automation_with_triggers(
        &self,
        name: &str,
        key: &str,
        triggers: &[Spec],
    ) -> AutomationId {
        let mut new = self.new_automation(name, SessionMode::Bound);
        new.bound_session_key = Some(key.into());
        new.triggers = triggers.to_vec();
        self.create(&new).await
    }

    async fn next_instants(&self, id: AutomationId) -> Vec<Option<Timestamp>> {
        let timed = self.timed_triggers(id).await;
        timed.iter().map(|it| it.next_scheduled_for).collect()
    }
}

pub(crate) async fn automation_edit_with_stale_version_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let seen = stage.current_definition(id).await;
    let edit = |to: &NewAutomation| {
        let to = to.clone();
        let (stage, seen) = (&stage, &seen);
        async move {
            let edit = AutomationEdit {
                expected: seen,
                updated: &to,
                detach_session: false,
            };
            stage
                .store
                .edit_automation(stage.tenant, id, edit, stage.now())
                .await
        }
    };
    let mine = NewAutomation {
        prompt: "Mine.".into(),
        ..seen.clone()
    };
    let theirs = NewAutomation {
        triggers: vec![every("1d", "2026-05-05T00:00:00Z")],
        ..seen.clone()
    };
    edit(&theirs).await.unwrap();
    let lost = edit(&mine).await.unwrap_err();
    assert!(matches!(lost, Error::StaleVersion { .. }), "{lost:?}");
    assert_eq!(
        stage.current_definition(id).await,
        theirs,
        "the refused edit wrote nothing"
    );
    // The traces of runs on an automation do not count as a change of its definition.
    let run = stage.fire(id).await.run_id;
    stage.start(run).await;
    stage
        .fail(run, model::outcome::FailureKind::AgentError)
        .await;
    let again = stage.edit(id, false, |to| to.prompt = "Mine.".into());
    again.await.unwrap();
    assert_eq!(stage.current_definition(id).await.prompt, "Mine.");
}

pub(crate) async fn concurrent_automation_edits_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    let seen = stage.current_definition(id).await;
    let edits = (0..8).map(|number| {
        let (stage, seen) = (&stage, &seen);
        async move {
            let to = NewAutomation {
                prompt: format!("Number {number}."),
                triggers: vec![hourly()],
                ..seen.clone()
            };
            let edit = AutomationEdit {
                expected: seen,
                updated: &to,
                detach_session: false,
            };
            let done = stage
                .store
                .edit_automation(stage.tenant, id, edit, stage.now());
            match done.await {
                Ok(()) => true,
                Err(Error::StaleVersion { .. }) => false,
                Err(other) => panic!("{other:?}"),
            }
        }
    });
    let won = futures::future::join_all(edits).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    assert_eq!(stage.timed_triggers(id).await.len(), 1);
}

pub(crate) async fn automation_edit_to_taken_name_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.automation("digest", SessionMode::Fresh).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    let taken = stage.edit(id, false, |to| to.name = "digest".into()).await;
    assert!(matches!(taken, Err(Error::NameTaken { .. })), "{taken:?}");
    let free = stage.edit(id, false, |to| to.name = "summary".into());
    free.await.unwrap();
    let found = stage.store.automation_by_name(stage.tenant, "summary");
    assert_eq!(found.await.unwrap().unwrap().id, id);
}

pub(crate) async fn unchanged_triggers_keep_cadence_across_edit(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let odd = every("7m", "2026-05-04T09:03:00Z");
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly(), odd.clone()])
        .await;
    let before = stage.timed_triggers(id).await;
    let (stays, goes): (Vec<_>, Vec<_>) = before.iter().partition(|it| it.spec == odd);
    stage.advance_seconds(60);
    let new = every("10m", "2026-05-04T09:11:00Z");
    let edited = stage.edit(id, false, |to| {
        to.triggers = vec![new.clone(), odd.clone()];
        to.prompt = "Another.".into();
    });
    edited.await.unwrap();
    let after = stage.timed_triggers(id).await;
    assert_eq!(
        &after[0], stays[0],
        "the trigger keeps its row and its due instant"
    );
    assert_eq!(after[1].spec, new);
    assert_eq!(
        stage.next_instants(id).await,
        [
            Some(at("2026-05-04T09:03:00Z")),
            Some(at("2026-05-04T09:11:00Z"))
        ]
    );
    // The removed trigger does not fire.
    stage.clock.set(at("2026-05-04T10:00:30Z"));
    stage.fire_due().await;
    let removed = goes[0].id;
    let runs = stage.runs_of(id).await;
    assert!(runs.iter().all(|run| run.trigger_id != Some(removed)));
    assert!(!runs.is_empty());
}

pub(crate) async fn removed_trigger_records_its_missed_instants(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    // The scheduler did not poll for three hours.
    stage.advance_seconds(3 * 60 * 60);
    let edited = stage.edit(id, false, |to| to.triggers.clear());
    edited.await.unwrap();
    let runs = stage.runs_of(id).await;
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (runs[0].status(), runs[0].state.occurrences()),
        (RunStatus::Missed, 3)
    );
}

pub(crate) async fn triggers_edited_while_paused_are_due_after_resume(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let (scope, now) = (stage.scope(), stage.now());
    let paused = stage.store.pause_automation(scope, id, "x", now);
    paused.await.unwrap();
    let new = every("10m", "2026-05-04T09:10:00Z");
    let edited = stage.edit(id, false, |to| to.triggers = vec![new.clone()]);
    edited.await.unwrap();
    assert_eq!(stage.next_instants(id).await, [None]);
    let resumed = stage.store.resume_automation(scope, id, stage.now());
    resumed.await.unwrap();
    // The removed trigger stays removed.
    assert_eq!(
        stage.next_instants(id).await,
        [Some(at("2026-05-04T09:10:00Z"))]
    );
    stage.clock.set(at("2026-05-04T09:10:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
}

pub(crate) async fn jitter_edit_moves_fire_time_and_not_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let spread = stage.edit(id, false, |to| to.policies.jitter_seconds = 1800);
    spread.await.unwrap();
    let trigger = stage.timed_triggers(id).await.remove(0);
    let instant = at("2026-05-04T10:00:00Z");
    assert_eq!(trigger.next_scheduled_for, Some(instant));
    assert!(trigger.next_fire_at.unwrap() > instant);
    let none = stage.edit(id, false, |to| to.policies.jitter_seconds = 0);
    none.await.unwrap();
    assert_eq!(
        stage.timed_triggers(id).await[0].next_fire_at,
        Some(instant)
    );
}

pub(crate) async fn run_of_removed_trigger_keeps_its_prompt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    let edited = stage.edit(id, false, |to| {
        to.triggers.clear();
        to.prompt = "Another.".into();
    });
    edited.await.unwrap();
    let run = stage.runs_of(id).await[0].id;
    let prompt = stage.start(run).await.prompt;
    assert_eq!(prompt.prompt_ref.id, "cron.agent_turn.reminder");
    // An instant that was due before the edit uses the old prompt.
    assert!(prompt.text.contains("Do the report."), "{}", prompt.text);
}

pub(crate) async fn edit_of_agent_or_directory_needs_session_reset(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let config = AgentConfig::new(vec!["other".into()]);
    let other = stage
        .store
        .put_agent(stage.tenant, "other", &config, None, stage.now());
    let other = other.await.unwrap().id;
    let id = stage.automation("watch", SessionMode::Continuous).await;
    // Without a session, every setting may change.
    let free = stage.edit(id, false, |to| to.cwd = Some("/work".into()));
    free.await.unwrap();
    let first = stage.fire(id).await.run_id;
    let session = stage.session_of(first).await;
    stage.start(first).await;
    stage.succeed(first).await;

    let agent = stage.edit(id, false, |to| to.agent = other).await;
    let message = agent.unwrap_err().to_string();
    assert!(
        message.contains("agent") && message.contains(&session.to_string()),
        "{message}"
    );
    let cwd = stage.edit(id, false, |to| to.cwd = None).await;
    assert!(cwd.unwrap_err().to_string().contains("working directory"));

    // Settings are no memory: the next turn uses the new ones.
    let settings = stage.edit(id, false, |to| to.settings.mode = Some("plan".into()));
    settings.await.unwrap();
    let second = stage.fire(id).await.run_id;
    assert_eq!(stage.session_of(second).await, session);
    assert_eq!(
        stage.start(second).await.seat.settings.mode.as_deref(),
        Some("plan")
    );
    stage.succeed(second).await;

    let reset = stage.edit(id, true, |to| to.agent = other);
    reset.await.unwrap();
    let third = stage.fire(id).await.run_id;
    assert_ne!(stage.session_of(third).await, session);
    assert_eq!(stage.start(third).await.agent.id, other);
}

pub(crate) async fn edited_session_mode_applies_to_next_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let id = stage.automation("watch", SessionMode::Continuous).await;
    let first = stage.fire(id).await.run_id;
    stage.start(first).await;
    stage.succeed(first).await;
    stage.rebind(id, "web:1").await;
    let automation = stage.store.automation(stage.scope(), id).await.unwrap();
    assert_eq!(automation.current_session_id, None);
    let second = stage.fire(id).await.run_id;
    assert_eq!(stage.session_of(second).await, session);
    let away = stage.edit(id, false, |to| {
        to.session_mode = SessionMode::Fresh;
        to.bound_session_key = None;
    });
    away.await.unwrap();
    let third = stage.fire(id).await.run_id;
    assert_ne!(stage.session_of(third).await, session);
}

pub(crate) async fn rebind_clears_attention_of_closed_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.bound_automation("standup", "web:nobody").await;
    stage.fire(id).await;
    let attention = async || {
        let found = stage.store.automation(stage.scope(), id).await;
        found.unwrap().attention
    };
    assert!(attention().await.is_some());
    stage.keyed_session(Some("web:1")).await;
    stage.rebind(id, "web:1").await;
    assert_eq!(attention().await, None);
}

pub(crate) async fn edit_clears_optional_fields(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let set = stage.edit(id, false, |to| {
        to.cwd = Some("/work".into());
        to.policies.quiet_hours = QuietHours::new(vec!["09:00-11:00".parse().unwrap()]).unwrap();
        to.settings.mode = Some("plan".into());
    });
    set.await.unwrap();
    let cleared = stage.edit(id, false, |to| {
        to.cwd = None;
        to.policies.quiet_hours = QuietHours::default();
        to.settings.mode = None;
    });
    cleared.await.unwrap();
    let seen = stage.current_definition(id).await;
    assert_eq!((seen.cwd, seen.settings.mode), (None, None));
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    assert_eq!(stage.runs_of(id).await[0].status(), RunStatus::Queued);
}
