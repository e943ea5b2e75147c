//! A naive model of a goal, against which the graph is checked. It keeps no counter and no index of the graph: after each
//! event it looks at all tasks and all seats again, finds cancelled tasks by repetition, compares all paths, and sorts all
//! candidates for the next turn.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::InputId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NaiveTask {
    pub(super) key: String,
    pub(super) group: String,
    pub(super) kind: TaskKind,
    pub(super) role: String,
    pub(super) state: TaskState,
    pub(super) deps: BTreeSet<usize>,
    pub(super) new: Option<NewTask>,
    pub(super) attempts: u32,
    pub(super) reminded: bool,
    pub(super) home: Option<usize>,
    pub(super) judge: Option<usize>,
    pub(super) judge_reminded: bool,
    pub(super) misses: u32,
    pub(super) unreported: bool,
    /// The counted findings of each round, or the failed check with its lines.
    pub(super) rounds: Vec<BTreeSet<String>>,
    /// The number of rounds before the checks passed last.
    pub(super) passed_after: usize,
    pub(super) checks: Vec<String>,
    pub(super) version: u32,
    /// The directory in which the task occupies its paths.
    pub(super) occupies: Option<usize>,
}

impl NaiveTask {
    pub(super) fn optional(&self) -> bool {
        self.new.as_ref().is_some_and(|new| new.optional)
    }

    pub(super) fn satisfied(&self) -> bool {
        match self.state.status() {
            TaskStatus::Done => true,
            TaskStatus::Failed => self.optional(),
            _ => false,
        }
    }

    pub(super) fn over(&self) -> bool {
        matches!(
            self.state.status(),
            TaskStatus::Done | TaskStatus::Cancelled
        )
    }
}

pub(super) struct NaiveSeat {
    pub(super) spec: SeatSpec,
    pub(super) presence: Presence,
    pub(super) turn: Option<Input>,
    pub(super) queue: Vec<(usize, Prompt)>,
    pub(super) others: u32,
}

pub(super) struct Naive {
    pub(super) team: Team,
    pub(super) limits: Limits,
    pub(super) goal: GoalState,
    pub(super) tasks: Vec<NaiveTask>,
    pub(super) seats: Vec<NaiveSeat>,
    pub(super) version: u32,
    pub(super) replans: u32,
    pub(super) wants_plan: bool,
    pub(super) accepted: bool,
    pub(super) goal_rounds: Vec<BTreeSet<String>>,
    pub(super) goal_judge: Option<usize>,
    pub(super) reported: bool,
    /// The state in which the goal pauses when nothing is under way.
    pub(super) stop: Option<GoalState>,
    pub(super) budget: BudgetLevel,
    /// `Some(true)` if the deadline of the seats in `waited_for` has passed.
    pub(super) seat_deadline: Option<bool>,
    /// The seats for which the goal has waited, and on which nothing has got on since.
    pub(super) waited_for: BTreeSet<usize>,
    pub(super) turns: u32,
    pub(super) idle: u32,
    pub(super) mails: u32,
    pub(super) mail_turns: u32,
    /// The message turns ahead, in the order of their requests.
    pub(super) ahead: Vec<(usize, InputId)>,
    /// The message turns that wait for the end of another turn, in the order of their requests.
    pub(super) waiting_messages: Vec<(usize, InputId)>,
    /// The seats of the message turns since the last turn of a task.
    pub(super) talk: Vec<usize>,
}

/// The number that stands for the shared directory.
const SHARED: usize = usize::MAX;

fn components(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect()
}

pub(super) fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().any(|one| {
        other.iter().any(|other| {
            let (one, other) = (components(one), components(other));
            one.starts_with(&other) || other.starts_with(&one)
        })
    })
}

