//! The fields of a task that a person can edit.

use crate::goal::numbers::TaskNo;

/// The fields of a task that a person can edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFields {
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The lines by which the result is judged.
    pub acceptance: Vec<String>,
    /// The rank among READY tasks, from 0, which starts first, to 9.
    pub priority: u8,
}

/// An edit of a task. The graph has no texts, so that the caller gives the present ones, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEdit {
    /// The version of the plan that the person has read.
    pub version: u32,
    /// The task.
    pub task: TaskNo,
    /// The fields in that version.
    pub before: TaskFields,
    /// The new fields.
    pub after: TaskFields,
}
