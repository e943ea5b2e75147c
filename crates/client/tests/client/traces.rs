//! Traces that reconnect after a broken connection.

use api_types::{ProblemKind, TraceEvent};
use client::{Error, ServerEvent, Trace, TraceItem, TraceSubject};
use serde_json::json;
use tokio::net::TcpListener;

use crate::servers::{client_at, json, serve_responses};

fn stream(events: &str) -> Vec<u8> {
    let head =
        "HTTP/1.1 200 OK\r\nmatins-api-version: 2\r\ncontent-type: text/event-stream\r\n\r\n";
    format!("{head}{events}").into_bytes()
}

fn not_found() -> Vec<u8> {
    let body = json!({
        "type": "", "kind": "not-found", "title": "", "status": 404,
        "detail": "session `s` not found",
    })
    .to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 404 Not Found\r\nmatins-api-version: 2\r\ncontent-type: application/problem+json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

async fn next_event(trace: &mut Trace) -> ServerEvent {
    match trace.next().await.unwrap() {
        TraceItem::Event(event) => event.frame,
        TraceItem::Disconnected { cause, .. } => panic!("{cause:?}"),
    }
}

async fn expect_disconnect(trace: &mut Trace) {
    let item = trace.next().await.unwrap();
    assert!(matches!(item, TraceItem::Disconnected { .. }), "{item:?}");
}

/// Returns the target and the last event ID of a request, which determine the first event of the stream.
fn resume_position(request: &str) -> (String, Option<String>) {
    let mut lines = request.lines();
    let target = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let id = lines.find_map(|line| line.strip_prefix("last-event-id: "));
    (target, id.map(str::to_owned))
}

#[tokio::test]
async fn event_of_unknown_kind_is_received_without_type() {
    let known = json!({
        "kind": "run", "seq": 6, "created_at": "2026-05-04T09:00:00Z", "added_later": 1,
        "run_id": "run_0197f3c2a9d07cc1a1b2c3d4e5f60001",
        "change": { "status": "succeeded", "attempt": 1, "added_later": {} },
    });
    let later = json!({ "kind": "added_later", "seq": 7 });
    let (address, _) = serve_responses(vec![stream(&format!(
        "id: 6\nevent: run\ndata: {known}\n\nid: 7\nevent: added_later\ndata: {later}\n\n"
    ))])
    .await;
    let mut trace = client_at(address).trace(TraceSubject::All, None);
    let mut received = Vec::new();
    while received.len() < 2 {
        if let TraceItem::Event(event) = trace.next().await.unwrap() {
            received.push(event);
        }
    }
    let Some(TraceEvent::Run(run)) = &received[0].event else {
        panic!("{received:?}");
    };
    assert_eq!((run.seq, run.change.tag()), (6, "succeeded"));
    assert_eq!(received[1].event, None);
    assert_eq!(received[1].frame.last_event_id, "7");
}

#[tokio::test]
async fn client_trace_resumes_after_last_complete_event() {
    let (address, asked) = serve_responses(vec![
        stream(
            "retry: 1\n\nid: 6\nevent: run\ndata: {}\n\nevent: delta\ndata: a\n\nid: 7\ndata: cut",
        ),
        Vec::new(),
        stream("id: 7\nevent: message\ndata: whole\n\n"),
        not_found(),
    ])
    .await;
    let of = TraceSubject::Session("web:s".into());
    let mut trace = client_at(address).trace(of, Some("5".into()));
    assert_eq!(next_event(&mut trace).await.event, "run");
    assert_eq!(next_event(&mut trace).await.last_event_id, "6");
    // The end of a stream yields no item, but a broken connection does.
    expect_disconnect(&mut trace).await;
    assert_eq!(next_event(&mut trace).await.data, "whole");
    let error = trace.next().await.unwrap_err();
    assert_eq!(error.kind(), Some(ProblemKind::NotFound));
    let asked: Vec<_> = asked
        .await
        .unwrap()
        .iter()
        .map(|it| resume_position(it))
        .collect();
    let path = "/api/v1/sessions/web%3as/trace";
    let six = Some("6".to_owned());
    assert_eq!(
        asked,
        [
            (format!("{path}?after=5"), None),
            (path.to_owned(), six.clone()),
            (path.to_owned(), six),
            (path.to_owned(), Some("7".to_owned())),
        ]
    );
}

#[tokio::test]
async fn trace_of_unreachable_server_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut trace = client_at(address).trace(TraceSubject::All, None);
    let error = trace.next().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn trace_of_non_stream_response_fails() {
    let (address, _asked) = serve_responses(vec![json(&json!({}))]).await;
    let of = TraceSubject::Automation("a".into());
    let error = client_at(address).trace(of, None).next().await;
    assert!(matches!(error, Err(Error::Malformed { .. })), "{error:?}");
}
