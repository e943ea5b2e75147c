//! Writes of memory entries beside expired entries, and beside other writes.

use std::time::Duration;

use futures::future::join_all;
use model::memory;
use store::{Error, NewMemoryEntry};

use super::{entry, recall_all, remember};
use crate::{fixtures::TestStore, stage::Stage, tool_calls::start_message};

pub(crate) async fn memory_write_frees_expired_entries(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let count = async || db.count(stage.scope(), "agent_memory_entries").await;
    // The turn may write no more entries until some have expired.
    let short = |key: &str| NewMemoryEntry {
        expires_at: Some(stage.now() + Duration::from_mins(1)),
        ..entry(key, "short")
    };
    let first = remember(&stage, &caller, &short("k0")).await;
    for number in 1..memory::ENTRIES_PER_TURN {
        remember(&stage, &caller, &short(&format!("k{number}"))).await;
    }
    let more = entry("more", "long");
    let refused = stage.store.remember(&caller, &more, stage.now()).await;
    assert!(matches!(refused, Err(Error::LimitReached { .. })));
    assert_eq!(count().await, i64::from(memory::ENTRIES_PER_TURN));
    stage.advance_seconds(60);
    stage.heartbeat(caller.run).await;
    // The key of an expired entry begins anew, and no expired row is left.
    let again = remember(&stage, &caller, &entry("k0", "long")).await;
    assert_eq!((again.version, again.created_at), (1, stage.now()));
    assert_ne!(again.id, first.id);
    assert_eq!(count().await, 1);
    remember(&stage, &caller, &more).await;
    assert_eq!(recall_all(&stage, &caller).await, ["k0=long", "more=long"]);
}

pub(crate) async fn refused_memory_write_is_refused_alone(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, two, three) = (
        stage.session().await,
        stage.session().await,
        stage.session().await,
    );
    let over = start_message(&stage, one).await;
    stage.succeed(over.run).await;
    let full = start_message(&stage, two).await;
    let twice = start_message(&stage, three).await;
    // All are submitted before the first transaction begins.
    let fitting = memory::ENTRIES_PER_TURN;
    let mut writes = Vec::new();
    for number in 0..fitting + 5 {
        writes.push((&full, entry(&format!("k{number}"), "v")));
        writes.push((&over, entry("late", "v")));
        writes.push((&twice, entry("same", &format!("v{number}"))));
    }
    let (store, now) = (&stage.store, stage.now());
    let writes = writes.iter().map(async |(caller, new)| {
        let written = store.remember(caller, new, now).await;
        (caller.run, written)
    });
    let (mut written, mut refused, mut versions) = (0, 0, Vec::new());
    for (run, result) in join_all(writes).await {
        match result {
            Ok(entry) if run == twice.run => versions.push(entry.version),
            Ok(_) => {
                assert_eq!(run, full.run);
                written += 1;
            }
            Err(Error::RunOver { .. }) => assert_eq!(run, over.run),
            Err(Error::LimitReached { .. }) => {
                assert_eq!(run, full.run);
                refused += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!((written, refused), (fitting, 5));
    versions.sort_unstable();
    let expected: Vec<_> = (1..=i64::from(fitting + 5)).collect();
    assert_eq!(versions, expected, "each write sees the one before");
    assert_eq!(recall_all(&stage, &twice).await.len(), 1);
}
