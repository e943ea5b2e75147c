//! Retention: the rows that are removed when they are old, and those that stay.

use std::time::Duration;

use model::{SessionId, Timestamp, outcome::FailureKind, policy::SessionMode};
use store::{LogsTrimmed, Scope, params};

use crate::{
    event_summary::subject_id,
    fixtures::TestStore,
    stage::{Stage, at, hourly},
};

impl Stage {
    /// Completes a turn from the message to the answer.
    async fn complete_turn(&self, session: SessionId) -> model::RunId {
        let run = self.send_message(session, "hello").await.run_id;
        self.start(run).await;
        self.succeed(run).await;
        run
    }

    fn days_ago(&self, days: u64) -> Timestamp {
        self.now().saturating_sub(Duration::from_hours(24 * days))
    }

    async fn trim_all_logs(&self, before: Timestamp) -> u32 {
        let mut events = 0;
        let mut after = None;
        loop {
            let LogsTrimmed {
                events: removed,
                after: next,
                has_more: more,
            } = self.store.trim_logs(before, after).await.unwrap();
            events += removed;
            after = next;
            if !more {
                return events;
            }
        }
    }

    async fn event_numbers(&self, session: SessionId) -> Vec<i64> {
        let events = self.store.events(self.scope(), session, 0, 10_000).await;
        events.unwrap().iter().map(|event| event.seq).collect()
    }
}

pub(crate) async fn recent_or_unfinished_records_are_not_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let young = stage.complete_turn(session).await;
    let running = stage.send_message(session, "and?").await.run_id;
    stage.start(running).await;
    let numbers = stage.event_numbers(session).await;
    assert_eq!(
        stage.store.trim_records(stage.days_ago(30)).await.unwrap(),
        0
    );
    stage.advance_seconds(40 * 24 * 60 * 60);
    // The first turn is old by now. The second began as long ago but has not ended.
    assert_eq!(
        stage.store.trim_records(stage.days_ago(41)).await.unwrap(),
        0
    );
    assert_eq!(
        stage.store.trim_records(stage.days_ago(30)).await.unwrap(),
        1
    );
    let record = async |run| stage.store.run_record(stage.scope(), run).await.unwrap();
    assert_eq!(record(young).await, None);
    assert!(record(running).await.is_some());
    // Events before the running turn are removed from the log.
    let kept_from = stage.store.oldest_event_seq(stage.scope(), session).await;
    assert_eq!(kept_from.unwrap(), 1);
    assert!(stage.trim_all_logs(stage.days_ago(30)).await > 0);
    let kept = stage.event_numbers(session).await;
    assert!(kept.len() < numbers.len());
    assert_eq!(kept, numbers[numbers.len() - kept.len()..], "no gap");
    let of_open = stage.store.events(stage.scope(), session, 0, 1).await;
    assert_eq!(subject_id(&of_open.unwrap()[0].change), running.to_string());
    stage.succeed(running).await;
}

pub(crate) async fn transcripts_and_runs_are_never_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.complete_turn(session).await;
    let transcript = stage.transcript(session).await;
    stage.advance_seconds(400 * 24 * 60 * 60);
    stage.store.trim_records(stage.now()).await.unwrap();
    stage.trim_all_logs(stage.now()).await;
    stage.store.trim_leftovers(stage.now()).await.unwrap();
    assert_eq!(stage.transcript(session).await, transcript);
    assert_eq!(
        stage.run(run).await.status(),
        model::run::RunStatus::Succeeded
    );
    let found = stage
        .store
        .seq_before_run(stage.scope(), run)
        .await
        .unwrap();
    assert!(found < 4, "the rows are found without a scan of the log");
}

pub(crate) async fn trimmed_log_continues_its_numbers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.complete_turn(session).await;
    let last = *stage.event_numbers(session).await.last().unwrap();
    stage.advance_seconds(100 * 24 * 60 * 60);
    let trimmed = stage.trim_all_logs(stage.days_ago(90)).await;
    assert_eq!(i64::from(trimmed), last, "the whole log is trimmed");
    let oldest = stage.store.oldest_event_seq(stage.scope(), session).await;
    assert_eq!(oldest.unwrap(), last + 1);
    stage.send_message(session, "again").await;
    assert_eq!(stage.event_numbers(session).await, [last + 1]);
    let oldest = stage.store.oldest_event_seq(stage.scope(), session).await;
    assert_eq!(oldest.unwrap(), last + 1);
}

