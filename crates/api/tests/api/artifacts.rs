//! Artifacts: lists, and downloads that no browser takes for pages of the server.

use std::{fs, path::PathBuf};

use artifacts::ContentFolder;
use model::{
    Clock as _, InstanceId,
    access::{Permission, Role},
    artifact::{Artifact, ArtifactContent},
};
use serde_json::json;
use service::ArtifactFiles;
use store::{NewArtifact, ToolCaller};
use tempfile::TempDir;
use uuid::Uuid;

use crate::world::World;

fn here() -> InstanceId {
    InstanceId::from_uuid(Uuid::from_u128(1))
}

/// A server with a data folder, and a running turn.
struct Turn {
    world: World,
    home: TempDir,
    caller: ToolCaller,
    session: String,
}

impl Turn {
    async fn begin(other: &World) -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = ArtifactFiles {
            folder: ContentFolder::new(home.path().join("artifacts")),
            instance: here(),
        };
        let world = World::with_api(other.dialect, |api| api.with_artifact_files(files)).await;
        let automation = world.automation("daily").await;
        let caller = world
            .begin_turn_with_tools(automation["id"].as_str().unwrap())
            .await;
        let now = world.clock.now();
        let turn = world.store.calling_turn(&caller, now).await.unwrap();
        Self {
            world,
            home,
            caller,
            session: turn.session.id.to_string(),
        }
    }

    async fn save(&self, name: &str, media_type: &str, content: ArtifactContent) -> Artifact {
        let new = NewArtifact {
            name: name.into(),
            media_type: media_type.into(),
            content,
        };
        let now = self.world.clock.now();
        let saved = self.world.store.save_artifact(&self.caller, &new, now);
        saved.await.unwrap()
    }

    /// Saves a text, and returns the artifact and the file with its content.
    async fn save_text(&self, name: &str, media_type: &str, text: &str) -> (Artifact, PathBuf) {
        let folder = self.home.path().join("artifacts");
        let stored = ContentFolder::new(&folder).store_text(self.world.tenant, text);
        let stored = stored.unwrap();
        let path = folder
            .join(self.world.tenant.uuid().to_string())
            .join(stored.sha256.to_string());
        let content = ArtifactContent::Stored {
            sha256: stored.sha256,
            size: stored.size,
            instance: here(),
        };
        (self.save(name, media_type, content).await, path)
    }
}

pub(crate) async fn download_is_an_attachment_of_its_own_type(world: &World) {
    let turn = Turn::begin(world).await;
    let page = "<script>alert(1)</script>";
    for (name, media_type, expected_type, expected_name) in [
        (
            "mail/ž\"; x=y.html",
            "text/html",
            "text/html",
            r#"attachment; filename="__; x=y.html"; filename*=UTF-8''%C5%BE%22%3B%20x%3Dy.html"#,
        ),
        (
            "..",
            "no type",
            "application/octet-stream",
            r#"attachment; filename="artifact"; filename*=UTF-8''artifact"#,
        ),
    ] {
        let (saved, _) = turn.save_text(name, media_type, page).await;
        let path = format!("/artifacts/{}/content", saved.id);
        let got = turn.world.get(&path).await;
        assert_eq!((got.status.as_u16(), got.text.as_str()), (200, page));
        assert_eq!(got.header("content-type"), expected_type);
        assert_eq!(got.header("content-length"), page.len().to_string());
        assert_eq!(got.header("content-disposition"), expected_name);
        assert_eq!(got.header("x-content-type-options"), "nosniff");
        assert_eq!(
            got.header("content-security-policy"),
            "sandbox; default-src 'none'"
        );
    }
}

pub(crate) async fn content_that_server_does_not_have_gets_409(world: &World) {
    let turn = Turn::begin(world).await;
    let (saved, path) = turn.save_text("report", "text/plain", "report").await;
    let content = format!("/artifacts/{}/content", saved.id);
    // Another instance has it.
    let elsewhere = InstanceId::from_uuid(Uuid::from_u128(2));
    let now = turn.world.clock.now();
    let registered =
        turn.world
            .store
            .register_instance(turn.world.tenant, elsewhere, "host-2", now);
    registered.await.unwrap();
    let ArtifactContent::Stored { sha256, size, .. } = saved.content else {
        panic!("{saved:?}")
    };
    let foreign = ArtifactContent::Stored {
        sha256,
        size,
        instance: elsewhere,
    };
    let foreign = turn.save("foreign", "text/plain", foreign).await;
    let refused = turn
        .world
        .get(&format!("/artifacts/{}/content", foreign.id))
        .await;
    assert!(refused.problem(409).contains("instance `host-2`"));
    assert!(
        refused.json()["hint"]
            .as_str()
            .unwrap()
            .contains("instance list")
    );
    // It is an address.
    let uri = ArtifactContent::Uri("https://example.com/".into());
    let address = turn.save("page", "text/html", uri).await;
    let refused = turn
        .world
        .get(&format!("/artifacts/{}/content", address.id))
        .await;
    assert!(refused.problem(409).contains("https://example.com/"));
    // It is damaged or missing.
    fs::write(&path, "retort").unwrap();
    assert!(
        turn.world
            .get(&content)
            .await
            .problem(409)
            .contains("damaged")
    );
    fs::remove_file(&path).unwrap();
    assert!(
        turn.world
            .get(&content)
            .await
            .problem(409)
            .contains("missing")
    );
    turn.world
        .get("/artifacts/art_ffff/content")
        .await
        .problem(404);
}

pub(crate) async fn artifacts_are_listed_with_permission_to_read_sessions(world: &World) {
    let turn = Turn::begin(world).await;
    let (first, _) = turn.save_text("mail/1", "text/plain", "one").await;
    let (second, _) = turn.save_text("mail/2", "text/plain", "two").await;
    let uri = ArtifactContent::Uri("https://example.com/".into());
    let address = turn.save("page", "text/html", uri).await;
    let list = format!("/sessions/{}/artifacts", turn.session);
    let page = turn.world.get(&format!("{list}?limit=2")).await.expect(200);
    let ids = |page: &serde_json::Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&page), [address.id.to_string(), second.id.to_string()]);
    let next = page["next"].as_str().unwrap();
    let rest = turn
        .world
        .get(&format!("{list}?limit=2&after={next}"))
        .await;
    assert_eq!(ids(&rest.expect(200)), [first.id.to_string()]);
    let mail = turn.world.get(&format!("{list}?name=mail%2F")).await;
    assert_eq!(ids(&mail.expect(200)).len(), 2);
    let shown = turn.world.get(&format!("/artifacts/{}", address.id)).await;
    let shown = shown.expect(200);
    assert_eq!(shown["uri"], "https://example.com/");
    assert_eq!(
        (&shown["sha256"], &shown["size"]),
        (&json!(null), &json!(null))
    );
    let shown = turn.world.get(&format!("/artifacts/{}", first.id)).await;
    let shown = shown.expect(200);
    assert_eq!((&shown["size"], &shown["version"]), (&json!(3), &json!(1)));
    assert_eq!(shown["run_id"], json!(turn.caller.run));
    // A token that may not read sessions gets nothing of them.
    let token = turn
        .world
        .token(Role::Member, Some(&[Permission::ApprovalsRead]))
        .await;
    for path in [
        list,
        format!("/artifacts/{}", first.id),
        format!("/artifacts/{}/content", first.id),
    ] {
        let refused = turn.world.request_as(&token, "GET", &path, None, &[]).await;
        assert!(refused.problem(403).contains("sessions:read"), "{path}");
    }
}
