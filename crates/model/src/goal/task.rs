//! Tasks: their kinds, states and reasons.

use std::collections::BTreeSet;

pub use crate::goal::numbers::TaskNo;
use crate::{goal::numbers::SeatNo, lifecycle::Lifecycle, text_enum::text_enum};

text_enum! {
    /// The kind of a task. The phase of a goal follows from the kinds of its open tasks.
    TaskKind, "a kind of task" {
        /// The planner makes tasks.
        Plan = "plan",
        /// A task of the plan.
        Work = "work",
        /// The judge judges the whole goal.
        Check = "check",
        /// The planner writes the prose of the report.
        Report = "report",
    }
}

text_enum! {
    /// The status of a task: its state without the data.
    TaskStatus, "a status of a task" {
        /// The task waits for its dependencies.
        Pending = "PENDING",
        /// All dependencies are satisfied. The task waits for a seat and owns none.
        Ready = "READY",
        /// The task has a seat, and one open turn, check or question.
        Running = "RUNNING",
        /// The task has its result. A task never leaves this status.
        Done = "DONE",
        /// The task has failed. A person or a plan can still save it.
        Failed = "FAILED",
        /// The task will not be done. A task never leaves this status.
        Cancelled = "CANCELLED",
    }
}

text_enum! {
    /// An event that moves a task from one status to another.
    TaskEvent, "a move of a task" {
        /// The last dependency is satisfied.
        Release = "become ready",
        /// A seat takes the task.
        Start = "start",
        /// The task has its result, or a person accepts it.
        Complete = "be completed",
        /// The task fails.
        Fail = "fail",
        /// A person, a plan or the end of the goal cancels the task, or a task in front of it is cancelled.
        Cancel = "be cancelled",
        /// A person retries the task.
        Retry = "be retried",
    }
}

impl Lifecycle for TaskStatus {
    type Event = TaskEvent;

    const WHAT: &'static str = "task";
    const STATES: &'static [Self] = Self::ALL;
    const EVENTS: &'static [TaskEvent] = TaskEvent::ALL;
    const FIRST: &'static [Self] = &[Self::Pending, Self::Ready, Self::Running];

    fn next_state(self, event: TaskEvent) -> Option<Self> {
        Some(match (self, event) {
            (Self::Pending, TaskEvent::Release) | (Self::Failed, TaskEvent::Retry) => Self::Ready,
            (Self::Ready, TaskEvent::Start) => Self::Running,
            (Self::Running | Self::Failed, TaskEvent::Complete) => Self::Done,
            (Self::Running, TaskEvent::Fail) => Self::Failed,
            (Self::Pending | Self::Ready | Self::Running | Self::Failed, TaskEvent::Cancel) => {
                Self::Cancelled
            }
            _ => return None,
        })
    }
}

text_enum! {
    /// The step of a running task.
    Step, "a step of a running task" {
        /// The seat of the task has a turn, or waits for one.
        Work = "work",
        /// Matins runs the checks of the task.
        Checks = "checks",
        /// The judge has a turn, or waits for one.
        Review = "review",
        /// A question to a person is open.
        Question = "question",
    }
}

text_enum! {
    /// The reason of a failed task.
    FailReason, "a reason of a failed task" {
        /// Each attempt ended as failed.
        Attempts = "attempts used up",
        /// The checks or the judge sent the task back as often as the limit allows.
        NotAccepted = "not accepted",
        /// The same findings, or the same failed check with equal output, came back as often as the limit allows.
        NoProgress = "no progress",
        /// The agent ended its turn, and the one that reminded it, without a result.
        NoResult = "no result reported",
        /// The planner ended its turn, and the one that reminded it, without a task.
        NoPlan = "no plan",
        /// The plan, and the one after the reminder, could not be published.
        PlanRefused = "plan refused",
        /// The agent never listed the tools of Matins.
        ToolsUnavailable = "tools_unavailable",
        /// All seats of the role are removed.
        NoSeat = "no seat",
        /// The judge sent the whole goal back.
        SentBack = "sent back",
        /// A person cancelled a turn of the task.
        TurnCancelled = "turn cancelled",
    }
}

text_enum! {
    /// The reason of a cancelled task.
    CancelReason, "a reason of a cancelled task" {
        /// A person or the planner cancelled the open task.
        Requested = "cancelled",
        /// A person or the planner dropped the failed task.
        Dropped = "dropped",
        /// Another task replaces this one.
        Replaced = "replaced",
        /// A task in front of this one was cancelled.
        Dependency = "dependency cancelled",
        /// The goal is over.
        GoalOver = "goal over",
    }
}

text_enum! {
    /// The origin of the result of a task.
    DoneBy, "an origin of a result" {
        /// The agent reported the result, and nothing had to judge it.
        Result = "result",
        /// The judge accepted the result.
        Judge = "judge",
        /// A person accepted the task.
        Person = "person",
        /// The agent reported nothing, and its answer counts as the result, because its role has `accept_answers`.
        Answer = "unreported",
    }
}

/// The open turn, check or question of a running task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// A turn of the task's own seat waits or is under way.
    Work {
        /// The seat.
        seat: SeatNo,
    },
    /// Matins runs the checks of the task.
    Checks,
    /// A turn of the judge waits or is under way.
    Review {
        /// The seat of the judge.
        seat: SeatNo,
    },
    /// Questions wait for a person or for their deadline.
    Question {
        /// The seat that gets the answer.
        seat: SeatNo,
        /// The number of open questions.
        open: u32,
        /// `true` if the judge of the task asks.
        of_judge: bool,
    },
    /// A check cannot run. The task waits for a person.
    BrokenCheck {
        /// The name of the check.
        check: String,
    },
    /// The judge has given no verdict, or no judge is left. The task waits for a person.
    BrokenJudge,
}

