//! A receiver on this machine that sends a fixed response.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Timestamp, signing_secret::SigningSecret};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};
use webhook::Sender;

/// The time limit of a request: longer than any successful test takes.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// A received request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    pub(crate) requests: mpsc::UnboundedReceiver<Request>,
    server_task: tokio::task::JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server_task.abort();
    }
}

impl Receiver {
    /// Starts a receiver that answers each request with these bytes and then closes the connection. With `None`, the
    /// receiver never answers and keeps the connection open.
    pub(crate) async fn new(answer: impl Into<Option<String>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let answer = Arc::new(answer.into());
        let serving = tokio::spawn(async move {
            let mut open = Vec::new();
            loop {
                let (mut connection, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut connection).await else {
                    continue;
                };
                sender.send(request).ok();
                match &*answer {
                    Some(answer) => {
                        // The write fails if the sender stops reading early, which some tests expect.
                        connection.write_all(answer.as_bytes()).await.ok();
                        connection.shutdown().await.ok();
                    }
                    None => open.push(connection),
                }
            }
        });
        Self {
            address: at,
            requests,
            server_task: serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Returns `true` if no request has arrived. The caller must wait for the result of its sender first, because a
    /// request arrives before its response.
    pub(crate) fn has_no_requests(&mut self) -> bool {
        self.requests.try_recv().is_err()
    }
}

async fn read(connection: &mut tokio::net::TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        // A TLS handshake never contains the end of a head, so stop waiting for it.
        let count = connection.read_buf(&mut bytes).await.ok()?;
        if count == 0 || !bytes.starts_with(b"POST") {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        connection.read_buf(&mut body).await.ok()?;
    }
    Some(Request {
        line,
        headers,
        body,
    })
}

pub(crate) fn ok_response(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub(crate) fn secret() -> SigningSecret {
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap()
}

pub(crate) fn now() -> Timestamp {
    "2026-11-22T08:00:00.5Z".parse().unwrap()
}

pub(crate) fn sender(allowed: &str) -> Sender {
    Sender::new(allowed.parse().unwrap(), SEND_TIMEOUT).unwrap()
}

pub(crate) async fn send(
    sender: &Sender,
    url: &str,
) -> Result<webhook::Answer, webhook::SendError> {
    sender
        .send(url, &[&secret()], "dlv_1", r#"{"a":1}"#, now())
        .await
}
