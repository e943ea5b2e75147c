//! A local server with the parts of the models' APIs that real agents need.
//!
//! Each answer has the number of the person's requests in the prompt and quotes them, so that a test can see whether an
//! agent remembers its session: `I was shown 2 requests: [1] Remember the heron. [2] And now?`. The server has the
//! four APIs that agents use, with and without streaming. The model calls a tool for each line of the message that says
//! so, one after the other: `call NAME ARGUMENTS`. With a script, it makes the calls of the first [`ScriptRule`] whose texts
//! are all in the newest prompt that has such a rule.

mod chat;
mod generate_content;
mod http;
mod messages;
mod model_request;
mod responses;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use http::{Request, Response};
use model_request::Reply;
pub use model_request::{ScriptRule, ScriptStep};

/// A running server. Drop stops it.
#[derive(Debug)]
pub struct ModelServer {
    port: u16,
    seen_requests: Arc<Mutex<Vec<SeenRequest>>>,
    answers_paused: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// A request that the server has received.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenRequest {
    /// The path, such as `/v1/responses`.
    pub path: String,
    /// The first line of each message of the user, oldest first.
    pub user_texts: Vec<String>,
    /// The place of the request in the script. `None` if the answer has nothing to do with it.
    pub step: Option<ScriptStep>,
    /// The whole body.
    pub body: Value,
}

impl ModelServer {
    /// Starts a server on a free port of the loopback interface.
    pub async fn start() -> io::Result<Self> {
        Self::start_with_script(Vec::new()).await
    }

    /// Starts a server whose model plays a script.
    pub async fn start_with_script(script: Vec<ScriptRule>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let paused = watch::Sender::new(false);
        let accepting = accept(
            listener,
            Arc::clone(&seen),
            script.into(),
            paused.subscribe(),
        );
        let task = tokio::spawn(accepting);
        Ok(Self {
            port,
            seen_requests: seen,
            answers_paused: paused,
            task,
        })
    }

    /// Returns the server's address without a path, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Pauses the model's answers, or resumes them. [`ModelServer::seen_requests`] has paused requests too.
    pub fn pause_answers(&self, pause: bool) {
        self.answers_paused.send_replace(pause);
    }

    /// Returns all requests for an answer so far, in the order of their arrival.
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
    script: Arc<[ScriptRule]>,
    paused: watch::Receiver<bool>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
        let mut paused = paused.clone();
        // Ignore an error of the connection, because it concerns only its client.
        tokio::spawn(async move {
            let answer = async |request: Request| {
                let response = answer(&request, &seen, &script);
                if request.method == "POST" {
                    paused.wait_for(|paused| !paused).await.ok();
                }
                response
            };
            http::serve(stream, answer).await
        });
    }
}

fn answer(request: &Request, seen: &Mutex<Vec<SeenRequest>>, script: &[ScriptRule]) -> Response {
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
        chat::parse_request(&body, script)
    } else if request.path.ends_with("/responses") {
        responses::parse_request(&body, script)
    } else if request.path.ends_with("/messages") {
        messages::parse_request(&body, script)
    } else if request.path.ends_with(":generateContent") {
        generate_content::parse_request(&body, script)
    } else if request.path.ends_with(":streamGenerateContent") {
        generate_content::parse_stream_request(&body, script)
    } else {
        return Response::error(404, &format!("unknown path {}", request.path));
    };
    let reply = match call.next.call {
        Some(tool) => Reply::Call(tool),
        None => Reply::Text(quote_user_texts(&call.user_texts)),
    };
    let response = (call.format_response)(&body, &reply);
    lock(seen).push(SeenRequest {
        path: request.path.clone(),
        user_texts: call.user_texts,
        step: call.next.step,
        body,
    });
    response
}

fn quote_user_texts(texts: &[String]) -> String {
    let quotes: Vec<_> = (1..)
        .zip(texts)
        .map(|(number, text)| format!("[{number}] {text}"))
        .collect();
    format!("I was shown {} requests: {}", texts.len(), quotes.join(" "))
}
