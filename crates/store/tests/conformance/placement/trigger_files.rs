//! Trigger files: the delivery of runs into the folders of instances.

use std::time::Duration;

use model::{
    InstanceId, RunId, SessionId, Timestamp, TokenId, WorkerId,
    access::Role,
    limits::{REDELIVER_AFTER, TRIGGER_FILE_LEASE},
    outcome::FailureKind,
    policy::SessionMode,
    run::{Origin, RunStatus},
    session::SessionEvent,
    trigger_file::{InstanceFolder, InstanceKind, TRIGGER_FILE_WORKER, TriggerFile},
    turn::{HeartbeatReply, StartReply, WriteOutcome},
};
use store::{ClaimedTriggerFile, Error, NewInstance, NewToken, Scope, TriggerFileWrite};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer, instance, servers::two_tenants, unique},
};

fn new_token(stage: &Stage) -> NewToken {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&unique().to_be_bytes());
    NewToken {
        id: TokenId::from_uuid(uuid::Uuid::from_u128(unique().into())),
        name: "runtime".into(),
        role: Role::Admin,
        scopes: None,
        hash,
        secret_prefix: format!("mat_{}", stage.now()),
        made_by: None,
        expires_at: None,
    }
}

impl Stage {
    /// Adds an instance with a folder. Its token is not used.
    pub(crate) async fn directory(&self, number: u128) -> InstanceId {
        let new = NewInstance {
            id: instance(number),
            name: format!("folder-{number}"),
            folder: InstanceFolder {
                path: format!("/srv/{number}"),
                runtime_path: None,
            },
        };
        self.add(&new, &new_token(self)).await.unwrap();
        new.id
    }

    async fn add(&self, new: &NewInstance, token: &NewToken) -> Result<(), Error> {
        self.store
            .add_instance(self.tenant, new, token, self.now())
            .await
    }

    /// Sends a message to a new session that is placed on an instance.
    pub(super) async fn message_to(&self, placed_on: InstanceId) -> (SessionId, RunId) {
        let mut new = self.new_session(None);
        new.placed_on = Some(placed_on);
        let created = self.store.create_session(self.tenant, &new, self.now());
        let session = created.await.unwrap().0;
        (session, self.send_message(session, "hello").await.run_id)
    }

    /// Claims the files that are due, of all instances.
    pub(super) async fn files(&self) -> Vec<ClaimedTriggerFile> {
        let mut files = Vec::new();
        for instance in self.store.next_trigger_files().await.unwrap().into_keys() {
            files.extend(self.files_of(instance, 100).await);
        }
        files
    }

    /// Claims the files of an instance that are due.
    pub(super) async fn files_of(&self, on: InstanceId, limit: u32) -> Vec<ClaimedTriggerFile> {
        let until = self.now() + TRIGGER_FILE_LEASE;
        let claimed = self.store.claim_trigger_files(on, limit, until, self.now());
        claimed.await.unwrap()
    }

