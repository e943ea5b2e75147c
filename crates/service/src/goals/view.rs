//! Goals and tasks as the API shows them.

use std::collections::BTreeMap;

use api_types::{
    Goal, GoalBudget, GoalPhase, GoalQuestion, GoalReason, GoalSeat, GoalSeatState, GoalSummary,
    GoalUsage, Task, TaskCounts, TaskDetails, TaskFinding, TaskRun,
};
use model::{
    SessionId, Timestamp,
    entity::Session,
    goal::{
        self, GoalState, LimitUsage, LimitedGoal, PauseReason, Presence, StuckCause, TaskKind,
        TaskStatus, WaitsFor,
    },
    question::Question,
    team::LIMIT_FIELDS,
};
use serde_json::Value;
use store::{GoalItem, GoalTask, GoalView, SeatOverview, TaskCount};

/// Returns the reason of a state, and the cause for which the goal is stuck.
pub(crate) const fn reason_of(state: GoalState) -> (Option<GoalReason>, Option<StuckCause>) {
    match state {
        GoalState::Draft | GoalState::Active | GoalState::Done => (None, None),
        GoalState::Paused(PauseReason::Person) => (Some(GoalReason::Person), None),
        GoalState::Paused(PauseReason::Budget) => (Some(GoalReason::Budget), None),
        GoalState::Paused(PauseReason::Stuck) => (Some(GoalReason::Stuck), None),
        GoalState::Paused(PauseReason::ApprovePlan) => (Some(GoalReason::ApprovePlan), None),
        GoalState::Stuck(cause) => (Some(GoalReason::Stuck), Some(cause)),
        GoalState::Cancelled => (Some(GoalReason::Cancelled), None),
        GoalState::GivenUp => (Some(GoalReason::GivenUp), None),
    }
}

/// Returns the phase that follows from the kinds of the open tasks.
fn phase(state: GoalState, tasks: &[TaskCount]) -> Option<GoalPhase> {
    if state.is_over() || state == GoalState::Draft {
        return None;
    }
    let count = |kind, statuses: &[TaskStatus]| {
        let of = tasks
            .iter()
            .filter(|it| it.kind == kind && statuses.contains(&it.status));
        of.map(|it| it.number).sum::<u32>()
    };
    let open = [TaskStatus::Pending, TaskStatus::Ready, TaskStatus::Running];
    let startable = [TaskStatus::Ready, TaskStatus::Running];
    if count(TaskKind::Report, &open) > 0 {
        Some(GoalPhase::Reporting)
    } else if count(TaskKind::Check, &open) > 0 {
        Some(GoalPhase::Checking)
    } else if count(TaskKind::Work, &startable) > 0 {
        // A plan that is made again meanwhile does not stop the work.
        Some(GoalPhase::Working)
    } else if count(TaskKind::Plan, &open) > 0 {
        Some(GoalPhase::Planning)
    } else if count(TaskKind::Work, &open) > 0 {
        Some(GoalPhase::Working)
    } else {
        None
    }
}

/// Returns the numbers of tasks of the plan, by their status.
pub(crate) fn task_counts(tasks: &[TaskCount]) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for task in tasks.iter().filter(|task| task.kind == TaskKind::Work) {
        counts.total += task.number;
        *match task.status {
            TaskStatus::Pending => &mut counts.pending,
            TaskStatus::Ready => &mut counts.ready,
            TaskStatus::Running => &mut counts.running,
            TaskStatus::Done => &mut counts.done,
            TaskStatus::Failed => &mut counts.failed,
            TaskStatus::Cancelled => &mut counts.cancelled,
        } += task.number;
    }
    counts
}

fn usage(usage: &store::GoalUsage) -> GoalUsage {
    GoalUsage {
        tokens: (usage.reported_runs > 0).then_some(usage.used.tokens),
        cost: usage.money().into_iter().map(Into::into).collect(),
        unreported_runs: usage.unreported_runs,
        runs_without_cost: usage.runs_without_cost,
    }
}

/// Returns the usage of the limits of a goal.
pub(super) fn limit_usage(goal: &GoalView, now: Timestamp) -> Vec<LimitUsage> {
    let limited = LimitedGoal {
        budget: &goal.budget,
        usage: &goal.usage.used,
        runs_without_cost: goal.usage.runs_without_cost,
        turns: goal.counted_turns,
        turn_limit: goal.limits.turns,
        until: goal.until,
        ended_at: goal.ended_at,
    };
    limited.limit_usage(now)
}

fn budget(budget: &goal::GoalBudget) -> Option<GoalBudget> {
    (!budget.is_none()).then(|| GoalBudget {
        tokens: budget.tokens,
        cost: budget.cost.clone().map(Into::into),
    })
}

