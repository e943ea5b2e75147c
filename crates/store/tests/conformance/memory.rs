//! Memory entries, as agents and people write and read them.

mod edits;
mod writes;

use std::time::Duration;

use model::{
    AutomationId,
    memory::{self, MemoryAuthor, MemoryOwner},
    outcome::FailureKind,
    policy::SessionMode,
};
use store::{Error, MemoryPage, MemorySearch, NewMemoryEntry, ToolCaller};

use crate::{
    fixtures::TestStore,
    stage::{Stage, store_over},
    tool_calls::{start, start_message},
};

pub(crate) use edits::{edit_of_replaced_memory_entry_is_refused, stale_memory_edit_is_refused};
pub(crate) use writes::{
    memory_write_frees_expired_entries, refused_memory_write_is_refused_alone,
};

pub(crate) fn entry(key: &str, value: &str) -> NewMemoryEntry {
    NewMemoryEntry {
        key: key.into(),
        value: value.into(),
        confidence: 1.0,
        expires_at: None,
    }
}

async fn remember(stage: &Stage, caller: &ToolCaller, new: &NewMemoryEntry) -> memory::MemoryEntry {
    let written = stage.store.remember(caller, new, stage.now());
    written.await.unwrap()
}

/// Returns the keys and values that the agent of a turn reads, sorted.
async fn recall(stage: &Stage, caller: &ToolCaller, search: MemorySearch) -> Vec<String> {
    let search = MemorySearch {
        limit: 50,
        ..search
    };
    let found = stage.store.recall(caller, &search, stage.now());
    let mut found: Vec<_> = found
        .await
        .unwrap()
        .into_iter()
        .map(|recalled| format!("{}={}", recalled.entry.key, recalled.entry.value))
        .collect();
    found.sort();
    found
}

async fn recall_all(stage: &Stage, caller: &ToolCaller) -> Vec<String> {
    recall(stage, caller, MemorySearch::default()).await
}

/// Returns the keys of an owner, as a person lists them.
async fn keys(stage: &Stage, owner: MemoryOwner) -> Vec<String> {
    let page = MemoryPage {
        limit: 50,
        ..MemoryPage::default()
    };
    let listed = stage
        .store
        .memory_entries(stage.scope(), owner, &page, stage.now());
    let listed = listed.await.unwrap().into_iter();
    listed.map(|entry| entry.key).collect()
}

/// Fires an automation, and begins its turn.
async fn start_automation(stage: &Stage, automation: AutomationId) -> ToolCaller {
    let run = stage.fire(automation).await.run_id;
    start(stage, run).await
}

pub(crate) async fn memory_belongs_to_automation_of_run_or_to_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.keyed_session(Some("chat")).await;
    let bound = stage.bound_automation("bound", "chat").await;
    let fresh = stage.automation("fresh", SessionMode::Fresh).await;
    // 1. The entry of an automation's run is the automation's.
    let caller = start_automation(&stage, bound).await;
    let written = remember(&stage, &caller, &entry("build", "green")).await;
    assert_eq!(written.owner, MemoryOwner::Automation(bound));
    assert!(matches!(&written.author, MemoryAuthor::Agent { run, .. } if *run == caller.run));
    stage.succeed(caller.run).await;
    // 2. A person's message in the session writes for the session, and reads both.
    let caller = start_message(&stage, session).await;
    let written = remember(&stage, &caller, &entry("build", "by hand")).await;
    assert_eq!(written.owner, MemoryOwner::Session(session));
    assert_eq!(
        recall_all(&stage, &caller).await,
        ["build=by hand", "build=green"]
    );
    // It deletes its own one alone.
    let forget = || stage.store.forget(&caller, "build", stage.now());
    assert!(forget().await.unwrap() && !forget().await.unwrap());
    assert_eq!(recall_all(&stage, &caller).await, ["build=green"]);
    stage.succeed(caller.run).await;
    // 3. Another automation reads nothing of it, and its next session reads its own.
    let caller = start_automation(&stage, fresh).await;
    assert!(recall_all(&stage, &caller).await.is_empty());
    remember(&stage, &caller, &entry("mail", "3")).await;
    stage.succeed(caller.run).await;
    let caller = start_automation(&stage, fresh).await;
    assert_eq!(recall_all(&stage, &caller).await, ["mail=3"]);
    stage.succeed(caller.run).await;
    // 4. A message in the session of a continuous automation reads what the automation keeps.
    let continuous = stage.automation("daily", SessionMode::Continuous).await;
    let caller = start_automation(&stage, continuous).await;
    remember(&stage, &caller, &entry("news", "none")).await;
    let its_session = stage.session_of(caller.run).await;
    stage.succeed(caller.run).await;
    let caller = start_message(&stage, its_session).await;
    assert_eq!(recall_all(&stage, &caller).await, ["news=none"]);
}

