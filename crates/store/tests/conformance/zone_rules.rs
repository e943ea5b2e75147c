//! Zone rules that change: instants that other rules computed, or that the schedule does not have.
//!
//! A row with another edition stands for a server of another version. Its instant is the one that its rules would give:
//! an hour earlier or later than this program's.

use futures::future::join_all;
use model::{
    AutomationId,
    automation::AutomationState,
    policy::{CatchUp, SessionMode},
    schedule::{Spec, zone_rules_edition},
};
use store::{FireReport, RecomputeReport, Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{
        Stage, at, hourly,
        servers::{last_server, serve},
        store_over,
    },
};

/// An edition that is older than any that this program can have, and one that is later.
const OLDER: &str = "2020a";
const LATER: &str = "2099z";

/// Nine o'clock in Prague, which is seven o'clock in UTC at the time of a [`Stage`].
fn nine_in_prague() -> Spec {
    Spec::Cron {
        expression: "0 9 * * *".into(),
        zone: "Europe/Prague".into(),
    }
}

/// A stored next instant, with its origin.
#[derive(Clone, Copy)]
struct StoredCursor {
    edition: Option<&'static str>,
    next: &'static str,
    decided_until: &'static str,
    offset_hours: i64,
}

impl StoredCursor {
    /// Writes the instant as a server of this version with rules of that edition does.
    async fn write(self, db: &TestStore, automation: AutomationId) {
        let sql = "update automation_triggers set next_scheduled_for = $2, next_fire_at = $2, zone_rules = $3, \
                   zone_rules_for = $2, decided_until = $4, decided_offset = $5 \
                   where automation_id = $1 and kind <> 'manual'";
        let params = params![
            automation,
            at(self.next),
            self.edition,
            at(self.decided_until),
            self.offset_hours * 3600
        ];
        db.run(Scope::System, sql, params).await.unwrap();
    }
}

/// By rules an hour further west: nine o'clock comes an hour later than it really does.
const LATE: StoredCursor = StoredCursor {
    edition: Some(OLDER),
    next: "2026-05-05T08:00:00Z",
    decided_until: "2026-05-04T08:00:00Z",
    offset_hours: 1,
};
/// By rules an hour further east: nine o'clock comes an hour earlier than it really does.
const EARLY: StoredCursor = StoredCursor {
    edition: Some(OLDER),
    next: "2026-05-05T06:00:00Z",
    decided_until: "2026-05-04T06:00:00Z",
    offset_hours: 3,
};

async fn recompute(stage: &Stage) -> RecomputeReport {
    let recomputed = stage.store.recompute_outdated_triggers(stage.now());
    recomputed.await.unwrap()
}

async fn has_outdated(stage: &Stage) -> bool {
    let status = stage.store.scheduler_status(stage.now()).await;
    status.unwrap().has_outdated_triggers
}

async fn next(stage: &Stage, automation: AutomationId) -> Option<String> {
    let trigger = stage.timed_trigger(automation).await;
    trigger.next_scheduled_for.map(|next| next.to_string())
}

async fn report(stage: &Stage) -> AutomationId {
    let triggers = [nine_in_prague()];
    stage
        .automation_with_triggers("report", SessionMode::Fresh, &triggers)
        .await
}

pub(crate) async fn instant_of_older_zone_rules_moves_both_ways(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    assert_eq!(
        (recompute(&stage).await, has_outdated(&stage).await),
        (RecomputeReport::default(), false)
    );
    for stored in [LATE, EARLY] {
        stored.write(db, automation).await;
        assert!(has_outdated(&stage).await);
        let recomputed = recompute(&stage).await;
        assert_eq!((recomputed.triggers, recomputed.moved), (1, 1));
        assert!(!has_outdated(&stage).await && !recomputed.has_more);
        // EARLY: the run of 4 May has fired at 06:00 by the older rules, so it does not fire again at 07:00.
        let trigger = stage.timed_trigger(automation).await;
        assert_eq!(trigger.next_fire_at, Some(at("2026-05-05T07:00:00Z")));
        let origin = trigger.origin.unwrap();
        assert_eq!(origin.zone_rules, zone_rules_edition());
        assert_eq!(origin.decided_until, at(stored.decided_until));
        assert_eq!(recompute(&stage).await, RecomputeReport::default());
    }
    assert!(stage.runs_of(automation).await.is_empty());
}