pub(crate) async fn clock_set_back_leaves_no_gap_in_trimmed_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.complete_turn(session).await;
    let numbers = stage.event_numbers(session).await;
    // The third event looks young; the later ones look old.
    let sql = "update session_events set created_at = $1 where session_id = $2 and seq = 3";
    let young = stage.now() + Duration::from_hours(24 * 100);
    db.run(Scope::System, sql, params![young, session])
        .await
        .unwrap();
    stage.advance_seconds(100 * 24 * 60 * 60);
    assert_eq!(stage.trim_all_logs(stage.days_ago(50)).await, 2);
    assert_eq!(stage.event_numbers(session).await, numbers[2..]);
}

pub(crate) async fn long_log_is_trimmed_in_batches(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let long = stage.session().await;
    let short = stage.session().await;
    stage.complete_turn(short).await;
    let of_short = stage.event_numbers(short).await.len();
    let sql = "with recursive numbers (seq) as (
        select cast(2 as bigint) union all select seq + 1 from numbers where seq < 1200
    )
    insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
    select $1, seq, $2, 'session', $1, $3, $4 from numbers";
    let body = serde_json::json!({});
    let params = params![long, stage.tenant, &body, stage.now()];
    db.run(Scope::System, sql, params).await.unwrap();
    let sql = "update agent_sessions set last_seq = 1200 where id = $1";
    db.run(Scope::System, sql, params![long]).await.unwrap();
    stage.advance_seconds(100 * 24 * 60 * 60);
    let first = stage.store.trim_logs(stage.now(), None).await.unwrap();
    assert!(first.has_more && first.events < 600, "{first:?}");
    let oldest = stage.store.oldest_event_seq(stage.scope(), long).await;
    assert_eq!(oldest.unwrap(), 501);
    let rest = stage.trim_all_logs(stage.now()).await;
    assert_eq!((first.events + rest) as usize, 1200 + of_short);
}

pub(crate) async fn leftovers_of_ended_runs_are_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let over = stage.complete_turn(session).await;
    let running = stage.send_message(session, "and?").await.run_id;
    stage.start(running).await;
    let live = stage
        .store
        .append_live_text(running, &stage.worker, 0, "text", stage.now());
    assert_eq!(live.await.unwrap(), model::turn::WriteOutcome::Committed);
    for sql in [
        "insert into run_heartbeats (run_id, tenant_id, worker_id, beat_at) values ($1, $2, 'w', $3)",
        "insert into run_live (run_id, tenant_id, position, text, written_at) values ($1, $2, 0, 'x', $3)",
    ] {
        db.run(Scope::System, sql, params![over, stage.tenant, stage.now()])
            .await
            .unwrap();
    }
    let before = stage.days_ago(1);
    assert_eq!(stage.store.trim_leftovers(before).await.unwrap(), 0);
    stage.advance_seconds(60 * 60);
    let trimmed = stage.store.trim_leftovers(stage.now()).await;
    assert_eq!(trimmed.unwrap(), 2);
    assert_eq!(stage.live(running, 0).await.0, "text");
    assert_eq!(db.count(Scope::System, "run_heartbeats").await, 1);
    stage.fail(running, FailureKind::AgentError).await;
}

pub(crate) async fn skipped_run_has_no_record_to_trim(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage
        .bound_automation_with_triggers("standup", "web:nobody", &[hourly()])
        .await;
    stage.fire(automation).await;
    stage.advance_seconds(100 * 24 * 60 * 60);
    assert_eq!(stage.store.trim_records(stage.now()).await.unwrap(), 0);
}

pub(crate) async fn old_usage_is_trimmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    stage.turn_using(id, 10, 1).await;
    let trim = async |before: Timestamp| stage.store.trim_usage(before).await.unwrap();
    assert_eq!(trim(at("2026-05-04T00:00:00Z")).await, 0);
    let rows = db.count(stage.scope(), "spending").await;
    assert_eq!(rows, 2, "a record and a day's usage");
    stage.advance_seconds(24 * 60 * 60);
    assert_eq!(trim(at("2026-05-05T00:00:00Z")).await, 2);
    assert_eq!(db.count(stage.scope(), "spending").await, 0);
}