pub(crate) async fn memory_entry_is_replaced_and_counts_versions(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let first = remember(&stage, &caller, &entry("build", "green")).await;
    assert_eq!((first.version, first.created_at), (1, stage.now()));
    stage.advance_seconds(1);
    // A repetition keeps the version, and other content raises it.
    let again = remember(&stage, &caller, &entry("build", "green")).await;
    assert_eq!((again.id, again.version), (first.id, 1));
    let less_sure = NewMemoryEntry {
        confidence: 0.5,
        ..entry("build", "green")
    };
    assert_eq!(remember(&stage, &caller, &less_sure).await.version, 2);
    let red = remember(&stage, &caller, &entry("build", "red")).await;
    assert_eq!((red.version, red.created_at), (3, first.created_at));
    assert_eq!(recall_all(&stage, &caller).await, ["build=red"]);
}

pub(crate) async fn memory_of_run_that_is_over_is_unchanged(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let owner = MemoryOwner::Session(session);
    let caller = start_message(&stage, session).await;
    remember(&stage, &caller, &entry("build", "green")).await;
    stage.succeed(caller.run).await;
    let new = entry("late", "x");
    let is_over = |error| matches!(error, Error::RunOver { run } if run == caller.run);
    let written = stage.store.remember(&caller, &new, stage.now()).await;
    assert!(is_over(written.unwrap_err()));
    let forgotten = stage.store.forget(&caller, "build", stage.now()).await;
    assert!(is_over(forgotten.unwrap_err()));
    let search = MemorySearch::default();
    let read = stage.store.recall(&caller, &search, stage.now()).await;
    assert!(is_over(read.unwrap_err()));
    assert_eq!(keys(&stage, owner).await, ["build"]);
}

pub(crate) async fn expired_memory_is_never_returned(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let owner = MemoryOwner::Session(session);
    let caller = start_message(&stage, session).await;
    let end = stage.now() + Duration::from_mins(1);
    let short = NewMemoryEntry {
        expires_at: Some(end),
        ..entry("token", "abc")
    };
    remember(&stage, &caller, &short).await;
    remember(&stage, &caller, &entry("build", "green")).await;
    stage.advance_seconds(59);
    assert_eq!(recall_all(&stage, &caller).await.len(), 2);
    stage.advance_seconds(1);
    stage.heartbeat(caller.run).await;
    assert_eq!(recall_all(&stage, &caller).await, ["build=green"]);
    assert_eq!(keys(&stage, owner).await, ["build"]);
    let one = stage
        .store
        .memory_entry(stage.scope(), owner, "token", stage.now());
    assert!(matches!(one.await, Err(Error::NotFound { .. })));
    assert!(
        !stage
            .store
            .forget(&caller, "token", stage.now())
            .await
            .unwrap()
    );
    assert_eq!(db.count(stage.scope(), "agent_memory_entries").await, 2);
    // The sweep deletes the row. Writing the key again begins with the first version.
    let removed = stage.store.trim_memory_entries(stage.now()).await.unwrap();
    assert!(removed >= 1);
    assert_eq!(db.count(stage.scope(), "agent_memory_entries").await, 1);
    let later = NewMemoryEntry {
        expires_at: Some(stage.now() + Duration::from_mins(1)),
        ..short
    };
    assert_eq!(remember(&stage, &caller, &later).await.version, 1);
    let again = remember(&stage, &caller, &entry("token", "def")).await;
    assert_eq!((again.version, again.expires_at), (2, None));
}

