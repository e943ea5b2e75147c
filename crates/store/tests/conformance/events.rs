//! A session's log: every change, numbered as it was committed.

use futures::future::join_all;
use model::session::SessionEvent;
use serde_json::json;
use store::{Scope, params};

use crate::{
    fixtures::TestStore,
    stage::{Stage, store_over},
};

pub(crate) async fn a_log_is_read_on_from_a_number(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    stage.succeed(run).await;
    let all = stage.store.events(stage.scope(), session, 0, 100);
    let all = all.await.unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|event| (event.seq, event.kind.as_str(), event.body["status"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            (1, "session", json!(null)),
            (2, "run", json!("queued")),
            (3, "message", json!(null)),
            (4, "run", json!("running")),
            (5, "message", json!(null)),
            (6, "run", json!("succeeded")),
        ]
    );
    assert_eq!(all[1].ref_id, run.to_string());
    let rest = stage.store.events(stage.scope(), session, 3, 2);
    assert_eq!(rest.await.unwrap(), all[3..5]);
    let beyond = stage.store.events(stage.scope(), session, 6, 100);
    assert_eq!(beyond.await.unwrap(), []);
}

pub(crate) async fn a_move_of_a_session_is_in_its_log(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "hello").await.run_id;
    let pause = SessionEvent::Pause;
    let moved = stage
        .store
        .move_session(stage.scope(), session, pause, Some("lunch"), stage.now());
    moved.await.unwrap();
    let events = stage.store.events(stage.scope(), session, 2, 10);
    let events = events.await.unwrap();
    assert_eq!(
        events[0].body,
        json!({ "state": "paused", "reason": "lunch" })
    );
    assert_eq!(events[1].body, json!({ "status": "deferred" }));
    assert_eq!(events[1].ref_id, run.to_string());
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(found.state_reason.as_deref(), Some("lunch"));
    assert_eq!(found.last_seq, 4);
}

pub(crate) async fn numbers_have_no_gap_and_follow_commits(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let writing = std::cell::Cell::new(true);
    let writers = async {
        let stores: Vec<_> = (0..4).map(|_| store_over(&db.database)).collect();
        join_all(stores.iter().map(|store| async {
            for _ in 0..15 {
                store
                    .say(stage.tenant, session, "hello", stage.now())
                    .await
                    .unwrap();
            }
        }))
        .await;
        writing.set(false);
    };
    // A reader that goes on from the last number that it saw never misses an earlier one.
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

pub(crate) async fn what_is_undone_takes_no_number(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.session().await;
    let run = stage.say(session, "one").await.run_id;
    stage.start(run).await;
    // The end cannot be written: its record is not a run's.
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
    assert!(refused.await.is_err(), "the row is nobody's");
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    let events = stage.store.events(stage.scope(), session, 0, 100);
    let last = events.await.unwrap().last().unwrap().seq;
    assert_eq!(found.last_seq, last);
}

pub(crate) async fn what_waits_is_in_the_log_of_its_session(db: &TestStore) {
    let stage = Stage::set(db).await;
    let session = stage.keyed_session(Some("web:1")).await;
    let automation = stage.bound("standup", "web:1").await;
    let run = stage.say(session, "hello").await.run_id;
    stage.start(run).await;
    let before = stage.store.session(stage.scope(), session).await.unwrap();
    let waits = [
        stage.say(session, "and?").await.run_id,
        stage.fire(automation).await.run_id,
    ];
    let events = stage
        .store
        .events(stage.scope(), session, before.last_seq, 10);
    let told: Vec<_> = events
        .await
        .unwrap()
        .into_iter()
        .map(|event| (event.ref_id, event.kind, event.body["status"].clone()))
        .collect();
    let expected = waits.map(|run| (run.to_string(), "run".to_owned(), json!("deferred")));
    assert_eq!(told, expected);
}