impl Naive {
    pub(super) fn new(team: Team, limits: Limits) -> Self {
        let seat = |spec: &SeatSpec| NaiveSeat {
            spec: spec.clone(),
            presence: Presence::Online,
            turn: None,
            queue: Vec::new(),
            others: 0,
        };
        Self {
            seats: team.seats.iter().map(seat).collect(),
            team,
            limits,
            goal: GoalState::Draft,
            tasks: Vec::new(),
            version: 0,
            replans: 0,
            wants_plan: true,
            accepted: false,
            goal_rounds: Vec::new(),
            goal_judge: None,
            reported: false,
            stop: None,
            budget: BudgetLevel::Enough,
            seat_deadline: None,
            waited_for: BTreeSet::new(),
            turns: 0,
            idle: 0,
            mails: 0,
            mail_turns: 0,
            ahead: Vec::new(),
            waiting_messages: Vec::new(),
            talk: Vec::new(),
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let wait = self.seat_deadline;
        let mut lines = vec![format!("{:?} {} {wait:?}", self.goal, self.turns)];
        let alternating = Self::alternating(&self.talk);
        let numbered = |inputs: &[(usize, InputId)]| -> Vec<_> {
            let inputs = inputs.iter();
            inputs.map(|(seat, it)| (SeatNo(*seat), *it)).collect()
        };
        let (ahead, waiting) = (numbered(&self.ahead), numbered(&self.waiting_messages));
        lines.push(format!(
            "{} {} {ahead:?} {waiting:?} {alternating}",
            self.mails, self.mail_turns
        ));
        for task in &self.tasks {
            let state = match &task.state {
                TaskState::Pending { .. } => {
                    format!("Pending {{ {} }}", self.open_deps(task).len())
                }
                state => format!("{state:?}"),
            };
            lines.push(format!("{} {state}", task.key));
        }
        for (no, seat) in self.seats.iter().enumerate() {
            let waited_for = self.waited_for.contains(&no);
            let queue: Vec<_> = seat
                .queue
                .iter()
                .map(|(no, it)| (TaskNo(*no), *it))
                .collect();
            let (turn, name) = (&seat.turn, &seat.spec.name);
            let others = seat.others;
            lines.push(format!("{name} {turn:?} {queue:?} {others} {waited_for}"));
        }
        lines
    }

    pub(super) fn open_deps(&self, task: &NaiveTask) -> Vec<usize> {
        let deps = task.deps.iter().copied();
        deps.filter(|no| !self.tasks[*no].satisfied()).collect()
    }

    pub(super) fn has_judge(&self) -> bool {
        self.seats.iter().any(|seat| seat.spec.role == JUDGE)
    }

    pub(super) fn open_plan(&self) -> Option<usize> {
        let open = |task: &NaiveTask| {
            let status = task.state.status();
            task.kind == TaskKind::Plan && matches!(status, TaskStatus::Ready | TaskStatus::Running)
        };
        self.tasks.iter().position(open)
    }

    pub(super) fn request_plan(&mut self) {
        let waits = self
            .open_plan()
            .is_some_and(|no| self.tasks[no].state == TaskState::Ready);
        self.wants_plan |= !waits;
    }

    /// Returns the number of turns, with those ahead.
    pub(super) fn used_turns(&self) -> u32 {
        self.turns + u32::try_from(self.ahead.len()).unwrap()
    }

    pub(super) fn level(&self) -> BudgetLevel {
        let used = f64::from(self.used_turns()) / f64::from(self.limits.turns);
        let level = match used {
            used if used >= 1.0 => BudgetLevel::UsedUp,
            used if used >= 0.9 - 1e-9 => BudgetLevel::Low,
            _ => BudgetLevel::Enough,
        };
        level.max(self.budget)
    }

    /// Returns the directory of a seat: the shared one, or its own.
    pub(super) fn directory(&self, seat: usize) -> usize {
        match self.seats[seat].spec.directory {
            Directory::Shared => SHARED,
            Directory::Own => seat,
        }
    }

    pub(super) fn paths(&self, no: usize) -> Vec<String> {
        let task = &self.tasks[no];
        let Some(new) = &task.new else {
            return Vec::new();
        };
        let default = || self.default_paths(&task.role);
        new.writes.clone().unwrap_or_else(default)
    }

    /// Returns the paths that a task of a role writes if it names none.
    pub(super) fn default_paths(&self, role: &str) -> Vec<String> {
        let found = self.team.roles.iter().find(|it| it.name == role);
        match found.and_then(|role| role.writes.clone()) {
            Some(writes) => writes,
            None if role == WORKER => vec![".".to_owned()],
            None => Vec::new(),
        }
    }

    /// Returns the tasks that occupy paths which prevent a turn of the task on the seat.
    pub(super) fn occupants(&self, no: usize, seat: usize) -> Vec<usize> {
        let directory = self.directory(seat);
        let others = (0..self.tasks.len()).filter(|other| *other != no);
        let others = others.filter(|other| self.tasks[*other].occupies == Some(directory));
        others
            .filter(|other| overlap(&self.paths(no), &self.paths(*other)))
            .collect()
    }

    /// Takes a task off its seat before it moves to a last state.
    pub(super) fn leave(&mut self, no: usize) {
        let activity = match &self.tasks[no].state {
            TaskState::Running(activity) => Some(activity.clone()),
            _ => None,
        };
        let mut process = self.tasks[no]
            .checks
            .last()
            .is_some_and(|it| it == "running");
        if let Some(Activity::Work { seat } | Activity::Review { seat }) = activity {
            let under_way = self.seats[seat.0].turn.and_then(Input::task) == Some(TaskNo(no));
            process = under_way && matches!(activity, Some(Activity::Work { .. }));
            self.seats[seat.0].queue.retain(|(it, _)| *it != no);
        }
        if !process {
            self.tasks[no].occupies = None;
        }
    }

    pub(super) fn complete(&mut self, no: usize, by: DoneBy) {
        self.leave(no);
        self.tasks[no].state = TaskState::Done(by);
        if self.tasks[no].kind == TaskKind::Work {
            self.idle = 0;
        }
    }

    pub(super) fn fail(&mut self, no: usize, reason: FailReason, about: Vec<String>) {
        self.leave(no);
        self.tasks[no].state = TaskState::Failed { reason, about };
        match self.tasks[no].kind {
            _ if reason == FailReason::TurnCancelled => {}
            TaskKind::Work if !self.tasks[no].optional() => self.request_plan(),
            _ => {}
        }
    }

    /// Cancels a task and all that wait for it, found by repetition.
    pub(super) fn cancel(&mut self, no: usize, reason: CancelReason) {
        if self.tasks[no].over() {
            return;
        }
        let mut cancelled = BTreeMap::from([(no, reason)]);
        loop {
            let before = cancelled.len();
            for (other, task) in self.tasks.iter().enumerate() {
                let waits = task.state.status() == TaskStatus::Pending;
                if waits && task.deps.iter().any(|dep| cancelled.contains_key(dep)) {
                    cancelled.entry(other).or_insert(CancelReason::Dependency);
                }
            }
            if cancelled.len() == before {
                break;
            }
        }
        for (no, reason) in cancelled {
            self.leave(no);
            self.tasks[no].state = TaskState::Cancelled(reason);
        }
    }

    /// Makes READY all tasks without an open dependency.
    pub(super) fn release(&mut self) {
        for no in 0..self.tasks.len() {
            let pending = self.tasks[no].state.status() == TaskStatus::Pending;
            if pending && self.open_deps(&self.tasks[no]).is_empty() {
                self.tasks[no].state = TaskState::Ready;
            }
        }
    }

    pub(super) fn least_loaded(&self, role: &str) -> Option<usize> {
        let seats = self.seats.iter().enumerate();
        let seats =
            seats.filter(|(_, it)| it.spec.role == role && it.presence != Presence::Removed);
        let load = |seat: &NaiveSeat| seat.queue.len() + usize::from(seat.turn.is_some());
        let mut all: Vec<_> = seats
            .map(|(no, seat)| (seat.presence, load(seat), no))
            .collect();
        all.sort_unstable();
        all.first().map(|(.., no)| *no)
    }

    pub(super) fn add(&mut self, kind: TaskKind, role: &str, state: TaskState) -> usize {
        let number = self.tasks.iter().filter(|task| task.kind == kind).count() + 1;
        let key = format!("{kind}#{number}");
        self.tasks.push(NaiveTask {
            group: key.clone(),
            key,
            kind,
            role: role.to_owned(),
            state,
            deps: BTreeSet::new(),
            new: None,
            attempts: 0,
            reminded: false,
            home: None,
            judge: None,
            judge_reminded: false,
            misses: 0,
            unreported: false,
            rounds: Vec::new(),
            passed_after: 0,
            checks: Vec::new(),
            version: self.version,
            occupies: None,
        });
        self.tasks.len() - 1
    }
}
