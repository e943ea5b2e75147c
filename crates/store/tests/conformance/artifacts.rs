//! Artifacts: their versions and limits, and the contents to which they refer.

use model::{
    SessionId,
    artifact::{Artifact, ArtifactContent, ContentHash},
};
use store::{Error, NewArtifact, Page, Scope, SessionDeletion, ToolCaller};

use crate::{
    fixtures::TestStore,
    stage::{Stage, instance, servers::two_tenants, store_over},
    tool_calls::{start, start_message},
};

fn hash(byte: u8) -> ContentHash {
    ContentHash::new([byte; 32])
}

/// Returns a file of which the stage's instance has the content.
fn file(stage: &Stage, name: &str, sha256: ContentHash, size: u64) -> NewArtifact {
    NewArtifact {
        name: name.into(),
        media_type: "text/plain".into(),
        content: ArtifactContent::Stored {
            sha256,
            size,
            instance: stage.instance,
        },
    }
}

fn address(name: &str, uri: &str) -> NewArtifact {
    NewArtifact {
        name: name.into(),
        media_type: "text/html".into(),
        content: ArtifactContent::Uri(uri.into()),
    }
}

async fn save(stage: &Stage, caller: &ToolCaller, new: &NewArtifact) -> Result<Artifact, Error> {
    let saved = stage.store.save_artifact(caller, new, stage.now());
    saved.await
}

/// Returns the names and versions of a page, the newest first.
async fn listed(stage: &Stage, session: SessionId, prefix: &str) -> Vec<(String, i64)> {
    let page = Page::first(1000);
    let found = stage
        .store
        .artifact_page(stage.tenant, session, prefix, page);
    let found = found.await.unwrap().into_iter();
    found.map(|found| (found.name, found.version)).collect()
}

