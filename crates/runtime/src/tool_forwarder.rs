//! The tools of the agents of a runtime: each message of an agent goes to the server in a request of its own, and the answer
//! comes back.
//!
//! **Invariants:** the runtime knows no tool. It proves the secret of a connection by the hash that it has granted, and the
//! server proves it again at each message.

use std::{io, sync::Arc, time::Duration};

use client::RuntimeClient;
use futures::{FutureExt as _, future::BoxFuture};
use model::access::secret::RunSecret;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use turn::{AgentConnection, GrantedRun, RUN_OVER, ServeConnection, ToolServer};

use crate::{
    tool_messages::AgentRequest,
    tool_request::{ForwardedTools, Retries},
};

/// The time that an agent has for its first message.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest message of an agent, in bytes. A longer one is ignored, as the server ignores it at its own socket.
const MAX_MESSAGE_BYTES: u64 = 8 << 20;
/// The highest number of messages of a connection that are answered at a time. The others wait.
const MAX_REQUESTS: usize = 8;

/// Passes the messages of agents on to the server.
pub(crate) struct ToolForwarder {
    pub(crate) client: RuntimeClient,
    pub(crate) retries: Retries,
}

impl ToolServer for ToolForwarder {
    fn open(
        &self,
        run: GrantedRun,
        secret: RunSecret,
    ) -> BoxFuture<'_, Result<ServeConnection, String>> {
        async move {
            if secret.hash() != run.secret_hash {
                return Err(RUN_OVER.into());
            }
            let tools = Arc::new(ForwardedTools {
                client: self.client.clone(),
                run,
                secret,
                retries: self.retries,
            });
            let serve: ServeConnection =
                Box::new(move |agent, ended| serve(tools, agent, ended).boxed());
            Ok(serve)
        }
        .boxed()
    }
}

/// Serves a connection until the agent closes it and has all its answers, or until `ended` is cancelled.
async fn serve(tools: Arc<ForwardedTools>, agent: AgentConnection, ended: CancellationToken) {
    // Dropping what `exchange` holds ends the requests under way. The server commits each before the end of the run, or
    // changes nothing.
    tokio::select! {
        biased;
        () = ended.cancelled() => {}
        exchanged = exchange(tools, agent) => {
            if let Err(error) = exchanged {
                tracing::debug!(%error, "a connection to the tools ended");
            }
        }
    }
}

async fn exchange(tools: Arc<ForwardedTools>, agent: AgentConnection) -> io::Result<()> {
    let AgentConnection { reader, mut writer } = agent;
    let (sender, mut lines) = mpsc::channel(1);
    let reading = tokio::spawn(read_lines(reader, sender));
    let _reading = AbortOnDropHandle::new(reading);
    let mut answers: JoinSet<Option<Value>> = JoinSet::new();
    let first_by = Instant::now() + FIRST_MESSAGE_TIMEOUT;
    let (mut has_begun, mut has_ended) = (false, false);
    while !(has_ended && answers.is_empty()) {
        tokio::select! {
            line = lines.recv(), if !has_ended && answers.len() < MAX_REQUESTS => {
                let Some(line) = line else {
                    has_ended = true;
                    continue;
                };
                has_begun = true;
                if let Some(request) = AgentRequest::read(&line) {
                    let tools = Arc::clone(&tools);
                    answers.spawn(async move { tools.answer(request).await });
                }
            }
            Some(answer) = answers.join_next() => {
                if let Some(answer) = answer.map_err(io::Error::other)? {
                    let mut line = serde_json::to_vec(&answer)?;
                    line.push(b'\n');
                    writer.write_all(&line).await?;
                    writer.flush().await?;
                }
            }
            () = sleep_until(first_by), if !has_begun => {
                return Err(io::Error::other("the agent sent no message in time"));
            }
        }
    }
    Ok(())
}

/// Reads the lines of an agent, each without its end, until it closes its side.
async fn read_lines(reader: impl AsyncRead + Unpin, lines: mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(reader);
    let mut is_too_long = false;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader)
            .take(MAX_MESSAGE_BYTES)
            .read_until(b'\n', &mut line)
            .await;
        if !matches!(read, Ok(read) if read > 0) {
            return;
        }
        let has_end = line.pop_if(|last| *last == b'\n').is_some();
        if has_end && !is_too_long && lines.send(line).await.is_err() {
            return;
        }
        is_too_long = !has_end;
    }
}

#[cfg(test)]
#[path = "tests_tool_forwarder.rs"]
mod tests;