pub(crate) async fn unmoved_instant_gets_present_edition(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    let stored = StoredCursor {
        next: "2026-05-05T07:00:00Z",
        ..LATE
    };
    stored.write(db, automation).await;
    let recomputed = recompute(&stage).await;
    assert_eq!((recomputed.triggers, recomputed.moved), (1, 0));
    assert!(!has_outdated(&stage).await);
}

pub(crate) async fn instant_that_moves_into_past_is_caught_up(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    LATE.write(db, automation).await;
    stage.clock.set(at("2026-05-05T07:30:00Z"));
    assert_eq!(stage.fire_due().await, FireReport::default());
    assert_eq!(recompute(&stage).await.moved, 1);
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-05T07:00:00Z queued - 1"]
    );
    let next = next(&stage, automation).await;
    assert_eq!(next.as_deref(), Some("2026-05-06T07:00:00Z"));
}

pub(crate) async fn due_instant_of_older_zone_rules_fires_by_present_rules(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    // By the older rules it is nine, by those of this program eight.
    EARLY.write(db, automation).await;
    stage.clock.set(at("2026-05-05T06:00:10Z"));
    assert_eq!(stage.fire_due().await.occurrences, 0);
    assert_eq!(
        next(&stage, automation).await.as_deref(),
        Some("2026-05-05T07:00:00Z")
    );
    stage.clock.set(at("2026-05-05T07:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    // By the older rules it is eight, and by those of this program it was nine an hour ago.
    LATE.write(db, automation).await;
    stage.clock.set(at("2026-05-05T08:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 0, "07:00 has a row");
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-05T07:00:00Z queued - 1"]
    );
    let next = next(&stage, automation).await;
    assert_eq!(next.as_deref(), Some("2026-05-06T07:00:00Z"));
}

pub(crate) async fn instant_of_later_zone_rules_is_left_alone_until_due(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    let stored = StoredCursor {
        edition: Some(LATER),
        ..LATE
    };
    stored.write(db, automation).await;
    assert!(!has_outdated(&stage).await);
    assert_eq!(recompute(&stage).await, RecomputeReport::default());
    stage.clock.set(at("2026-05-05T08:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-05T08:00:00Z queued - 1"]
    );
    // From here on, the server of the later edition moves it again.
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(trigger.next_fire_at, Some(at("2026-05-06T07:00:00Z")));
    assert_eq!(trigger.origin.unwrap().zone_rules, zone_rules_edition());
}

pub(crate) async fn instant_moved_by_earlier_version_has_unknown_zone_rules(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    // An earlier version moves the instant and leaves the other columns as they are.
    set_cursor(db, automation, "2026-05-05T08:00:00Z").await;
    assert_eq!(stage.timed_trigger(automation).await.origin, None);
    assert!(has_outdated(&stage).await);
    assert_eq!(recompute(&stage).await.moved, 1);
    assert_eq!(
        next(&stage, automation).await.as_deref(),
        Some("2026-05-05T07:00:00Z")
    );
    // If the instant is due, it counts: a later one would lose it.
    set_cursor(db, automation, "2026-05-05T08:00:00Z").await;
    stage.clock.set(at("2026-05-05T08:00:00Z"));
    assert!(!has_outdated(&stage).await);
    assert_eq!(stage.fire_due().await.occurrences, 1);
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-05T08:00:00Z queued - 1"]
    );
}

pub(crate) async fn pause_after_new_zone_rules_records_instant_by_present_rules(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    LATE.write(db, automation).await;
    stage.clock.set(at("2026-05-05T07:30:00Z"));
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    paused.await.unwrap();
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-05T07:00:00Z missed the trigger was stopped before it fired 1"]
    );
    assert!(!has_outdated(&stage).await);
    let resumed = stage
        .store
        .resume_automation(stage.scope(), automation, stage.now());
    resumed.await.unwrap();
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(trigger.next_fire_at, Some(at("2026-05-06T07:00:00Z")));
    assert_eq!(trigger.origin.unwrap().decided_until, stage.now());
    assert!(!has_outdated(&stage).await);
}

pub(crate) async fn jitter_edit_keeps_edition_of_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    let stored = StoredCursor {
        next: "2026-05-05T07:00:00Z",
        ..EARLY
    };
    stored.write(db, automation).await;
    let edited = stage.edit_policies(automation, |policies| policies.jitter_seconds = 1800);
    edited.await.unwrap();
    assert!(has_outdated(&stage).await);
    EARLY.write(db, automation).await;
    assert_eq!(recompute(&stage).await.moved, 1);
    let trigger = stage.timed_trigger(automation).await;
    let (nominal, fires) = (trigger.next_scheduled_for.unwrap(), trigger.next_fire_at);
    assert_eq!(nominal, at("2026-05-05T07:00:00Z"));
    let delay = fires.unwrap().since(nominal);
    assert!(!delay.is_zero() && delay.as_secs() < 1800, "{delay:?}");
}

