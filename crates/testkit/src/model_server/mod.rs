//! A server on this machine that speaks the `OpenAI` API just enough for real agents.
//!
//! It answers with a count and quotes of the requests that it was shown, so a test can see
//! whether an agent remembers: `I was shown 2 requests: [1] Remember the heron. [2] And now?`.
//! Both APIs that agents use are served, with and without streaming.

mod chat;
mod http;
mod model_request;
mod responses;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use http::{Request, Response};

/// A running server; it stops when this is dropped.
#[derive(Debug)]
pub struct ModelServer {
    port: u16,
    seen_requests: Arc<Mutex<Vec<SeenRequest>>>,
    answers_paused: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// One call that reached the server.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRequest {
    /// The path that was asked for, like `/v1/responses`.
    pub path: String,
    /// The first line of each thing that a person asked, oldest first.
    pub user_texts: Vec<String>,
    /// The whole body.
    pub body: Value,
}

impl ModelServer {
    /// Starts a server on a free port of the loopback interface.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let held = watch::Sender::new(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&seen), held.subscribe()));
        Ok(Self {
            port,
            seen_requests: seen,
            answers_paused: held,
            task,
        })
    }

    /// The server's address without a path, like `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Holds back the model's answers, or lets them go on. Calls are seen as they arrive.
    pub fn pause_answers(&self, hold: bool) {
        self.answers_paused.send_replace(hold);
    }

    /// All calls for an answer so far, in the order of their arrival.
    pub fn seen_requests(&self) -> Vec<SeenRequest> {
        lock(&self.seen_requests).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<Vec<SeenRequest>>) -> std::sync::MutexGuard<'_, Vec<SeenRequest>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(
    listener: TcpListener,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
    held: watch::Receiver<bool>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (seen, mut held) = (Arc::clone(&seen), held.clone());
        // A client that hangs up in the middle concerns only that client.
        tokio::spawn(async move {
            let answer = async |request: Request| {
                let response = answer(&request, &seen);
                if request.method == "POST" {
                    held.wait_for(|held| !held).await.ok();
                }
                response
            };
            http::serve(stream, answer).await
        });
    }
}

fn answer(request: &Request, seen: &Mutex<Vec<SeenRequest>>) -> Response {
    if request.method == "GET" && request.path.ends_with("/models") {
        return Response::json(
            &json!({"object": "list", "data": [{"id": "test-model", "object": "model"}]}),
        );
    }
    let body: Value = match serde_json::from_slice(&request.body) {
        Ok(body) => body,
        Err(error) => return Response::error(400, &format!("the body is not JSON: {error}")),
    };
    let call = if request.path.ends_with("/chat/completions") {
        chat::parse_request(&body)
    } else if request.path.ends_with("/responses") {
        responses::parse_request(&body)
    } else {
        return Response::error(404, &format!("nothing is served at {}", request.path));
    };
    let text = quote_user_texts(&call.user_texts);
    let response = (call.format_response)(&body, &text);
    lock(seen).push(SeenRequest {
        path: request.path.clone(),
        user_texts: call.user_texts,
        body,
    });
    response
}

fn quote_user_texts(shown: &[String]) -> String {
    let quotes: Vec<_> = (1..)
        .zip(shown)
        .map(|(number, text)| format!("[{number}] {text}"))
        .collect();
    format!("I was shown {} requests: {}", shown.len(), quotes.join(" "))
}
