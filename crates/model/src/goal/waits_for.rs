//! The reason for which a task does not run. The dispatch, the tools, the API and the page share this function.

use std::fmt;

use crate::goal::{
    event::{GoalState, PauseReason, StuckCause},
    graph::{Graph, Stop},
    seat::{Input, Presence, Seat, SeatNo},
    task::{Activity, TaskNo, TaskState, TaskStatus},
};

/// The thing for which a task waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing: the task is over, or its turn or its checks are under way.
    Nothing,
    /// Tasks that are not satisfied, with their status.
    Tasks(Vec<(String, TaskStatus)>),
    /// A task that writes overlapping paths in the same directory.
    Paths(String),
    /// A seat that takes another turn, or from whose turn the one of this task follows.
    Seat(String),
    /// A seat that is offline, also if the turn or the checks of the task are under way there.
    OfflineSeat(String),
    /// A free seat of the role.
    Role(String),
    /// A seat of the role, all of which are removed.
    RemovedRole(String),
    /// The end of another turn, because the goal has as many turns at a time as `parallel` allows.
    Parallel(u32),
    /// The answers to this many questions.
    Questions(u32),
    /// A later period of a budget, with the text that says which budget is used up.
    Budget(String),
    /// A person, because this check cannot run.
    BrokenCheck(String),
    /// A person, because no judge gives a verdict.
    BrokenJudge,
    /// The start of the goal, or the end of its pause.
    Goal(GoalState),
    /// The end of the turns under way, after which the goal pauses.
    Pause(GoalState),
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Tasks(tasks) => {
                for (index, (key, status)) in tasks.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{key}")?;
                    if *status == TaskStatus::Failed {
                        f.write_str(" (FAILED)")?;
                    }
                }
                Ok(())
            }
            Self::Paths(key) => write!(f, "{key}, which writes the same paths"),
            Self::Seat(seat) => write!(f, "the seat {seat}"),
            Self::OfflineSeat(seat) => write!(f, "the seat {seat}, which is offline"),
            Self::Role(role) => write!(f, "a seat with the role {role}"),
            Self::RemovedRole(role) => {
                write!(f, "a seat with the role {role}, all of which are removed")
            }
            Self::Parallel(limit) => write!(f, "the end of a turn: {limit} are under way"),
            Self::Questions(1) => f.write_str("the answer to a question"),
            Self::Questions(open) => write!(f, "the answers to {open} questions"),
            Self::Budget(budget) => write!(f, "a later period: {budget}"),
            Self::BrokenCheck(check) => {
                write!(f, "a person, because the check {check} cannot run")
            }
            Self::BrokenJudge => f.write_str("a person, because no judge gives a verdict"),
            Self::Goal(state) => write!(f, "the goal, which is {state}"),
            Self::Pause(state) => {
                write!(
                    f,
                    "the goal, which will be {state} after the turns under way"
                )
            }
        }
    }
}

impl fmt::Display for GoalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused(reason) => write!(f, "paused ({})", reason.as_str().replace('_', " ")),
            Self::Stuck(cause) => write!(f, "stuck ({cause})"),
            Self::GivenUp => f.write_str("failed (stuck for too long)"),
            Self::Cancelled => f.write_str("failed (cancelled)"),
            Self::Draft | Self::Active | Self::Done => self.status().fmt(f),
        }
    }
}

impl Graph {
    /// Returns the first thing for which a task waits.
    ///
    /// Costs O(d) for a task with `d` dependencies, and O(s·w log n) for a READY one with `s` seats and `w` paths.
    pub fn waits_for(&self, no: TaskNo) -> WaitsFor {
        let Some(task) = self.tasks.get(no.0) else {
            return WaitsFor::Nothing;
        };
        match &task.state {
            TaskState::Pending { .. } => WaitsFor::Tasks(self.unsatisfied(no)),
            TaskState::Ready => self.waits_for_seat(no),
            TaskState::Running(activity) => self.waits_within(no, activity),
            TaskState::Done(_) | TaskState::Failed { .. } | TaskState::Cancelled(_) => {
                WaitsFor::Nothing
            }
        }
    }

    fn unsatisfied(&self, no: TaskNo) -> Vec<(String, TaskStatus)> {
        let all = self.tasks[no.0]
            .depends_on
            .iter()
            .map(|no| &self.tasks[no.0]);
        let open = all.filter(|task| !task.is_satisfied());
        open.map(|task| (task.key.clone(), task.status())).collect()
    }

