//! The limits of a goal, with the defaults that hold unless its team has others.

/// The highest number of tasks of a goal that a team can allow.
pub const MAX_TASKS: u32 = 10_000;
/// The highest number of dependencies of all tasks of a goal, each task that `each` makes counted by itself. Without this
/// limit, a few groups of `each` that depend on each other would have millions.
pub(super) const MAX_DEPENDENCIES: usize = 200_000;
/// The highest number of attempts at a review without a verdict.
pub(super) const REVIEW_ATTEMPTS: u32 = 2;

/// The limits of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The highest number of tasks that one plan adds.
    pub plan: u32,
    /// The highest number of tasks of the goal, at most 10,000.
    pub tasks: u32,
    /// The highest number of plans after the first.
    pub replans: u32,
    /// The number of rounds of checks and reviews after which a task fails as `not accepted`.
    pub rounds: u32,
    /// The number of equal rounds one after the other after which a task fails as `no progress`.
    pub equal_rounds: u32,
    /// The number of failed checks of the whole goal after which the goal is stuck.
    pub failed_checks: u32,
    /// The number of turns one after the other without a finished task, a new artifact or a new plan after which the goal is
    /// stuck.
    pub idle_turns: u32,
    /// The number of message turns that two seats take alternately until their later messages wait for the next turn of a
    /// task.
    pub alternating_turns: u32,
    /// The highest number of messages between seats.
    pub messages: u32,
    /// The number of message turns after which later messages wait for turns of tasks.
    pub message_turns: u32,
    /// The highest number of turns, without those of people's messages. From 90 percent on, only the turn of the report
    /// starts.
    pub turns: u32,
    /// The highest number of turns at a time. Those of people's messages count, and never wait for others.
    pub parallel: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            plan: 50,
            tasks: 100,
            replans: 5,
            rounds: 3,
            equal_rounds: 3,
            failed_checks: 2,
            idle_turns: 24,
            alternating_turns: 6,
            messages: 200,
            message_turns: 40,
            turns: 200,
            parallel: 3,
        }
    }
}
