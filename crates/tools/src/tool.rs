//! What makes up a tool.

use futures::future::BoxFuture;
use model::{goal::TaskRole, tools::ToolAccess};
use serde_json::{Map, Value};
use service::{RunTools, ToolOffer};

use crate::reply::Answer;

/// A tool.
pub(crate) struct Tool {
    /// The name by which agents call it.
    pub(crate) name: &'static str,
    /// The title for people.
    pub(crate) title: &'static str,
    /// What the tool does, for the agent.
    pub(crate) description: fn(ToolOffer) -> &'static str,
    /// The schema of the input.
    pub(crate) input: fn(ToolOffer) -> Value,
    /// The lowest access with which an agent gets the tool.
    pub(crate) needs: ToolAccess,
    /// The turns in which an agent gets the tool.
    pub(crate) offered: Offered,
    /// `true` if the tool changes nothing for an agent with this offer.
    pub(crate) is_read_only: fn(ToolOffer) -> bool,
    /// The function that the tool calls.
    pub(crate) call:
        for<'a> fn(&'a RunTools, ToolOffer, Map<String, Value>) -> BoxFuture<'a, Answer>,
}

/// The turns in which agents get a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Offered {
    /// All turns.
    Always,
    /// The turns of sessions with several seats.
    InTeam,
    /// All turns in the sessions of goals.
    InGoal,
    /// The turns of sessions without a goal.
    OutsideGoals,
    /// The turns of tasks in which the agent has one of these parts.
    InTasks(&'static [TaskRole]),
}

impl Offered {
    /// Returns `true` if an agent with this offer gets the tool, as far as its access allows.
    pub(crate) fn covers(self, offer: ToolOffer) -> bool {
        match self {
            Self::Always => true,
            Self::InTeam => offer.unread.is_some(),
            Self::InGoal => offer.is_of_goal,
            Self::OutsideGoals => !offer.is_of_goal,
            Self::InTasks(roles) => offer.task.is_some_and(|role| roles.contains(&role)),
        }
    }
}
