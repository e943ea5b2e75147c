//! A call of a tool of an MCP server that the client has named, in raw JSON lines.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::script::Step;

/// The version of MCP that the agent speaks.
const PROTOCOL_VERSION: &str = "2025-06-18";

/// The time for which the agent repeats a call that the tools could not serve.
const OUTAGE_TIMEOUT: Duration = Duration::from_mins(1);
/// The pause before such a call is repeated. The calls of a turn are limited, and each of these counts.
const REPEAT_PAUSE: Duration = Duration::from_millis(500);

/// Calls a tool of an MCP server, and returns the result, or the error.
pub(super) fn call_tool(server: &Value, tool: &str, arguments: &Value) -> io::Result<Value> {
    let params = json!({"name": tool, "arguments": arguments});
    let answers = send_requests(server, &[("tools/call", params)])?;
    Ok(answers.into_iter().next().unwrap_or_default())
}

/// Starts an MCP server over standard input and output, lists its tools, and calls some of them, one after the other. Repeats
/// a call that the tools could not serve, as they advise, before it goes on with the next one.
///
/// # Errors
///
/// Returns an error if the server cannot be used, or if a call is not served within [`OUTAGE_TIMEOUT`]. A refused call is no
/// error.
pub(super) fn list_and_call_tools(server: &Value, calls: &[(&str, Value)]) -> io::Result<()> {
    // Matins takes tools that were never listed for unavailable.
    let mut requests = vec![("tools/list", json!({}))];
    let calls = calls.iter();
    requests.extend(calls.map(|(tool, arguments)| {
        let params = json!({"name": tool, "arguments": arguments});
        ("tools/call", params)
    }));
    let deadline = Instant::now() + OUTAGE_TIMEOUT;
    loop {
        let answers = send_requests(server, &requests)?;
        let served = answers.iter().take_while(|answer| is_served(answer));
        requests.drain(..served.count());
        if requests.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let last = answers.last().map(Value::to_string).unwrap_or_default();
            return Err(io::Error::other(format!("the tools are away: {last}")));
        }
        thread::sleep(REPEAT_PAUSE);
    }
}

/// Returns `false` if a response is an error of the protocol, or tells that Matins could not serve the call now.
fn is_served(response: &Value) -> bool {
    let result = response.get("result");
    result.is_some_and(|result| result["structuredContent"]["error"] != "unavailable")
}

/// Starts an MCP server, sends the requests one after the other until one is not served, and returns the responses. If the
/// server refuses the connection, returns this response alone.
fn send_requests(server: &Value, requests: &[(&str, Value)]) -> io::Result<Vec<Value>> {
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
        return Ok(vec![began]);
    }
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let mut answers = Vec::new();
    for (id, (method, params)) in (2..).zip(requests) {
        send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let answer = reply(id)?;
        let served = is_served(&answer);
        answers.push(answer);
        if !served {
            break;
        }
    }
    drop(input);
    process.wait()?;
    Ok(answers)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that writes each request to `calls`, and cannot serve the third one of its first process.
    const SERVER: &str = r#"
        read -r initialize; echo '{"id":1,"result":{}}'; read -r initialized
        id=1
        while read -r request; do
            id=$((id + 1)); echo "$request" >>calls; answer='{}'
            if [ $id = 4 ] && mkdir away; then answer='{"structuredContent":{"error":"unavailable"}}'; fi
            echo '{"id":'$id',"result":'"$answer"'}'
        done
    "#;

    #[test]
    fn call_that_is_not_served_is_repeated_before_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("cd '{}' || exit 1\n{SERVER}", folder.path().display());
        let server = json!({"command": "sh", "args": ["-c", script], "env": []});
        let calls = ["first", "second", "third"].map(|key| ("create_task", json!({"key": key})));
        list_and_call_tools(&server, &calls).unwrap();
        let received = std::fs::read_to_string(folder.path().join("calls")).unwrap();
        let received: Vec<_> = received
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|request| request["params"]["arguments"]["key"].clone())
            .collect();
        let expected = [
            json!(null),
            json!("first"),
            json!("second"),
            json!("second"),
            json!("third"),
        ];
        assert_eq!(received, expected);
    }
}
