//! What cannot be taken.

use axum::body::Body;
use http::Request;
use serde_json::json;

use crate::world::World;

pub(crate) async fn what_cannot_be_taken_is_named(world: &World) {
    let session = world.session().await;
    let say = format!("/sessions/{session}/messages");
    for (path, body, status, named) in [
        ("/sessions", json!({}), 400, "harness"),
        ("/sessions", json!({ "harness": 7 }), 400, "harness"),
        (
            "/sessions",
            json!({ "harness": "goood" }),
            404,
            "did you mean",
        ),
        (
            "/sessions",
            json!({ "harness": "good", "cwd": "here" }),
            422,
            "here",
        ),
        (
            "/sessions",
            json!({ "harness": "good", "titel": "x" }),
            400,
            "titel",
        ),
        (
            "/sessions",
            json!({ "harness": "good", "title": "a\u{0}b" }),
            400,
            "title",
        ),
        (say.as_str(), json!({ "words": "  " }), 422, "words"),
        ("/automations", json!({ "prompt": "x" }), 422, "harness"),
        (
            "/automations",
            json!({ "prompt": "x", "harness": "good", "session": "new" }),
            400,
            "session",
        ),
        (
            "/automations",
            json!({ "prompt": "x", "harness": "good", "triggers": [{ "kind": "rrule" }] }),
            400,
            "triggers",
        ),
        (
            "/automations",
            json!({ "prompt": "x", "harness": "good", "session": "bound:none" }),
            404,
            "none",
        ),
        (
            "/tokens",
            json!({ "name": "x", "role": "owner" }),
            400,
            "role",
        ),
        (
            "/endpoints",
            json!({ "name": "x", "url": "http://127.0.0.1/", "events": ["run.failed"] }),
            422,
            "url",
        ),
        (
            "/endpoints",
            json!({ "name": "x", "url": "https://example.com/", "events": ["run.gone"] }),
            400,
            "events",
        ),
    ] {
        let answer = world.post(path, body.clone()).await;
        let told = answer.problem(status);
        assert!(told.starts_with("failed to "), "{told}");
        assert!(
            answer.text.contains(named),
            "{path} {body}: {}",
            answer.text
        );
    }
    let list = world.get("/sessions").await.expect(200);
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        1,
        "nothing was made"
    );
}

pub(crate) async fn what_is_not_there_is_a_problem_too(world: &World) {
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/sessions/none", 404),
        ("GET", "/runs/%00", 404),
        ("POST", "/runs", 405),
        ("DELETE", "/whoami", 405),
        ("GET", "/sessions?text=%00", 400),
    ] {
        let answer = world.ask_as(&world.admin, method, path, None, &[]).await;
        answer.problem(status);
    }
}

pub(crate) async fn a_body_that_is_too_long_is_refused(world: &World) {
    let session = world.session().await;
    let send = async |kind: Option<&str>, body: Vec<u8>| {
        let mut request = Request::builder()
            .method("POST")
            .uri(format!("/api/v1/sessions/{session}/messages"))
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", world.admin));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        world.send(request.body(Body::from(body)).unwrap()).await
    };
    let long = format!("{{\"words\":\"{}\"}}", "x".repeat(5 << 20));
    let refused = send(Some("application/json"), long.into_bytes()).await;
    assert!(refused.problem(413).contains("4194304"));
    let refused = send(Some("application/json"), b"{".to_vec()).await;
    refused.problem(400);
    let refused = send(Some("application/json"), vec![b'"', 0xff, b'"']).await;
    refused.problem(400);
    send(None, b"{}".to_vec()).await.problem(415);
    send(Some("text/plain"), b"{}".to_vec()).await.problem(415);
    let taken = send(
        Some("application/json; charset=utf-8"),
        br#"{"words":"Hi"}"#.to_vec(),
    );
    taken.await.expect(202);
}
