//! The tools `create_task`, `update_task`, `judge_task` and `list_tasks`: the tasks of a goal.

mod create;
mod error;
mod judge;
mod list;
mod update;

use model::{goal::TaskRole, permission::TASK_TOOL_NAMES, tools::ToolAccess};
use service::ToolOffer;

use crate::reply::ToolError;

pub(crate) use self::{create::CREATE, judge::JUDGE, list::LIST, update::UPDATE};

/// Returns `true` if a call reports the result or the verdict of the turn.
pub(crate) fn is_report(name: &str, offer: ToolOffer) -> bool {
    offer.task.is_some_and(TaskRole::reports) && (name == UPDATE.name || name == JUDGE.name)
}

/// Returns the refusal of a tool of tasks that the agent does not get. Returns `None` for another tool.
pub(crate) fn refused_tool(name: &str, offer: ToolOffer) -> Option<ToolError> {
    if !TASK_TOOL_NAMES.contains(&name) || offer.access == ToolAccess::None {
        return None;
    }
    let message = match offer.task {
        Some(_) if offer.access == ToolAccess::Read => {
            format!("`{name}` is not for agents that may only read")
        }
        Some(role) => format!("`{name}` is not for the {role} of a task"),
        None if offer.is_of_goal => {
            format!("`{name}` is for the turns of the goal's tasks, and this is none")
        }
        None => format!("`{name}` is for the turns of goals, and this is none"),
    };
    Some(ToolError {
        error: "not_allowed",
        message,
        advice: error::role_advice(offer.task).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(task: Option<TaskRole>) -> ToolOffer {
        ToolOffer {
            access: ToolAccess::All,
            is_of_goal: true,
            task,
            ..ToolOffer::NONE
        }
    }

    #[test]
    fn worker_creating_tasks_is_advised_to_propose_them() {
        let refused = refused_tool("create_task", offer(Some(TaskRole::Worker))).unwrap();
        assert_eq!(refused.error, "not_allowed");
        assert_eq!(
            refused.advice,
            "finish your task, put this into `follow_up`"
        );
        let refused = refused_tool("create_task", offer(None)).unwrap();
        let says = "`create_task` is for the turns of the goal's tasks, and this is none";
        assert_eq!(refused.message, says);
        let outside = ToolOffer {
            is_of_goal: false,
            ..offer(None)
        };
        let refused = refused_tool("list_tasks", outside).unwrap();
        let says = "`list_tasks` is for the turns of goals, and this is none";
        assert_eq!(refused.message, says);
        assert_eq!(refused_tool("rm", offer(None)), None);
        assert_eq!(refused_tool("create_task", ToolOffer::NONE), None);
    }

    #[test]
    fn reports_alone_pass_the_limit_of_calls() {
        for (name, role, passes) in [
            ("update_task", TaskRole::Worker, true),
            ("judge_task", TaskRole::Judge, true),
            ("update_task", TaskRole::Planner, false),
            ("create_task", TaskRole::Planner, false),
            ("list_tasks", TaskRole::Worker, false),
        ] {
            assert_eq!(is_report(name, offer(Some(role))), passes, "{name} {role}");
        }
        assert!(!is_report("update_task", offer(None)));
        let refused = ToolError::too_many_calls(Some(TaskRole::Worker));
        assert_eq!(refused.advice, "call `update_task`, then end your turn");
    }
}
