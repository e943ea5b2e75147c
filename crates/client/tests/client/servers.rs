//! Servers that say what they were asked, and servers that break.

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
use http::{HeaderMap, Method, Uri};
use serde_json::Value;
use testkit::clock::SeededEntropy;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// What a server was asked.
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

/// A server that answers whatever it is asked in one way.
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
            (echo.answer)()
        }
        Router::new().fallback(any).with_state(self.clone())
    }

    /// A client that reaches it without leaving the process.
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

/// Answers one connection after the other with these bytes, whatever is asked, and closes each; an empty
/// answer is a connection that breaks. Gives what was asked, as it came, when all are answered.
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

/// A whole answer of JSON.
pub(crate) fn json(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
