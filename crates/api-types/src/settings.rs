//! Settings of agents, permission rules, and the external chats that sessions belong to.

use std::collections::BTreeMap;

use model::{entity, permission};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use model::permission::Verdict;

use crate::document::{document, same_fields};

document! {
    /// The mode and the settings of a seat, by the agent's own IDs.
    entity::SeatSettings => SeatSettings, SeatSettingsRequest, SeatSettingsPatch {
        /// The ID of the mode.
        mode: Option<String> => Option<String>, String;
        /// The other settings: the value of each ID.
        values: BTreeMap<String, String> => BTreeMap<String, String>, BTreeMap<String, Option<String>>;
    }
}

/// A rule that answers permission requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionRule {
    /// A pattern for the kind of the tool. `*` matches any run of characters.
    pub tool: String,
    /// A pattern for the title of the request, or for the whole command if the request is for one. Null matches every
    /// request of the kind.
    #[serde(default)]
    pub title: Option<String>,
    /// The answer to a request that matches both patterns.
    pub verdict: Verdict,
}

/// A rule that answers permission requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRuleRequest {
    /// A pattern for the kind of the tool. `*` matches any run of characters.
    pub tool: String,
    /// A pattern for the title of the request, or for the whole command if the request is for one. If absent, every
    /// request of the kind matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The answer to a request that matches both patterns.
    pub verdict: Verdict,
}

/// Rules that answer permission requests. If several rules match, one that denies prevails. Rules are no sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct PermissionRules(pub Vec<PermissionRule>);

/// Rules that answer permission requests. If several rules match, one that denies prevails. Rules are no sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct PermissionRulesRequest(pub Vec<PermissionRuleRequest>);

/// An external chat that a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    /// The program of the chat, such as `slack`.
    pub channel: String,
    /// The room in the program.
    pub chat_id: String,
    /// The thread in the room. Null if the chat is the room itself.
    #[serde(default)]
    pub thread: Option<String>,
}

/// An external chat that a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelRequest {
    /// The program of the chat, such as `slack`.
    pub channel: String,
    /// The room in the program.
    pub chat_id: String,
    /// The thread in the room. If absent, the chat is the room itself.
    #[serde(default)]
    pub thread: Option<String>,
}

same_fields! {
    permission::PermissionRule, PermissionRule { tool, title, verdict }
    permission::PermissionRule, PermissionRuleRequest { tool, title, verdict }
    entity::Channel, Channel { channel, chat_id, thread }
    entity::Channel, ChannelRequest { channel, chat_id, thread }
}

macro_rules! same_rules {
    ($($one:ty, $other:ty;)*) => {$(
        impl From<$one> for $other {
            fn from(rules: $one) -> Self {
                Self(rules.0.into_iter().map(Into::into).collect())
            }
        }

        impl From<$other> for $one {
            fn from(rules: $other) -> Self {
                Self(rules.0.into_iter().map(Into::into).collect())
            }
        }
    )*};
}

same_rules! {
    permission::PermissionRules, PermissionRules;
    permission::PermissionRules, PermissionRulesRequest;
}
