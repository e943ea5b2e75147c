//! The messages between an agent and its tools, as far as a runtime reads them: it knows requests from notifications, counts
//! calls of tools, and answers in place of a server that is away.

use model::tools::CALLS_PER_TURN;
use serde_json::{Value, json};

/// The code of an internal error in JSON-RPC.
const INTERNAL_ERROR: i32 = -32603;

/// A message of an agent that needs an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentRequest {
    pub(crate) message: Value,
    /// `true` if the message calls a tool.
    pub(crate) is_call: bool,
}

/// The reason why a message was not answered by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolFailure {
    /// The kind, one of the words that the tools use.
    pub(crate) error: &'static str,
    pub(crate) message: String,
    /// The next step of the agent.
    pub(crate) advice: &'static str,
}

impl AgentRequest {
    /// Reads a line. Returns `None` if it needs no answer: a notification, or a line that is no JSON, which has no ID.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(line).ok()?;
        let method = message.get("method").and_then(Value::as_str);
        if method.is_some() && message.get("id").is_none() {
            return None;
        }
        Some(Self {
            is_call: method == Some("tools/call"),
            message,
        })
    }

    /// Returns the answer in place of the server. `call` is the number of the call, if the message is one.
    pub(crate) fn failed(&self, failure: &ToolFailure, call: Option<u32>) -> Value {
        let ToolFailure {
            error,
            message,
            advice,
        } = failure;
        let id = self.message.get("id").cloned().unwrap_or_default();
        let Some(call) = call else {
            let error = json!({ "code": INTERNAL_ERROR, "message": message });
            return json!({ "jsonrpc": "2.0", "id": id, "error": error });
        };
        let answer = json!({
            "ok": false,
            "error": error,
            "message": message,
            "advice": advice,
            "calls_left": CALLS_PER_TURN.saturating_sub(call),
        });
        json!({
            "jsonrpc": "2.0",
            "id": id,
            "result": {
                "content": [{ "type": "text", "text": answer.to_string() }],
                "structuredContent": answer,
                "isError": true,
            },
        })
    }
}

impl ToolFailure {
    pub(crate) fn over() -> Self {
        Self {
            error: "closed",
            message: "the turn is over".into(),
            advice: "end your turn",
        }
    }

    pub(crate) fn server_away() -> Self {
        Self {
            error: "unavailable",
            message: "Matins cannot reach its server".into(),
            advice: "repeat the call later",
        }
    }

    pub(crate) fn refused(reason: &str) -> Self {
        Self {
            error: "unavailable",
            message: format!("the server of Matins refuses the call: {reason}"),
            advice: "go on without this tool, and say so in your answer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &Value) -> Option<AgentRequest> {
        AgentRequest::read(message.to_string().as_bytes())
    }

    #[test]
    fn message_without_id_needs_no_answer() {
        assert_eq!(read(&json!({"method": "notifications/initialized"})), None);
        assert_eq!(AgentRequest::read(b"{"), None);
        assert_eq!(AgentRequest::read(b""), None);
        // The server says that these are invalid.
        for message in [json!([1, 2]), json!({"id": 1}), json!("a")] {
            assert!(!read(&message).unwrap().is_call);
        }
    }

    #[test]
    fn failed_call_is_a_result_and_another_failed_request_an_error() {
        let failure = ToolFailure::server_away();
        let call = json!({"id": "a", "method": "tools/call", "params": {"name": "recall"}});
        let call = read(&call).unwrap();
        assert!(call.is_call);
        let answer = call.failed(&failure, Some(3));
        assert_eq!(answer["id"], "a");
        let structured = &answer["result"]["structuredContent"];
        assert_eq!(structured["error"], "unavailable");
        assert_eq!(structured["calls_left"], 197);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), structured);
        let list = read(&json!({"id": 7, "method": "tools/list"})).unwrap();
        let answer = list.failed(&failure, None);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32603))
        );
    }
}
