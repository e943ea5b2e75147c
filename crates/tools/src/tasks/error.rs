//! The errors of the tools of tasks: the goal's refusals, with the next step of the agent.

use model::{
    goal::{PlanError, Refusal, TaskRole},
    lifecycle::Lifecycle as _,
    session::SessionStatus,
};
use service::{Error, ToolOffer};

use crate::reply::ToolError;

/// Returns the step of an agent that may not do what it wants.
pub(super) const fn role_advice(role: Option<TaskRole>) -> &'static str {
    match role {
        Some(TaskRole::Worker) => "finish your task, put this into `follow_up`",
        Some(TaskRole::Judge) => "give your verdict, put this into a finding",
        Some(TaskRole::Planner) => "change the plan by `create_task`, then end your turn",
        Some(TaskRole::Reporter) => "write the report, put this into it",
        None => "put this into your answer",
    }
}

/// Returns the error of a tool of tasks.
pub(super) fn task_error(error: Error, offer: ToolOffer) -> ToolError {
    let (kind, message, advice) = match &error {
        // The session of a goal that is over takes no more calls.
        Error::Refused(refused) if refused.what == SessionStatus::WHAT => {
            return closed();
        }
        Error::Refused(refused) => ("not_allowed", refused.to_string(), role_advice(offer.task)),
        Error::NotAllowed { reason } => ("not_allowed", reason.clone(), role_advice(offer.task)),
        Error::NotFound {
            what: "artifact", ..
        } => (
            "unknown",
            error.to_string(),
            "call `save_artifact` first, or leave the name out",
        ),
        Error::NotFound { .. } => (
            "unknown",
            error.to_string(),
            "call `list_tasks` without `task` and `after` for the keys",
        ),
        Error::Store(store::Error::Goal(refusal)) => match refusal {
            Refusal::Closed(_) => return closed(),
            Refusal::Plan(faults) => return plan_error(faults),
            Refusal::Evidence { .. } => (
                "invalid",
                refusal.to_string(),
                "say for each acceptance line what you ran, read or compared; if you cannot, call `judge_task` with \
                 `send_back`. A turn without a verdict counts as none",
            ),
            Refusal::NoFindings => (
                "invalid",
                refusal.to_string(),
                "name each fault as a finding, or accept with evidence. A turn without a verdict counts as none",
            ),
            Refusal::Report(_) => (
                "invalid",
                refusal.to_string(),
                "correct the input, and call the tool again",
            ),
            Refusal::NotCancelled(_) => (
                "conflict",
                refusal.to_string(),
                "go on; `list_tasks` shows `staged_cancellations`",
            ),
            Refusal::NewTask(_) => (
                "conflict",
                refusal.to_string(),
                "use the status `cancelled` to withdraw the new task",
            ),
            Refusal::Limit { .. } => ("limit", refusal.to_string(), role_advice(offer.task)),
            Refusal::Task { .. } => ("conflict", refusal.to_string(), "end your turn"),
            _ => (
                "conflict",
                refusal.to_string(),
                "call `list_tasks` for the present state",
            ),
        },
        _ => return error.into(),
    };
    ToolError {
        error: kind,
        message,
        advice: advice.into(),
    }
}

fn closed() -> ToolError {
    ToolError {
        error: "closed",
        message: "the goal is over".into(),
        advice: "end your turn".into(),
    }
}

/// Returns the error for the faults of a plan. Its kind is that of the fault whose advice helps most.
fn plan_error(faults: &[PlanError]) -> ToolError {
    let kinds = faults.iter().map(fault_kind);
    let (_, error, advice) = kinds.min().unwrap_or_default();
    let messages: Vec<String> = faults.iter().map(fault_message).collect();
    ToolError {
        error,
        message: messages.join("; "),
        advice: advice.to_owned(),
    }
}

/// Returns the rank of a fault, its kind and the advice.
fn fault_kind(fault: &PlanError) -> (u8, &'static str, &'static str) {
    match fault {
        PlanError::TooManyTasks { .. } | PlanError::TooManyDependencies(..) => (
            0,
            "limit",
            "make fewer and larger tasks, then end your turn; cancel staged ones with `update_task`",
        ),
        PlanError::Duplicate { .. } => (
            1,
            "duplicate",
            "depend on the finished task, or describe other work",
        ),
        PlanError::UsedKey { .. } | PlanError::Status { .. } => {
            (2, "conflict", "call `list_tasks` for the present state")
        }
        PlanError::UnknownKey { .. } => {
            (3, "unknown", "call `list_tasks` for the keys of the goal")
        }
        _ => (4, "invalid", "correct the input, and call the tool again"),
    }
}

