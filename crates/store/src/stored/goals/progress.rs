//! The document `goals.progress`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    InputId,
    goal::{
        Alternation, BudgetLevel, GoalProgress, Input, Presence, Prompt, SeatNo, SeatProgress,
        SeatsWait, Stop, StuckCause, TaskNo,
    },
};
use serde::{Deserialize, Serialize};

use super::task::StoredProgress;
use crate::stored::{BoxError, Document};

/// The counters and the queues of a goal, as its row holds them. Tasks and seats are numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredGoalProgress {
    plan_version: u32,
    #[serde(default)]
    replans: u32,
    #[serde(default)]
    plan_requested: bool,
    #[serde(default)]
    accepted: bool,
    #[serde(default)]
    reported: bool,
    #[serde(default)]
    failed_checks: u32,
    #[serde(default)]
    check_progress: StoredProgress,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<StoredStop>,
    budget: BudgetLevel,
    seats_wait: SeatsWait,
    #[serde(default)]
    turns: u32,
    #[serde(default)]
    idle_turns: u32,
    #[serde(default)]
    messages: u32,
    #[serde(default)]
    message_turns: u32,
    /// The message turns that were requested and have not begun, each with its input. Earlier programs counted a message turn
    /// at its request, and wrote none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    message_inputs: Vec<(usize, InputId)>,
    /// The message turns that wait for the end of another turn, each with its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waiting_messages: Vec<(usize, InputId)>,
    #[serde(default)]
    alternation: StoredAlternation,
    seats: Vec<StoredSeatProgress>,
    #[serde(default)]
    checking: BTreeSet<usize>,
    #[serde(default)]
    occupied: BTreeMap<usize, Option<usize>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredStop {
    Budget,
    Stuck(StuckCause),
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAlternation {
    last: Option<usize>,
    before: Option<usize>,
    turns: u32,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredSeatProgress {
    presence: Presence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<StoredInput>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queue: Vec<(usize, Prompt)>,
    /// No program writes another number than 0, nor the turn `person`, because the runs tell both.
    #[serde(default)]
    person_inputs: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    waited_for: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredInput {
    Person,
    Task { task: usize, prompt: Prompt },
}

impl Document for StoredGoalProgress {
    type Domain = GoalProgress;

    fn of(progress: &GoalProgress) -> Self {
        let number = |seat: Option<SeatNo>| seat.map(|seat| seat.0);
        let occupied = progress.occupied.iter();
        let numbers = |inputs: &[(SeatNo, InputId)]| {
            let inputs = inputs.iter();
            inputs.map(|(seat, input)| (seat.0, *input)).collect()
        };
        Self {
            plan_version: progress.plan_version,
            replans: progress.replans,
            plan_requested: progress.plan_requested,
            accepted: progress.accepted,
            reported: progress.reported,
            failed_checks: progress.failed_checks,
            check_progress: StoredProgress::of(&progress.check_progress),
            stop: progress.stop.map(|stop| match stop {
                Stop::Budget => StoredStop::Budget,
                Stop::Stuck(cause) => StoredStop::Stuck(cause),
            }),
            budget: progress.budget,
            seats_wait: progress.seats_wait,
            turns: progress.turns,
            idle_turns: progress.idle_turns,
            messages: progress.messages,
            message_turns: progress.message_turns,
            message_inputs: numbers(&progress.message_inputs),
            waiting_messages: numbers(&progress.waiting_messages),
            alternation: StoredAlternation {
                last: number(progress.alternation.last),
                before: number(progress.alternation.before),
                turns: progress.alternation.turns,
            },
            seats: progress.seats.iter().map(StoredSeatProgress::of).collect(),
            checking: progress.checking.iter().map(|no| no.0).collect(),
            occupied: occupied.map(|(no, seat)| (no.0, number(*seat))).collect(),
        }
    }

    fn into_domain(self) -> Result<GoalProgress, BoxError> {
        let occupied = self.occupied.into_iter();
        let occupied = occupied.map(|(no, seat)| (TaskNo(no), seat.map(SeatNo)));
        let seats = |inputs: Vec<(usize, InputId)>| {
            let inputs = inputs.into_iter();
            inputs.map(|(seat, input)| (SeatNo(seat), input)).collect()
        };
        Ok(GoalProgress {
            plan_version: self.plan_version,
            replans: self.replans,
            plan_requested: self.plan_requested,
            accepted: self.accepted,
            failed_checks: self.failed_checks,
            check_progress: self.check_progress.into_progress(0),
            reported: self.reported,
            stop: self.stop.map(|stop| match stop {
                StoredStop::Budget => Stop::Budget,
                StoredStop::Stuck(cause) => Stop::Stuck(cause),
            }),
            budget: self.budget,
            seats_wait: self.seats_wait,
            turns: self.turns,
            idle_turns: self.idle_turns,
            messages: self.messages,
            message_turns: self.message_turns,
            message_inputs: seats(self.message_inputs),
            waiting_messages: seats(self.waiting_messages),
            alternation: Alternation {
                last: self.alternation.last.map(SeatNo),
                before: self.alternation.before.map(SeatNo),
                turns: self.alternation.turns,
            },
            seats: self
                .seats
                .into_iter()
                .map(StoredSeatProgress::into_progress)
                .collect(),
            checking: self.checking.into_iter().map(TaskNo).collect(),
            occupied: occupied.collect(),
        })
    }
}

impl StoredSeatProgress {
    fn of(seat: &SeatProgress) -> Self {
        Self {
            presence: seat.presence,
            turn: seat.turn.map(|turn| match turn {
                Input::Other => StoredInput::Person,
                Input::Task { task, prompt } => StoredInput::Task {
                    task: task.0,
                    prompt,
                },
            }),
            queue: seat.queue.iter().map(|(no, it)| (no.0, *it)).collect(),
            person_inputs: seat.other_inputs,
            waited_for: seat.waited_for,
        }
    }

    fn into_progress(self) -> SeatProgress {
        let queue = self.queue.into_iter().map(|(no, it)| (TaskNo(no), it));
        SeatProgress {
            presence: self.presence,
            turn: self.turn.map(|turn| match turn {
                StoredInput::Person => Input::Other,
                StoredInput::Task { task, prompt } => Input::Task {
                    task: TaskNo(task),
                    prompt,
                },
            }),
            queue: queue.collect(),
            other_inputs: self.person_inputs,
            waited_for: self.waited_for,
        }
    }
}