pub(crate) async fn schedule_without_zone_rules_is_never_outdated(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let every = Spec::Every {
        period: "1h".parse().unwrap(),
        anchor: stage.now(),
        zone: "Europe/Prague".into(),
    };
    let once = Spec::At {
        at: at("2026-05-06T09:30:00Z"),
        zone: "Europe/Prague".into(),
    };
    let triggers = [hourly(), every, once];
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &triggers)
        .await;
    for trigger in stage
        .store
        .triggers(stage.scope(), automation)
        .await
        .unwrap()
    {
        assert_eq!(trigger.origin, None, "{}", trigger.spec);
    }
    assert!(!has_outdated(&stage).await);
    assert_eq!(recompute(&stage).await, RecomputeReport::default());
}

pub(crate) async fn outdated_corrupt_trigger_waits_for_its_instant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    LATE.write(db, automation).await;
    let spec = serde_json::json!({"kind": "cron", "expression": "0 9 * * *", "zone": "Mars/Dome"});
    let sql = "update automation_triggers set spec = $1 where automation_id = $2 and kind = 'cron'";
    db.run(Scope::System, sql, params![spec, automation])
        .await
        .unwrap();
    let recomputed = recompute(&stage).await;
    assert_eq!((recomputed.triggers, recomputed.moved), (1, 0));
    assert!(!has_outdated(&stage).await);
    stage.clock.set(at("2026-05-05T08:00:00Z"));
    stage.fire_due().await;
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().state, AutomationState::Paused);
}

pub(crate) async fn outdated_trigger_of_later_format_is_left_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = report(&stage).await;
    LATE.write(db, automation).await;
    let sql = "update automations set format = 99, needs_format = 99 where id = $1";
    db.run(Scope::System, sql, params![automation])
        .await
        .unwrap();
    assert!(!has_outdated(&stage).await);
    assert_eq!(recompute(&stage).await, RecomputeReport::default());
}

pub(crate) async fn outdated_triggers_are_recomputed_once_in_batches(db: &TestStore) {
    const TRIGGERS: usize = 501;
    let stage = Stage::setup(db).await;
    let triggers = vec![nine_in_prague(); TRIGGERS];
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &triggers)
        .await;
    LATE.write(db, automation).await;
    let stores: Vec<_> = (0..4).map(|_| store_over(&db.database)).collect();
    let mut recomputed = 0;
    while has_outdated(&stage).await {
        let batches = stores
            .iter()
            .map(|store| store.recompute_outdated_triggers(stage.now()));
        for batch in join_all(batches).await {
            let batch = batch.unwrap();
            assert!(batch.triggers <= 500 && batch.moved == batch.triggers);
            recomputed += batch.triggers;
        }
    }
    assert_eq!(usize::try_from(recomputed), Ok(TRIGGERS));
    stage.clock.set(at("2026-05-05T07:00:00Z"));
    assert_eq!(stage.fire_due().await.triggers, 501);
}