    /// Claims the only file that is due.
    pub(super) async fn file(&self) -> ClaimedTriggerFile {
        let mut files = self.files().await;
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    pub(super) async fn confirm(
        &self,
        file: &ClaimedTriggerFile,
        write: TriggerFileWrite,
    ) -> WriteOutcome {
        let recorded = self.store.record_trigger_file(file, write, self.now());
        recorded.await.unwrap()
    }

    /// Confirms the write of a file that no other attempt has overtaken.
    pub(super) async fn deliver(&self, file: &ClaimedTriggerFile, write: TriggerFileWrite) {
        let confirmed = self.confirm(file, write).await;
        assert_eq!(confirmed, WriteOutcome::Committed);
    }

    async fn refuse(&self, file: &ClaimedTriggerFile, error: &str) -> WriteOutcome {
        let recorded = self
            .store
            .record_trigger_file_failure(file, error, self.now());
        recorded.await.unwrap()
    }

    /// Delivers a message to an instance, and returns its session, its run and its file.
    pub(super) async fn delivered(&self, on: InstanceId) -> (SessionId, RunId, ClaimedTriggerFile) {
        let (session, run) = self.message_to(on).await;
        let file = self.file().await;
        self.deliver(&file, TriggerFileWrite::Written).await;
        (session, run, file)
    }

    pub(super) async fn stored_file(&self, run: RunId) -> TriggerFile {
        let found = self.store.trigger_file(self.scope(), run).await;
        found.unwrap().unwrap()
    }

    async fn next_file_at(&self) -> Option<Timestamp> {
        let next = self.store.next_trigger_files().await.unwrap();
        next.into_values().min()
    }

    /// Claims one run for a runtime. Returns `true` if it got the run.
    pub(super) async fn runtime_claims(
        &self,
        worker: &WorkerId,
        on: InstanceId,
        run: RunId,
    ) -> bool {
        let claimed = self.store.claim(worker, on, 1, Some(run), self.now());
        !claimed.await.unwrap().is_empty()
    }
}

pub(crate) async fn run_is_delivered_after_confirmed_write(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    assert_eq!(
        (stage.files().await, stage.next_file_at().await),
        (vec![], None)
    );
    let mut new = stage.new_automation("report", SessionMode::Continuous);
    new.placed_on = Some(there);
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    assert_eq!(stage.next_file_at().await, Some(stage.now()));

    let file = stage.file().await;
    assert_eq!(
        (file.run, file.instance, file.tenant),
        (run, there, stage.tenant)
    );
    assert_eq!(file.folder.path, "/srv/7");
    assert_eq!((file.named_at, file.attempt), (stage.now(), 1));
    let content = file.content.clone();
    let (id, name, mode) = content.automation.unwrap();
    assert_eq!(
        (id, name.as_str(), mode),
        (automation, "report", SessionMode::Continuous)
    );
    assert_eq!(
        (content.origin, content.at),
        (Origin::Occurrence, stage.now())
    );
    assert_eq!(content.task, new.prompt);
    // The write is not confirmed yet, and no other dispatcher makes it meanwhile.
    assert_eq!(stage.status(run).await, RunStatus::Queued);
    assert_eq!(stage.files().await, []);

    let confirmed = stage.confirm(&file, TriggerFileWrite::Written).await;
    assert_eq!(confirmed, WriteOutcome::Committed);
    let found = stage.run(run).await;
    assert_eq!(found.status(), RunStatus::Delivered);
    assert!(found.state.waits_as_file());
    assert_eq!(
        found.state.worker_id().unwrap().as_str(),
        TRIGGER_FILE_WORKER
    );
    let stored = stage.stored_file(run).await;
    assert_eq!((stored.writes, stored.written_at), (1, Some(stage.now())));
    let listed = stage.store.instances(stage.scope()).await.unwrap();
    let listed = listed.iter().find(|it| it.id == there).unwrap();
    assert_eq!((listed.queued_runs, listed.delivered_runs), (0, 1));
    let depth = stage.store.queue_depth(stage.scope()).await.unwrap();
    assert_eq!((depth.delivered, depth.as_files), (1, 1));
    assert!(matches!(&listed.kind, InstanceKind::Directory(folder) if folder.path == "/srv/7"));
}

pub(crate) async fn delivered_run_never_stalls(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run, first) = stage.delivered(there).await;
    stage.advance_seconds(24 * 3600);
    assert_eq!(stage.stall().await, []);
    stage.store.promote_due(stage.now()).await.unwrap();
    assert_eq!(stage.status(run).await, RunStatus::Delivered);
    assert_eq!(stage.attempts(run).await.len(), 1);
    // A look that finds the file changes nothing but the time of the next look.
    let again = stage.file().await;
    assert_eq!((again.named_at, again.attempt), (first.named_at, 2));
    stage.deliver(&again, TriggerFileWrite::AlreadyThere).await;
    let stored = stage.stored_file(run).await;
    assert_eq!(
        (stored.writes, stored.written_at),
        (1, Some(first.named_at))
    );
    assert_eq!(
        stage.next_file_at().await,
        Some(stage.now() + REDELIVER_AFTER)
    );
    // A file that somebody removed is written again under the same name.
    stage.advance_seconds(REDELIVER_AFTER.as_secs());
    let again = stage.file().await;
    assert_eq!(again.named_at, first.named_at);
    stage.deliver(&again, TriggerFileWrite::Written).await;
    assert_eq!(stage.stored_file(run).await.writes, 2);
    // The write of an earlier attempt records nothing.
    let late = stage.confirm(&first, TriggerFileWrite::Written).await;
    assert_eq!(
        (late, stage.stored_file(run).await.writes),
        (WriteOutcome::Fenced, 2)
    );
}

