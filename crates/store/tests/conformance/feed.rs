//! The feed of a tenant, in the order of commits.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use model::{
    SessionId, TenantId,
    event::{AutomationChange, Change, RunChange, TriggerEdit},
    feed::FeedCursor,
    outcome::FailureKind,
    policy::SessionMode,
};
use store::{
    AutomationEdit, FeedEvent, NewAutomation, Scope, UnusableCursor, database::Dialect, params,
};

use crate::{
    event_summary::{automation_action, automation_change, subject_id, summary},
    fixtures::TestStore,
    stage::{Stage, hourly, new_trigger, store_over},
};

/// Waits until the feed shows all committed events. On PostgreSQL, open transactions of other tests on the same server
/// delay it.
pub(crate) async fn wait_for_feed(db: &TestStore, tenant: TenantId) {
    let sql = match db.dialect() {
        Dialect::Postgres => "select pg_current_xact_id()::text::bigint as last",
        Dialect::Sqlite => "select last from transaction_ids",
    };
    let last: i64 = db.run(Scope::System, sql, params![]).await.unwrap()[0]
        .get("last")
        .unwrap();
    let store = store_over(&db.database);
    while store.feed_head(tenant).await.unwrap().transaction <= last {
        tokio::task::yield_now().await;
    }
}

/// Returns the numbers of each log, in the order of a feed.
fn numbers_by_log(events: &[FeedEvent]) -> BTreeMap<uuid::Uuid, Vec<i64>> {
    let mut numbers: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for event in events {
        let of_log = numbers.entry(event.cursor.log).or_default();
        of_log.push(event.event.seq);
    }
    numbers
}

/// Returns the events of an automation's own log, as `change` or `status: reason`.
fn automation_log_lines(events: &[FeedEvent]) -> Vec<String> {
    let own = events.iter().filter(|event| event.session_id.is_none());
    own.map(|event| match &event.event.change {
        Change::Run { change, .. } => match change {
            RunChange::Skipped { reason, .. } | RunChange::Missed { reason, .. } => {
                format!("{}: {reason}", change.status())
            }
            other => panic!("{other:?}"),
        },
        Change::Automation { change, .. } => automation_action(change).to_owned(),
        other => panic!("{other:?}"),
    })
    .collect()
}

pub(crate) async fn feed_contains_all_logs_of_its_tenant_only(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two) = (stage.session().await, stage.session().await);
    let run = stage.send_message(one, "hello").await.run_id;
    stage.start(run).await;
    stage.send_message(two, "and you?").await;
    stage.succeed(run).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    stage.fire(automation).await;
    let other = stage
        .store
        .ensure_tenant("other", stage.now())
        .await
        .unwrap();

    let feed = stage.whole_feed(db).await;
    assert!(feed.is_sorted_by(|event, other| event.cursor < other.cursor));
    let logs = numbers_by_log(&feed);
    assert_eq!(logs[&one.uuid()], (1..=6).collect::<Vec<_>>());
    assert_eq!(logs[&two.uuid()], [1, 2]);
    assert_eq!(logs[&automation.uuid()], [1]);
    for session in [one, two] {
        let of_session = feed
            .iter()
            .filter(|event| event.session_id == Some(session));
        let events: Vec<_> = of_session.map(|event| event.event.clone()).collect();
        let log = stage.store.events(stage.scope(), session, 0, 100).await;
        assert_eq!(events, log.unwrap());
    }
    // A message event carries its row.
    let messages = stage.store.messages(stage.scope(), one, 0, 100).await;
    let announced: Vec<_> = feed
        .iter()
        .filter_map(|event| event.message.clone())
        .collect();
    assert_eq!(announced, messages.unwrap());
    let nothing = stage.store.feed(other, FeedCursor::START, 100).await;
    assert_eq!(nothing.unwrap().events, []);
}

pub(crate) async fn feed_is_read_from_any_cursor(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let head = stage.store.feed_head(stage.tenant).await.unwrap();
    let sessions = [stage.session().await, stage.session().await];
    for session in sessions.iter().cycle().take(6) {
        stage.send_message(*session, "hello").await;
    }
    stage.automation("report", SessionMode::Fresh).await;
    let feed = stage.whole_feed(db).await;
    assert_eq!(feed.len(), 9);
    for limit in [1, 2, 3, 8, 9] {
        assert_eq!(stage.feed(None, head, limit).await, feed);
    }
    for (at, event) in feed.iter().enumerate() {
        let cursor = event.cursor.to_string().parse().unwrap();
        assert_eq!(stage.feed(None, cursor, 2).await, feed[at + 1..]);
    }
    // A reader at the head sees only future events.
    let head = stage.store.feed_head(stage.tenant).await.unwrap();
    let rest = stage.store.feed(stage.tenant, feed[8].cursor, 9).await;
    let rest = rest.unwrap();
    assert_eq!((rest.events, rest.has_more), (vec![], false));
    assert!(feed[8].cursor < rest.next_cursor && head <= rest.next_cursor);
}

