//! Edits of memory entries by people who have read another version.

use std::time::Duration;

use model::memory::{MemoryEntry, MemoryOwner};
use store::{Error, MemoryVersion, NewMemoryEntry};

use super::{entry, remember};
use crate::{fixtures::TestStore, stage::Stage, tool_calls::start_message};

fn version_of(entry: &MemoryEntry) -> MemoryVersion {
    MemoryVersion {
        id: entry.id,
        version: entry.version,
        expires_at: entry.expires_at,
    }
}

/// Writes an entry for a person who has read a version.
async fn set(
    stage: &Stage,
    owner: MemoryOwner,
    new: &NewMemoryEntry,
    seen: Option<MemoryVersion>,
) -> Result<MemoryEntry, Error> {
    let written = stage
        .store
        .set_memory_entry(stage.tenant, owner, new, "ann", seen, stage.now());
    written.await
}

/// Deletes the entry under the key `a` for a person who has read a version.
async fn delete(
    stage: &Stage,
    owner: MemoryOwner,
    seen: MemoryVersion,
) -> Result<MemoryEntry, Error> {
    let deleted =
        stage
            .store
            .delete_memory_entry(stage.tenant, owner, "a", Some(seen), stage.now());
    deleted.await
}

fn assert_stale(result: &Result<MemoryEntry, Error>) {
    assert!(
        matches!(result, Err(Error::StaleVersion { .. })),
        "{result:?}"
    );
}

pub(crate) async fn stale_memory_edit_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let owner = MemoryOwner::Session(stage.session().await);
    let set = async |new: NewMemoryEntry, seen: Option<MemoryVersion>| {
        set(&stage, owner, &new, seen).await
    };
    let first = version_of(&set(entry("a", "one"), None).await.unwrap());
    let second = version_of(&set(entry("a", "two"), Some(first)).await.unwrap());
    // An end of its own makes another entry, although its version stays.
    let with_end = NewMemoryEntry {
        expires_at: Some(stage.now() + Duration::from_hours(1)),
        ..entry("a", "two")
    };
    let third = version_of(&set(with_end, Some(second)).await.unwrap());
    assert_eq!(third.version, second.version);
    for stale in [first, second] {
        assert_stale(&set(entry("a", "late"), Some(stale)).await);
        assert_stale(&delete(&stage, owner, stale).await);
    }
    assert_eq!(delete(&stage, owner, third).await.unwrap().value, "two");
    // An entry that is no longer there is not written again.
    assert_stale(&set(entry("a", "late"), Some(third)).await);
}

pub(crate) async fn edit_of_replaced_memory_entry_is_refused(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let owner = MemoryOwner::Session(session);
    let caller = start_message(&stage, session).await;
    let seen = version_of(&remember(&stage, &caller, &entry("a", "one")).await);
    // After a person has read the entry, the agent forgets it and remembers another one under its key.
    let forgotten = stage.store.forget(&caller, "a", stage.now());
    assert!(forgotten.await.unwrap());
    let present = version_of(&remember(&stage, &caller, &entry("a", "two")).await);
    assert_eq!(
        (present.version, present.expires_at),
        (seen.version, seen.expires_at)
    );
    assert_stale(&set(&stage, owner, &entry("a", "late"), Some(seen)).await);
    assert_stale(&delete(&stage, owner, seen).await);
    let found = stage
        .store
        .memory_entry(stage.scope(), owner, "a", stage.now());
    assert_eq!(found.await.unwrap().value, "two");
    // The person who has read the present entry edits it.
    let edited = set(&stage, owner, &entry("a", "three"), Some(present)).await;
    assert_eq!(edited.unwrap().version, 2);
}