pub(crate) async fn memory_is_limited_for_turn_and_owner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let owner = MemoryOwner::Session(session);
    let tenant = stage.tenant;
    let limit_of = |error: Error| match error {
        Error::LimitReached { limit, .. } => limit,
        error => panic!("{error}"),
    };
    // 1. The entries of one turn. Writing a key again counts once.
    let caller = start_message(&stage, session).await;
    for number in 0..memory::ENTRIES_PER_TURN {
        remember(&stage, &caller, &entry(&format!("k{number}"), "v")).await;
    }
    remember(&stage, &caller, &entry("k0", "other")).await;
    let more = entry("more", "v");
    let over = stage.store.remember(&caller, &more, stage.now());
    assert_eq!(limit_of(over.await.unwrap_err()), memory::ENTRIES_PER_TURN);
    stage.succeed(caller.run).await;
    // 2. The bytes of one owner: 256 values of 16 KiB, with their keys, are too many.
    let value = "x".repeat(memory::VALUE_BYTES);
    let mut refused = None;
    for number in 0..256 {
        let new = entry(&format!("long{number}"), &value);
        let set = stage
            .store
            .set_memory_entry(tenant, owner, &new, "ann", None, stage.now());
        if let Err(error) = set.await {
            refused = Some((number, limit_of(error)));
            break;
        }
    }
    assert_eq!(refused, Some((255, memory::BYTES_PER_OWNER)));
    // 3. The number of one owner's entries.
    let other = MemoryOwner::Session(stage.session().await);
    for number in 0..memory::ENTRIES_PER_OWNER {
        let new = entry(&format!("k{number}"), "");
        let set = stage
            .store
            .set_memory_entry(tenant, other, &new, "ann", None, stage.now());
        set.await.unwrap();
    }
    let new = entry("more", "");
    let set = stage
        .store
        .set_memory_entry(tenant, other, &new, "ann", None, stage.now());
    let limit = limit_of(set.await.unwrap_err());
    assert_eq!(limit, memory::ENTRIES_PER_OWNER);
}

pub(crate) async fn recall_selects_by_key_prefix_text_and_confidence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    for (key, value, confidence) in [
        ("build.last", "Failed at 100%_x", 0.9),
        ("build.owner", "Ann", 0.4),
        ("mail", "build", 1.0),
    ] {
        let new = NewMemoryEntry {
            confidence,
            ..entry(key, value)
        };
        remember(&stage, &caller, &new).await;
    }
    let owned = |text: &str| Some(text.to_owned());
    let search = MemorySearch {
        key: owned("mail"),
        ..MemorySearch::default()
    };
    assert_eq!(recall(&stage, &caller, search).await, ["mail=build"]);
    let search = MemorySearch {
        prefix: owned("build."),
        min_confidence: Some(0.5),
        ..MemorySearch::default()
    };
    assert_eq!(
        recall(&stage, &caller, search).await,
        ["build.last=Failed at 100%_x"]
    );
    // The text is no pattern, and the case of letters does not matter.
    for (text, count) in [
        ("BUILD", 3),
        ("100%_X", 1),
        ("%", 1),
        ("_", 1),
        ("nothing", 0),
    ] {
        let search = MemorySearch {
            text: owned(text),
            ..MemorySearch::default()
        };
        assert_eq!(recall(&stage, &caller, search).await.len(), count, "{text}");
    }
    // The last written come first, and the limit holds.
    let search = MemorySearch {
        limit: 1,
        ..MemorySearch::default()
    };
    stage.advance_seconds(1);
    remember(&stage, &caller, &entry("build.owner", "Bob")).await;
    let found = stage
        .store
        .recall(&caller, &search, stage.now())
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].entry.value, "Bob");
}

pub(crate) async fn memory_of_failed_run_is_unconfirmed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let owner = MemoryOwner::Session(session);
    let unconfirmed = async || {
        let one = stage
            .store
            .memory_entry(stage.scope(), owner, "build", stage.now());
        one.await.unwrap();
        let page = MemoryPage {
            limit: 1,
            ..MemoryPage::default()
        };
        let listed = stage
            .store
            .memory_entries(stage.scope(), owner, &page, stage.now());
        listed.await.unwrap()[0].is_unconfirmed
    };
    let caller = start_message(&stage, session).await;
    remember(&stage, &caller, &entry("build", "green")).await;
    assert!(unconfirmed().await, "the run has not ended");
    stage.fail(caller.run, FailureKind::AgentError).await;
    assert!(unconfirmed().await);
    // The agent sees the mark at the entries of other runs, and not at its own.
    let caller = start_message(&stage, session).await;
    let seen = async |caller: &ToolCaller| {
        let search = MemorySearch {
            limit: 1,
            ..MemorySearch::default()
        };
        let found = stage.store.recall(caller, &search, stage.now());
        found.await.unwrap()[0].entry.is_unconfirmed
    };
    assert!(seen(&caller).await);
    remember(&stage, &caller, &entry("build", "green")).await;
    assert!(!seen(&caller).await);
    stage.succeed(caller.run).await;
    assert!(!unconfirmed().await);
}