/// Returns a goal of a list.
pub(super) fn summary_of_item(item: GoalItem) -> GoalSummary {
    let (reason, cause) = reason_of(item.state);
    GoalSummary {
        id: item.session,
        key: item.key,
        title: item.title,
        state: item.state.status(),
        reason,
        cause: cause.map(|cause| cause.to_string()),
        phase: phase(item.state, &item.tasks),
        team: item.team,
        tasks: task_counts(&item.tasks),
        turns: item.turns,
        turn_limit: item.turn_limit,
        usage: usage(&item.usage),
        budget: budget(&item.budget),
        until: item.until,
        open_questions: item.open_questions,
        open_approvals: item.open_approvals,
        created_at: item.created_at,
        updated_at: item.updated_at,
        ended_at: item.ended_at,
        goal: item.text,
    }
}

/// Returns the number of tasks as lists of goals have them.
fn count_tasks(tasks: &[GoalTask]) -> Vec<TaskCount> {
    let count = |task: &GoalTask| TaskCount {
        kind: task.kind,
        status: task.status,
        number: 1,
    };
    tasks.iter().map(count).collect()
}

pub(super) fn summary(session: &Session, goal: &GoalView) -> GoalSummary {
    let (reason, cause) = reason_of(goal.state);
    let tasks = count_tasks(&goal.tasks);
    GoalSummary {
        id: goal.session,
        key: session.session_key.clone(),
        title: session.title.clone(),
        goal: goal.text.clone(),
        state: goal.state.status(),
        reason,
        cause: cause.map(|cause| cause.to_string()),
        phase: phase(goal.state, &tasks),
        team: goal.team.name.clone(),
        tasks: task_counts(&tasks),
        turns: goal.turns,
        turn_limit: goal.limits.turns,
        usage: usage(&goal.usage),
        budget: budget(&goal.budget),
        until: goal.until,
        open_questions: goal.open_questions,
        open_approvals: goal.open_approvals,
        created_at: goal.created_at,
        updated_at: goal.updated_at,
        ended_at: goal.ended_at,
    }
}

/// Returns the state of a seat. The presence of its instance comes before its turn.
const fn seat_state(presence: Presence, is_busy: bool) -> GoalSeatState {
    match (presence, is_busy) {
        (Presence::Removed, _) => GoalSeatState::Removed,
        (Presence::Offline, _) => GoalSeatState::Offline,
        (Presence::Online, true) => GoalSeatState::Busy,
        (Presence::Online, false) => GoalSeatState::Free,
    }
}

/// A goal that a caller has read in order to change it.
#[derive(Debug)]
pub struct GoalToEdit {
    /// The goal.
    pub goal: Goal,
    /// The rows from which the goal was read, with which an edit compares those under its locks.
    pub(super) seen: GoalView,
}

/// Returns a goal with its seats and its open questions.
pub(super) fn goal_view(
    session: &Session,
    goal: &GoalView,
    agents: &[SeatOverview],
    mut questions: Vec<Question>,
    now: Timestamp,
) -> Goal {
    let seats = goal.seats.iter().map(|seat| {
        let overview = agents.iter().find(|overview| overview.seat.id == seat.id);
        GoalSeat {
            id: seat.id,
            name: seat.name.clone(),
            role: seat.role.clone(),
            agent: overview.map_or_else(String::new, |overview| overview.agent.clone()),
            state: seat_state(seat.presence, seat.is_busy),
            task: seat.task.clone(),
            turns: seat.turns,
            usage: usage(&seat.usage),
        }
    });
    // The limits of the graph may have changed since the team was stored.
    let mut limits = goal.team.limits.clone();
    limits.graph = goal.limits.clone();
    let limits: BTreeMap<_, _> = LIMIT_FIELDS
        .iter()
        .map(|limit| (limit.name.to_owned(), (limit.get)(&limits)))
        .collect();
    let commands = goal.team.checks.iter();
    let commands = commands.map(|(name, check)| (name.clone(), check.command.clone()));
    questions.reverse();
    let questions = questions.into_iter().map(|question| {
        let seat = goal.seats.iter().find(|seat| seat.id == question.seat_id);
        GoalQuestion {
            id: question.id,
            seat: seat.map_or_else(String::new, |seat| seat.name.clone()),
            text: question.text,
            default: question.body.default.as_ref().map(text_of),
            deadline: question.deadline_at,
        }
    });
    Goal {
        summary: summary(session, goal),
        plan_version: goal.plan_version,
        replans: goal.replans,
        replan_limit: goal.limits.replans,
        messages: goal.messages,
        message_turns: goal.message_turns,
        alternating_turns: goal.alternating_turns,
        seats: seats.collect(),
        limits,
        limit_usage: limit_usage(goal, now).into_iter().map(Into::into).collect(),
        checks: commands.collect(),
        check_at: goal.check_at,
        questions: questions.collect(),
        directory: session.cwd.clone(),
    }
}

