//! Due triggers: each instant creates its occurrences once and moves the trigger on.

use std::time::Duration;

use futures::future::join_all;
use model::{
    automation::AutomationState,
    limits,
    policy::{CatchUp, SessionMode},
    run::{
        Origin, RunState,
        RunStatus::{Deferred, Missed, Queued, Skipped},
    },
    schedule::{QuietHours, Spec},
    session::{SessionEvent, SessionType},
};
use store::database::Dialect;
use store::{FireReport, Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, at, hourly, store_over},
};

pub(crate) async fn trigger_does_not_fire_before_its_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T09:59:59.999999Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert!(stage.runs_of(automation).await.is_empty());
    let next = stage
        .store
        .scheduler_status(stage.now())
        .await
        .unwrap()
        .next_work_at();
    assert_eq!(next, Some(at("2026-05-04T10:00:00Z")));
}

pub(crate) async fn fire_due_returns_earliest_due_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let every = |minutes: &str| Spec::Cron {
        expression: format!("{minutes} * * * *"),
        zone: "UTC".into(),
    };
    // The order of creation differs from the order of due instants.
    for (name, minutes) in [("later", "20"), ("first", "10"), ("not yet", "50")] {
        let triggers = [every(minutes)];
        stage
            .automation_with_triggers(name, SessionMode::Fresh, &triggers)
            .await;
    }
    stage.clock.set(at("2026-05-04T09:20:30Z"));
    let fired = stage.fire_due().await;
    assert_eq!(fired.triggers, 2);
    assert_eq!(fired.earliest_due, Some(at("2026-05-04T09:10:00Z")));
    assert_eq!(stage.fire_due().await.earliest_due, None);
}

pub(crate) async fn due_trigger_creates_one_run_and_advances(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.triggers, fired.occurrences, fired.missed), (1, 1, 0));
    assert!(!fired.has_more);
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-04T10:00:00Z queued - 1"]
    );
    let run = &stage.runs_of(automation).await[0];
    assert_eq!(run.origin, Origin::Occurrence);
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(run.trigger_id, Some(trigger.id));
    assert_eq!(trigger.last_scheduled_for, run.scheduled_for);
    assert_eq!(trigger.next_fire_at, Some(at("2026-05-04T11:00:00Z")));

    let session = stage.store.session(stage.scope(), run.session_id.unwrap());
    let session = session.await.unwrap();
    assert_eq!(session.session_type, SessionType::ScheduleCron);
    assert_eq!(session.schedule_id, Some(automation));
    assert_eq!(session.title.unwrap(), "report 2026-05-04T10:00:00Z");
}

