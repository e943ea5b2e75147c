//! A bare client of the Agent Client Protocol, as the baseline of a turn. It does only the necessary steps: it starts
//! the agent, initializes it, creates or resumes a session, prompts, reads the answer, closes the agent's input and
//! waits for the agent's end.

use std::{path::Path, process::Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

struct BareClient {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    next_id: u64,
}

impl BareClient {
    fn start(command: &[String], cwd: &Path) -> Result<Self> {
        let (program, arguments) = command
            .split_first()
            .context("the command of the agent is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child
            .stdin
            .take()
            .context("the agent has no standard input")?;
        let output = child
            .stdout
            .take()
            .context("the agent has no standard output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output).lines(),
            next_id: 0,
        })
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input
            .write_all(format!("{request}\n").as_bytes())
            .await?;
        loop {
            let line = self.output.next_line().await?;
            let mut answer: Value =
                serde_json::from_str(&line.context("the agent closed its output")?)?;
            if answer["id"] == id {
                ensure!(
                    answer["error"].is_null(),
                    "the agent refused `{method}`: {answer}"
                );
                return Ok(answer["result"].take());
            }
        }
    }

    async fn finish(mut self) -> Result<()> {
        drop(self.input);
        let status = self.child.wait().await?;
        ensure!(status.success(), "the agent ended with {status}");
        Ok(())
    }
}

/// Runs a turn in a new process of the agent. Resumes `session` if it is `Some`, else creates a session. Returns the
/// ID of the session.
pub(crate) async fn run_turn(
    command: &[String],
    cwd: &Path,
    session: Option<String>,
) -> Result<String> {
    let mut client = BareClient::start(command, cwd)?;
    let offer = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.call("initialize", offer).await?;
    let session = if let Some(session) = session {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        client.call("session/resume", params).await?;
        session
    } else {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let created = client.call("session/new", params).await?;
        let id = created["sessionId"].as_str();
        id.context("the agent returned no `sessionId`")?.to_owned()
    };
    let prompt = json!([{ "type": "text", "text": "What is due today?" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let answer = client.call("session/prompt", params).await?;
    ensure!(
        answer["stopReason"] == "end_turn",
        "the turn did not end with `end_turn`: {answer}"
    );
    client.finish().await?;
    Ok(session)
}
