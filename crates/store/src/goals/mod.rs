//! The rows of goals: their tasks, staged tasks and reports.
//!
//! **Invariant:** only a transition that holds the locks of all seats of a session changes its goal and its tasks, so that
//! the graph which it has read is the one that it writes.

mod budget;
mod graph;
mod staged;
mod task_row;
mod write;

pub(crate) use budget::{write_budget, write_until};
pub(crate) use graph::{Goal, TaskGraph, goal_state, note_other_turns, read_goal, read_task_graph};
pub(crate) use staged::{read_staged, stage};
pub(crate) use write::{TaskText, write_goal};
