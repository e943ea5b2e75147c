use std::{collections::VecDeque, fs, os::unix::fs::symlink, path::Path, sync::Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use client::Client;
use model::{RunId, WorkerId};
use runtime_api::tools::{FileFailure, FileReport, SECRET_HEADER, ToolsReply, ToolsRequest, line};
use serde_json::json;
use tempfile::TempDir;
use testkit::clock::SeededEntropy;
use tokio::io::{DuplexStream, Lines, duplex, split};
use uuid::Uuid;

use super::*;

/// A response of the server.
enum Reply {
    Json(ToolsReply),
    Content(ToolsReply, &'static [u8]),
    Status(u16, &'static str),
}

/// A request as the server got it.
#[derive(Debug)]
struct Received {
    path: String,
    secret: String,
    request: ToolsRequest,
    content: Vec<u8>,
}

/// A server that replies as it is told, the last reply again and again.
#[derive(Default)]
struct FakeServer {
    replies: Mutex<VecDeque<Reply>>,
    received: Mutex<Vec<Received>>,
}

async fn receive(State(server): State<Arc<FakeServer>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let end = body.iter().position(|byte| *byte == b'\n');
    let (first, content) = body.split_at(end.unwrap_or(body.len()));
    server.received.lock().unwrap().push(Received {
        path: head.uri.path().to_owned(),
        secret: head.headers[SECRET_HEADER].to_str().unwrap().to_owned(),
        request: serde_json::from_slice(first).unwrap(),
        content: content.get(1..).unwrap_or_default().to_vec(),
    });
    let mut replies = server.replies.lock().unwrap();
    let respond = |reply: &Reply| match reply {
        Reply::Json(reply) => axum::Json(reply).into_response(),
        Reply::Content(reply, content) => {
            Body::from([&line(reply).unwrap()[..], content].concat()).into_response()
        }
        Reply::Status(status, text) => {
            let status = axum::http::StatusCode::from_u16(*status).unwrap();
            (status, *text).into_response()
        }
    };
    match replies.len() {
        0 | 1 => respond(&replies[0]),
        _ => respond(&replies.pop_front().unwrap()),
    }
}

/// An agent that is connected to its tools.
struct World {
    home: TempDir,
    server: Arc<FakeServer>,
    secret: RunSecret,
    ended: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    lines: Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    input: tokio::io::WriteHalf<DuplexStream>,
}

fn run() -> RunId {
    RunId::from_uuid(Uuid::from_u128(1))
}

fn forwarder(server: &Arc<FakeServer>, retry_timeout: Duration) -> ToolForwarder {
    let routes = Router::new()
        .fallback(receive)
        .with_state(Arc::clone(server));
    let client = Client::in_process(routes, Arc::new(SeededEntropy::new(1)));
    let worker = WorkerId::from_stored("laptop-1-00000001".into());
    ToolForwarder {
        client: client.runtime(worker),
        retries: Retries {
            timeout: retry_timeout,
            pause: Duration::from_millis(1),
        },
    }
}

impl World {
    async fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with_retries(Duration::from_secs(30), replies).await
    }

    async fn with_retries(
        retry_timeout: Duration,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let server = Arc::new(FakeServer {
            replies: Mutex::new(replies.into_iter().collect()),
            ..FakeServer::default()
        });
        let secret = RunSecret::generate(&SeededEntropy::new(2));
        let granted = GrantedRun::new(run(), &secret, home.path().join("work"));
        let forwarder = forwarder(&server, retry_timeout);
        let opened = forwarder.open(granted, secret.clone()).await;
        let serve = opened.map_err(|_| "refused").unwrap();
        let (agent, socket) = duplex(1 << 16);
        let (reader, writer) = split(socket);
        let connection = AgentConnection {
            reader: Box::new(reader),
            writer: Box::new(writer),
        };
        let ended = CancellationToken::new();
        let task = tokio::spawn(serve(connection, ended.clone()));
        let (reader, input) = split(agent);
        Self {
            home,
            server,
            secret,
            ended,
            task,
            lines: BufReader::new(reader).lines(),
            input,
        }
    }

    fn work(&self) -> std::path::PathBuf {
        self.home.path().join("work")
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Calls a tool, and returns the structured answer.
    async fn call(&mut self) -> Value {
        self.send(&call()).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    fn received(&self) -> Vec<Received> {
        std::mem::take(&mut self.server.received.lock().unwrap())
    }
}

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remember"}})
}

/// The reply to [`call`] with this answer of the tool.
fn answered(answer: &Value) -> ToolsReply {
    let result = json!({ "structuredContent": answer });
    ToolsReply::Answer {
        message: Some(json!({"jsonrpc": "2.0", "id": 1, "result": result})),
    }
}

fn ok() -> Reply {
    Reply::Json(answered(&json!({"ok": true})))
}

#[tokio::test]
async fn connection_with_wrong_secret_is_refused_without_a_request() {
    let server = Arc::new(FakeServer::default());
    let secret = RunSecret::generate(&SeededEntropy::new(2));
    let other = RunSecret::generate(&SeededEntropy::new(3));
    let granted = GrantedRun::new(run(), &secret, "/work".into());
    let forwarder = forwarder(&server, Duration::ZERO);
    let refused = forwarder.open(granted, other).await;
    assert_eq!(refused.err().as_deref(), Some(RUN_OVER));
    assert!(server.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn messages_are_forwarded_with_secret_and_number_of_call() {
    let mut world = World::new([ok()]).await;
    world
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .await;
    world.answer().await;
    // Neither a notification nor a broken line is a request.
    world
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    world.input.write_all(b"{\n\n").await.unwrap();
    assert_eq!(world.call().await, json!({"ok": true}));
    assert_eq!(world.call().await, json!({"ok": true}));
    let received = world.received();
    let calls: Vec<_> = received.iter().map(|it| it.request.call).collect();
    assert_eq!(calls, [None, Some(1), Some(2)]);
    for it in &received {
        assert_eq!(it.path, format!("/api/v1/runtime/runs/{}/tools", run()));
        assert_eq!(it.secret, world.secret.reveal());
        assert!(!format!("{:?}", it.request).contains(world.secret.reveal()));
    }
    assert_eq!(received[1].request.message, call());
    // The agent closes its side, and gets the answers that are under way.
    world.send(&call()).await;
    world.input.shutdown().await.unwrap();
    assert_eq!(world.answer().await["id"], 1);
    assert!(world.lines.next_line().await.unwrap().is_none());
    world.task.await.unwrap();
}

#[tokio::test]
async fn end_of_turn_closes_the_connection() {
    let mut world = World::new([ok()]).await;
    world.call().await;
    world.ended.cancel();
    world.task.await.unwrap();
    assert!(world.lines.next_line().await.unwrap().is_none());
}

#[tokio::test]
async fn call_is_repeated_with_its_number_until_the_server_is_back() {
    let away = [
        Reply::Status(502, "<html>bad gateway</html>"),
        Reply::Status(503, r#"{"detail": "the database is away"}"#),
        Reply::Status(200, "<html>maintenance</html>"),
    ];
    let mut world = World::new(away.into_iter().chain([ok()])).await;
    assert_eq!(world.call().await, json!({"ok": true}));
    let received = world.received();
    assert_eq!(received.len(), 4);
    for it in received {
        assert_eq!((it.request.call, it.request.message), (Some(1), call()));
    }
}

#[tokio::test]
async fn server_that_stays_away_is_an_error_that_says_so() {
    let mut world =
        World::with_retries(Duration::from_millis(20), [Reply::Status(503, "away")]).await;
    let answer = world.call().await;
    assert_eq!(
        (&answer["ok"], &answer["error"]),
        (&json!(false), &json!("unavailable"))
    );
    assert_eq!(answer["message"], "Matins cannot reach its server");
    assert_eq!(answer["calls_left"], 199);
    // Another request gets an error of the protocol.
    world
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .await;
    let answer = world.answer().await;
    assert_eq!(answer["error"]["message"], "Matins cannot reach its server");
}

#[tokio::test]
async fn server_of_other_version_or_lost_run_is_an_error_at_once() {
    for (reply, kind, text) in [
        (
            Reply::Status(404, "not found"),
            "unavailable",
            "older than the runtime",
        ),
        (
            Reply::Json(ToolsReply::Unknown),
            "unavailable",
            "newer than the runtime",
        ),
        (Reply::Json(ToolsReply::Over), "closed", "the turn is over"),
        (
            Reply::Status(401, r#"{"detail": "the token is revoked"}"#),
            "unavailable",
            "the token is revoked",
        ),
    ] {
        let mut world = World::new([reply]).await;
        let answer = world.call().await;
        assert_eq!(answer["error"], kind, "{answer}");
        assert!(
            answer["message"].as_str().unwrap().contains(text),
            "{answer}"
        );
        assert_eq!(world.received().len(), 1);
    }
}

#[tokio::test]
async fn file_of_agent_is_sent_and_link_out_of_its_directory_is_not() {
    let send = |path: &str| Reply::Json(ToolsReply::SendFile { path: path.into() });
    let mut world = World::new([send("report"), ok(), send("link"), ok()]).await;
    let content = "line\n".repeat(100_000);
    fs::write(world.work().join("report"), &content).unwrap();
    fs::write(world.home.path().join("secret"), "secret").unwrap();
    symlink("../secret", world.work().join("link")).unwrap();
    assert_eq!(world.call().await, json!({"ok": true}));
    let [asked, sent] = &world.received()[..] else {
        panic!("two requests")
    };
    assert_eq!(asked.request.file, None);
    assert!(sent.path.ends_with("/tools/file"));
    assert_eq!(
        (sent.request.call, &sent.request.message),
        (Some(1), &call())
    );
    let report = FileReport::Sent {
        path: "report".into(),
        size: 500_000,
    };
    assert_eq!(sent.request.file, Some(report));
    assert_eq!(sent.content, content.as_bytes());

    world.call().await;
    let [_, failed] = &world.received()[..] else {
        panic!("two requests")
    };
    let Some(FileReport::Failed {
        reason: FileFailure::Path { path, problem },
    }) = &failed.request.file
    else {
        panic!("{failed:?}")
    };
    assert_eq!(path, "link");
    assert!(problem.contains("symbolic link"), "{problem}");
    assert!(failed.content.is_empty());
}

#[tokio::test]
async fn content_for_agent_is_written_and_never_over_another_file() {
    let hash = "f9bfccc5b5b76a2f51bc1cbd7bfd1a3d7b5cd1ea9ba8a91d0ba4ac9b0b9bcbdb";
    let write = |hash: &str, content| {
        let reply = ToolsReply::WriteFile {
            path: "copy".into(),
            size: 6,
            sha256: hash.into(),
            message: json!({"id": 1, "result": {"structuredContent": {"path": "copy"}}}),
        };
        Reply::Content(reply, content)
    };
    let of_report = artifacts_hash(b"report");
    // A content that breaks off, or another one, is asked for again.
    let replies = [
        write(&of_report, &b"rep"[..]),
        write(hash, b"report"),
        write(&of_report, b"report"),
    ];
    let mut world = World::new(replies).await;
    assert_eq!(world.call().await, json!({"path": "copy"}));
    let copy = world.work().join("copy");
    assert_eq!(fs::read(&copy).unwrap(), b"report");
    assert_eq!(world.received().len(), 3);
    // The same content is there already.
    assert_eq!(world.call().await, json!({"path": "copy"}));
    world.received();
    // Another content is there: the server says so to the agent.
    fs::write(&copy, "mine").unwrap();
    *world.server.replies.lock().unwrap() = VecDeque::from([write(&of_report, b"report"), ok()]);
    assert_eq!(world.call().await, json!({"ok": true}));
    let [_, failed] = &world.received()[..] else {
        panic!("two requests")
    };
    let reason = FileFailure::Exists {
        path: "copy".into(),
    };
    assert_eq!(failed.request.file, Some(FileReport::Failed { reason }));
    assert_eq!(fs::read(&copy).unwrap(), b"mine");
}

/// Returns the SHA-256 of a content, as a data folder computes it.
fn artifacts_hash(content: &[u8]) -> String {
    let home = tempfile::tempdir().unwrap();
    let folder = artifacts::ContentFolder::new(Path::new(home.path()).join("artifacts"));
    let text = std::str::from_utf8(content).unwrap();
    let tenant = model::TenantId::from_uuid(Uuid::from_u128(1));
    folder.store_text(tenant, text).unwrap().sha256.to_string()
}
