//! A client that speaks to an ACP agent in raw JSON lines. It uses none of the product's code, so that a test of a real
//! agent does not depend on it.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// The maximum time without output of the agent before a test fails.
const REPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// The command line and environment of an agent.
#[derive(Debug, Clone)]
pub struct AgentCommand {
    /// The program.
    pub command: PathBuf,
    /// The arguments.
    pub args: Vec<String>,
    /// The whole environment. The agent inherits no other variable.
    pub env: Vec<(String, String)>,
}

/// The response to a request, with the updates before it.
#[derive(Debug)]
pub struct Reply {
    /// The `update` of each `session/update`, in order.
    pub updates: Vec<Value>,
    /// The `result`, or the `error`.
    pub outcome: Result<Value, Value>,
}

impl Reply {
    /// Returns the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the agent responded with one.
    pub fn ok(&self) -> anyhow::Result<&Value> {
        match &self.outcome {
            Ok(result) => Ok(result),
            Err(error) => bail!("the agent returned the error {error}"),
        }
    }

    /// Returns the joined text of all updates of a kind, such as `agent_message_chunk`.
    pub fn text(&self, kind: &str) -> String {
        self.updates
            .iter()
            .filter(|update| update["sessionUpdate"] == kind)
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }
}

/// A running agent. Drop kills its whole process group.
#[derive(Debug)]
pub struct RawAgent {
    child: Child,
    group: Pid,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    pending: VecDeque<Value>,
    last_id: u64,
}

impl RawAgent {
    /// Starts an agent in `cwd`. It inherits the standard error of the test.
    pub fn start(launch: &AgentCommand, cwd: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(&launch.command)
            .args(&launch.args)
            .env_clear()
            .envs(launch.env.iter().cloned())
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{}`", launch.command.display()))?;
        let group = child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
            .context("the agent has no process ID")?;
        let stdin = child.stdin.take();
        let stdout = child
            .stdout
            .take()
            .context("the agent has no standard output")?;
        Ok(Self {
            child,
            group,
            stdin,
            stdout: BufReader::new(stdout).lines(),
            pending: VecDeque::new(),
            last_id: 0,
        })
    }

    /// Starts an agent and initializes it with version 1 of the protocol. Returns the result of `initialize` too.
    pub async fn start_initialized(
        launch: &AgentCommand,
        cwd: &Path,
    ) -> anyhow::Result<(Self, Value)> {
        let mut agent = Self::start(launch, cwd)?;
        let offer = json!({"protocolVersion": 1, "clientCapabilities": {}});
        let reply = agent.request("initialize", offer).await?;
        Ok((agent, reply.ok()?.clone()))
    }

    /// Sends a request and returns its ID.
    pub async fn send(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        Ok(id)
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) -> anyhow::Result<()> {
        self.write(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Sends a request and waits for the response.
    pub async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Reply> {
        let id = self.send(method, params).await?;
        self.reply(id).await
    }

    /// Sends a prompt with one text and waits for the end of the turn.
    pub async fn prompt(&mut self, session: &str, text: &str) -> anyhow::Result<Reply> {
        self.request("session/prompt", prompt_params(session, text))
            .await
    }

    /// Waits for the response to the request `id`. The reply has all updates before the response, including those that
    /// [`RawAgent::update`] has returned.
    pub async fn reply(&mut self, id: u64) -> anyhow::Result<Reply> {
        let mut updates: Vec<Value> = self.pending.drain(..).collect();
        loop {
            let mut message = self.read().await?;
            if message["method"] == "session/update" {
                updates.push(message["params"]["update"].take());
            } else if message["id"] == id && message.get("method").is_none() {
                let outcome = match message.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(message["result"].take()),
                };
                return Ok(Reply { updates, outcome });
            }
        }
    }

    /// Waits for the next update of a kind. Keeps it and all updates before it for the reply.
    pub async fn update(&mut self, kind: &str) -> anyhow::Result<Value> {
        loop {
            let mut message = self.read().await?;
            if message["method"] != "session/update" {
                bail!("the agent sent {message} before an update of the kind `{kind}`");
            }
            let update = message["params"]["update"].take();
            self.pending.push_back(update.clone());
            if update["sessionUpdate"] == kind {
                return Ok(update);
            }
        }
    }

    /// Kills the agent's process group and waits for the end of the agent itself.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        kill_process_group(self.group, Signal::KILL).context("cannot kill the agent")?;
        self.child.wait().await?;
        Ok(())
    }

    /// Closes the agent's input and waits until the agent ends by itself.
    pub async fn close_input_and_wait(mut self) -> anyhow::Result<ExitStatus> {
        self.stdin = None;
        timeout(REPLY_TIMEOUT, self.child.wait())
            .await
            .with_context(|| {
                format!("the agent did not end within {REPLY_TIMEOUT:?} after the end of its input")
            })?
            .context("cannot wait for the agent")
    }

    /// Reads one message. Refuses requests of the agent with "Method not found".
    async fn read(&mut self) -> anyhow::Result<Value> {
        loop {
            let line = timeout(REPLY_TIMEOUT, self.stdout.next_line())
                .await
                .with_context(|| format!("the agent was silent for {REPLY_TIMEOUT:?}"))??
                .context("the agent closed its output")?;
            let message: Value = serde_json::from_str(&line)
                .with_context(|| format!("the agent wrote a line that is not JSON: {line}"))?;
            let is_request = message.get("method").is_some() && message.get("id").is_some();
            if !is_request {
                return Ok(message);
            }
            let error = json!({"code": -32601, "message": "Method not found"});
            self.write(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
                .await?;
        }
    }

    async fn write(&mut self, message: Value) -> anyhow::Result<()> {
        let stdin = self
            .stdin
            .as_mut()
            .context("the agent has no standard input")?;
        let line = format!("{message}\n");
        stdin
            .write_all(line.as_bytes())
            .await
            .context("cannot write to the agent")?;
        Ok(())
    }
}

impl Drop for RawAgent {
    fn drop(&mut self) {
        // Kill only a child without a read exit status: afterwards, its ID may belong to another process.
        if self.child.id().is_some() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
    }
}

/// Returns the parameters of `session/prompt` with one text.
pub fn prompt_params(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}
