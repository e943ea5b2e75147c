//! A session's log: every change, numbered in the order of commits.

use futures::future::join_all;
use model::{
    event::{Change, DeferCause, RunChange, SessionChange},
    session::{SessionEvent, SessionStatus},
};
use serde_json::json;
use store::{Scope, params};

use crate::{
    event_summary::{subject_id, summary},
    fixtures::TestStore,
    stage::{Stage, store_over},
};

pub(crate) async fn session_log_is_read_after_number(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let all = stage.store.events(stage.scope(), session, 0, 100);
    let all = all.await.unwrap();
    let lines: Vec<_> = all
        .iter()
        .map(|event| (event.seq, summary(&event.change)))
        .collect();
    assert_eq!(
        lines,
        [
            (1, "session active".to_owned()),
            (2, "run queued".to_owned()),
            (3, "message".to_owned()),
            (4, "run running".to_owned()),
            (5, "message".to_owned()),
            (6, "run succeeded".to_owned()),
        ]
    );
    assert_eq!(subject_id(&all[1].change), run.to_string());
    let rest = stage.store.events(stage.scope(), session, 3, 2);
    assert_eq!(rest.await.unwrap(), all[3..5]);
    let beyond = stage.store.events(stage.scope(), session, 6, 100);
    assert_eq!(beyond.await.unwrap(), []);
}

pub(crate) async fn session_state_change_is_in_its_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    let pause = SessionEvent::Pause;
    let moved =
        stage
            .store
            .transition_session(stage.scope(), session, pause, Some("lunch"), stage.now());
    moved.await.unwrap();
    let events = stage.store.events(stage.scope(), session, 2, 10);
    let events = events.await.unwrap();
    let moved = SessionChange::Moved {
        state: SessionStatus::Paused,
        reason: Some("lunch".into()),
    };
    let moved = Change::Session {
        session_id: session,
        change: moved,
    };
    let held = Change::Run {
        run_id: run,
        change: RunChange::Deferred {
            cause: DeferCause::SessionPaused,
        },
    };
    assert_eq!([&events[0].change, &events[1].change], [&moved, &held]);
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(found.state.into_reason().as_deref(), Some("lunch"));
    assert_eq!(found.last_seq, 4);
}

pub(crate) async fn event_numbers_have_no_gap_and_follow_commits(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let writing = std::cell::Cell::new(true);
    let writers = async {
        let stores: Vec<_> = (0..4).map(|_| store_over(&db.database)).collect();
        join_all(stores.iter().map(|store| async {
            for _ in 0..15 {
                store
                    .send_message(stage.tenant, session, None, "hello", stage.now())
                    .await
                    .unwrap();
            }
        }))
        .await;
        writing.set(false);
    };
    // A reader that continues from its last number never misses an earlier event.
    let reader = async {
        let mut seen = Vec::new();
        loop {
            let last = !writing.get();
            let after = seen.last().copied().unwrap_or(0);
            let events = stage.store.events(stage.scope(), session, after, 1000);
            seen.extend(events.await.unwrap().iter().map(|event| event.seq));
            if last {
                return seen;
            }
        }
    };
    let ((), seen) = futures::join!(writers, reader);
    assert_eq!(seen, (1..=61).collect::<Vec<_>>());
}

pub(crate) async fn rolled_back_event_takes_no_number(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "one").await.run_id;
    stage.start(run).await;
    // The end cannot be written, because its message ID belongs to a row without a run.
    let entry = model::turn::Entry {
        id: model::MessageId::from_uuid(crate::fixtures::id()),
        role: model::turn::Role::Tool,
        kind: model::turn::EntryKind::ToolCall,
        content: String::new(),
        metadata: json!({}),
    };
    let sql = "insert into agent_messages (id, tenant_id, session_id, seq, role, kind, content, \
        metadata, created_at) values ($1, $2, $3, 1000, 'user', 'message', '', $4, $5)";
    let params = params![entry.id, stage.tenant, session, json!({}), stage.now()];
    db.run(Scope::System, sql, params).await.unwrap();
    let entries = [entry];
    let refused = stage
        .store
        .record(run, &stage.worker, &entries, stage.now());
    assert!(refused.await.is_err(), "the row belongs to no run");
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    let events = stage.store.events(stage.scope(), session, 0, 100);
    let last = events.await.unwrap().last().unwrap().seq;
    assert_eq!(found.last_seq, last);
}

pub(crate) async fn deferred_runs_are_in_session_log(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound_automation("standup", "web:1").await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    let before = stage.store.session(stage.scope(), session).await.unwrap();
    let waits = [
        stage.send_message(session, "and?").await.run_id,
        stage.fire(automation).await.run_id,
    ];
    let events = stage
        .store
        .events(stage.scope(), session, before.last_seq, 10);
    let lines: Vec<_> = events
        .await
        .unwrap()
        .into_iter()
        .map(|event| (subject_id(&event.change), summary(&event.change)))
        .collect();
    let expected = waits.map(|run| (run.to_string(), "run deferred".to_owned()));
    assert_eq!(lines, expected);
}

pub(crate) async fn event_of_later_version_is_unknown_and_keeps_its_number(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    // A later server on the same database writes a status, a kind and a key that this version does not know.
    for (kind, body) in [
        ("run", json!({ "status": "hibernating", "attempt": 1 })),
        ("task", json!({ "status": "succeeded" })),
        ("run", json!({ "status": "queued", "added_later": true })),
    ] {
        let sql = "update agent_sessions set last_seq = last_seq + 1 where id = $1";
        db.run(Scope::System, sql, params![session]).await.unwrap();
        let found = stage.store.session(stage.scope(), session).await.unwrap();
        let sql = "insert into session_events \
            (session_id, seq, tenant_id, kind, ref_id, body, created_at) \
            values ($1, $2, $3, $4, $5, $6, $7)";
        let (tenant, seq) = (stage.tenant, found.last_seq);
        let params = params![session, seq, tenant, kind, run, body, stage.now()];
        db.run(Scope::System, sql, params).await.unwrap();
    }
    stage.start(run).await;
    let events = stage.store.events(stage.scope(), session, 2, 100);
    let events = events.await.unwrap();
    let words: Vec<_> = events.iter().map(|event| summary(&event.change)).collect();
    assert_eq!(
        words,
        [
            "unknown run",
            "unknown task",
            "run queued",
            "message",
            "run running"
        ]
    );
    assert!(events.iter().map(|event| event.seq).eq(3..=7));
    let positions = [(session, 2)];
    let updates = stage.store.session_updates(stage.scope(), &positions, 9);
    assert_eq!(updates.await.unwrap()[0].events.len(), 5);
}