    /// Returns the reason for which no turn of a task starts, apart from seats and paths.
    fn prevented_turn(&self) -> Option<WaitsFor> {
        if self.goal != GoalState::Active {
            return Some(WaitsFor::Goal(self.goal));
        }
        if let Some(stop) = self.stop {
            return Some(WaitsFor::Pause(match stop {
                Stop::Budget => GoalState::Paused(PauseReason::Budget),
                Stop::Stuck(cause) => GoalState::Stuck(cause),
            }));
        }
        None
    }

    fn waits_for_parallel(&self) -> Option<WaitsFor> {
        self.is_full()
            .then_some(WaitsFor::Parallel(self.limits.parallel))
    }

    fn waits_for_seat(&self, no: TaskNo) -> WaitsFor {
        let task = &self.tasks[no.0];
        if let Some(prevented) = self.prevented_turn() {
            return prevented;
        }
        let role = || self.team.roles[task.role].name.clone();
        let seats = || self.seats_of(task.role).map(|no| (no, &self.seats[no.0]));
        let mut present = seats().filter(|(_, seat)| seat.presence != Presence::Removed);
        let Some((_, first)) = present.next() else {
            return WaitsFor::RemovedRole(role());
        };
        if seats().all(|(_, seat)| seat.presence != Presence::Online) {
            return WaitsFor::OfflineSeat(first.name.clone());
        }
        let online = || seats().filter(|(_, seat)| seat.presence == Presence::Online);
        let suitable = || online().filter(|(seat, _)| self.may_take(task, *seat));
        let free: Vec<SeatNo> = suitable()
            .filter(|(_, seat)| seat.is_free())
            .map(|(seat, _)| seat)
            .collect();
        let occupants = || free.iter().map(|seat| self.occupant(no, *seat));
        if let Some(occupant) = occupants().next().flatten()
            && occupants().all(|it| it.is_some())
        {
            return WaitsFor::Paths(self.tasks[occupant.0].key.clone());
        }
        if free.is_empty() {
            let mut seats = suitable();
            return match (seats.next(), seats.next()) {
                (Some((_, only)), None) => WaitsFor::Seat(only.name.clone()),
                _ => WaitsFor::Role(role()),
            };
        }
        self.waits_for_parallel()
            .unwrap_or_else(|| WaitsFor::Role(role()))
    }

    fn waits_within(&self, no: TaskNo, activity: &Activity) -> WaitsFor {
        let seat = match activity {
            Activity::Checks => return self.waits_for_checks(no),
            Activity::Question { open, .. } => return WaitsFor::Questions(*open),
            Activity::BrokenCheck { check } => return WaitsFor::BrokenCheck(check.clone()),
            Activity::BrokenJudge => return WaitsFor::BrokenJudge,
            Activity::Work { seat } | Activity::Review { seat } => *seat,
        };
        let row = &self.seats[seat.0];
        if row.turn.and_then(Input::task) == Some(no) {
            return waits_for_server(Some(row));
        }
        if let Some(prevented) = self.prevented_turn() {
            return prevented;
        }
        match row.presence {
            Presence::Offline => return WaitsFor::OfflineSeat(row.name.clone()),
            Presence::Online | Presence::Removed => {}
        }
        if row.turn.is_some() {
            return WaitsFor::Seat(row.name.clone());
        }
        if let Some(occupant) = self.occupant(no, seat) {
            return WaitsFor::Paths(self.tasks[occupant.0].key.clone());
        }
        self.waits_for_parallel()
            .unwrap_or_else(|| WaitsFor::Seat(row.name.clone()))
    }

    fn waits_for_checks(&self, no: TaskNo) -> WaitsFor {
        let home = self.tasks[no.0].progress.home;
        waits_for_server(home.map(|seat| &self.seats[seat.0]))
    }

    /// Returns the cause for which the goal is stuck.
    pub const fn stuck_cause(&self) -> Option<StuckCause> {
        match self.goal {
            GoalState::Stuck(cause) => Some(cause),
            _ => None,
        }
    }
}

/// Returns the wait of a turn or a check that is under way on a seat: it goes on if a server serves the instance.
fn waits_for_server(seat: Option<&Seat>) -> WaitsFor {
    match seat.filter(|seat| seat.presence == Presence::Offline) {
        Some(seat) => WaitsFor::OfflineSeat(seat.name.clone()),
        None => WaitsFor::Nothing,
    }
}
