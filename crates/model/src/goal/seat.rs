//! Seats of a goal: their inputs, their queues and their presence.

use std::collections::VecDeque;

pub use crate::{goal::numbers::SeatNo, seat::SeatDirectory as Directory};
use crate::{goal::numbers::TaskNo, text_enum::text_enum};

text_enum! {
    /// Whether the instance of a seat can take its turns.
    Presence, "a presence of a seat" {
        /// A server serves the instance.
        Online = "online",
        /// No server serves the instance. Turns of the seat wait.
        Offline = "offline",
        /// The instance was removed, with the memory of the seat. The seat never comes back.
        Removed = "removed",
    }
}

text_enum! {
    /// The template of a turn's prompt: `goal.` and the word.
    Prompt, "a prompt of a goal" {
        /// The first plan.
        Plan = "plan",
        /// A later plan.
        Replan = "replan",
        /// An attempt at a task.
        Work = "work",
        /// Findings of the checks or of the judge.
        Rework = "rework",
        /// A result that the judge has to judge.
        Review = "review",
        /// The answer of a person.
        Answer = "answer",
        /// The whole goal, which the judge has to judge.
        Check = "check",
        /// The prose of the report.
        Report = "report",
        /// The call of a tool that was missing at the end of the turn before.
        Reminder = "reminder",
    }
}

text_enum! {
    /// The memory with which the agent of a seat takes a turn of a task. A seat whose memory is `seat` always resumes it.
    Memory, "a memory of a turn" {
        /// The task has no memory on the seat.
        New = "new",
        /// The seat resumes the memory of the task.
        Resumed = "resumed",
    }
}

/// An input of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A turn that no task has caused, such as that of a person's message or of messages between seats. The caller starts and
    /// ends such turns.
    Other,
    /// A turn of a task.
    Task {
        /// The task.
        task: TaskNo,
        /// The prompt.
        prompt: Prompt,
    },
}

impl Input {
    /// Returns the task of the input.
    pub const fn task(self) -> Option<TaskNo> {
        match self {
            Self::Task { task, .. } => Some(task),
            Self::Other => None,
        }
    }
}

/// A seat in the graph of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The name, such as `worker-1`.
    pub name: String,
    /// The role, as an index into the roles of the team.
    pub role: usize,
    /// The directory.
    pub directory: Directory,
    /// Whether the instance of the seat can take its turns.
    pub presence: Presence,
    /// The turn under way.
    pub turn: Option<Input>,
    /// The turns of started tasks that wait for the seat, oldest first.
    pub queue: VecDeque<(TaskNo, Prompt)>,
    /// The number of inputs without a task that take the seat before the next turn of a task.
    pub other_inputs: u32,
    /// `true` if the goal has waited for the seat while it was offline, and no turn has begun or ended there since, nor any
    /// check ended.
    pub waited_for: bool,
}

impl Seat {
    /// Returns `true` if a turn can start on the seat.
    pub fn is_free(&self) -> bool {
        self.presence == Presence::Online && self.turn.is_none()
    }

    /// Returns `true` if a turn of a task is under way.
    pub const fn has_task(&self) -> bool {
        matches!(self.turn, Some(Input::Task { .. }))
    }

    /// Returns `true` if a turn is under way, or comes before the next one of a task.
    pub const fn is_busy(&self) -> bool {
        self.turn.is_some() || self.other_inputs > 0
    }

    /// Returns the number of turns that are under way, and of turns of tasks that wait.
    pub fn load(&self) -> usize {
        self.queue.len() + usize::from(self.turn.is_some())
    }
}
