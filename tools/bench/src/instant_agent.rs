//! An agent that answers at once, so that the measured time of a turn is that of the client or of the server. Another form
//! of it holds each turn open until its input ends.

use std::{
    io::{BufRead as _, Write as _},
    path::Path,
};

use anyhow::Result;
use serde_json::{Value, json};

use super::prompt_times;

/// Speaks the Agent Client Protocol on standard input and output until the input ends. With `stall`, it never answers a
/// prompt. With `times`, it appends the instant of each prompt to that file.
pub fn run(stall: bool, times: Option<&Path>) -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            continue;
        };
        if let ("session/prompt", Some(times)) = (method, times) {
            prompt_times::append(times)?;
        }
        let result = match method {
            "initialize" => json!({
                "protocolVersion": 1,
                "agentCapabilities": { "sessionCapabilities": { "resume": {} } },
                "authMethods": [],
            }),
            "session/new" => json!({ "sessionId": "bench" }),
            "session/resume" => json!({}),
            "session/prompt" if stall => continue,
            "session/prompt" => {
                let update = json!({
                    "jsonrpc": "2.0",
                    "method": "session/update",
                    "params": {
                        "sessionId": message["params"]["sessionId"],
                        "update": {
                            "sessionUpdate": "agent_message_chunk",
                            "content": { "type": "text", "text": "Nothing is due today." },
                        },
                    },
                });
                writeln!(output, "{update}")?;
                json!({ "stopReason": "end_turn" })
            }
            _ => {
                let error = json!({ "code": -32601, "message": "unknown method" });
                writeln!(
                    output,
                    "{}",
                    json!({ "jsonrpc": "2.0", "id": id, "error": error })
                )?;
                output.flush()?;
                continue;
            }
        };
        writeln!(
            output,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        )?;
        output.flush()?;
    }
    Ok(())
}