pub(crate) async fn added_and_removed_triggers_are_in_automation_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage.automation("report", SessionMode::Fresh).await;
    let scope = stage.scope();
    let spec = hourly();
    let added = stage
        .store
        .add_trigger(scope, id, new_trigger(&spec), stage.now());
    let trigger = added.await.unwrap();
    let removed = stage
        .store
        .remove_trigger(scope, trigger, None, stage.now());
    removed.await.unwrap();
    let feed = stage.whole_feed(db).await;
    assert_eq!(automation_log_lines(&feed), ["created", "edited", "edited"]);
    let edits = [TriggerEdit::Added(trigger), TriggerEdit::Removed(trigger)];
    for (event, edit) in feed[1..].iter().zip(edits) {
        let edited = Change::Automation {
            automation_id: id,
            change: AutomationChange::Edited {
                name: "report".into(),
                trigger: Some(edit),
            },
        };
        assert_eq!(event.event.change, edited);
    }
}

pub(crate) async fn automation_changes_are_in_its_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.policies.pause_after_failures = 1;
    let id = stage.create(&new).await;
    let scope = stage.scope();
    let (store, now) = (&stage.store, stage.now());
    let run = stage.fire(id).await.run_id;
    let session = stage.session_of(run).await;
    store
        .pause_automation(scope, id, "lunch", now)
        .await
        .unwrap();
    store.resume_automation(scope, id, now).await.unwrap();
    store.reset_automation(scope, id, now).await.unwrap();
    let to = NewAutomation {
        prompt: "Do more.".into(),
        ..new.clone()
    };
    let edit = AutomationEdit {
        expected: &new,
        updated: &to,
        detach_session: false,
    };
    store
        .edit_automation(stage.tenant, id, edit, now)
        .await
        .unwrap();
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    store.delete_automation(scope, id, now).await.unwrap();
    let refused = store.pause_automation(scope, id, "again", now).await;
    assert!(refused.is_err(), "a refused transition logs nothing");

    let feed = stage.whole_feed(db).await;
    let expected = [
        "created",
        "paused",
        "resumed",
        "reset",
        "edited",
        "paused",
        "attention",
        "deleted",
    ];
    assert_eq!(automation_log_lines(&feed), expected);
    let own: Vec<&FeedEvent> = feed
        .iter()
        .filter(|event| event.session_id.is_none())
        .collect();
    for (event, seq) in own.iter().zip(1..) {
        assert_eq!(event.event.seq, seq);
        assert_eq!(subject_id(&event.event.change), id.to_string());
        assert_eq!(event.automation_id, Some(id));
    }
    let change = |at: usize| automation_change(&own[at].event.change);
    let paused = |reason: &str| AutomationChange::Paused {
        reason: reason.into(),
    };
    assert_eq!(*change(1), paused("lunch"));
    let session_id = Some(session);
    assert_eq!(*change(3), AutomationChange::Reset { session_id });
    assert_eq!(*change(5), paused("failures"));
    let text = "paused itself after 1 consecutive failures".to_owned();
    assert_eq!(*change(6), AutomationChange::Attention { text });
}

pub(crate) async fn skipped_and_missed_occurrences_are_in_automation_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = stage
        .bound_automation_with_triggers("standup", "web:nobody", &[hourly()])
        .await;
    let skipped = stage.fire(id).await.run_id;
    stage.fire(id).await;
    stage.advance_seconds(48 * 3600);
    stage.fire_due().await;
    let feed = stage.whole_feed(db).await;
    let closed = "skipped: session closed";
    // A repeated attention is logged once.
    let mut expected = vec!["created", closed, "attention", closed];
    expected.extend(["missed: the system was down", closed]);
    let mut lines = automation_log_lines(&feed);
    lines[1..3].sort_by_key(|line| line == "attention");
    assert_eq!(lines, expected);
    let is_run = |event: &&FeedEvent| matches!(event.event.change, Change::Run { .. });
    let runs: Vec<&FeedEvent> = feed.iter().filter(is_run).collect();
    assert_eq!(subject_id(&runs[0].event.change), skipped.to_string());
    let rows: BTreeSet<String> = stage
        .runs_of(id)
        .await
        .iter()
        .map(|run| run.id.to_string())
        .collect();
    let lines: BTreeSet<String> = runs
        .iter()
        .map(|event| subject_id(&event.event.change))
        .collect();
    assert_eq!(lines, rows, "each row has its event");
    let Change::Run {
        change: RunChange::Missed { occurrences, .. },
        ..
    } = &runs[2].event.change
    else {
        panic!("{:?}", runs[2]);
    };
    assert_eq!(occurrences.count, 47);
    assert!(occurrences.missed_until.is_some());
    assert_eq!(
        numbers_by_log(&feed)[&id.uuid()],
        (1..=6).collect::<Vec<_>>()
    );
}

