//! The rights of agents to use the tools of Matins, and the maker of an automation.

use std::time::Duration;

use crate::{
    ids::{RunId, SessionId},
    text_enum::text_enum,
};

text_enum! {
    /// The tools of Matins that an agent gets.
    ToolAccess, "an access to tools" {
        /// No tool.
        None = "none",
        /// Tools that change nothing.
        Read = "read",
        /// All tools.
        All = "all",
    }
}

text_enum! {
    /// The treatment of a new automation that an agent makes in a turn of another automation.
    AgentCron, "a rule for automations made by agents" {
        /// The new automation is enabled.
        Allow = "allow",
        /// The new automation is paused until a person accepts it.
        Ask = "ask",
        /// No automation is made.
        Deny = "deny",
    }
}

/// The reason of the pause of an automation that an agent proposes.
pub const PROPOSED: &str = "proposed";
/// The reason of the pause of an automation whose lifetime has ended.
pub const EXPIRED: &str = "expired";

/// The highest number of automations made by agents that a session can have at a time.
pub const AUTOMATIONS_PER_SESSION: u32 = 10;
/// The highest number of automations made by agents that a tenant can have at a time.
pub const AUTOMATIONS_PER_TENANT: u32 = 100;
/// The highest number of automations that an agent makes in one turn.
pub const AUTOMATIONS_PER_TURN: u32 = 3;
/// The least time between two runs of an automation made by an agent.
pub const LEAST_INTERVAL: Duration = Duration::from_mins(15);
/// The lifetime of an automation made by an agent, unless a person resumes it at its end.
pub const LONGEST_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// The highest number of calls of tools in one turn.
pub const CALLS_PER_TURN: u32 = 200;
/// The highest number of connections of one run to its tools at a time. An agent has one for each of its sessions, and
/// some agents keep a second one for a helper.
pub const CONNECTIONS_PER_RUN: usize = 8;

/// The turn in which an agent has made an automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeBy {
    /// The session of the turn, to which the automation is bound.
    pub session: SessionId,
    /// The run of the turn.
    pub run: RunId,
    /// The number of the turn on its seat, from 1.
    pub turn: i64,
    /// The name by which the agents of the session know the automation.
    pub name: String,
}
