//! The faults for which a plan is refused.

use crate::goal::task::TaskStatus;

/// A fault of a plan. It names the task, the field, the value, and the accepted values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The key has a form that is not accepted.
    #[error("`key` is `{}`; 1 to 40 of the letters a-z, A-Z, digits, `-`, `_` and `.` are accepted", .0.escape_debug())]
    Key(String),
    /// The key is in use.
    #[error("`key` is `{key}`, which a task that is {status} has; use another key")]
    UsedKey {
        /// The key.
        key: String,
        /// The status of the task that has the key.
        status: TaskStatus,
    },
    /// The plan has the key twice.
    #[error("`key` is `{0}` twice in the plan; each key is accepted once")]
    RepeatedKey(String),
    /// A title is not one line.
    #[error("`title` of `{key}` is `{}`; 1 to 120 bytes on one line, without spaces at the ends, are accepted", .title.escape_debug())]
    Title {
        /// The key of the task.
        key: String,
        /// The title, with the item if the task has items.
        title: String,
    },
    /// No seat has the role.
    #[error("`role` of `{key}` is `{}`; use {accepted}", .role.escape_debug())]
    Role {
        /// The key of the task.
        key: String,
        /// The role.
        role: String,
        /// The accepted roles.
        accepted: String,
    },
    /// The team has no role beside the planner. Such teams are refused by now, but goals of earlier versions have them.
    #[error(
        "no seat can do `{0}`, because the team has a planner alone; start another goal with a team that has one more role, such as `worker`"
    )]
    NoRole(String),
    /// A key in a list names no task.
    #[error("`{field}` of `{key}` names `{}`, which is no task{}", .named.escape_debug(), hint(.nearest.as_deref()))]
    UnknownKey {
        /// The field.
        field: &'static str,
        /// The key of the task.
        key: String,
        /// The unknown key.
        named: String,
        /// The most similar key.
        nearest: Option<String>,
    },
    /// A check is not one of the team.
    #[error("`checks` of `{key}` names `{}`; use {accepted}", .named.escape_debug())]
    UnknownCheck {
        /// The key of the task.
        key: String,
        /// The unknown check.
        named: String,
        /// The accepted checks.
        accepted: String,
    },
    /// The dependencies have a cycle.
    #[error("`depends_on` makes the cycle {}; remove one of these dependencies", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// A task to replace, to cancel or to drop is not in a state for it.
    #[error("`{field}` names `{named}`, which is {status}; {accepted}")]
    Status {
        /// The field.
        field: &'static str,
        /// The key of the task.
        named: String,
        /// The status.
        status: TaskStatus,
        /// The accepted statuses.
        accepted: &'static str,
    },
    /// A task depends on a task that it replaces.
    #[error(
        "`{key}` replaces `{named}`, so it cannot depend on it; remove `{named}` from `depends_on` or from `replaces`"
    )]
    DependsOnReplaced {
        /// The key of the task.
        key: String,
        /// The key of the replaced task.
        named: String,
    },
    /// A task is equal to a finished one.
    #[error(
        "`{key}` is equal to `{finished}`, which is DONE; depend on `{finished}` or describe other work"
    )]
    Duplicate {
        /// The key of the task.
        key: String,
        /// The key of the finished task.
        finished: String,
    },
    /// A path of `writes` is not accepted.
    #[error("`writes` of `{key}` has `{}`; paths relative to the directory without `..` are accepted", .path.escape_debug())]
    Path {
        /// The key of the task.
        key: String,
        /// The path.
        path: String,
    },
    /// A text is too long.
    #[error("`{field}` of `{key}` has {length} bytes; at most {accepted} are accepted")]
    Length {
        /// The field.
        field: &'static str,
        /// The key of the task.
        key: String,
        /// The length.
        length: usize,
        /// The accepted length.
        accepted: usize,
    },
    /// A list has too many entries.
    #[error("`{field}` of `{key}` has {count} entries; at most {accepted} are accepted")]
    Entries {
        /// The field.
        field: &'static str,
        /// The key of the task.
        key: String,
        /// The number of entries.
        count: usize,
        /// The accepted number.
        accepted: usize,
    },
    /// The priority is too high.
    #[error("`priority` of `{key}` is {priority}; 0 to 9 are accepted")]
    Priority {
        /// The key of the task.
        key: String,
        /// The priority.
        priority: u8,
    },
    /// A task is marked for review, and the team has no judge.
    #[error("`review` of `{0}` is true, and no seat has the role `judge`; false is accepted")]
    NoJudge(String),
    /// The plan or the goal has too many tasks.
    #[error("the {what} has {count} tasks; `limits.{limit}` accepts {accepted}")]
    TooManyTasks {
        /// `plan` or `goal`.
        what: &'static str,
        /// The name of the limit.
        limit: &'static str,
        /// The number of tasks.
        count: usize,
        /// The accepted number.
        accepted: u32,
    },
    /// The goal has too many dependencies.
    #[error(
        "`depends_on` of all tasks together has {0} entries; at most {1} are accepted: put a task between two groups of `each`"
    )]
    TooManyDependencies(usize, usize),
}