pub(crate) async fn people_read_and_edit_memory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("daily", SessionMode::Fresh).await;
    let owner = MemoryOwner::Automation(automation);
    let set = async |key: &str, value: &str| {
        let new = entry(key, value);
        let written =
            stage
                .store
                .set_memory_entry(stage.tenant, owner, &new, "ann", None, stage.now());
        written.await.unwrap()
    };
    for key in ["c", "a", "b"] {
        set(key, "One").await;
    }
    let written = set("a", "two").await;
    assert_eq!(written.version, 2);
    assert_eq!(written.author, MemoryAuthor::Person { name: "ann".into() });
    assert!(!written.is_unconfirmed);
    // Pages follow the keys.
    let list = async |text: Option<&str>, after: Option<&str>| {
        let page = MemoryPage {
            text: text.map(str::to_owned),
            after: after.map(str::to_owned),
            limit: 2,
        };
        let listed = stage
            .store
            .memory_entries(stage.scope(), owner, &page, stage.now());
        let listed = listed.await.unwrap().into_iter();
        listed.map(|entry| entry.key).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None).await, ["a", "b"]);
    assert_eq!(list(None, Some("b")).await, ["c"]);
    assert_eq!(list(Some("TWO"), None).await, ["a"]);
    // The agent reads what the person has written.
    let caller = start_automation(&stage, automation).await;
    assert_eq!(
        recall_all(&stage, &caller).await,
        ["a=two", "b=One", "c=One"]
    );
    let delete = || {
        stage
            .store
            .delete_memory_entry(stage.tenant, owner, "a", None, stage.now())
    };
    assert_eq!(delete().await.unwrap().value, "two");
    assert!(matches!(delete().await, Err(Error::NotFound { .. })));
    // Another tenant finds no owner.
    let other = Stage::setup_tenant("other", store_over(&db.database)).await;
    let new = entry("a", "stolen");
    let stolen = other
        .store
        .set_memory_entry(other.tenant, owner, &new, "eve", None, other.now());
    assert!(matches!(stolen.await, Err(Error::NotFound { .. })));
    let page = MemoryPage {
        limit: 1,
        ..MemoryPage::default()
    };
    let listed = other
        .store
        .memory_entries(other.scope(), owner, &page, other.now());
    assert!(matches!(listed.await, Err(Error::NotFound { .. })));
    assert_eq!(list(None, None).await, ["b", "c"]);
}

pub(crate) async fn memory_is_deleted_with_its_owner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let automation = stage.automation("daily", SessionMode::Fresh).await;
    for owner in [
        MemoryOwner::Session(session),
        MemoryOwner::Automation(automation),
    ] {
        let new = entry("a", "one");
        let set = stage
            .store
            .set_memory_entry(stage.tenant, owner, &new, "ann", None, stage.now());
        set.await.unwrap();
    }
    // A turn that goes on after its automation was deleted writes for its session.
    let caller = start_automation(&stage, automation).await;
    let deleted = stage
        .store
        .delete_automation(stage.scope(), automation, stage.now());
    deleted.await.unwrap();
    let count = async || db.count(stage.scope(), "agent_memory_entries").await;
    assert_eq!(count().await, 1);
    let written = remember(&stage, &caller, &entry("late", "x")).await;
    let its_session = stage.session_of(caller.run).await;
    assert_eq!(written.owner, MemoryOwner::Session(its_session));
    for session in [session, its_session] {
        let deleted = stage
            .store
            .delete_session(stage.tenant, session, true, stage.now());
        deleted.await.unwrap();
    }
    assert_eq!(count().await, 0);
}