pub(crate) async fn automation_feed_contains_its_own_events_only(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let chat = stage.keyed_session(Some("web:chat")).await;
    let own = stage.automation("own", SessionMode::Continuous).await;
    let bound = stage.bound_automation("bound", "web:chat").await;
    let words = stage.send_message(chat, "hello").await.run_id;
    stage.start(words).await;
    stage.succeed(words).await;
    let in_chat = stage.fire(bound).await.run_id;
    stage.start(in_chat).await;
    stage.succeed(in_chat).await;
    let in_own = stage.fire(own).await.run_id;
    let session = stage.session_of(in_own).await;
    stage.start(in_own).await;
    stage.succeed(in_own).await;
    // A person may send a message in an automation's session.
    stage.send_message(session, "thanks").await;
    wait_for_feed(db, stage.tenant).await;

    for limit in [1, 4, 100] {
        let feed = stage.feed(Some(own), FeedCursor::START, limit).await;
        let logs = numbers_by_log(&feed);
        let keys: BTreeSet<_> = logs.keys().copied().collect();
        assert_eq!(keys, BTreeSet::from([own.uuid(), session.uuid()]));
        assert_eq!(logs[&session.uuid()], (1..=7).collect::<Vec<_>>());

        let feed = stage.feed(Some(bound), FeedCursor::START, limit).await;
        let kinds: Vec<_> = feed
            .iter()
            .map(|event| summary(&event.event.change))
            .collect();
        assert_eq!(
            kinds,
            [
                "automation created",
                "run queued",
                "message",
                "run running",
                "message",
                "run succeeded",
            ]
        );
        assert!(feed.iter().all(|event| event.automation_id == Some(bound)));
        let of_chat = feed.iter().filter(|event| event.session_id == Some(chat));
        assert_eq!(of_chat.count(), 5);
    }
}

pub(crate) async fn feed_reader_misses_no_concurrent_event(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(stage.session().await);
    }
    let writing = std::cell::Cell::new(true);
    let writers = async {
        let stores: Vec<_> = (0..4).map(|_| store_over(&db.database)).collect();
        join_all(stores.iter().zip(1..).map(|(store, first)| {
            let sessions = sessions.iter().cycle().skip(first).take(16);
            async {
                for session in sessions {
                    let sent =
                        store.send_message(stage.tenant, *session, None, "hello", stage.now());
                    sent.await.unwrap();
                }
            }
        }))
        .await;
        wait_for_feed(db, stage.tenant).await;
        writing.set(false);
    };
    let reader = async {
        let mut seen = Vec::new();
        let mut after = FeedCursor::START;
        loop {
            let last = !writing.get();
            let page = stage.store.feed(stage.tenant, after, 7).await.unwrap();
            after = page.next_cursor;
            seen.extend(page.events);
            if last && !page.has_more {
                return seen;
            }
        }
    };
    let ((), seen) = futures::join!(writers, reader);
    assert_eq!(seen, stage.whole_feed(db).await);
    for numbers in numbers_by_log(&seen).values() {
        assert_eq!(*numbers, (1..=17).collect::<Vec<_>>());
    }
}

pub(crate) async fn feed_cursor_before_trimmed_events_is_reported_lost(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let old = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    stage.advance_seconds(100 * 24 * 3600);
    stage.send_message(stage.session().await, "hello").await;
    let feed = stage.whole_feed(db).await;
    assert_eq!(feed.len(), 4);
    let month_ago = stage
        .now()
        .saturating_sub(std::time::Duration::from_hours(30 * 24));
    let (tenant, store) = (stage.tenant, &stage.store);

    let trimmed = store.trim_logs(month_ago, None).await.unwrap();
    assert_eq!(trimmed.events, 1);
    let lost = store.feed(tenant, FeedCursor::START, 10).await.unwrap();
    assert_eq!(
        lost.unusable_cursor,
        Some(UnusableCursor::Trimmed(feed[0].cursor))
    );
    assert_eq!((lost.events, lost.has_more), (vec![], false));
    assert_eq!(stage.feed(None, feed[0].cursor, 10).await, feed[1..]);

    assert_eq!(store.trim_automation_logs(month_ago).await.unwrap(), 1);
    assert_eq!(store.trim_automation_logs(month_ago).await.unwrap(), 0);
    let automation_change = store.automation_feed(tenant, automation, feed[0].cursor, 10);
    let lost = automation_change.await.unwrap();
    assert_eq!(
        lost.unusable_cursor,
        Some(UnusableCursor::Trimmed(feed[1].cursor))
    );
    assert_eq!(stage.feed(None, feed[1].cursor, 10).await, feed[2..]);
    // Another tenant's feed has lost nothing.
    let other = store.ensure_tenant("other", stage.now()).await.unwrap();
    let page = store.feed(other, FeedCursor::START, 10).await.unwrap();
    assert_eq!(page.unusable_cursor, None);
    // The numbers of trimmed events are not used again.
    let paused = store.pause_automation(stage.scope(), automation, "lunch", stage.now());
    paused.await.unwrap();
    wait_for_feed(db, tenant).await;
    let rest = stage.feed(None, feed[3].cursor, 10).await;
    assert_eq!(rest[0].event.seq, 2);
    assert_eq!(
        stage
            .store
            .oldest_event_seq(stage.scope(), old)
            .await
            .unwrap(),
        2
    );
}