/// Returns an answer as a text.
pub(super) fn text_of(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Null => "no answer".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the reason of a task that is over, with the names behind it.
pub(super) fn reason(task: &GoalTask) -> Option<String> {
    task.reason.map(|reason| match task.about.as_slice() {
        [] => reason.to_owned(),
        about => format!("{reason}: {}", about.join(", ")),
    })
}

/// Returns a task of a goal.
pub(super) fn task(session: SessionId, round_limit: u32, task: GoalTask) -> Task {
    let waits_for = match &task.waits_for {
        WaitsFor::Nothing => None,
        other => Some(other.to_string()),
    };
    let reason = reason(&task);
    Task {
        id: task.id,
        goal_id: session,
        key: task.key,
        title: task.title,
        kind: task.kind,
        role: task.role,
        status: task.status,
        step: task.step,
        seat: task.seat,
        round: task.round,
        round_limit,
        attempts: task.attempts,
        optional: task.optional,
        review: task.review,
        priority: task.priority,
        plan_version: task.plan_version,
        depends_on: task.depends_on,
        waits_for,
        reason,
        cause: task.cause,
        result: task.result,
        created_at: task.created_at,
        started_at: task.started_at,
        ended_at: task.ended_at,
    }
}

/// A task that a caller has read in order to show or to change it.
#[derive(Debug)]
pub struct TaskToEdit {
    /// The task.
    pub task: TaskDetails,
    /// The version of the plan of its goal, with which an edit compares the present one under its locks.
    pub plan_version: u32,
}

/// Returns a task with its texts, its findings and its runs.
pub(super) fn task_details(found: store::TaskDetails) -> TaskDetails {
    TaskDetails {
        task: task(found.session, found.round_limit, found.task),
        description: found.description,
        acceptance: found.acceptance,
        writes: found.writes,
        checks: found.checks,
        artifacts: found.artifacts,
        findings: found.findings.into_iter().map(task_finding).collect(),
        evidence: found.evidence,
        check_output: found
            .last_checks
            .map(|checks| checks.evidence)
            .unwrap_or_default(),
        tool_calls: Some(found.tool_calls),
        edits_outside_writes: found.edits_outside_writes.paths,
        more_edits_outside_writes: found.edits_outside_writes.more,
        runs: found.runs.into_iter().map(task_run).collect(),
    }
}

fn task_finding(finding: store::TaskFinding) -> TaskFinding {
    TaskFinding {
        id: finding.id,
        text: finding.text,
        severity: finding.severity,
        criterion: finding.criterion,
        from: finding.check.unwrap_or_else(|| "judge".to_owned()),
    }
}

fn task_run(run: store::TaskRunRow) -> TaskRun {
    let (verdict, evidence, findings) = match run.verdict {
        Some(it) => (Some(it.verdict), it.evidence, it.findings),
        None => (None, Vec::new(), Vec::new()),
    };
    TaskRun {
        id: run.id,
        status: run.status,
        prompt: run.prompt,
        seat: run.seat,
        started_at: run.started_at,
        ended_at: run.ended_at,
        verdict,
        evidence,
        findings: findings.into_iter().map(task_finding).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(kind: TaskKind, status: TaskStatus, number: u32) -> TaskCount {
        TaskCount {
            kind,
            status,
            number,
        }
    }

    #[test]
    fn phase_follows_from_open_tasks() {
        use TaskKind::{Check, Plan, Report, Work};
        use TaskStatus::{Cancelled, Done, Failed, Pending, Ready, Running};
        let active = GoalState::Active;
        let cases = [
            (vec![], None),
            (vec![count(Plan, Running, 1)], Some(GoalPhase::Planning)),
            (
                vec![count(Plan, Running, 1), count(Work, Running, 2)],
                Some(GoalPhase::Working),
            ),
            (
                vec![count(Plan, Ready, 1), count(Work, Pending, 2)],
                Some(GoalPhase::Planning),
            ),
            (
                vec![
                    count(Plan, Done, 1),
                    count(Work, Pending, 2),
                    count(Work, Failed, 1),
                ],
                Some(GoalPhase::Working),
            ),
            (
                vec![count(Work, Done, 2), count(Check, Running, 1)],
                Some(GoalPhase::Checking),
            ),
            (
                vec![count(Work, Cancelled, 2), count(Report, Running, 1)],
                Some(GoalPhase::Reporting),
            ),
            (vec![count(Work, Done, 2)], None),
        ];
        for (tasks, expected) in cases {
            assert_eq!(phase(active, &tasks), expected, "{tasks:?}");
            assert_eq!(phase(GoalState::Done, &tasks), None);
        }
    }

    #[test]
    fn seat_of_removed_instance_is_removed() {
        let cases = [
            (Presence::Removed, true, "removed"),
            (Presence::Removed, false, "removed"),
            (Presence::Offline, true, "offline"),
            (Presence::Online, true, "busy"),
            (Presence::Online, false, "free"),
        ];
        for (presence, is_busy, word) in cases {
            let state = serde_json::to_value(seat_state(presence, is_busy)).unwrap();
            assert_eq!(state, word, "{presence:?}");
        }
    }

    #[test]
    fn only_tasks_of_plan_are_counted() {
        let tasks = [
            count(TaskKind::Plan, TaskStatus::Done, 2),
            count(TaskKind::Work, TaskStatus::Done, 3),
            count(TaskKind::Work, TaskStatus::Failed, 1),
        ];
        let counts = task_counts(&tasks);
        assert_eq!((counts.total, counts.done, counts.failed), (4, 3, 1));
    }
}
