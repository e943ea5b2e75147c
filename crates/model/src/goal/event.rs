//! The events that move a goal, and the effects that the caller has to carry out.

use std::collections::BTreeSet;

use crate::{
    InputId,
    goal::{
        goal_status::{GoalEvent, GoalStatus},
        limits::Limits,
        message_delay::MessageDelay,
        new_task::Plan,
        plan_error::PlanError,
        report_fault::ReportFault,
        seat::{Input, Memory, Presence, Prompt, SeatNo},
        task::{TaskNo, TaskStatus},
        task_fields::TaskEdit,
        team::TeamError,
    },
    text_enum::text_enum,
};

text_enum! {
    /// The reason of a paused goal.
    PauseReason, "a reason of a paused goal" {
        /// A person paused the goal.
        Person = "person",
        /// A budget is used up to 90 percent or more.
        Budget = "budget",
        /// The goal cannot go on by itself.
        Stuck = "stuck",
        /// A person has to approve the first plan.
        ApprovePlan = "approve_plan",
    }
}

text_enum! {
    /// The cause for which a goal is stuck.
    StuckCause, "a cause of a stuck goal" {
        /// No task can run.
        Idle = "nothing can run",
        /// Many turns ended without a finished task, a new artifact or a new plan.
        NoProgress = "no progress",
        /// The judge has given no verdict.
        JudgeBroken = "no verdict",
        /// The judge sent the whole goal back as often as the limit allows.
        CheckRejected = "goal sent back",
        /// The first plan failed.
        NoPlan = "no plan",
    }
}

text_enum! {
    /// The usage of the most used budget.
    BudgetLevel, "a level of a budget" {
        /// Less than 90 percent are used.
        Enough = "enough",
        /// At least 90 percent are used. Only the turn of the report starts.
        Low = "low",
        /// The budget is used up. No turn starts.
        UsedUp = "used_up",
    }
}

/// The state of a goal, with the data that this state alone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalState {
    /// The goal is being prepared.
    Draft,
    /// Turns start.
    Active,
    /// A person paused the goal, its budget is used up, or a person has to approve the first plan.
    Paused(PauseReason),
    /// The goal cannot go on by itself.
    Stuck(StuckCause),
    /// The goal is reached.
    Done,
    /// A person cancelled the goal.
    Cancelled,
    /// The goal was stuck for as long as the limit allows.
    GivenUp,
}

impl GoalState {
    /// Returns the status: the state without its data.
    pub const fn status(self) -> GoalStatus {
        match self {
            Self::Draft => GoalStatus::Draft,
            Self::Active => GoalStatus::Active,
            Self::Paused(_) | Self::Stuck(_) => GoalStatus::Paused,
            Self::Done => GoalStatus::Done,
            Self::Cancelled | Self::GivenUp => GoalStatus::Failed,
        }
    }

    /// Returns `true` if the goal is done or has failed.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::GivenUp)
    }
}

text_enum! {
    /// A deadline that the caller sets and reports by an event.
    Deadline, "a deadline of a goal" {
        /// Tasks can run only on seats that are offline, or their turns and checks wait there.
        Seats = "seats",
        /// The goal is stuck.
        GiveUp = "give_up",
    }
}

text_enum! {
    /// The severity of a finding.
    Severity, "a severity of a finding" {
        /// The finding prevents acceptance.
        Blocker = "blocker",
        /// The finding is a note.
        Minor = "minor",
    }
}

/// A finding of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The ID, which stays the same in each round.
    pub id: String,
    /// The severity.
    pub severity: Severity,
    /// `true` if the rework has broken something.
    pub regression: bool,
}

/// A verdict of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The judge accepts.
    Accept {
        /// The number of pieces of evidence.
        evidence: usize,
    },
    /// The judge sends the work back.
    SendBack(Vec<Finding>),
}

/// The end of a turn, after all retries of the machinery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The planner ended its turn. The plan has the staged tasks.
    Planned(Plan),
    /// The agent reported its task as done.
    Reported,
    /// The agent reported its task as failed.
    ReportedFailure,
    /// The agent asked questions, of which this many are still open. Zero counts as no report.
    Questions(u32),
    /// The judge gave a verdict.
    Verdict(Verdict),
    /// The agent ended its turn without the tool call that the prompt demands. The end of a turn with messages, or with the
    /// report, is always this, `Failed` or `Cancelled`.
    WithoutReport {
        /// `true` if the agent listed the tools of Matins.
        listed_tools: bool,
    },
    /// The answer has a report of which nothing is stored. A reminder names its faults. None of them: the agent has listed the
    /// tools of Matins, and no reminder has asked for a report in its answer.
    RefusedReport(Vec<ReportFault>),
    /// The turn failed.
    Failed,
    /// A person cancelled the turn. The task has no other attempt by itself.
    Cancelled,
}

