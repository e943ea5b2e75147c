//! The work of a turn, which runs beside the connection to the client.

use std::{sync::mpsc::Receiver, time::Duration};

use agent_client_protocol::v1::schema::{McpServerStdio, SessionUpdate};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    answer_text::sentence,
    daily_check::DailyCheck,
    goal::{GoalTurn, TurnWorkplace, WorkError},
    session::Memory,
};

/// The pause of a role of a goal, in pauses between two updates: a second, with the default of the latter.
const UPDATES_PER_PAUSE: u32 = 50;

/// The work that a request asks for.
#[derive(Debug)]
pub(super) enum Work {
    DailyCheck(DailyCheck, McpServerStdio),
    Goal(Box<GoalTurn>, Option<McpServerStdio>),
}

/// The connection of the work to its turn.
pub(super) struct Turn {
    /// Takes the updates for the client.
    pub(super) updates: UnboundedSender<SessionUpdate>,
    /// Is disconnected when the turn is cancelled.
    pub(super) cancelled: Receiver<()>,
    /// The pause between two updates.
    pub(super) update_interval: Duration,
}

impl Work {
    /// Returns the work that the newest request of a session asks for. Returns `None` if it asks for a plain answer.
    pub(super) fn parse(memory: &Memory, tools: Option<&McpServerStdio>) -> Option<Self> {
        let requests: Vec<_> = memory
            .turns
            .iter()
            .map(|turn| turn.request.as_str())
            .collect();
        if let Some(turn) = GoalTurn::parse(&memory.cwd, &requests) {
            return Some(Self::Goal(Box::new(turn), tools.cloned()));
        }
        let check = DailyCheck::parse(&memory.turns.last()?.request)?;
        Some(Self::DailyCheck(check, tools?.clone()))
    }

    /// `true` if the work gives the whole answer.
    pub(super) const fn is_answer(&self) -> bool {
        matches!(self, Self::Goal(..))
    }

    /// Does the work, and blocks meanwhile.
    pub(super) fn run(self, turn: &Turn) {
        let show = |update| {
            // A cancelled turn takes no more updates.
            turn.updates.send(update).ok();
        };
        let failure = match self {
            Self::DailyCheck(check, server) => match check.run(&server, show) {
                Ok(result) => {
                    show(sentence(&result));
                    None
                }
                Err(error) => Some(error.to_string()),
            },
            Self::Goal(goal, server) => match run_goal(&goal, server.as_ref(), turn) {
                Ok(()) | Err(WorkError::Cancelled) => None,
                Err(error) => Some(error.to_string()),
            },
        };
        if let Some(failure) = failure {
            show(sentence(&format!("I could not do it: {failure}.")));
        }
    }
}

fn run_goal(
    goal: &GoalTurn,
    server: Option<&McpServerStdio>,
    turn: &Turn,
) -> Result<(), WorkError> {
    let pause = turn.update_interval.saturating_mul(UPDATES_PER_PAUSE);
    let mut workplace = TurnWorkplace::open(server, &turn.updates, &turn.cancelled, pause)?;
    goal.run(&mut workplace)
}