impl Activity {
    /// Returns the step that lists show.
    pub const fn step(&self) -> Step {
        match self {
            Self::Work { .. } => Step::Work,
            Self::Checks | Self::BrokenCheck { .. } => Step::Checks,
            Self::Review { .. } | Self::BrokenJudge => Step::Review,
            Self::Question { .. } => Step::Question,
        }
    }

    /// Returns the seat that has the turn, waits for it, or gets the answer.
    pub const fn seat(&self) -> Option<SeatNo> {
        match self {
            Self::Work { seat } | Self::Review { seat } | Self::Question { seat, .. } => {
                Some(*seat)
            }
            Self::Checks | Self::BrokenCheck { .. } | Self::BrokenJudge => None,
        }
    }
}

/// The state of a task, with the data that this state alone has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// The task waits for its dependencies.
    Pending {
        /// The number of dependencies that are not satisfied, at least one.
        unmet: usize,
    },
    /// The task waits for a seat.
    Ready,
    /// The task has a seat.
    Running(Activity),
    /// The task has its result.
    Done(DoneBy),
    /// The task has failed.
    Failed {
        /// The reason.
        reason: FailReason,
        /// The names of the check or of the findings behind the reason.
        about: Vec<String>,
    },
    /// The task will not be done.
    Cancelled(CancelReason),
}

impl TaskState {
    /// Returns the status: the state without its data.
    pub const fn status(&self) -> TaskStatus {
        match self {
            Self::Pending { .. } => TaskStatus::Pending,
            Self::Ready => TaskStatus::Ready,
            Self::Running(_) => TaskStatus::Running,
            Self::Done(_) => TaskStatus::Done,
            Self::Failed { .. } => TaskStatus::Failed,
            Self::Cancelled(_) => TaskStatus::Cancelled,
        }
    }
}

/// The counters of a task that outlive its turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The number of failed attempts.
    pub attempts: u32,
    /// The number of rounds in which checks or the judge sent the task back.
    pub rounds: u32,
    /// The number of rounds in which the judge sent the task back.
    pub reviews: u32,
    /// `true` if the agent of the task was reminded since its last complete prompt.
    pub reminded: bool,
    /// The seat that has the task's memory.
    pub home: Option<SeatNo>,
    /// The seat that has the judge's memory of the task.
    pub judge: Option<SeatNo>,
    /// `true` if the judge was reminded in this round.
    pub judge_reminded: bool,
    /// The number of reviews of this round without a verdict.
    pub judge_misses: u32,
    /// `true` if the agent reported nothing, and its answer counts as the result.
    pub unreported: bool,
    /// The IDs of the findings of the last round that count and are not resolved.
    pub findings: BTreeSet<String>,
    /// The number of rounds one after the other with exactly these findings.
    pub equal_findings: u32,
    /// The check that failed last, with its last lines. `None` once all checks have passed.
    pub failed_check: Option<(String, String)>,
    /// The number of rounds one after the other in which exactly this check failed with these lines.
    pub equal_checks: u32,
}

/// A task in the graph of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The key, unique in the goal.
    pub key: String,
    /// The kind.
    pub kind: TaskKind,
    /// The role whose seats take the task, as an index into the roles of the team.
    pub role: usize,
    /// The state.
    pub state: TaskState,
    /// The tasks that must be satisfied first.
    pub depends_on: Vec<TaskNo>,
    /// The tasks that depend on this one.
    pub dependents: Vec<TaskNo>,
    /// The rank among READY tasks, from 0, which starts first, to 9.
    pub priority: u8,
    /// `true` if the goal can be done without the task, and its failure satisfies the tasks behind it.
    pub optional: bool,
    /// `true` if the planner marked the task for review.
    pub review: bool,
    /// The number of acceptance lines.
    pub acceptance: usize,
    /// The names of the checks that Matins runs after the work.
    pub checks: Vec<String>,
    /// The path prefixes that the task writes, normalized, none of them below another.
    pub writes: Vec<String>,
    /// The version of the plan that published the task, or with which a person last edited it.
    pub plan_version: u32,
    /// The SHA-256 of role, texts and checks, by which a repetition of a finished task is recognized.
    pub digest: [u8; 32],
    /// The counters.
    pub progress: Progress,
}

impl Task {
    /// Returns the status.
    pub const fn status(&self) -> TaskStatus {
        self.state.status()
    }

    /// Returns `true` if the tasks behind this one need not wait for it: it is DONE, or it is optional and has failed.
    pub const fn is_satisfied(&self) -> bool {
        match self.state {
            TaskState::Done(_) => true,
            TaskState::Failed { .. } => self.optional,
            _ => false,
        }
    }

    /// Returns `true` if the goal cannot be done while the task is in this state.
    pub const fn is_required_and_open(&self) -> bool {
        matches!(self.kind, TaskKind::Work)
            && !self.optional
            && !matches!(self.state, TaskState::Done(_) | TaskState::Cancelled(_))
    }

    /// Returns the number of the present round of checks and reviews, from 1. A check of the whole goal continues the rounds of
    /// the checks before it, each of which is a review.
    pub const fn round(&self) -> u32 {
        match self.kind {
            TaskKind::Check => self.progress.reviews + 1,
            _ => self.progress.rounds + 1,
        }
    }

    /// Returns the activity. Returns `None` unless the task is RUNNING.
    pub const fn activity(&self) -> Option<&Activity> {
        match &self.state {
            TaskState::Running(activity) => Some(activity),
            _ => None,
        }
    }
}
