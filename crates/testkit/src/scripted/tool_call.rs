//! A call of a tool of an MCP server that the client has named, in raw JSON lines.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::script::Step;

/// The version of MCP that the agent speaks.
const PROTOCOL_VERSION: &str = "2025-06-18";

/// Calls a tool of an MCP server, and returns the result, or the error.
pub(super) fn call_tool(server: &Value, tool: &str, arguments: &Value) -> io::Result<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    request(server, "tools/call", &params)
}

/// Lists the tools of an MCP server, and returns the result, or the error.
pub(super) fn list_tools(server: &Value) -> io::Result<Value> {
    request(server, "tools/list", &json!({}))
}

/// Starts an MCP server over standard input and output, sends one request, and returns the response.
fn request(server: &Value, method: &str, params: &Value) -> io::Result<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = |field: &str| server[field].as_array().cloned().unwrap_or_default();
    let variables = items("env");
    let mut process = Command::new(text(&server["command"]))
        .args(items("args").iter().map(text))
        .envs(
            variables
                .iter()
                .map(|one| (text(&one["name"]), text(&one["value"]))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(mut input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(io::Error::other("the server has no pipes"));
    };
    let mut lines = BufReader::new(output).lines();
    let mut send = |message: Value| writeln!(input, "{message}");
    send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": PROTOCOL_VERSION, "capabilities": {},
            "clientInfo": {"name": "scripted", "version": "1.0.0"},
        }}),
    )?;
    let mut reply = |id: u32| -> io::Result<Value> {
        for line in lines.by_ref() {
            let message: Value = serde_json::from_str(&line?)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
        Ok(json!({"error": "the server closed its output"}))
    };
    let began = reply(1)?;
    if began.get("result").is_none() {
        process.wait()?;
        return Ok(began);
    }
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    send(json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}))?;
    let result = reply(2)?;
    drop(input);
    process.wait()?;
    Ok(result)
}

/// Returns a step with the secret of the run, which the file holds that the server's environment names.
pub(super) fn with_secret(step: &Step, server: Option<&Value>) -> io::Result<Step> {
    let variables = server.and_then(|server| server["env"].as_array());
    let path = variables
        .into_iter()
        .flatten()
        .find(|variable| variable["name"] == "MATINS_RUN_FILE")
        .and_then(|variable| variable["value"].as_str())
        .ok_or_else(|| io::Error::other("the session has no file of a run"))?;
    let file: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let secret = file["secret"].as_str().unwrap_or_default();
    let mut text = serde_json::to_string(step)?.replace("{secret}", secret);
    for (at, character) in secret.chars().enumerate() {
        text = text.replace(&format!("{{secret[{at}]}}"), &character.to_string());
    }
    Ok(serde_json::from_str(&text)?)
}
