//! An agent that answers at once, so that the measured time of a turn is that of the client or of the server. Another form
//! of it holds each turn open until its input ends.

use std::{
    env,
    io::{BufRead as _, Write as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use agent::guard::MARKER_VARIABLE;
use anyhow::Result;
use serde_json::{Value, json};

use super::prompt_times;

/// The answer to a prompt.
const ANSWER: &str = "Nothing is due today.";
/// The programs that an agent with children starts: one that ends by SIGTERM, and a shell that ignores it with a child of its
/// own.
const CHILDREN: [&[&str]; 2] = [
    &["sleep", "600"],
    &["sh", "-c", "trap '' TERM; sleep 600; exit 0"],
];

/// The agent with its options.
#[derive(Debug, clap::Args)]
pub struct InstantAgent {
    /// Never answer a prompt
    #[arg(long)]
    stall: bool,
    /// File to which the instant of each prompt is appended
    #[arg(long)]
    prompt_times: Option<PathBuf>,
    /// File to which the instant and the run of each prompt are appended
    #[arg(long)]
    prompt_log: Option<PathBuf>,
    /// Text of the answers
    #[arg(long, default_value = ANSWER)]
    answer: String,
    /// Start programs at each prompt, each in a process group of its own, and leave them
    #[arg(long)]
    children: bool,
}

impl InstantAgent {
    /// Speaks the Agent Client Protocol on standard input and output until the input ends.
    pub fn run(&self) -> Result<()> {
        let mut output = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let message: Value = serde_json::from_str(&line?)?;
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
                continue;
            };
            if method == "session/prompt" {
                self.note_prompt()?;
            }
            let result = match method {
                "initialize" => json!({
                    "protocolVersion": 1,
                    "agentCapabilities": { "sessionCapabilities": { "resume": {} } },
                    "authMethods": [],
                }),
                "session/new" => json!({ "sessionId": "bench" }),
                "session/resume" => json!({}),
                "session/prompt" if self.stall => continue,
                "session/prompt" => {
                    let update = json!({
                        "jsonrpc": "2.0",
                        "method": "session/update",
                        "params": {
                            "sessionId": message["params"]["sessionId"],
                            "update": {
                                "sessionUpdate": "agent_message_chunk",
                                "content": { "type": "text", "text": self.answer },
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

    fn note_prompt(&self) -> Result<()> {
        if let Some(times) = &self.prompt_times {
            prompt_times::append(times)?;
        }
        if self.children {
            for command in CHILDREN {
                let [program, args @ ..] = command else {
                    continue;
                };
                Command::new(program)
                    .args(args)
                    .process_group(0)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()?;
            }
        }
        // The line comes last, so that the children of a logged prompt exist.
        if let Some(log) = &self.prompt_log {
            prompt_times::append_run(log, &env::var(MARKER_VARIABLE)?)?;
        }
        Ok(())
    }
}
