//! The server that answers.

use model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerInfo {
    /// The version of the program.
    pub version: String,
    /// `true` if the server runs turns and fires triggers. `false` if it only serves the API.
    pub serves: bool,
    /// The current time of the server's clock.
    pub now: Timestamp,
    /// `true` if unified mode is on, so that automations of web chats go to one shared session.
    #[serde(default)]
    pub unified_session: bool,
}
