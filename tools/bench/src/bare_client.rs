//! The least that a client of the protocol can do for a turn: start, introduce itself, make or restore
//! a session, prompt, read the answer, close the agent's input and wait for its end.

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
        let (program, arguments) = command.split_first().context("an empty command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().context("no standard input")?;
        let output = child.stdout.take().context("no standard output")?;
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
            let mut answer: Value = serde_json::from_str(&line.context("the agent is gone")?)?;
            if answer["id"] == id {
                ensure!(answer["error"].is_null(), "{method}: {answer}");
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

/// Takes a turn in a new session, or in the one that is given. Gives the session.
pub(crate) async fn run_turn(
    command: &[String],
    cwd: &Path,
    session: Option<String>,
) -> Result<String> {
    let mut client = BareClient::start(command, cwd)?;
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    client.call("initialize", hello).await?;
    let session = if let Some(session) = session {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        client.call("session/resume", params).await?;
        session
    } else {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let made = client.call("session/new", params).await?;
        made["sessionId"].as_str().context("no session")?.to_owned()
    };
    let prompt = json!([{ "type": "text", "text": "What is due today?" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    let answer = client.call("session/prompt", params).await?;
    ensure!(answer["stopReason"] == "end_turn", "{answer}");
    client.finish().await?;
    Ok(session)
}