pub(crate) async fn delivered_run_is_claimed_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (there, other) = (stage.directory(7).await, stage.directory(8).await);
    let (_, run, _) = stage.delivered(there).await;
    let [one, two] = ["one", "two"].map(|name| WorkerId::from_stored(name.into()));
    assert!(!stage.runtime_claims(&one, other, run).await);
    assert!(!stage.runtime_claims(&one, stage.instance, run).await);
    // A server of the instance that claims whatever is queued does not take it.
    let all = stage.store.claim(&one, there, 9, None, stage.now()).await;
    assert_eq!(all.unwrap(), []);
    assert!(stage.runtime_claims(&one, there, run).await);
    assert!(!stage.runtime_claims(&two, there, run).await);
    assert!(!stage.runtime_claims(&one, there, run).await);
    // The dispatcher looks no more for its file.
    stage.advance_seconds(REDELIVER_AFTER.as_secs());
    assert_eq!(
        (stage.files().await, stage.next_file_at().await),
        (vec![], None)
    );
    let begun = stage
        .store
        .begin(run, &one, there, stage.now(), None)
        .await
        .unwrap();
    assert!(matches!(begun, StartReply::Started(_)), "{begun:?}");
    let renewed = stage.store.renew_heartbeat(run, &one, stage.now()).await;
    assert_eq!(renewed.unwrap(), HeartbeatReply::Continue);
    // From now on the watchdog judges it as any other run.
    stage.advance_seconds(3600);
    assert_eq!(stage.stall().await, [run]);
    assert_eq!(stage.attempts(run).await.len(), 2);
}

pub(crate) async fn claim_fences_dispatcher(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run) = stage.message_to(there).await;
    let file = stage.file().await;
    // The runtime sees the file before the dispatcher has recorded it.
    let worker = WorkerId::from_stored("one".into());
    assert!(stage.runtime_claims(&worker, there, run).await);
    let late = stage.confirm(&file, TriggerFileWrite::Written).await;
    assert_eq!(late, WriteOutcome::Fenced);
    assert!(stage.run(run).await.state.is_claimed_by(&worker));
    assert_eq!(stage.refuse(&file, "late").await, WriteOutcome::Fenced);
}

pub(crate) async fn requeued_run_gets_new_file(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (session, run, first) = stage.delivered(there).await;
    stage.advance_seconds(1);
    let worker = WorkerId::from_stored("one".into());
    assert!(stage.runtime_claims(&worker, there, run).await);
    stage.move_on(session, SessionEvent::Pause).await;
    let begun = stage
        .store
        .begin(run, &worker, there, stage.now(), None)
        .await
        .unwrap();
    assert!(matches!(begun, StartReply::Deferred), "{begun:?}");
    assert_eq!(stage.files().await, []);
    stage.move_on(session, SessionEvent::Resume).await;
    let second = stage.file().await;
    assert_eq!((second.run, second.named_at), (run, stage.now()));
    assert_ne!(second.named_at, first.named_at);
    stage.deliver(&second, TriggerFileWrite::Written).await;
    assert_eq!(stage.stored_file(run).await.writes, 2);
}

