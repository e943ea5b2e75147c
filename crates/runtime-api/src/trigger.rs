//! The request of a run for a trigger file of another program.

use model::{RunId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of a trigger file that names an automation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FireRequest {
    /// The ID or the name of the automation.
    pub automation: String,
    /// The idempotency key, made of the name and the content of the file. Requests with one key create one run.
    pub key: String,
    /// The instant that the file names.
    #[serde(default)]
    pub timestamp: Option<Timestamp>,
    /// The text for the agent.
    #[serde(default)]
    pub task: Option<String>,
    /// The parameters for the agent.
    #[serde(default)]
    pub params: Map<String, Value>,
}

impl FireRequest {
    /// Returns the data that the agent receives, as a JSON object. Any program may have written it, so a prompt must mark
    /// it as untrusted.
    pub fn payload(&self) -> String {
        let mut data = Map::new();
        if let Some(timestamp) = self.timestamp {
            data.insert("timestamp".into(), timestamp.to_string().into());
        }
        if let Some(task) = &self.task {
            data.insert("task".into(), task.as_str().into());
        }
        data.insert("params".into(), self.params.clone().into());
        format!("{:#}", Value::Object(data))
    }
}

/// The response to the request of a run for a trigger file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum FireReply {
    /// The run has been created, now or by an earlier request with the same key.
    Fired {
        /// The run.
        run: RunId,
    },
    /// The file may not fire the automation, and will be refused again until a person mends something.
    Refused {
        /// The reason.
        reason: String,
    },
    /// A status of a later version. The file stays.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn payload_holds_data_of_file_and_nothing_else() {
        let request = FireRequest {
            automation: "report".into(),
            key: "k".into(),
            timestamp: Some("2026-04-30T09:00:00Z".parse().unwrap()),
            task: Some("Look".into()),
            params: json!({"region": "eu"}).as_object().cloned().unwrap(),
        };
        let payload: Value = serde_json::from_str(&request.payload()).unwrap();
        let expected = json!({
            "timestamp": "2026-04-30T09:00:00Z",
            "task": "Look",
            "params": {"region": "eu"},
        });
        assert_eq!(payload, expected);
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<FireRequest>(&text).unwrap(), request);
        let minimal: FireRequest =
            serde_json::from_value(json!({"automation": "a", "key": "k", "later": 1})).unwrap();
        assert_eq!(minimal.payload(), "{\n  \"params\": {}\n}");
    }

    #[test]
    fn reply_of_later_version_is_unknown() {
        let later = json!({"status": "postponed", "until": 7});
        let reply: FireReply = serde_json::from_value(later).unwrap();
        assert_eq!(reply, FireReply::Unknown);
    }
}
