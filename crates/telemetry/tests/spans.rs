//! Tests that spans reach a collector, and that an unreachable or unresponsive collector blocks nothing.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use telemetry::Spans;
use tracing_subscriber::layer::SubscriberExt as _;

/// The maximum duration of a test's work, also on a busy machine: longer than `shut_down` waits for the last batch, and
/// shorter than the time limit of one batch.
const MAX_SHUTDOWN_TIME: Duration = Duration::from_secs(4);

/// A received request.
struct Request {
    head: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn body_contains(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.body.windows(text.len()).any(|part| part == text)
    }
}

/// Starts a collector that takes one batch.
fn collector() -> (String, JoinHandle<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let taking = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
        let length = head
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        (&stream).write_all(response).unwrap();
        Request { head, body }
    });
    (endpoint, taking)
}

fn record_turns(spans: &Spans, count: u32) {
    let subscriber = tracing_subscriber::registry().with(spans.layer());
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..count {
            let turn = tracing::info_span!(target: "daemon::turns", "turn", run = "run_1");
            let _entered = turn.entered();
            tracing::error!(target: "daemon::turns", "output of an agent");
            tracing::info_span!(target: "hyper::proto", "not ours").in_scope(|| {});
            tracing::debug_span!(target: "daemon::turns", "too small").in_scope(|| {});
        }
    });
}

#[test]
fn collector_receives_spans_with_fields_and_no_events() {
    let (endpoint, taking) = collector();
    // The slash at the end must not be doubled in the path.
    let spans = Spans::export_to(&format!("{endpoint}/"), "matins", "1.2.3").unwrap();
    record_turns(&spans, 1);
    spans.shut_down();
    let request = taking.join().unwrap();
    assert_eq!(request.head[0], "post /v1/traces http/1.1");
    let kind = "content-type: application/x-protobuf".to_owned();
    assert!(request.head.contains(&kind), "{:?}", request.head);
    for sent in ["turn", "run", "run_1", "service.name", "matins", "1.2.3"] {
        assert!(request.body_contains(sent), "{sent}");
    }
    for dropped in ["output of an agent", "not ours", "too small"] {
        assert!(!request.body_contains(dropped), "{dropped}");
    }
}

#[test]
fn unreachable_collector_does_not_block() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let began = Instant::now();
    let spans = Spans::export_to(&endpoint, "matins", "0").unwrap();
    record_turns(&spans, 10_000);
    spans.shut_down();
    assert!(began.elapsed() < MAX_SHUTDOWN_TIME, "{:?}", began.elapsed());
}

#[test]
fn unresponsive_collector_does_not_block() {
    // The operating system accepts connections for the listener, although the test never reads from them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let began = Instant::now();
    let spans = Spans::export_to(&endpoint, "matins", "0").unwrap();
    record_turns(&spans, 10_000);
    spans.shut_down();
    assert!(began.elapsed() < MAX_SHUTDOWN_TIME, "{:?}", began.elapsed());
    // The exporter has connected, so an unresponsive collector could have blocked it.
    listener.set_nonblocking(true).unwrap();
    listener.accept().unwrap();
}

#[test]
fn invalid_collector_endpoint_is_named_in_error() {
    let error = Spans::export_to("http://[", "matins", "0").unwrap_err();
    assert_eq!(error.to_string(), "cannot export traces to `http://[`");
}