pub(crate) async fn cancelled_file_ends_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (session, run, _) = stage.delivered(there).await;
    let next = stage.send_message(session, "next").await.run_id;
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "changed my mind", stage.now());
    assert_eq!(cancelled.await.unwrap(), RunStatus::Cancelled);
    let worker = WorkerId::from_stored("one".into());
    assert!(!stage.runtime_claims(&worker, there, run).await);
    // The next input of the seat is delivered.
    assert_eq!(stage.file().await.run, next);
    let all = stage
        .store
        .cancel_session_runs(stage.scope(), session, "closed", stage.now());
    assert_eq!(all.await.unwrap(), 1);
}

pub(crate) async fn failed_write_is_retried(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run) = stage.message_to(there).await;
    for (failures, pause) in [(1, 1), (2, 2), (3, 4)] {
        let file = stage.file().await;
        assert_eq!(file.attempt, failures);
        let refused = stage.refuse(&file, "no space left on device").await;
        assert_eq!(refused, WriteOutcome::Committed);
        let stored = stage.stored_file(run).await;
        assert_eq!(stored.failures, failures);
        assert_eq!(stored.error.as_deref(), Some("no space left on device"));
        assert_eq!(
            stored.next_attempt_at,
            stage.now() + Duration::from_secs(pause)
        );
        assert_eq!(stage.next_file_at().await, Some(stored.next_attempt_at));
        assert_eq!(stage.status(run).await, RunStatus::Queued);
        assert_eq!(stage.files().await, []);
        stage.advance_seconds(pause);
    }
    let file = stage.file().await;
    // The name stays, because an earlier attempt may have written the file before it failed.
    assert_eq!((file.attempt, file.named_at < stage.now()), (4, true));
    stage.deliver(&file, TriggerFileWrite::AlreadyThere).await;
    let stored = stage.stored_file(run).await;
    assert_eq!((stored.failures, stored.error, stored.writes), (0, None, 0));
    assert_eq!(stage.status(run).await, RunStatus::Delivered);
    // A long error is cut.
    stage.advance_seconds(REDELIVER_AFTER.as_secs());
    let file = stage.file().await;
    let refused = stage.refuse(&file, &"é".repeat(3000)).await;
    assert_eq!(refused, WriteOutcome::Committed);
    let error = stage.stored_file(run).await.error.unwrap();
    assert_eq!(error.len(), 2048);
}

pub(crate) async fn seat_has_one_file(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (session, run, _) = stage.delivered(there).await;
    let next = stage.send_message(session, "next").await.run_id;
    assert_eq!(stage.files().await, []);
    let worker = WorkerId::from_stored("one".into());
    assert!(stage.runtime_claims(&worker, there, run).await);
    let begun = stage.store.begin(run, &worker, there, stage.now(), None);
    begun.await.unwrap();
    let finished = stage
        .store
        .finish(run, &worker, &answer("done"), stage.now())
        .await;
    assert_eq!(finished.unwrap(), WriteOutcome::Committed);
    assert_eq!(stage.file().await.run, next);
}

pub(crate) async fn removal_fails_delivered_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let (_, run, _) = stage.delivered(there).await;
    let removed = stage
        .store
        .remove_instance(stage.tenant, there, stage.now());
    assert_eq!(removed.await.unwrap(), "folder-7");
    assert_eq!(
        (stage.files().await, stage.next_file_at().await),
        (vec![], None)
    );
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(status.has_removed_instance, "{status:?}");
    let failed = stage.store.end_waits_for_removed_instances(stage.now());
    assert_eq!(failed.await.unwrap(), 1);
    let found = stage.run(run).await;
    assert_eq!(
        found.state.reason(),
        Some(FailureKind::InstanceGone.as_str())
    );
    // Its runtime does not bring the instance back, because the token is revoked.
    let worker = WorkerId::from_stored("one".into());
    let served = stage
        .store
        .claim_instance(there, &worker, None, "1", stage.now())
        .await;
    assert!(served.unwrap());
    let listed = stage.store.instances(stage.scope()).await.unwrap();
    assert!(listed.iter().all(|it| it.id != there));
}

