//! Broken connections and unreachable servers.

use api_types::ExportFormat;
use client::Error;
use futures::TryStreamExt as _;
use serde_json::json;
use tokio::net::TcpListener;

use crate::servers::{client_at, json, serve_responses};

fn key(request: &str) -> Option<&str> {
    let mut lines = request.lines();
    lines.find_map(|line| line.strip_prefix("idempotency-key: "))
}

#[tokio::test]
async fn creating_request_is_retried_with_same_key_after_disconnect() {
    let created = json(&json!({ "path": "/sign-in", "expires_at": "2026-05-04T09:00:00Z" }));
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\"".to_vec();
    let (address, asked) = serve_responses(vec![Vec::new(), cut, created]).await;
    let error = client_at(address).fire_automation("a").await.unwrap_err();
    // The last response is complete, but its body is not a run.
    assert!(matches!(error, Error::Malformed { status: 200, .. }));
    let asked = asked.await.unwrap();
    let keys: Vec<_> = asked.iter().map(|asked| key(asked).unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test]
async fn change_without_key_is_not_retried() {
    let (address, asked) = serve_responses(vec![Vec::new()]).await;
    let error = client_at(address).pause_automation("a").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(asked.await.unwrap().len(), 1);
}

#[tokio::test]
async fn read_request_is_retried_after_disconnect() {
    let server = json!({ "version": "1", "serves": false, "now": "2026-05-04T09:00:00Z" });
    let (address, asked) = serve_responses(vec![Vec::new(), json(&server)]).await;
    assert_eq!(client_at(address).server().await.unwrap().version, "1");
    assert_eq!(asked.await.unwrap().len(), 2);
}

#[tokio::test]
async fn unreachable_server_is_named_in_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = client_at(address).server().await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot reach http://{address}"));
    let cause = std::error::Error::source(&error).unwrap();
    assert!(!format!("{cause:?}").contains("mat_secret"));
}

#[tokio::test]
async fn truncated_export_ends_with_error() {
    let cut = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabc\n\r\n".to_vec();
    let (address, _asked) = serve_responses(vec![cut]).await;
    let client = client_at(address);
    let body = client.export_session("s", ExportFormat::Jsonl, None).await;
    let mut body = body.unwrap();
    assert_eq!(body.try_next().await.unwrap().unwrap(), "abc\n");
    body.try_next().await.unwrap_err();
}