pub(crate) async fn feed_cursor_ahead_of_feed_is_reported_lost(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.session().await;
    wait_for_feed(db, stage.tenant).await;
    let ahead = FeedCursor::before(i64::MAX);
    let page = stage.store.feed(stage.tenant, ahead, 10).await.unwrap();
    assert_eq!(page.unusable_cursor, Some(UnusableCursor::Ahead));
    let read_next = stage.store.feed(stage.tenant, page.next_cursor, 10).await;
    assert_eq!(read_next.unwrap().unusable_cursor, None);
}

/// Adds an event to a session's log and leaves the transaction open.
async fn add_uncommitted_event(
    db: &TestStore,
    stage: &Stage,
    session: SessionId,
) -> store::database::Tx {
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    for sql in [
        "update agent_sessions set last_seq = last_seq + 1 where id = $1 and tenant_id = $2",
        "insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at) \
         select id, last_seq, tenant_id, 'session', id, '{}', created_at from agent_sessions \
         where id = $1 and tenant_id = $2",
    ] {
        let statement = crate::fixtures::statement(sql);
        let params = params![session, stage.tenant];
        assert_eq!(tx.execute(statement, params).await.unwrap(), 1);
    }
    tx
}

pub(crate) async fn feed_does_not_pass_open_transactions(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (early, late) = (stage.session().await, stage.session().await);
    wait_for_feed(db, stage.tenant).await;
    let start = stage.store.feed_head(stage.tenant).await.unwrap();
    // The first transaction writes first and commits last.
    let open = add_uncommitted_event(db, &stage, late).await;
    stage.send_message(early, "hello").await;
    let page = stage.store.feed(stage.tenant, start, 10).await.unwrap();
    assert_eq!((&*page.events, page.unusable_cursor), (&[][..], None));
    assert_eq!(stage.feed(None, page.next_cursor, 10).await, []);
    open.commit().await.unwrap();
    wait_for_feed(db, stage.tenant).await;
    let read = stage.feed(None, page.next_cursor, 10).await;
    let sessions: Vec<_> = read.iter().filter_map(|event| event.session_id).collect();
    assert_eq!(sessions, [late, early]);
    // A transaction that is rolled back does not delay the feed.
    drop(add_uncommitted_event(db, &stage, late).await);
    stage.send_message(early, "again").await;
    wait_for_feed(db, stage.tenant).await;
    let read = stage.feed(None, read[1].cursor, 10).await;
    assert_eq!(read.len(), 1);
}

pub(crate) async fn database_restored_on_other_server_keeps_feed_order(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.automation("report", SessionMode::Fresh).await;
    let old = stage.whole_feed(db).await[0].cursor;
    let sql =
        "insert into feed_trims (tenant_id, transaction_id, log_id, seq) values ($1, $2, $3, 7)";
    let elsewhere = 1_i64 << 60;
    let trimmed = params![stage.tenant, elsewhere, session];
    db.run(Scope::System, sql, trimmed).await.unwrap();
    for table in ["session_events", "automation_events"] {
        let sql = format!("update {table} set transaction_id = transaction_id + $1");
        db.run(Scope::System, &sql, params![elsewhere])
            .await
            .unwrap();
    }
    store::open(&db.location()).await.unwrap().close().await;
    stage.send_message(session, "hello").await;
    wait_for_feed(db, stage.tenant).await;
    let page = stage.store.feed(stage.tenant, FeedCursor::START, 10).await;
    let Some(UnusableCursor::Trimmed(kept)) = page.unwrap().unusable_cursor else {
        panic!("the trimmed events are still missing");
    };
    let feed = stage.feed(None, kept, 10).await;
    assert_eq!(feed.len(), 3);
    assert_eq!(summary(&feed[2].event.change), "run queued");
    assert_eq!(stage.feed(None, old, 10).await, feed[2..]);
    let there = FeedCursor::before(elsewhere);
    let page = stage.store.feed(stage.tenant, there, 10).await.unwrap();
    assert_eq!(page.unusable_cursor, Some(UnusableCursor::Ahead));
}
