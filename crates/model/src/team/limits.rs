//! The limits that a team sets.

use crate::goal;

/// The limits of a goal and of its questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamLimits {
    /// The limits of the graph.
    pub graph: goal::Limits,
    /// The time after which no further turn starts, in hours.
    pub hours: u32,
    /// The time that a person has for the answer to a question that names none, in hours.
    pub question_hours: u32,
    /// The time after which a goal that is stuck fails, in hours.
    pub give_up_after_hours: u32,
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self {
            graph: goal::Limits::default(),
            hours: 24,
            question_hours: 12,
            give_up_after_hours: 24,
        }
    }
}

/// A limit by its name.
#[derive(Debug, Clone, Copy)]
pub struct LimitField {
    /// The name of the key in `limits`.
    pub name: &'static str,
    /// The least accepted value.
    pub least: u32,
    /// The highest accepted value.
    pub highest: u32,
    /// The meaning.
    pub about: &'static str,
    /// Returns the value.
    pub get: fn(&TeamLimits) -> u32,
    /// Sets the value.
    pub set: fn(&mut TeamLimits, u32),
}

impl LimitField {
    /// Returns the accepted values as a sentence without a period.
    pub fn accepted(&self) -> String {
        format!("accepted are {} to {}", self.least, self.highest)
    }
}

macro_rules! limit {
    ($name:literal, $least:literal..=$highest:expr, $about:literal, $($field:ident).+) => {
        LimitField {
            name: $name,
            least: $least,
            highest: $highest,
            about: $about,
            get: |limits| limits.$($field).+,
            set: |limits, value| limits.$($field).+ = value,
        }
    };
}

/// All limits, in the order of the reference.
pub const LIMIT_FIELDS: [LimitField; 15] = [
    limit!(
        "plan",
        1..=goal::MAX_TASKS,
        "The highest number of tasks that one plan adds.",
        graph.plan
    ),
    limit!(
        "tasks",
        1..=goal::MAX_TASKS,
        "The highest number of tasks of the goal.",
        graph.tasks
    ),
    limit!(
        "replans",
        0..=100,
        "The highest number of plans after the first.",
        graph.replans
    ),
    limit!(
        "rounds",
        1..=20,
        "The number of rounds of checks and reviews after which a task fails as `not accepted`.",
        graph.rounds
    ),
    limit!(
        "equal_rounds",
        1..=20,
        "The number of equal rounds one after the other after which a task fails as `no progress`.",
        graph.equal_rounds
    ),
    limit!(
        "failed_checks",
        1..=20,
        "The number of failed checks of the whole goal after which the goal is stuck.",
        graph.failed_checks
    ),
    limit!(
        "idle_turns",
        1..=10_000,
        "The number of turns without a finished task, a new artifact or a new plan after which the goal is stuck.",
        graph.idle_turns
    ),
    limit!(
        "alternating_turns",
        1..=1_000,
        "The number of message turns that two seats take alternately until later messages wait for a turn of a task.",
        graph.alternating_turns
    ),
    limit!(
        "messages",
        0..=10_000,
        "The highest number of messages between seats.",
        graph.messages
    ),
    limit!(
        "message_turns",
        0..=10_000,
        "The number of message turns after which later messages wait for turns of tasks.",
        graph.message_turns
    ),
    limit!(
        "turns",
        1..=100_000,
        "The highest number of turns. From 90 percent on, only the report starts.",
        graph.turns
    ),
    limit!(
        "parallel",
        1..=16,
        "The highest number of turns at a time.",
        graph.parallel
    ),
    limit!(
        "hours",
        1..=720,
        "The time after which no further turn starts, in hours.",
        hours
    ),
    limit!(
        "question_hours",
        1..=72,
        "The time for the answer to a question that names none, in hours.",
        question_hours
    ),
    limit!(
        "give_up_after_hours",
        1..=720,
        "The time after which a goal that is stuck fails, in hours.",
        give_up_after_hours
    ),
];
