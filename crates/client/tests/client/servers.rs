//! Servers that record their requests, and servers that break connections.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use client::Client;
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::Value;
use testkit::clock::SeededEntropy;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// A request that a server received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A server that records each request and answers all of them with the same response.
#[derive(Clone)]
pub(crate) struct Echo {
    answer: Arc<dyn Fn() -> Response + Send + Sync>,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Echo {
    pub(crate) fn responding<R: IntoResponse>(
        answer: impl Fn() -> R + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(move || answer().into_response()),
            requests: Arc::default(),
        }
    }

    pub(crate) fn routes(&self) -> Router {
        async fn any(
            State(echo): State<Echo>,
            method: Method,
            uri: Uri,
            headers: HeaderMap,
            body: Bytes,
        ) -> Response {
            echo.requests.lock().unwrap().push(RecordedRequest {
                method,
                target: uri.path_and_query().unwrap().to_string(),
                headers,
                body: serde_json::from_slice(&body).unwrap_or_default(),
            });
            let mut response = (echo.answer)();
            let version = HeaderValue::from(api_types::API_VERSION);
            let headers = response.headers_mut();
            headers
                .entry(api_types::API_VERSION_HEADER)
                .or_insert(version);
            response
        }
        Router::new().fallback(any).with_state(self.clone())
    }

    /// Returns a client that calls the server in the same process.
    pub(crate) fn client(&self) -> Client {
        Client::in_process(self.routes(), entropy())
    }

    pub(crate) fn recorded_requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn only_request(&self) -> RecordedRequest {
        let [asked] = self.recorded_requests().try_into().unwrap();
        asked
    }
}

pub(crate) fn entropy() -> Arc<SeededEntropy> {
    Arc::new(SeededEntropy::new(7))
}

pub(crate) fn client_at(address: SocketAddr) -> Client {
    Client::with_address(&format!("http://{address}"), "mat_secret", entropy()).unwrap()
}

/// Answers one connection after the other with these bytes and closes each. An empty response is a broken connection.
/// The task returns the requests when all responses are sent.
pub(crate) async fn serve_responses(
    answers: Vec<Vec<u8>>,
) -> (SocketAddr, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            asked.push(read_request(&mut stream).await);
            stream.write_all(&answer).await.unwrap();
            stream.shutdown().await.ok();
        }
        asked
    });
    (address, task)
}

/// Reads a request with its body.
async fn read_request(stream: &mut tokio::net::TcpStream) -> String {
    let mut read = Vec::new();
    loop {
        let mut part = [0; 1024];
        let bytes = stream.read(&mut part).await.unwrap();
        assert_ne!(bytes, 0, "the request has no end");
        read.extend_from_slice(&part[..bytes]);
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return text;
        }
    }
}

/// Returns a complete response with a JSON body.
pub(crate) fn json(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nmatins-api-version: 2\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