fn limit_of(refused: Result<Artifact, Error>) -> (&'static str, u32) {
    match refused {
        Err(Error::LimitReached { what, limit }) => (what, limit),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn artifact_of_ended_run_is_not_saved(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let other_secret = ToolCaller {
        secret: [8; 32],
        ..caller.clone()
    };
    let new = file(&stage, "report", hash(1), 5);
    let refused = save(&stage, &other_secret, &new).await;
    assert!(matches!(refused, Err(Error::RunOver { .. })));
    stage.succeed(caller.run).await;
    let refused = save(&stage, &caller, &new).await;
    assert!(matches!(refused, Err(Error::RunOver { run }) if run == caller.run));
    assert_eq!(db.count(Scope::System, "agent_artifacts").await, 0);
}

pub(crate) async fn other_content_makes_next_version_and_same_content_none(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let first = file(&stage, "report", hash(1), 5);
    let saved = save(&stage, &caller, &first).await.unwrap();
    assert_eq!((saved.version, saved.run_id), (1, caller.run));
    // The data folder of another server holds the same bytes.
    let mut elsewhere = first.clone();
    elsewhere.content = ArtifactContent::Stored {
        sha256: hash(1),
        size: 5,
        instance: instance(2),
    };
    for repeated in [&first, &elsewhere] {
        assert_eq!(save(&stage, &caller, repeated).await.unwrap(), saved);
    }
    // Each other content is a version, also one that an earlier version had.
    let second = file(&stage, "report", hash(2), 6);
    let third = address("report", "https://example.com/1");
    for (version, new) in [(2, &second), (3, &third), (4, &first)] {
        let saved = save(&stage, &caller, new).await.unwrap();
        assert_eq!((saved.version, &saved.content), (version, &new.content));
        assert_eq!(save(&stage, &caller, new).await.unwrap(), saved);
        let read = stage.store.artifact(stage.scope(), saved.id).await.unwrap();
        assert_eq!(read, saved);
        let by_name = stage
            .store
            .artifact_by_name(stage.scope(), session, "report", None);
        assert_eq!(by_name.await.unwrap().as_ref(), Some(&saved));
    }
    let one = stage
        .store
        .artifact_by_name(stage.scope(), session, "report", Some(1));
    assert_eq!(one.await.unwrap(), Some(saved.clone()));
    for (name, version) in [("report", Some(5)), ("Report", None)] {
        let none = stage
            .store
            .artifact_by_name(stage.scope(), session, name, version);
        assert_eq!(none.await.unwrap(), None, "{name}");
    }
    // Another session has versions of its own.
    let other = start_message(&stage, stage.session().await).await;
    let saved = save(&stage, &other, &second).await.unwrap();
    assert_eq!(saved.version, 1);
    let ids = stage
        .store
        .artifact_ids_between(stage.scope(), saved.id, saved.id, 2);
    assert_eq!(ids.await.unwrap(), [saved.id]);
}

pub(crate) async fn concurrent_saves_of_one_name_make_two_versions(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let second_server = store_over(stage.store.database());
    let (one, other) = (
        file(&stage, "report", hash(1), 5),
        file(&stage, "report", hash(2), 5),
    );
    let (one, other) = tokio::join!(
        stage.store.save_artifact(&caller, &one, stage.now()),
        second_server.save_artifact(&caller, &other, stage.now()),
    );
    let mut versions = [one.unwrap().version, other.unwrap().version];
    versions.sort_unstable();
    assert_eq!(versions, [1, 2]);
}

pub(crate) async fn artifacts_are_limited_for_each_turn_and_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for turn in 0..20 {
        let caller = start_message(&stage, session).await;
        for number in 0..50 {
            let new = address(&format!("{turn}.{number}"), "https://example.com/");
            save(&stage, &caller, &new).await.unwrap();
        }
        let refused = save(&stage, &caller, &address("more", "https://example.com/")).await;
        let (what, limit) = limit_of(refused);
        assert_eq!((what.contains("turn"), limit), (true, 50), "{what}");
        // A repetition is no further artifact.
        let repeated = address(&format!("{turn}.49"), "https://example.com/");
        save(&stage, &caller, &repeated).await.unwrap();
        stage.succeed(caller.run).await;
    }
    let caller = start_message(&stage, session).await;
    let refused = save(&stage, &caller, &address("more", "https://example.com/")).await;
    let (what, limit) = limit_of(refused);
    assert_eq!((what.contains("session"), limit), (true, 1000), "{what}");
    // The attempts at one input share the limit of a turn.
    let other = stage.session().await;
    let run = stage.send_message(other, "hello").await.run_id;
    let caller = start(&stage, run).await;
    let new = address("before", "https://example.com/");
    save(&stage, &caller, &new).await.unwrap();
    stage.advance_seconds(3600);
    assert!(stage.stall().await.contains(&run));
    stage.advance_seconds(3600);
    let retry = stage.attempts(run).await.last().unwrap().id;
    stage.store.promote_due(stage.now()).await.unwrap();
    let caller = start(&stage, retry).await;
    for number in 0..49 {
        let new = address(&format!("{number}"), "https://example.com/");
        save(&stage, &caller, &new).await.unwrap();
    }
    let refused = save(&stage, &caller, &address("more", "https://example.com/")).await;
    assert_eq!(limit_of(refused).1, 50);
}

pub(crate) async fn bytes_of_artifacts_are_limited_for_each_tenant(db: &TestStore) {
    let [stage, other] = two_tenants(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let all: u64 = 10 << 30;
    let large = file(&stage, "large", hash(1), all - 1);
    save(&stage, &caller, &large).await.unwrap();
    let refused = save(&stage, &caller, &file(&stage, "more", hash(2), 2)).await;
    let (what, limit) = limit_of(refused);
    assert_eq!((what.contains("GiB"), limit), (true, 10), "{what}");
    // An address has no bytes, and the last byte fits.
    let uri = address("page", "https://example.com/");
    save(&stage, &caller, &uri).await.unwrap();
    let last = file(&stage, "last", hash(3), 1);
    save(&stage, &caller, &last).await.unwrap();
    // A tenant fills its own space alone.
    let caller = start_message(&other, other.session().await).await;
    let new = file(&other, "large", hash(1), all);
    save(&other, &caller, &new).await.unwrap();
}

pub(crate) async fn artifacts_of_other_tenant_are_not_found(db: &TestStore) {
    let [stage, other] = two_tenants(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let new = file(&stage, "report", hash(1), 5);
    let saved = save(&stage, &caller, &new).await.unwrap();
    let read = other.store.artifact(other.scope(), saved.id).await;
    assert!(matches!(read, Err(Error::NotFound { .. })), "{read:?}");
    assert!(listed(&other, session, "").await.is_empty());
    let scope = other.scope();
    let by_name = other
        .store
        .artifact_by_name(scope, session, "report", Some(1));
    assert_eq!(by_name.await.unwrap(), None);
    let newest = other.store.artifact_by_name(scope, session, "report", None);
    assert_eq!(newest.await.unwrap(), None);
    let ids = other
        .store
        .artifact_ids_between(scope, saved.id, saved.id, 2);
    assert!(ids.await.unwrap().is_empty());
    let hashes = [hash(1)];
    let referenced = other
        .store
        .referenced_contents(other.tenant, stage.instance, &hashes);
    assert!(referenced.await.unwrap().is_empty());
}

pub(crate) async fn artifacts_are_listed_by_name_prefix(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let caller = start_message(&stage, session).await;
    let names = ["mail/1", "mail/2", "žába %", "žába _", "mail/1"];
    for (number, name) in (0..).zip(names) {
        stage.advance_seconds(1);
        let new = file(&stage, name, hash(number), 5);
        save(&stage, &caller, &new).await.unwrap();
    }
    let item = |name: &str, version| (name.to_owned(), version);
    let mail = [item("mail/1", 2), item("mail/2", 1), item("mail/1", 1)];
    assert_eq!(listed(&stage, session, "mail/").await, mail);
    assert_eq!(listed(&stage, session, "žába %").await, [item("žába %", 1)]);
    assert!(listed(&stage, session, "ail").await.is_empty());
    assert_eq!(listed(&stage, session, "").await.len(), 5);
    // Pages follow each other.
    let mut page = Page::first(2);
    let mut versions = Vec::new();
    loop {
        let found = stage
            .store
            .artifact_page(stage.tenant, session, "mail/", page);
        let found = found.await.unwrap();
        versions.extend(found.iter().map(|found| item(&found.name, found.version)));
        page.after = found.last().map(|found| found.id);
        if found.len() < 2 {
            break;
        }
    }
    assert_eq!(versions, mail);
}

pub(crate) async fn session_deletion_removes_references_to_contents(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (stage.session().await, stage.session().await);
    let [first, second] = [
        start_message(&stage, one).await,
        start_message(&stage, other).await,
    ];
    let shared = file(&stage, "shared", hash(1), 5);
    save(&stage, &first, &shared).await.unwrap();
    save(&stage, &second, &shared).await.unwrap();
    save(&stage, &first, &file(&stage, "own", hash(2), 5))
        .await
        .unwrap();
    let hashes = [hash(1), hash(2), hash(3)];
    let referenced = async |instance| {
        let found = stage
            .store
            .referenced_contents(stage.tenant, instance, &hashes);
        found.await.unwrap().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(referenced(stage.instance).await, [hash(1), hash(2)]);
    assert!(referenced(instance(2)).await.is_empty());
    let deleted = stage
        .store
        .delete_session(stage.tenant, one, false, stage.now());
    assert!(matches!(
        deleted.await.unwrap(),
        SessionDeletion::Deleted { .. }
    ));
    assert_eq!(referenced(stage.instance).await, [hash(1)]);
    // The turn of the deleted session saves nothing more.
    let refused = save(&stage, &first, &shared).await;
    assert!(matches!(refused, Err(Error::RunOver { .. })));
}
