//! The exchange of raw JSON lines over standard input and output.

use std::{
    io::{self, BufRead, Write},
    sync::mpsc::{self, Receiver},
    thread,
};

use serde_json::{Value, json};

/// Starts a thread that reads messages, so that the agent can receive them while it plays a step.
pub(super) fn read_input() -> Receiver<Value> {
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let message = serde_json::from_str(&line).unwrap_or(Value::Null);
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    messages
}

/// Writes bytes to standard output.
pub(super) fn write_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

pub(super) fn send(message: &Value) -> io::Result<()> {
    write_bytes(format!("{message}\n").as_bytes())
}

pub(super) fn reply(id: &Value, result: &Value) -> io::Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(super) fn reply_error(id: &Value, code: i32, message: &str) -> io::Result<()> {
    let error = json!({"code": code, "message": message});
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

pub(super) fn send_update(session: &str, update: &Value) -> io::Result<()> {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}

pub(super) fn message_chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}