/// Returns the message of a fault, with the name of the field in the input of the tool.
fn fault_message(fault: &PlanError) -> String {
    match fault {
        PlanError::UnknownKey {
            field: "drops",
            named,
            nearest,
            ..
        } => {
            let hint = nearest.as_ref();
            let hint = hint.map(|nearest| format!("; did you mean `{nearest}`?"));
            let named = named.escape_debug();
            format!(
                "`task` is `{named}`, which is no task of the plan or of the goal{}",
                hint.unwrap_or_default()
            )
        }
        PlanError::Status {
            field: "drops",
            named,
            status,
            ..
        } => {
            format!(
                "`task` is `{named}`, which is {status}; PENDING, READY, RUNNING and required FAILED tasks are accepted"
            )
        }
        fault => fault.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use model::goal::{GoalStatus, TaskStatus};

    use super::*;

    fn offer(task: TaskRole) -> ToolOffer {
        ToolOffer {
            access: model::tools::ToolAccess::All,
            is_of_goal: true,
            task: Some(task),
            ..ToolOffer::NONE
        }
    }

    fn of(refusal: Refusal) -> ToolError {
        let error = Error::Store(store::Error::Goal(refusal));
        task_error(error, offer(TaskRole::Planner))
    }

    #[test]
    fn fault_of_plan_has_kind_and_accepted_values() {
        let unknown = PlanError::UnknownKey {
            field: "drops",
            key: "plan".into(),
            named: "tine".into(),
            nearest: Some("tone".into()),
        };
        let role = PlanError::Role {
            key: "a".into(),
            role: "coder".into(),
            accepted: "worker or judge".into(),
        };
        let duplicate = PlanError::Duplicate {
            key: "a".into(),
            finished: "tone".into(),
        };
        let used = PlanError::UsedKey {
            key: "a".into(),
            status: TaskStatus::Done,
        };
        let limit = PlanError::TooManyTasks {
            what: "plan",
            limit: "plan",
            count: 51,
            accepted: 50,
        };
        for (faults, kind, part) in [
            (vec![unknown.clone()], "unknown", "did you mean `tone`?"),
            (vec![role.clone()], "invalid", "use worker or judge"),
            (
                vec![used.clone(), duplicate],
                "duplicate",
                "equal to `tone`",
            ),
            (vec![role.clone(), used], "conflict", "use another key"),
            (vec![role, unknown, limit], "limit", "accepts 50"),
        ] {
            let error = of(Refusal::Plan(faults));
            assert_eq!(error.error, kind);
            assert!(error.message.contains(part), "{}", error.message);
        }
    }

    #[test]
    fn withdrawal_of_what_plan_lacks_does_not_end_planning() {
        for (refusal, part) in [
            (Refusal::NotCancelled("b".into()), "`staged_cancellations`"),
            (Refusal::NewTask("b".into()), "`cancelled`"),
        ] {
            let error = of(refusal);
            assert_eq!(error.error, "conflict");
            assert!(error.message.contains("`b`"), "{}", error.message);
            assert!(error.advice.contains(part), "{}", error.advice);
        }
    }

    #[test]
    fn call_after_end_of_goal_is_closed() {
        let error = of(Refusal::Closed(GoalStatus::Failed));
        assert_eq!(
            (error.error, error.advice.as_str()),
            ("closed", "end your turn")
        );
    }

    #[test]
    fn advice_depends_on_part_of_agent() {
        let reason = || Error::NotAllowed {
            reason: "no".into(),
        };
        let error = task_error(reason(), offer(TaskRole::Worker));
        assert_eq!(error.error, "not_allowed");
        assert!(error.advice.contains("`follow_up`"), "{}", error.advice);
        let error = task_error(reason(), offer(TaskRole::Judge));
        assert!(error.advice.contains("finding"), "{}", error.advice);
    }
}