/// An event of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A person starts the goal.
    Start,
    /// A turn ended for good. Attempts that the machinery repeats by itself are no ends.
    TurnEnded {
        /// The seat of the turn.
        seat: SeatNo,
        /// The end.
        end: TurnEnd,
        /// `true` if the agent proposed further work, or if a plan ended and proposals are left that no plan has had.
        follow_up: bool,
        /// `true` if the agent saved a new artifact.
        new_artifact: bool,
    },
    /// All checks of a task passed.
    ChecksPassed(TaskNo),
    /// A check failed.
    CheckFailed {
        /// The task.
        task: TaskNo,
        /// The name of the check.
        check: String,
        /// The last lines of its output.
        last_lines: String,
    },
    /// A check cannot run, because its program is missing or its time is over.
    CheckBroken {
        /// The task.
        task: TaskNo,
        /// The name of the check.
        check: String,
    },
    /// A person or the deadline answered one question of a task.
    Answered(TaskNo),
    /// Turns that no task has caused have begun or ended. They hold these seats now, or take them before the next turn of a
    /// task.
    OtherTurns(BTreeSet<SeatNo>),
    /// Another seat sent a message to a seat.
    MessageSent(SeatNo),
    /// A seat has messages of other seats, and no turn ahead that brings them.
    MessageTurn {
        /// The seat.
        seat: SeatNo,
        /// The input of the turn.
        input: InputId,
    },
    /// The turn of a requested input for messages began. Other inputs count nowhere.
    MessageTurnBegan(InputId),
    /// The turn of a requested input for messages never begins.
    MessageTurnDropped(InputId),
    /// The instances of seats came, went or were removed. Seats of one instance change together.
    SeatPresence(Vec<(SeatNo, Presence)>),
    /// The usage of the budgets reached another level.
    Budget(BudgetLevel),
    /// A deadline passed.
    DeadlinePassed(Deadline),
    /// A person changes the limits.
    Limits(Limits),
    /// A person adds, replaces or drops tasks. `version` is the version of the plan that the person has read.
    Publish {
        /// The version of the plan.
        version: u32,
        /// The changes.
        plan: Plan,
    },
    /// A person edits a task that has not begun, or has failed.
    EditTask(TaskEdit),
    /// A person changes the goal, or requests another plan.
    Replan,
    /// A person retries a failed task, or a broken check or review.
    Retry(TaskNo),
    /// A person accepts a task.
    Accept(TaskNo),
    /// A person cancels an open task, or drops a failed one.
    CancelTask(TaskNo),
    /// A person pauses the goal.
    Pause,
    /// A person resumes the goal, or approves its first plan.
    Resume,
    /// A person cancels the goal.
    Cancel,
}

/// An effect that the caller carries out, in the transaction that stores the moved graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A task was created (`from` is `None`), or moved.
    Moved {
        /// The task.
        task: TaskNo,
        /// The status before.
        from: Option<TaskStatus>,
        /// The status after.
        to: TaskStatus,
    },
    /// The number of unsatisfied dependencies of a PENDING task changed.
    Unmet {
        /// The task.
        task: TaskNo,
        /// The number.
        unmet: usize,
    },
    /// The dependencies of a task changed, because others replace them.
    Rewired(TaskNo),
    /// A plan was published.
    Published {
        /// The version of the plan.
        version: u32,
    },
    /// A plan was refused. The next prompt of the planner has these reasons.
    PlanRefused(Vec<PlanError>),
    /// The staged tasks are lost.
    DropStaged,
    /// A turn of a started task waits for its seat.
    Queued {
        /// The seat.
        seat: SeatNo,
        /// The task.
        task: TaskNo,
        /// The prompt.
        prompt: Prompt,
    },
    /// A turn that waited for its seat is withdrawn.
    Withdrawn {
        /// The seat.
        seat: SeatNo,
        /// The task.
        task: TaskNo,
    },
    /// A turn starts.
    Started {
        /// The seat.
        seat: SeatNo,
        /// The input.
        input: Input,
        /// The memory.
        memory: Memory,
    },
    /// A turn for messages of other seats was requested. It starts unless it is delayed: then the next turn of a task on the
    /// seat carries the messages. A requested turn counts when it begins.
    MessageTurn {
        /// The seat.
        seat: SeatNo,
        /// The reason for which the turn does not start.
        delayed_by: Option<MessageDelay>,
    },
    /// A requested turn for messages waits for the end of another turn, because the goal has as many turns at a time as
    /// `parallel` allows.
    MessageTurnWaits(SeatNo),
    /// A turn for messages that waited for the end of another turn starts.
    MessageTurnStarted {
        /// The seat.
        seat: SeatNo,
        /// The input of the turn.
        input: InputId,
    },
    /// The turn under way on the seat is cancelled. Its end is an event, as every end is.
    StopTurn(SeatNo),
    /// The turn under way on the seat, which was removed, is cancelled, and its task goes on elsewhere. Its end is no event.
    LoseTurn(SeatNo),
    /// The checks of a task run.
    RunChecks(TaskNo),
    /// The checks of a task under way are cancelled. Their end is an event.
    StopChecks(TaskNo),
    /// The goal moved.
    Goal(GoalState),
    /// The caller sets a deadline.
    SetDeadline(Deadline),
}