pub(crate) async fn repeated_fire_due_fires_nothing_twice(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    assert_eq!(stage.fire_due().await, FireReport::default());
    // A clock that is set back makes nothing due again.
    stage.clock.set(at("2026-05-04T09:30:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert_eq!(stage.runs_of(automation).await.len(), 1);
}

pub(crate) async fn concurrent_schedulers_fire_each_instant_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut automations = Vec::new();
    for name in 0..10 {
        let (name, mode) = (format!("job {name}"), SessionMode::Continuous);
        automations.push(
            stage
                .automation_with_triggers(&name, mode, &[hourly(), hourly()])
                .await,
        );
    }
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    let stores: Vec<_> = (0..4).map(|_| store_over(&db.database)).collect();
    let fired = join_all(
        stores
            .iter()
            .map(|store| store.fire_due(Scope::System, stage.now())),
    );
    let fired = fired
        .await
        .into_iter()
        .map(|fired| fired.unwrap().occurrences);
    assert_eq!(fired.sum::<u32>(), 20);
    for automation in automations {
        assert_eq!(stage.runs_of(automation).await.len(), 2);
    }
}

pub(crate) async fn failed_fire_leaves_trigger_due(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let trigger = stage.timed_trigger(automation).await;
    // The run's session cannot be created. The transition finds that out only after it has advanced the trigger.
    let sql = match db.database.dialect() {
        Dialect::Sqlite => {
            "create trigger refuse before insert on agent_sessions begin select raise(abort, 'no'); end"
        }
        Dialect::Postgres => "create rule refuse as on insert to agent_sessions do instead nothing",
    };
    db.run(Scope::System, sql, params![]).await.unwrap();
    let due = at("2026-05-04T10:00:00Z");
    stage.clock.set(due);
    let fired = stage.store.fire_due(Scope::System, due).await;
    assert!(fired.is_err(), "{fired:?}");
    assert_eq!(stage.timed_trigger(automation).await, trigger);
    assert_eq!(stage.runs_of(automation).await.len(), 0);
}

pub(crate) async fn one_time_trigger_is_done_after_its_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let spec = Spec::At {
        at: at("2026-05-04T09:30:00Z"),
        zone: "UTC".into(),
    };
    let automation = stage
        .automation_with_triggers("once", SessionMode::Fresh, &[spec])
        .await;
    stage.clock.set(at("2026-05-04T09:30:02Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(trigger.done_at, Some(stage.now()));
    assert_eq!(trigger.next_fire_at, None);
    assert_eq!(
        stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .next_work_at(),
        None
    );
}

pub(crate) async fn missed_range_is_one_row_with_count(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    new.policies.catch_up = CatchUp::None;
    let automation = stage.create(&new).await;
    stage.clock.set(at("2026-05-04T14:30:00Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.occurrences, fired.missed), (0, 5));
    let runs = stage.runs_of(automation).await;
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!((run.status(), run.state.occurrences()), (Missed, 5));
    assert_eq!(run.scheduled_for, Some(at("2026-05-04T10:00:00Z")));
    let RunState::Missed { until, .. } = &run.state else {
        panic!("{run:?}");
    };
    assert_eq!(*until, Some(at("2026-05-04T14:00:00Z")));
    assert_eq!((run.session_id, run.seat_id), (None, None));
    assert_eq!(run.state.reason(), Some("the system was down"));
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(trigger.last_scheduled_for, Some(at("2026-05-04T14:00:00Z")));
    assert_eq!(trigger.next_fire_at, Some(at("2026-05-04T15:00:00Z")));
}

pub(crate) async fn catch_up_latest_runs_last_missed_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T12:30:00Z"));
    stage.fire_due().await;
    assert_eq!(
        stage.occurrences(automation).await,
        [
            "2026-05-04T10:00:00Z missed the system was down 2",
            "2026-05-04T12:00:00Z queued - 1"
        ]
    );
}

pub(crate) async fn catch_up_all_runs_missed_instants_in_batches(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.policies.catch_up = CatchUp::All;
    new.policies.queue_limit = 1000;
    new.triggers = vec![Spec::Every {
        period: "1m".parse().unwrap(),
        anchor: stage.now(),
        zone: "UTC".into(),
    }];
    let automation = stage.create(&new).await;
    stage.advance_seconds(150 * 60);
    let mut looks = 1;
    while stage.fire_due().await.has_more {
        looks += 1;
    }
    assert_eq!(looks, 150_usize.div_ceil(limits::OCCURRENCES_PER_FIRE));
    let runs = stage.runs_of(automation).await;
    assert_eq!(runs.len(), 150);
    assert!(runs.is_sorted_by_key(|run| run.scheduled_for));
    let (first, last) = (runs.first().unwrap(), runs.last().unwrap());
    assert_eq!((first.status(), last.status()), (Queued, Deferred));
    let sessions: std::collections::BTreeSet<_> = runs.iter().map(|run| run.session_id).collect();
    assert_eq!(sessions.len(), 1, "all runs use the automation's session");
}

pub(crate) async fn jittered_trigger_fires_late_and_keeps_its_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    new.policies.jitter_seconds = 1800;
    let automation = stage.create(&new).await;
    let trigger = stage.timed_trigger(automation).await;
    let (nominal, fire_at) = (
        trigger.next_scheduled_for.unwrap(),
        trigger.next_fire_at.unwrap(),
    );
    assert_eq!(nominal, at("2026-05-04T10:00:00Z"));
    assert!(fire_at > nominal && fire_at.since(nominal) <= Duration::from_mins(30));
    stage.clock.set(nominal);
    assert_eq!(stage.fire_due().await, FireReport::default());
    stage.clock.set(fire_at);
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(
        stage.runs_of(automation).await[0].scheduled_for,
        Some(nominal)
    );
}

pub(crate) async fn resumed_automation_is_due_from_now_on(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    paused.await.unwrap();
    let again = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    assert!(again.await.is_err(), "the automation is already paused");
    assert_eq!(
        stage
            .store
            .scheduler_status(stage.now())
            .await
            .unwrap()
            .next_work_at(),
        None
    );
    stage.clock.set(at("2026-05-04T12:30:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert_eq!(found.state, AutomationState::Paused);
    assert_eq!(found.pause_reason.as_deref(), Some("holidays"));

    let resumed = stage
        .store
        .resume_automation(stage.scope(), automation, stage.now());
    resumed.await.unwrap();
    assert_eq!(stage.fire_due().await, FireReport::default());
    let next = stage.timed_trigger(automation).await.next_fire_at;
    assert_eq!(next, Some(at("2026-05-04T13:00:00Z")));
    assert!(
        stage.runs_of(automation).await.is_empty(),
        "nothing was due"
    );
}

pub(crate) async fn repeated_instant_creates_no_second_row(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    // The clock is set back, and a person's edit recomputes the schedule.
    stage.clock.set(at("2026-05-04T09:59:00Z"));
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "x", stage.now());
    paused.await.unwrap();
    let resumed = stage
        .store
        .resume_automation(stage.scope(), automation, stage.now());
    resumed.await.unwrap();
    let next = stage.timed_trigger(automation).await.next_fire_at;
    assert_eq!(next, Some(at("2026-05-04T10:00:00Z")));

    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 0);
    assert_eq!(stage.runs_of(automation).await.len(), 1);
    stage.clock.set(at("2026-05-04T11:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(stage.runs_of(automation).await.len(), 2);
}

pub(crate) async fn due_trigger_of_paused_automation_is_unscheduled(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    // The state after a race that only the constraints have decided.
    let sql = "update automations set paused_at = $1, pause_reason = 'x' where id = $2";
    let params = params![stage.now(), automation];
    db.run(Scope::System, sql, params).await.unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert_eq!(stage.timed_trigger(automation).await.next_fire_at, None);
}

pub(crate) async fn invalid_schedule_pauses_its_automation_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let broken = stage
        .automation_with_triggers("broken", SessionMode::Fresh, &[hourly()])
        .await;
    let sound = stage
        .automation_with_triggers("sound", SessionMode::Fresh, &[hourly()])
        .await;
    let spec = serde_json::json!({"kind": "cron", "expression": "0 * * * *", "zone": "Mars/Dome"});
    let sql = "update automation_triggers set spec = $1 where automation_id = $2 and kind = 'cron'";
    db.run(Scope::System, sql, params![spec, broken])
        .await
        .unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(stage.runs_of(sound).await.len(), 1);
    let found = stage.store.automation(stage.scope(), broken).await.unwrap();
    assert_eq!(found.state, AutomationState::Paused);
    assert!(
        found.attention.as_ref().unwrap().contains("Mars"),
        "{found:?}"
    );
    assert_eq!(stage.fire_due().await, FireReport::default());
}

pub(crate) async fn occurrence_in_quiet_hours_is_skipped(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    // Prague is two hours ahead of UTC in May.
    new.policies.quiet_hours = QuietHours::new(vec!["11:30-12:30".parse().unwrap()]).unwrap();
    new.triggers = vec![Spec::Cron {
        expression: "0 * * * *".into(),
        zone: "Europe/Prague".into(),
    }];
    let automation = stage.create(&new).await;
    for due in ["2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"] {
        stage.clock.set(at(due));
        stage.fire_due().await;
    }
    assert_eq!(
        stage.occurrences(automation).await,
        [
            "2026-05-04T10:00:00Z skipped quiet hours 1",
            "2026-05-04T11:00:00Z queued - 1"
        ]
    );
}

pub(crate) async fn occurrence_for_closed_session_is_skipped_with_attention(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let mut new = stage.new_automation("standup", SessionMode::Bound);
    new.bound_session_key = Some("web:1".into());
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let complete = SessionEvent::Complete;
    let closed =
        stage
            .store
            .transition_session(stage.scope(), session, complete, None, stage.now());
    closed.await.unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-04T10:00:00Z skipped session closed 1"]
    );
    let found = stage
        .store
        .automation(stage.scope(), automation)
        .await
        .unwrap();
    assert!(found.attention.is_some());
    assert_eq!(found.state, AutomationState::Enabled);
}

pub(crate) async fn occurrence_for_paused_session_is_deferred(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let mut new = stage.new_automation("standup", SessionMode::Bound);
    new.bound_session_key = Some("web:1".into());
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let pause = SessionEvent::Pause;
    let paused = stage
        .store
        .transition_session(stage.scope(), session, pause, None, stage.now());
    paused.await.unwrap();
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    stage.fire_due().await;
    assert_eq!(stage.runs_of(automation).await[0].status(), Deferred);
    stage.assert_nothing_promotable().await;
}

pub(crate) async fn concurrently_due_triggers_create_one_continuous_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let both = [hourly(), hourly()];
    let automation = stage
        .automation_with_triggers("watch", SessionMode::Continuous, &both)
        .await;
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 2);
    let runs = stage.runs_of(automation).await;
    assert_eq!(runs[0].session_id, runs[1].session_id);
    let mut statuses = [runs[0].status(), runs[1].status()];
    statuses.sort();
    assert_eq!(statuses, [Queued, Deferred]);
    assert_eq!(db.count(Scope::System, "agent_sessions").await, 1);
}

pub(crate) async fn fire_due_of_tenant_fires_no_trigger_of_others(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    let fired = stage.store.fire_due(other, stage.now()).await.unwrap();
    assert_eq!(fired, FireReport::default());
    let fired = stage.store.fire_due(stage.scope(), stage.now()).await;
    assert_eq!(fired.unwrap().occurrences, 1);
    assert_eq!(stage.runs_of(automation).await.len(), 1);
}

pub(crate) async fn skipped_occurrence_has_no_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.bound_automation("standup", "web:nobody").await;
    let found = stage.store.automation_by_name(stage.tenant, "standup");
    let automation = found.await.unwrap().unwrap();
    let fired = stage.fire(automation.id).await;
    assert_eq!((fired.status, fired.seat_id), (Skipped, None));
    assert_eq!(stage.run(fired.run_id).await.session_id, None);
}
