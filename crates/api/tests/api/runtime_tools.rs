//! The tools of agents at a runtime, as raw requests. A stand-in for the server of MCP saves and gets artifacts.

use std::time::Duration;

use api::{AgentTools, ToolMessage};
use artifacts::ContentFolder;
use axum::body::Body;
use futures::{FutureExt as _, future::BoxFuture};
use http::Request;
use model::{
    Clock as _, InstanceId, RunId, WorkerId,
    access::{Role, secret::RunSecret},
    schedule::Zone,
    turn::StartReply,
};
use serde_json::{Value, json};
use service::{ArtifactCopy, ArtifactFiles, ArtifactSave, ArtifactSource};
use store::Scope;
use tempfile::TempDir;
use testkit::clock::SeededEntropy;

use crate::world::{Answer, World};

const WORKER: &str = "laptop-1-00000001";

/// Saves the file at `save`, or gets the newest artifact `report` into the file at `get`.
fn answer(message: ToolMessage) -> BoxFuture<'static, Option<Value>> {
    async move {
        let ToolMessage {
            tools,
            message,
            calls_before,
            ..
        } = message;
        let path = |name: &str| message[name].as_str().map(str::to_owned);
        let done = if let Some(path) = path("save") {
            let save = ArtifactSave {
                name: "report".into(),
                source: ArtifactSource::Path(path),
                media_type: None,
            };
            let saved = tools.save_artifact(&save).await;
            saved.map(|saved| json!({ "version": saved.version }))
        } else if let Some(path) = path("get") {
            let got = tools.get_artifact("report", None, Some(&path)).await;
            got.map(|(_, copy)| json!({ "is_file": copy == ArtifactCopy::File }))
        } else {
            let access = tools.access().await;
            access.map(|access| json!({ "access": access.as_str(), "calls": calls_before }))
        };
        let answer = done.unwrap_or_else(|error| json!({ "error": error.to_string() }));
        (message != json!("notification")).then_some(answer)
    }
    .boxed()
}

/// A server with a data folder, and a turn that a runtime takes.
struct Turn {
    world: World,
    _home: TempDir,
    /// The token of the runtime.
    token: String,
    run: RunId,
    secret: RunSecret,
}

impl Turn {
    async fn begin(other: &World) -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = ArtifactFiles {
            folder: ContentFolder::new(home.path().join("artifacts")),
            instance: InstanceId::from_uuid(uuid::Uuid::from_u128(1)),
        };
        let tools = AgentTools {
            answer,
            stale_after: Duration::from_mins(3),
            zone: Zone::utc(),
        };
        let world = World::with_api(other.dialect, |api| {
            api.with_artifact_files(files).with_agent_tools(tools)
        })
        .await;
        let now = world.clock.now();
        // The instance has a data folder of its own, which the row of an artifact names.
        let registered = world.store.register_instance(
            world.tenant,
            InstanceId::from_uuid(uuid::Uuid::from_u128(1)),
            "here",
            now,
        );
        registered.await.unwrap();
        let token = world.runtime_token("laptop").await;
        let instances = world.store.instances(Scope::Tenant(world.tenant)).await;
        let laptop = instances
            .unwrap()
            .into_iter()
            .find(|it| it.name == "laptop");
        let instance = laptop.unwrap().id;
        let automation = world.automation("daily").await;
        let fire = format!("/automations/{}/fire", automation["id"].as_str().unwrap());
        let fired = world.post(&fire, json!({})).await.expect(202);
        let run: RunId = fired["id"].as_str().unwrap().parse().unwrap();
        let worker = WorkerId::from_stored(WORKER.into());
        let claimed = world.store.claim(&worker, instance, 1, Some(run), now);
        assert_eq!(claimed.await.unwrap().len(), 1);
        let secret = RunSecret::generate(&SeededEntropy::new(14));
        let begun = world
            .store
            .begin(run, &worker, instance, now, Some(secret.hash()));
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        Self {
            world,
            _home: home,
            token,
            run,
            secret,
        }
    }

    async fn send_as(&self, token: &str, secret: Option<&str>, body: &Value) -> Answer {
        let mut headers = vec![
            ("matins-runtime-protocol", "1"),
            ("matins-runtime-worker", WORKER),
        ];
        headers.extend(secret.map(|secret| ("matins-run-secret", secret)));
        let path = format!("/runtime/runs/{}/tools", self.run);
        self.world
            .request_as(token, "POST", &path, Some(body), &headers)
            .await
    }

    async fn send(&self, body: &Value) -> Answer {
        self.send_as(&self.token, Some(self.secret.reveal()), body)
            .await
    }

    /// Sends a message with a file, whose content follows the line.
    async fn send_file(&self, body: &Value, content: &str) -> Answer {
        let request = Request::builder()
            .method("POST")
            .uri(format!("/api/v1/runtime/runs/{}/tools/file", self.run))
            .header("host", "localhost:7347")
            .header("authorization", format!("Bearer {}", self.token))
            .header("matins-runtime-protocol", "1")
            .header("matins-runtime-worker", WORKER)
            .header("matins-run-secret", self.secret.reveal())
            .header("content-type", "application/octet-stream");
        let body = Body::from(format!("{body}\n{content}"));
        self.world.send(request.body(body).unwrap()).await
    }
}

