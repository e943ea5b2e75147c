//! The part of an agent in a turn of a task, on which its tools depend.

use crate::{
    goal::{
        report_schema::ReportKind,
        task::{Activity, Task, TaskKind},
    },
    text_enum::text_enum,
};

text_enum! {
    /// The part of an agent in a turn of a task.
    TaskRole, "a part in a task" {
        /// The agent makes the tasks of a plan.
        Planner = "planner",
        /// The agent does a task.
        Worker = "worker",
        /// The agent judges a task, or the whole goal.
        Judge = "judge",
        /// The agent writes the prose of the report.
        Reporter = "reporter",
    }
}

impl TaskRole {
    /// Returns the part in the turn that a task has under way.
    pub fn of_task(task: &Task) -> Self {
        let is_review = matches!(task.activity(), Some(Activity::Review { .. }));
        Self::of_turn(task.kind, is_review)
    }

    /// Returns the part in a turn of a task with this kind, which judges the task or not. A judge that takes a task of the
    /// plan is its worker.
    pub const fn of_turn(kind: TaskKind, is_review: bool) -> Self {
        match kind {
            _ if is_review => Self::Judge,
            TaskKind::Plan => Self::Planner,
            TaskKind::Report => Self::Reporter,
            TaskKind::Work | TaskKind::Check => Self::Worker,
        }
    }

    /// Returns `true` if the agent ends its turn by a report: a result or a verdict.
    pub const fn reports(self) -> bool {
        matches!(self, Self::Worker | Self::Judge)
    }

    /// Returns the kind of the report that the turn owes. Returns `None` for the turn that writes the prose of the report.
    pub const fn report_kind(self) -> Option<ReportKind> {
        match self {
            Self::Planner => Some(ReportKind::Plan),
            Self::Worker => Some(ReportKind::Result),
            Self::Judge => Some(ReportKind::Verdict),
            Self::Reporter => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_and_report_follow_from_task_and_review() {
        use ReportKind::{Plan, Result, Verdict};
        for (kind, is_review, role, report) in [
            (TaskKind::Plan, false, TaskRole::Planner, Some(Plan)),
            (TaskKind::Work, false, TaskRole::Worker, Some(Result)),
            (TaskKind::Work, true, TaskRole::Judge, Some(Verdict)),
            (TaskKind::Check, true, TaskRole::Judge, Some(Verdict)),
            (TaskKind::Report, false, TaskRole::Reporter, None),
        ] {
            let found = TaskRole::of_turn(kind, is_review);
            assert_eq!((found, found.report_kind()), (role, report), "{kind}");
            let has_report = matches!(report, Some(Result | Verdict));
            assert_eq!(found.reports(), has_report, "{kind}");
        }
    }
}
