//! Artifacts that agents save and get by their tools, with a data folder and a working directory on a disk.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::PathBuf,
    time::Duration,
};

use api_types::SessionRequest;
use artifacts::ContentFolder;
use model::{
    InstanceId, RunId, SessionId, TenantId, WorkerId,
    artifact::{Artifact, ArtifactContent, MAX_ARTIFACT_BYTES},
    schedule::Zone,
    turn::StartReply,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use service::{
    ArtifactCopy, ArtifactFiles, ArtifactQuery, ArtifactSave, ArtifactSource, Error, ErrorKind,
    RunTools, Service,
};
use store::ToolCaller;
use uuid::Uuid;

use crate::world::World;

const STALE_AFTER: Duration = Duration::from_mins(3);

fn here() -> InstanceId {
    InstanceId::from_uuid(Uuid::from_u128(1))
}

fn worker() -> WorkerId {
    WorkerId::from_stored("host-1-aaaaaaaa".into())
}

/// A running turn, whose agent has tools and a working directory.
struct Turn {
    world: World,
    service: Service,
    session: SessionId,
    run: RunId,
    tools: RunTools,
}

impl Turn {
    async fn begin() -> Self {
        let world = World::new().await;
        fs::create_dir(world.directory().join("work")).unwrap();
        let files = ArtifactFiles {
            folder: ContentFolder::new(world.directory().join("artifacts")),
            instance: here(),
        };
        let service = world.service.clone().with_artifact_files(Some(files));
        let cwd = world.directory().join("work");
        let request = SessionRequest {
            agent: Some("good".into()),
            cwd: Some(cwd.to_str().unwrap().to_owned()),
            ..SessionRequest::default()
        };
        let session = service.create_session(&request, None).await.unwrap().id;
        let run = world.send_message(&session.to_string(), "hello").await;
        let now = world.clock_now();
        let registered = world
            .store
            .register_instance(world.tenant, here(), "host", now);
        registered.await.unwrap();
        let worker = worker();
        let claimed = world.store.claim(&worker, here(), 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let secret = [7; 32];
        let begun = world.store.begin(run, &worker, here(), now, Some(secret));
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        let caller = ToolCaller {
            run,
            secret,
            worker,
            stale_after: STALE_AFTER,
        };
        let (tools, _) = service.run_tools(caller, Zone::utc()).await.unwrap();
        Self {
            world,
            service,
            session,
            run,
            tools,
        }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.world.directory().join("work").join(name)
    }

    async fn save(&self, name: &str, source: ArtifactSource) -> Result<Artifact, Error> {
        let request = ArtifactSave {
            name: name.into(),
            source,
            media_type: None,
        };
        self.tools.save_artifact(&request).await
    }

    async fn save_path(&self, path: &str) -> Result<Artifact, Error> {
        self.save("report", ArtifactSource::Path(path.into())).await
    }

    async fn save_text(&self, name: &str, text: &str) -> Artifact {
        let source = ArtifactSource::Text(text.into());
        self.save(name, source).await.unwrap()
    }

    async fn get(&self, name: &str, path: Option<&str>) -> Result<ArtifactCopy, Error> {
        let got = self.tools.get_artifact(name, None, path).await;
        got.map(|(_, copy)| copy)
    }

    /// Returns the number of the session's artifacts.
    async fn count(&self) -> usize {
        let query = ArtifactQuery {
            session: self.session.to_string(),
            limit: 100,
            ..ArtifactQuery::default()
        };
        self.service.artifacts(&query).await.unwrap().items.len()
    }

    /// Returns the file with the content of an artifact.
    fn content_path(&self, artifact: &Artifact) -> PathBuf {
        let ArtifactContent::Stored { sha256, .. } = &artifact.content else {
            panic!("{artifact:?}")
        };
        let tenant: TenantId = self.world.tenant;
        let folder = self.world.directory().join("artifacts");
        folder
            .join(tenant.uuid().to_string())
            .join(sha256.to_string())
    }

    async fn end(&self) {
        self.world.finish_with_answer(self.run, "done").await;
    }
}

#[tokio::test]
async fn file_that_agent_must_not_read_is_not_saved() {
    let turn = Turn::begin().await;
    let outside = turn.world.directory();
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::create_dir(turn.work("sub")).unwrap();
    symlink(&outside, turn.work("up")).unwrap();
    symlink(outside.join("secret"), turn.work("link")).unwrap();
    mknodat(CWD, turn.work("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let large = File::create(turn.work("large")).unwrap();
    large.set_len(MAX_ARTIFACT_BYTES + 1).unwrap();
    let absolute = outside.join("secret");
    for (path, problem) in [
        ("../secret", "`..`"),
        ("sub/../../secret", "`..`"),
        (
            absolute.to_str().unwrap(),
            "outside of the working directory",
        ),
        ("up/secret", "symbolic link"),
        ("link", "symbolic link"),
        ("sub", "a directory"),
        ("fifo", "a FIFO"),
        ("none", "does not exist"),
        ("large", "up to 104857600"),
    ] {
        let error = turn.save_path(path).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.field()),
            (ErrorKind::Invalid, Some("path"))
        );
        assert!(error.to_string().contains(problem), "{path}: {error}");
    }
    assert_eq!(turn.count().await, 0);
}

#[tokio::test]
async fn invalid_field_of_artifact_is_named() {
    let turn = Turn::begin().await;
    let text = || ArtifactSource::Text("text".into());
    let long = "x".repeat((1 << 20) + 1);
    for (name, source, media_type, field) in [
        ("a\u{1b}b", text(), None, "name"),
        ("report", text(), Some("text"), "media_type"),
        ("report", text(), Some("text/html\r\nx: y"), "media_type"),
        ("report", ArtifactSource::Text(long), None, "text"),
        (
            "report",
            ArtifactSource::Uri("javascript:alert(1)".into()),
            None,
            "uri",
        ),
    ] {
        let request = ArtifactSave {
            name: name.into(),
            source,
            media_type: media_type.map(str::to_owned),
        };
        let error = turn.tools.save_artifact(&request).await.unwrap_err();
        assert_eq!(error.field(), Some(field), "{error}");
    }
    let error = turn.tools.list_artifacts(None, Some("x")).await;
    assert_eq!(error.unwrap_err().field(), Some("after"));
    assert_eq!(turn.count().await, 0);
}

#[tokio::test]
async fn artifact_is_saved_once_and_returned_as_text_or_file() {
    let turn = Turn::begin().await;
    fs::write(turn.work("report.md"), "# Report\n").unwrap();
    let saved = turn.save_path("report.md").await.unwrap();
    assert_eq!(turn.save_path("./report.md").await.unwrap(), saved);
    fs::write(turn.work("report.md"), "# Second\n").unwrap();
    let second = turn.save_path("report.md").await.unwrap();
    assert_eq!((saved.version, second.version), (1, 2));
    let copy = turn.get("report", None).await.unwrap();
    assert_eq!(copy, ArtifactCopy::Text("# Second\n".into()));
    let first = turn.tools.get_artifact("report", Some(1), None).await;
    assert_eq!(first.unwrap().1, ArtifactCopy::Text("# Report\n".into()));
    let copy = turn.get("report", Some("copy.md")).await.unwrap();
    assert_eq!(copy, ArtifactCopy::File);
    assert_eq!(fs::read(turn.work("copy.md")).unwrap(), b"# Second\n");
    // A file of other content stays as it is.
    fs::write(turn.work("copy.md"), "mine").unwrap();
    let refused = turn.get("report", Some("copy.md")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused, "{refused}");
    assert_eq!(fs::read(turn.work("copy.md")).unwrap(), b"mine");
    let uri = ArtifactSource::Uri("https://example.com/".into());
    turn.save("page", uri).await.unwrap();
    let copy = turn.get("page", None).await.unwrap();
    assert_eq!(copy, ArtifactCopy::Uri("https://example.com/".into()));
    let missing = turn.get("none", None).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    // The list has all versions.
    let listed = turn.tools.list_artifacts(Some("report"), None).await;
    assert_eq!(listed.unwrap().items, [second, saved]);
}

#[tokio::test]
async fn content_that_is_no_short_text_needs_a_file() {
    let turn = Turn::begin().await;
    turn.save_text("long", &"x".repeat((64 << 10) + 1)).await;
    fs::write(turn.work("image"), [0xFF, 0xD8]).unwrap();
    turn.save_path("image").await.unwrap();
    for (name, problem) in [("long", "65537 bytes"), ("report", "no text")] {
        let error = turn.get(name, None).await.unwrap_err();
        assert_eq!(error.field(), Some("path"));
        assert!(error.to_string().contains(problem), "{error}");
        turn.get(name, Some(name)).await.unwrap();
    }
    assert_eq!(fs::read(turn.work("report")).unwrap(), [0xFF, 0xD8]);
}

#[tokio::test]
async fn agent_of_ended_turn_saves_and_gets_nothing() {
    let turn = Turn::begin().await;
    turn.save_text("report", "one").await;
    turn.end().await;
    let is_over = |error: Error| matches!(error, Error::Store(store::Error::RunOver { run }) if run == turn.run);
    fs::write(turn.work("report"), "two").unwrap();
    assert!(is_over(turn.save_path("report").await.unwrap_err()));
    assert!(is_over(turn.get("report", Some("copy")).await.unwrap_err()));
    assert!(is_over(
        turn.tools.list_artifacts(None, None).await.unwrap_err()
    ));
    assert!(!turn.work("copy").exists());
    assert_eq!(turn.count().await, 1, "a person still finds it");
}

#[tokio::test]
async fn damaged_or_foreign_content_is_never_returned() {
    let turn = Turn::begin().await;
    let saved = turn.save_text("report", "report").await;
    let id = saved.id.to_string();
    let (artifact, content) = turn.service.artifact_content(&id).await.unwrap();
    assert_eq!((artifact, content.size), (saved.clone(), 6));
    // The server of another data folder names the instance that has the content.
    let mut files = ArtifactFiles {
        folder: ContentFolder::new(turn.world.directory().join("artifacts")),
        instance: InstanceId::from_uuid(Uuid::from_u128(2)),
    };
    for other in [None, Some(files.clone())] {
        let other = turn.world.service.clone().with_artifact_files(other);
        let error = other.artifact_content(&id).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("instance `host`"), "{error}");
    }
    let path = turn.content_path(&saved);
    fs::write(&path, "retort").unwrap();
    let error = turn.service.artifact_content(&id).await.unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    let error = turn.get("report", None).await.unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    fs::remove_file(&path).unwrap();
    let error = turn.service.artifact_content(&id).await.unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    // A folder that cannot be read is a fault of the machine, and its path is not for clients.
    files.instance = here();
    files.folder = ContentFolder::new(turn.world.directory().join("matins.db"));
    let broken = turn.world.service.clone().with_artifact_files(Some(files));
    let error = broken.artifact_content(&id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Files, "{error}");
}

#[tokio::test]
async fn artifacts_are_found_by_session_and_id_prefix() {
    let turn = Turn::begin().await;
    let saved = turn.save_text("mail/1", "one").await;
    turn.save_text("notes", "two").await;
    let id = saved.id.to_string();
    for given in [id.as_str(), &id["art_".len()..]] {
        assert_eq!(turn.service.artifact(given).await.unwrap(), saved);
    }
    for given in ["art_ffff", "mail/1", ""] {
        let error = turn.service.artifact(given).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{given}");
    }
    let mut query = ArtifactQuery {
        session: turn.session.to_string(),
        name: Some("mail".into()),
        after: None,
        limit: 1,
    };
    let page = turn.service.artifacts(&query).await.unwrap();
    assert_eq!((page.items, page.next), (vec![saved.clone()], None));
    query.name = None;
    let page = turn.service.artifacts(&query).await.unwrap();
    assert_eq!(page.items[0].name, "notes");
    query.after = page.next.map(|next| next.parse().unwrap());
    let page = turn.service.artifacts(&query).await.unwrap();
    assert_eq!((page.items, page.next), (vec![saved], None));
    query.session = "none".into();
    let error = turn.service.artifacts(&query).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