pub(crate) async fn server_reports_its_zone_rules(db: &TestStore) {
    let stage = Stage::setup(db).await;
    serve(&stage, "host-1-aaaaaaaa").await;
    let edition = Some(zone_rules_edition().to_owned());
    assert_eq!(last_server(&stage).await.zone_rules, edition);
    let listed = stage.store.instances(stage.scope()).await.unwrap();
    let listed = listed.into_iter().find(|other| other.id == stage.instance);
    assert_eq!(listed.unwrap().server.unwrap().zone_rules, edition);
    // An earlier version replaces the worker alone.
    let sql = "update servers set worker_id = 'host-2-bbbbbbbb' where instance_id = $1";
    db.run(Scope::System, sql, params![stage.instance])
        .await
        .unwrap();
    assert_eq!(last_server(&stage).await.zone_rules, None);
}

/// Moves the cursor of an automation's trigger in the way of a hand-written statement.
async fn set_cursor(db: &TestStore, automation: AutomationId, instant: &str) {
    let sql = "update automation_triggers set next_scheduled_for = $2, next_fire_at = $2 \
               where automation_id = $1 and kind <> 'manual'";
    db.run(Scope::System, sql, params![automation, at(instant)])
        .await
        .unwrap();
}

pub(crate) async fn stored_instant_off_schedule_runs_and_schedule_continues(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    set_cursor(db, automation, "2026-05-04T09:17:00Z").await;
    stage.clock.set(at("2026-05-04T09:17:10Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.triggers, fired.occurrences, fired.missed), (1, 1, 0));
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-04T09:17:00Z queued - 1"]
    );
    let trigger = stage.timed_trigger(automation).await;
    assert_eq!(trigger.last_scheduled_for, Some(at("2026-05-04T09:17:00Z")));
    assert_eq!(trigger.next_fire_at, Some(at("2026-05-04T10:00:00Z")));
    stage.clock.set(at("2026-05-04T10:00:00Z"));
    assert_eq!(stage.fire_due().await.occurrences, 1);
}

pub(crate) async fn stored_instant_off_schedule_is_missed_by_policy(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Fresh);
    new.triggers = vec![hourly()];
    new.policies.catch_up = CatchUp::None;
    let automation = stage.create(&new).await;
    set_cursor(db, automation, "2026-05-04T09:17:00Z").await;
    stage.clock.set(at("2026-05-04T09:40:00Z"));
    let fired = stage.fire_due().await;
    assert_eq!((fired.occurrences, fired.missed), (0, 1));
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-04T09:17:00Z missed the system was down 1"]
    );
    let next = stage.timed_trigger(automation).await.next_fire_at;
    assert_eq!(next, Some(at("2026-05-04T10:00:00Z")));
}

pub(crate) async fn pause_records_stored_instant_off_schedule_as_missed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .automation_with_triggers("report", SessionMode::Fresh, &[hourly()])
        .await;
    set_cursor(db, automation, "2026-05-04T09:17:00Z").await;
    stage.clock.set(at("2026-05-04T09:40:00Z"));
    let paused = stage
        .store
        .pause_automation(stage.scope(), automation, "holidays", stage.now());
    paused.await.unwrap();
    let found = stage.store.automation(stage.scope(), automation).await;
    assert_eq!(found.unwrap().state, AutomationState::Paused);
    assert_eq!(
        stage.occurrences(automation).await,
        ["2026-05-04T09:17:00Z missed the trigger was stopped before it fired 1"]
    );
}
