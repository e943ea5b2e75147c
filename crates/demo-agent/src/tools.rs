//! Calls of the tools of an MCP server that the client has named for a session, in raw JSON lines.

use std::{
    io::{self, BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use agent_client_protocol::v1::schema::{
    McpServer, McpServerStdio, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolKind,
};
use serde_json::{Value, json};

/// The version of MCP that the agent speaks.
const PROTOCOL_VERSION: &str = "2025-06-18";

/// Returns the first server that the agent can start.
pub(super) fn first_stdio_server(servers: Vec<McpServer>) -> Option<McpServerStdio> {
    servers.into_iter().find_map(|server| match server {
        McpServer::Stdio(server) => Some(server),
        _ => None,
    })
}

/// The reason why a call of a tool has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("the server of the tools cannot be used")]
    Io(#[from] io::Error),
    #[error("the server of the tools closed its output")]
    Closed,
    #[error("the server of the tools sent a line that is not JSON")]
    NotJson(#[from] serde_json::Error),
    #[error("{0}")]
    Refused(String),
}

/// A running MCP server. Drop closes its input and waits for its end.
#[derive(Debug)]
pub(super) struct Tools {
    process: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u32,
}

impl Tools {
    /// Starts a server.
    pub(super) fn start(server: &McpServerStdio) -> Result<Self, CallError> {
        let variables = server.env.iter();
        let mut process = Command::new(&server.command)
            .args(&server.args)
            .envs(variables.map(|variable| (&variable.name, &variable.value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take().ok_or(CallError::Closed)?;
        let mut tools = Self {
            process,
            input,
            lines: BufReader::new(output).lines(),
            last_id: 0,
        };
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION, "capabilities": {},
            "clientInfo": {"name": "matins-demo-agent", "version": env!("CARGO_PKG_VERSION")},
        });
        tools.request("initialize", &params)?;
        tools.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(tools)
    }

    /// Returns the names of the tools.
    pub(super) fn list(&mut self) -> Result<Vec<String>, CallError> {
        let tools = self.request("tools/list", &json!({}))?["tools"].take();
        let tools = tools.as_array().into_iter().flatten();
        Ok(tools
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect())
    }

    /// Calls a tool of Matins, and returns its structured answer.
    ///
    /// # Errors
    ///
    /// Returns an error with the tool's message if the tool refuses.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, CallError> {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", &params)?["structuredContent"].take();
        if answer["ok"] == true {
            return Ok(answer);
        }
        let message = answer["message"].as_str().unwrap_or("the tool refuses");
        Err(CallError::Refused(message.to_owned()))
    }

    fn send(&mut self, message: &Value) -> Result<(), CallError> {
        let input = self.input.as_mut().ok_or(CallError::Closed)?;
        writeln!(input, "{message}")?;
        Ok(())
    }

    /// Sends a request, and returns its result.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, CallError> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = self.lines.next().ok_or(CallError::Closed)??;
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] != id {
                continue;
            }
            if let Some(message) = message["error"]["message"].as_str() {
                return Err(CallError::Refused(message.to_owned()));
            }
            return Ok(message["result"].take());
        }
    }
}

/// Returns the update that shows a call and its answer.
pub(super) fn tool_call(
    number: usize,
    tool: &'static str,
    answer: &Result<Value, CallError>,
) -> SessionUpdate {
    let (status, text) = match answer {
        Ok(answer) => (ToolCallStatus::Completed, answer.to_string()),
        Err(error) => (ToolCallStatus::Failed, error.to_string()),
    };
    let call = ToolCall::new(format!("tool-{number}"), tool)
        .kind(ToolKind::Other)
        .status(status)
        .content(vec![ToolCallContent::from(text)]);
    SessionUpdate::ToolCall(call)
}

impl Drop for Tools {
    fn drop(&mut self) {
        // The server ends after its input. If it does not, the client of the agent ends both.
        self.input.take();
        self.process.wait().ok();
    }
}
