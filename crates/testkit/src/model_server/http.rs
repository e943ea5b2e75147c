//! The part of HTTP/1.1 that one request and one response on a connection need.

use std::io;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// The maximum size of a request's body, in bytes. Agents send some tens of kilobytes.
const MAX_BODY_BYTES: usize = 16 << 20;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

pub(super) struct Response {
    status: u16,
    content_type: &'static str,
    body: String,
}

impl Response {
    pub(super) fn json(body: &Value) -> Self {
        Self {
            status: 200,
            content_type: "application/json",
            body: body.to_string(),
        }
    }

    /// Returns a response with server-sent events. Each element has the lines of one event.
    pub(super) fn events(events: &[String]) -> Self {
        Self {
            status: 200,
            content_type: "text/event-stream",
            body: events.join("\n\n") + "\n\n",
        }
    }

    /// Returns a response with server-sent events that are named by their `type`.
    pub(super) fn named_events(events: &[Value]) -> Self {
        let events: Vec<_> = events
            .iter()
            .map(|event| {
                let name = event["type"].as_str().unwrap_or_default();
                format!("event: {name}\ndata: {event}")
            })
            .collect();
        Self::events(&events)
    }

    pub(super) fn error(status: u16, message: &str) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: json!({"error": {"message": message}}).to_string(),
        }
    }
}

/// Reads one request, sends the response and closes the connection.
pub(super) async fn serve(
    stream: TcpStream,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let response = match read(&mut stream).await {
        Ok(request) => answer(request).await,
        Err(error) => Response::error(400, &error.to_string()),
    };
    let head = format!(
        "HTTP/1.1 {} -\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        response.status,
        response.content_type,
        response.body.len(),
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(response.body.as_bytes()).await?;
    stream.shutdown().await
}

async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Request> {
    let refuse = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message.to_owned());
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(refuse("the request line is incomplete"));
    };
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let method = method.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value
                .trim()
                .parse()
                .map_err(|_| refuse("content-length is not a number"))?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(refuse("the body needs a content-length"));
        }
    }
    if length > MAX_BODY_BYTES {
        return Err(refuse("the body is larger than 16 MiB"));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Request { method, path, body })
}