/// The error for an event that the graph refuses. The graph stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The goal is over.
    #[error("the goal is {0}; nothing more is accepted")]
    Closed(GoalStatus),
    /// The goal cannot move so.
    #[error(
        "the goal is {}{status}, so it cannot {}",
        if matches!(.status, GoalStatus::Draft) { "a " } else { "" },
        if matches!(.event, GoalEvent::Enable) { "start" } else { .event.as_str() }
    )]
    Goal {
        /// The status of the goal.
        status: GoalStatus,
        /// The move.
        event: GoalEvent,
    },
    /// A draft gets its first plan by its start.
    #[error("the goal is a draft, so it cannot replan; its start requests the first plan")]
    Draft,
    /// There is no such task.
    #[error("`task` {0} is unknown; tasks 0 to {1} are accepted")]
    UnknownTask(TaskNo, usize),
    /// There is no such seat.
    #[error("`seat` {0} is unknown; seats 0 to {1} are accepted")]
    UnknownSeat(SeatNo, usize),
    /// The seat was removed.
    #[error("the seat `{0}` is removed; other seats are accepted")]
    SeatRemoved(String),
    /// No turn of a task is under way on the seat.
    #[error("the seat `{0}` has no turn under way, so none can end")]
    NoTurn(String),
    /// The end does not belong to the turn.
    #[error("the turn of `{seat}` cannot end as {end}; {accepted}")]
    OtherEnd {
        /// The name of the seat.
        seat: String,
        /// The end.
        end: &'static str,
        /// The accepted ends.
        accepted: &'static str,
    },
    /// The task cannot move so.
    #[error("the task `{task}` is {status}; {accepted}")]
    Task {
        /// The key of the task.
        task: String,
        /// The status.
        status: TaskStatus,
        /// The accepted statuses.
        accepted: &'static str,
    },
    /// The caller has read another version of the plan.
    #[error("`plan_version` is {given}; the present version is {present}: read the tasks again")]
    Version {
        /// The version that the caller has read.
        given: u32,
        /// The present version.
        present: u32,
    },
    /// The plan cannot be published.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Plan(Vec<PlanError>),
    /// A verdict accepts without enough evidence, so that it would count as none.
    #[error(
        "`evidence` has {given} entries; `accept` needs {needed}, one for each acceptance line"
    )]
    Evidence {
        /// The number of pieces of evidence.
        given: usize,
        /// The number that is needed.
        needed: usize,
    },
    /// A verdict sends the work back without a finding, so that it would count as none.
    #[error("`findings` is empty; `send_back` needs at least one finding")]
    NoFindings,
    /// A report has a fault.
    #[error(transparent)]
    Report(#[from] ReportFault),
    /// A planner withdraws a cancellation that its plan does not have.
    #[error("the plan does not cancel `{0}`")]
    NotCancelled(String),
    /// A planner withdraws the cancellation of a task that its plan makes.
    #[error("the plan makes `{0}`, and cancels no task of that key")]
    NewTask(String),
    /// A limit of the goal is reached.
    #[error("the goal has had {count} {what}; `limits.{limit}` accepts {count}")]
    Limit {
        /// The counted objects.
        what: &'static str,
        /// The name of the limit.
        limit: &'static str,
        /// The count.
        count: u32,
    },
    /// The limits cannot be accepted.
    #[error(transparent)]
    Limits(#[from] TeamError),
}

impl Refusal {
    /// Returns `true` for a plan with a fault that another reading of the goal does not mend.
    pub fn is_invalid_plan(&self) -> bool {
        let is_stale = |fault: &PlanError| matches!(fault, PlanError::Status { .. });
        matches!(self, Self::Plan(faults) if !faults.iter().all(is_stale))
    }
}
