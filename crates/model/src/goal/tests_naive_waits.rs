//! The reasons for which tasks wait, compared with all tasks and seats of the naive model.

use super::{tests_naive::Naive, *};

impl Naive {
    /// Compares the reason for which a task waits with all tasks and seats.
    pub(super) fn check_wait(&self, no: usize, wait: &WaitsFor) -> Result<(), String> {
        let task = &self.tasks[no];
        let under_way =
            |seat: SeatNo| self.seats[seat.0].turn.and_then(Input::task) == Some(TaskNo(no));
        let away = |seat: Option<usize>| match seat.map(|seat| &self.seats[seat]) {
            Some(seat) if seat.presence == Presence::Offline => {
                WaitsFor::OfflineSeat(seat.spec.name.clone())
            }
            _ => WaitsFor::Nothing,
        };
        let keys = |all: Vec<usize>| -> Vec<_> {
            all.into_iter()
                .map(|it| self.tasks[it].key.clone())
                .collect()
        };
        let fits = match &task.state {
            TaskState::Done(_) | TaskState::Failed { .. } | TaskState::Cancelled(_) => {
                *wait == WaitsFor::Nothing
            }
            TaskState::Pending { .. } => {
                let open = keys(self.open_deps(task));
                matches!(wait, WaitsFor::Tasks(tasks)
                    if tasks.iter().map(|(key, _)| key.clone()).eq(open))
            }
            TaskState::Running(Activity::Question { open, .. }) => {
                *wait == WaitsFor::Questions(*open)
            }
            TaskState::Running(Activity::BrokenJudge) => *wait == WaitsFor::BrokenJudge,
            TaskState::Running(Activity::BrokenCheck { check }) => {
                *wait == WaitsFor::BrokenCheck(check.clone())
            }
            TaskState::Running(Activity::Checks) => *wait == away(task.home),
            TaskState::Running(Activity::Work { seat } | Activity::Review { seat })
                if under_way(*seat) =>
            {
                *wait == away(Some(seat.0))
            }
            TaskState::Ready | TaskState::Running(_) => match wait {
                WaitsFor::Goal(goal) => *goal == self.goal && *goal != GoalState::Active,
                WaitsFor::Pause(goal) => self.goal == GoalState::Active && self.stop == Some(*goal),
                _ if self.goal != GoalState::Active || self.stop.is_some() => false,
                WaitsFor::Paths(key) => {
                    let mut seats = 0..self.seats.len();
                    seats.any(|seat| keys(self.occupants(no, seat)).contains(key))
                }
                WaitsFor::OfflineSeat(name) => {
                    let mut seats = self.seats.iter();
                    seats.any(|it| it.spec.name == *name && it.presence == Presence::Offline)
                }
                WaitsFor::RemovedRole(role) => {
                    let mut seats = self.seats.iter();
                    seats.all(|it| it.spec.role != *role || it.presence == Presence::Removed)
                }
                WaitsFor::Seat(name) => {
                    let mut seats = self.seats.iter();
                    seats.any(|it| it.spec.name == *name && it.turn.is_some())
                }
                WaitsFor::Role(role) => {
                    let seats = self.seats.iter().filter(|it| it.spec.role == *role);
                    let mut online = seats.filter(|it| it.presence == Presence::Online);
                    *role == task.role && online.any(|it| it.turn.is_some())
                }
                WaitsFor::Parallel(limit) => {
                    *limit == self.limits.parallel && self.turns_at_a_time() >= *limit as usize
                }
                _ => false,
            },
        };
        if fits {
            Ok(())
        } else {
            Err(format!(
                "{} ({:?}) waits for {wait:?}",
                task.key, task.state
            ))
        }
    }
}