pub(crate) async fn message_of_agent_needs_secret_of_its_run(world: &World) {
    let turn = Turn::begin(world).await;
    let body = json!({ "message": {}, "call": 3, "key_of_a_later_version": true });
    let answered = turn.send(&body).await.expect(200);
    let expected = json!({ "access": "all", "calls": 2 });
    assert_eq!(answered, json!({ "status": "answer", "message": expected }));
    let notification = json!({ "message": "notification" });
    let answered = turn.send(&notification).await.expect(200);
    assert_eq!(answered["message"], Value::Null);
    // 1. Without a secret, and with a text that is none.
    let refused = turn.send_as(&turn.token, None, &body).await;
    assert!(refused.problem(400).contains("`matins-run-secret`"));
    let mistyped = format!("{}x", &turn.secret.reveal()[..52]);
    let refused = turn.send_as(&turn.token, Some(&mistyped), &body).await;
    let detail = refused.problem(400);
    assert!(detail.contains("`matins-run-secret`") && !detail.contains(&mistyped));
    // 2. With the secret of another run, the tools answer that the turn is over.
    let other = RunSecret::generate(&SeededEntropy::new(15));
    let answered = turn.send_as(&turn.token, Some(other.reveal()), &body).await;
    let error = answered.expect(200)["message"]["error"].clone();
    assert!(error.as_str().unwrap().contains("is over"), "{error}");
    // 3. With another token, the run does not exist.
    let member = turn.world.token(Role::Member, None).await;
    let refused = turn.send_as(&member, Some(turn.secret.reveal()), &body);
    refused.await.problem(403);
    let stranger = turn.world.seeded_runtime_token("desk", 16).await;
    let answered = turn.send_as(&stranger, Some(turn.secret.reveal()), &body);
    assert_eq!(answered.await.expect(200), json!({ "status": "over" }));
}

pub(crate) async fn file_of_agent_follows_the_line_of_its_request(world: &World) {
    let turn = Turn::begin(world).await;
    let save = json!({ "save": "report.md" });
    // 1. The tool needs the file, and has saved nothing.
    let needed = turn.send(&json!({ "message": save })).await.expect(200);
    assert_eq!(
        needed,
        json!({ "status": "send_file", "path": "report.md" })
    );
    // 2. A file of another size, or another file, is not saved.
    let sent = |path: &str, size: u64| json!({ "status": "sent", "path": path, "size": size });
    let short = json!({ "message": save, "file": sent("report.md", 7) });
    let answered = turn.send_file(&short, "report").await.expect(200);
    let error = answered["message"]["error"].as_str().unwrap();
    assert!(error.contains("changed while it was read"), "{error}");
    let other = json!({ "message": save, "file": sent("secret", 6) });
    let needed = turn.send_file(&other, "secret").await.expect(200);
    assert_eq!(needed["status"], "send_file");
    let failure = json!({ "kind": "path", "path": "report.md", "problem": "it is a FIFO" });
    let failed = json!({ "message": save, "file": { "status": "failed", "reason": failure } });
    let answered = turn.send(&failed).await.expect(200);
    let error = answered["message"]["error"].as_str().unwrap();
    assert_eq!(error, "invalid path `report.md`: it is a FIFO");
    // 3. The file is saved, once however often it is sent.
    let whole = json!({ "message": save, "file": sent("report.md", 6) });
    for _ in 0..2 {
        let answered = turn.send_file(&whole, "report").await.expect(200);
        assert_eq!(answered["message"], json!({ "version": 1 }));
    }
    // 4. A content for the agent follows the line of the response.
    let get = json!({ "get": "copy.md" });
    let got = turn.send(&json!({ "message": get })).await;
    assert_eq!(got.header("content-type"), "application/octet-stream");
    let (line, content) = got.text.split_once('\n').unwrap();
    let reply: Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&reply["status"], &reply["path"]),
        (&json!("write_file"), &json!("copy.md"))
    );
    assert_eq!(reply["message"], json!({ "is_file": true }));
    assert_eq!((content, &reply["size"]), ("report", &json!(6)));
    let failure = json!({ "kind": "exists", "path": "copy.md" });
    let failed = json!({ "message": get, "file": { "status": "failed", "reason": failure } });
    let answered = turn.send(&failed).await.expect(200);
    let error = answered["message"]["error"].as_str().unwrap();
    assert_eq!(error, "`copy.md` exists with other content");
    // 5. A body without its line, or without its file.
    turn.send_file(&json!({}), "").await.problem(400);
    let nothing = turn.send_file(&json!({ "message": save }), "report").await;
    assert!(nothing.problem(400).contains("`file`"));
}