impl PlanError {
    /// Returns the key of the task at fault. Returns `None` for a fault of the whole plan.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key)
            | Self::RepeatedKey(key)
            | Self::NoJudge(key)
            | Self::NoRole(key)
            | Self::UsedKey { key, .. }
            | Self::Title { key, .. }
            | Self::Role { key, .. }
            | Self::UnknownKey { key, .. }
            | Self::UnknownCheck { key, .. }
            | Self::DependsOnReplaced { key, .. }
            | Self::Duplicate { key, .. }
            | Self::Path { key, .. }
            | Self::Length { key, .. }
            | Self::Entries { key, .. }
            | Self::Priority { key, .. } => Some(key),
            Self::Status { .. }
            | Self::Cycle(_)
            | Self::TooManyTasks { .. }
            | Self::TooManyDependencies(..) => None,
        }
    }

    /// Returns the field at fault: of the task with [`PlanError::key`], or `drops` of the plan. Returns `None` if the fault is
    /// in no single field.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Key(_) | Self::RepeatedKey(_) | Self::UsedKey { .. } => Some("key"),
            Self::Title { .. } => Some("title"),
            Self::Role { .. } | Self::NoRole(_) => Some("role"),
            Self::UnknownKey { field, .. }
            | Self::Status { field, .. }
            | Self::Length { field, .. }
            | Self::Entries { field, .. } => Some(*field),
            Self::UnknownCheck { .. } => Some("checks"),
            Self::DependsOnReplaced { .. } => Some("depends_on"),
            Self::Path { .. } => Some("writes"),
            Self::Priority { .. } => Some("priority"),
            Self::NoJudge(_) => Some("review"),
            Self::Duplicate { .. }
            | Self::Cycle(_)
            | Self::TooManyTasks { .. }
            | Self::TooManyDependencies(..) => None,
        }
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "; use the key of a task of the plan or of the goal".to_owned(),
        |nearest| format!("; did you mean `{nearest}`?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_its_task_and_field() {
        let key = || "mail".to_owned();
        let of_task = [
            (PlanError::Key(key()), Some("key")),
            (PlanError::NoJudge(key()), Some("review")),
            (PlanError::NoRole(key()), Some("role")),
            (
                PlanError::Path {
                    key: key(),
                    path: "..".into(),
                },
                Some("writes"),
            ),
            (
                PlanError::Priority {
                    key: key(),
                    priority: 10,
                },
                Some("priority"),
            ),
            (
                PlanError::DependsOnReplaced {
                    key: key(),
                    named: "old".into(),
                },
                Some("depends_on"),
            ),
            (
                PlanError::Entries {
                    field: "acceptance",
                    key: key(),
                    count: 11,
                    accepted: 10,
                },
                Some("acceptance"),
            ),
            (
                PlanError::Duplicate {
                    key: key(),
                    finished: "old".into(),
                },
                None,
            ),
        ];
        for (fault, field) in of_task {
            assert_eq!((fault.key(), fault.field()), (Some("mail"), field));
        }
        let status = PlanError::Status {
            field: "drops",
            named: "old".into(),
            status: TaskStatus::Done,
            accepted: "open tasks are accepted",
        };
        assert_eq!((status.key(), status.field()), (None, Some("drops")));
        let cycle = PlanError::Cycle(vec![key()]);
        assert_eq!((cycle.key(), cycle.field()), (None, None));
    }
}