pub(crate) async fn added_instance_has_one_token(db: &TestStore) {
    let [stage, other] = two_tenants(db).await;
    let there = stage.directory(7).await;
    let new = |number| NewInstance {
        id: instance(number),
        name: "folder-7".into(),
        folder: InstanceFolder {
            path: "/a".into(),
            runtime_path: Some("/b".into()),
        },
    };
    let token = new_token(&stage);
    let taken = stage.add(&new(8), &token).await;
    let is_taken = |error: &Error| matches!(error, Error::NameTaken { what: "instance", name } if name == "folder-7");
    assert!(taken.as_ref().is_err_and(is_taken), "{taken:?}");
    // The refused request leaves no token. Another tenant may use the name.
    let found = stage.store.token_by_hash(&token.hash, stage.now()).await;
    assert_eq!(found.unwrap(), None);
    other.add(&new(9), &token).await.unwrap();
    let found = other.store.token_by_hash(&token.hash, other.now()).await;
    let found = found.unwrap().unwrap();
    assert_eq!(
        (found.role, found.instance_id),
        (Role::Runtime, Some(instance(9)))
    );
    let listed = other.store.instances(other.scope()).await.unwrap();
    let listed = listed.into_iter().find(|it| it.id == instance(9)).unwrap();
    let folder = new(9).folder;
    assert_eq!(listed.kind, InstanceKind::Directory(folder));
    assert_eq!((listed.server, listed.last_seen_at), (None, None));
    // A folder belongs to one instance of all tenants.
    let mut same = new(11);
    same.name = "second".into();
    same.folder.path = "//a/./".into();
    let folder_taken = async |stage: &Stage, holder: Option<&str>| {
        let taken = stage.add(&same, &new_token(stage)).await;
        let is_taken = |error: &Error| {
            matches!(error, Error::FolderTaken { folder, instance, holder: found }
            if folder == "//a/./" && instance == "second" && found.as_deref() == holder)
        };
        assert!(taken.as_ref().is_err_and(is_taken), "{taken:?}");
        let text = taken.unwrap_err().to_string();
        let named = holder.map_or("an instance of another tenant".into(), |name| {
            format!("`{name}`")
        });
        assert!(text.contains(&named) && text.contains("`second`"), "{text}");
    };
    folder_taken(&other, Some("folder-7")).await;
    folder_taken(&stage, None).await;
    // The removal revokes the token, and frees the name and the folder.
    let removed = other
        .store
        .remove_instance(other.tenant, instance(9), other.now());
    removed.await.unwrap();
    let found = other.store.token_by_hash(&token.hash, other.now()).await;
    assert_eq!(found.unwrap(), None);
    other.add(&new(10), &new_token(&other)).await.unwrap();
    let run = stage.message_to(there).await.1;
    stage.file().await;
    let foreign = other.store.trigger_file(other.scope(), run).await;
    assert_eq!(foreign.unwrap(), None);
    assert_eq!(db.count(Scope::System, "trigger_files").await, 1);
}

pub(crate) async fn runtime_is_no_server(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let there = stage.directory(7).await;
    let runtime = WorkerId::from_stored("runtime".into());
    for (instance, worker) in [(stage.instance, &stage.worker), (there, &runtime)] {
        let served = stage
            .store
            .claim_instance(instance, worker, None, "1", stage.now());
        assert!(served.await.unwrap());
    }
    let online = stage.store.count_online_servers(stage.now()).await;
    assert_eq!(online.unwrap(), 1);
    // The run does not wait for the runtime, which could not take it.
    let session = stage.session_in("/elsewhere").await;
    let run = stage.send_message(session, "hello").await.run_id;
    assert_eq!(stage.claim().await, Some(run));
    let refused = stage
        .store
        .refuse_directory(run, &stage.worker, stage.instance, stage.now());
    let refused = refused.await.unwrap();
    assert!(matches!(refused, StartReply::Refused(_)), "{refused:?}");
    // The name of the runtime is that of its instance.
    let listed = stage.store.instances(stage.scope()).await.unwrap();
    let listed = listed.into_iter().find(|it| it.id == there).unwrap();
    assert_eq!(listed.server.unwrap().worker, runtime);
}
