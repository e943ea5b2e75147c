//! Contents of artifacts are removed with the last artifact that refers to them.

use std::{
    fs::{self, File},
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use artifacts::{ContentFolder, StoredContent};
use daemon::housekeeping::{TrimProgress, tick};
use model::{
    Clock as _, SessionId, TenantId, Timestamp, artifact::ArtifactContent, limits, turn::StartReply,
};
use store::{NewArtifact, SessionDeletion, ToolCaller};
use uuid::Uuid;

use crate::world::World;

impl World {
    fn contents(&self) -> ContentFolder {
        self.host.artifacts.clone().unwrap()
    }

    fn content_path(&self, tenant: TenantId, stored: &StoredContent) -> PathBuf {
        let folder = self.path("artifacts").join(tenant.uuid().to_string());
        folder.join(stored.sha256.to_string())
    }

    /// Stores a content without an artifact, as by a process that is killed before the row is committed.
    fn store_content(&self, tenant: TenantId, text: &str, at: Timestamp) -> PathBuf {
        let stored = self.contents().store_text(tenant, text).unwrap();
        let path = self.content_path(tenant, &stored);
        set_modified(&path, at);
        path
    }

    /// Saves an artifact in a new turn of a session, and leaves the turn running.
    async fn save_artifact(&self, session: SessionId, text: &str) -> PathBuf {
        let now = self.clock.now();
        let run = self.send_message(session, "hello").await;
        let (store, host) = (self.store(), &self.host);
        let claimed = store.claim(&host.worker, host.instance, 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let secret = [7; 32];
        let begun = store.begin(run, &host.worker, host.instance, now, Some(secret));
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        let caller = ToolCaller {
            run,
            secret,
            worker: host.worker.clone(),
            stale_after: host.settings.heartbeat_stale,
        };
        let stored = self.contents().store_text(self.tenant, text).unwrap();
        let path = self.content_path(self.tenant, &stored);
        set_modified(&path, now);
        let new = NewArtifact {
            name: "report".into(),
            media_type: "text/plain".into(),
            content: ArtifactContent::Stored {
                sha256: stored.sha256,
                size: stored.size,
                instance: host.instance,
            },
        };
        store.save_artifact(&caller, &new, now).await.unwrap();
        path
    }

    /// Runs a round of housekeeping.
    async fn keep_house(&self) {
        let now = self.clock.now();
        let mut round = TrimProgress::default();
        while tick(&self.host, &mut round, now).await.unwrap()
            != now + limits::HOUSEKEEPING_INTERVAL
        {}
    }

    async fn delete_session(&self, session: SessionId) {
        let now = self.clock.now();
        let deleted = self
            .store()
            .delete_session(self.tenant, session, true, now)
            .await;
        assert!(matches!(deleted.unwrap(), SessionDeletion::Deleted { .. }));
    }
}

/// Dates a file by the clock of the test.
fn set_modified(path: &PathBuf, at: Timestamp) {
    let micros = u64::try_from(at.as_microsecond()).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_micros(micros))
        .unwrap();
}

pub(crate) async fn content_is_removed_once_no_artifact_refers_to_it(world: &World) {
    let agent = world.agent(&world.script()).await;
    let (one, other) = (world.session(agent).await, world.session(agent).await);
    let shared = world.save_artifact(one, "shared").await;
    assert_eq!(world.save_artifact(other, "shared").await, shared);
    let interrupted = world.store_content(world.tenant, "interrupted", world.clock.now());
    // A young content may belong to a row that is about to be committed.
    world.clock.advance(limits::RETAIN_UNREFERENCED_CONTENT);
    world.keep_house().await;
    assert!(interrupted.exists() && shared.exists());
    world.clock.advance(Duration::from_secs(1));
    // So may any content while one is being saved.
    let saving = world.contents().store_text(world.tenant, "saving").unwrap();
    world.keep_house().await;
    assert!(interrupted.exists());
    set_modified(
        &world.content_path(world.tenant, &saving),
        world.clock.now(),
    );
    drop(saving);
    world.keep_house().await;
    assert!(!interrupted.exists() && shared.exists());
    world.delete_session(one).await;
    world.keep_house().await;
    assert!(shared.exists(), "the other session refers to it");
    world.delete_session(other).await;
    world.keep_house().await;
    assert!(!shared.exists());
}

pub(crate) async fn content_of_unknown_tenant_is_kept(world: &World) {
    // The data folder was used with another database before.
    let unknown = TenantId::from_uuid(Uuid::from_u128(99));
    let kept = world.store_content(unknown, "kept", world.clock.now());
    world.clock.advance(Duration::from_hours(24));
    world.keep_house().await;
    assert_eq!(fs::read_to_string(kept).unwrap(), "kept");
}
