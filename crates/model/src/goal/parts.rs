//! The parts of a goal that a store keeps, and the graph that is built from them.
//!
//! **Invariant:** a graph that is built from its own parts moves as the graph itself does. Everything that follows from the
//! tasks, such as the order of READY tasks, is no part.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    InputId,
    goal::{
        event::{BudgetLevel, GoalState},
        graph::{Alternation, Graph, SeatsWait, Stop},
        limits::Limits,
        seat::{Input, Presence, Prompt, SeatNo},
        task::{Activity, Progress, Task, TaskKind, TaskNo, TaskState, TaskStatus},
        team::{Team, TeamError},
    },
};

/// The turn and the queues of a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatProgress {
    /// Whether the instance of the seat can take its turns.
    pub presence: Presence,
    /// The turn under way.
    pub turn: Option<Input>,
    /// The turns of started tasks that wait for the seat, oldest first.
    pub queue: Vec<(TaskNo, Prompt)>,
    /// The number of waiting inputs without a task.
    pub other_inputs: u32,
    /// `true` if the goal has waited for the seat, and nothing has got on there since.
    pub waited_for: bool,
}

/// The counters and the queues of a goal, beside its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalProgress {
    /// The version of the plan.
    pub plan_version: u32,
    /// The number of plans after the first that were requested.
    pub replans: u32,
    /// `true` if a further plan is requested that no waiting plan task covers.
    pub plan_requested: bool,
    /// `true` if the judge or a person has accepted the whole goal since the last publication.
    pub accepted: bool,
    /// The number of failed checks of the whole goal.
    pub failed_checks: u32,
    /// The judge's counters of the whole goal.
    pub check_progress: Progress,
    /// `true` if a turn of the report has begun since the last turn or check of a task, and since the last change of a task by a
    /// person other than an edit.
    pub reported: bool,
    /// The reason for which no further work starts.
    pub stop: Option<Stop>,
    /// The level of the budgets beside the number of turns.
    pub budget: BudgetLevel,
    /// The wait for seats that were offline, and on which nothing has got on since.
    pub seats_wait: SeatsWait,
    /// The number of turns, without those of people's messages.
    pub turns: u32,
    /// The number of turns one after the other without progress.
    pub idle_turns: u32,
    /// The number of messages between seats.
    pub messages: u32,
    /// The number of message turns that have begun.
    pub message_turns: u32,
    /// The message turns that were requested and have not begun, in the order of the requests, each with its input.
    pub message_inputs: Vec<(SeatNo, InputId)>,
    /// The message turns that wait for the end of another turn, one for each seat, in the order of the requests.
    pub waiting_messages: Vec<(SeatNo, InputId)>,
    /// The message turns that two seats take alternately.
    pub alternation: Alternation,
    /// The seats, in the order of the team.
    pub seats: Vec<SeatProgress>,
    /// The tasks whose checks are under way.
    pub checking: BTreeSet<TaskNo>,
    /// The tasks that occupy their paths, each with the seat whose own directory has them. `None`: the shared directory.
    pub occupied: BTreeMap<TaskNo, Option<SeatNo>>,
}

/// The error for parts that make no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PartsError {
    /// The team or the limits cannot be accepted.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The seats are not those of the team.
    #[error("the goal has {0} seats, and its team {1}")]
    Seats(usize, usize),
    /// A task or a seat refers to a task, a seat or a role that the goal does not have.
    #[error("the {0} {1} refers to a task, a seat or a role that the goal does not have")]
    Reference(&'static str, usize),
}

impl GoalProgress {
    /// Returns the tasks that have turns, checks or paths.
    pub fn tasks(&self) -> BTreeSet<TaskNo> {
        let turns = self.seats.iter().filter_map(|seat| seat.turn?.task());
        let queued = self.seats.iter().flat_map(|seat| &seat.queue);
        let queued = queued.map(|(task, _)| *task);
        let others = self.checking.iter().chain(self.occupied.keys()).copied();
        turns.chain(queued).chain(others).collect()
    }

    /// Gives these tasks other numbers.
    pub fn renumber(&mut self, number: impl Fn(TaskNo) -> TaskNo) {
        for seat in &mut self.seats {
            if let Some(Input::Task { task, .. }) = &mut seat.turn {
                *task = number(*task);
            }
            for (task, _) in &mut seat.queue {
                *task = number(*task);
            }
        }
        self.checking = self.checking.iter().map(|no| number(*no)).collect();
        let occupied = self.occupied.iter();
        self.occupied = occupied.map(|(no, seat)| (number(*no), *seat)).collect();
    }
}

impl Graph {
    /// Returns the counters and the queues, beside the tasks. They are without the turns that no task has caused, which
    /// [`Graph::note_other_turns`] notes.
    pub fn progress(&self) -> GoalProgress {
        let seats = self.seats.iter().map(|seat| SeatProgress {
            presence: seat.presence,
            turn: seat.turn.filter(|_| seat.has_task()),
            queue: seat.queue.iter().copied().collect(),
            other_inputs: 0,
            waited_for: seat.waited_for,
        });
        GoalProgress {
            plan_version: self.plan_version,
            replans: self.replans,
            plan_requested: self.plan_requested,
            accepted: self.accepted,
            failed_checks: self.failed_checks,
            check_progress: self.check_progress.clone(),
            reported: self.reported,
            stop: self.stop,
            budget: self.budget,
            seats_wait: self.seats_wait,
            turns: self.turns,
            idle_turns: self.idle_turns,
            messages: self.messages,
            message_turns: self.message_turns,
            message_inputs: self.message_inputs.clone(),
            waiting_messages: self.waiting_messages.clone(),
            alternation: self.alternation,
            seats: seats.collect(),
            checking: self.checking.clone(),
            occupied: self.writes.occupants().clone(),
        }
    }

    /// Builds a graph. The lists `dependents` of the tasks are not read.
    ///
    /// # Errors
    ///
    /// [`PartsError`] if the parts do not belong together.
    pub fn from_parts(
        team: Team,
        limits: Limits,
        goal: GoalState,
        tasks: Vec<Task>,
        progress: GoalProgress,
    ) -> Result<Self, PartsError> {
        let mut graph = Self::new(team, limits)?;
        if progress.seats.len() != graph.seats.len() {
            let (seats, team) = (progress.seats.len(), graph.seats.len());
            return Err(PartsError::Seats(seats, team));
        }
        check_references(&graph, &tasks, &progress)?;
        graph.goal = goal;
        graph.tasks = tasks;
        graph.add_progress(progress);
        graph.index_tasks();
        Ok(graph)
    }

    fn add_progress(&mut self, progress: GoalProgress) {
        self.plan_version = progress.plan_version;
        self.replans = progress.replans;
        self.plan_requested = progress.plan_requested;
        self.accepted = progress.accepted;
        self.failed_checks = progress.failed_checks;
        self.check_progress = progress.check_progress;
        self.reported = progress.reported;
        self.stop = progress.stop;
        self.budget = progress.budget;
        self.seats_wait = progress.seats_wait;
        self.turns = progress.turns;
        self.idle_turns = progress.idle_turns;
        self.messages = progress.messages;
        self.message_turns = progress.message_turns;
        self.message_inputs = progress.message_inputs;
        self.waiting_messages = progress.waiting_messages;
        self.alternation = progress.alternation;
        self.checking = progress.checking;
        for (seat, stored) in self.seats.iter_mut().zip(progress.seats) {
            seat.presence = stored.presence;
            seat.turn = stored.turn;
            seat.queue = stored.queue.into();
            seat.other_inputs = stored.other_inputs;
            seat.waited_for = stored.waited_for;
        }
        for (no, directory) in progress.occupied {
            self.writes.occupy(no, directory, &self.tasks[no.0].writes);
        }
    }

    /// Fills everything that follows from the tasks.
    fn index_tasks(&mut self) {
        for task in &mut self.tasks {
            task.dependents.clear();
        }
        for no in (0..self.tasks.len()).map(TaskNo) {
            let depends_on = self.tasks[no.0].depends_on.clone();
            self.dependency_count += depends_on.len();
            for dependency in depends_on {
                self.tasks[dependency.0].dependents.push(no);
            }
            let task = &self.tasks[no.0];
            self.required_open += usize::from(task.is_required_and_open());
            match task.state {
                TaskState::Ready => {
                    self.ready[task.role].insert((task.priority, no));
                }
                TaskState::Running(_) => {
                    self.running.insert(no);
                }
                _ => {}
            }
            match task.kind {
                TaskKind::Plan if is_open(task) => self.plan_task = Some(no),
                TaskKind::Work => {
                    self.work_count += 1;
                    if task.status() == TaskStatus::Done {
                        self.finished.insert(task.digest, no);
                    }
                    // The key of a task with items names all of them.
                    if let Some((group, _)) = task.key.split_once('/') {
                        self.keys.entry(group.to_owned()).or_default().push(no);
                    }
                    self.keys.insert(task.key.clone(), vec![no]);
                }
                TaskKind::Plan | TaskKind::Check | TaskKind::Report => {}
            }
        }
    }
}

const fn is_open(task: &Task) -> bool {
    matches!(
        task.status(),
        TaskStatus::Pending | TaskStatus::Ready | TaskStatus::Running
    )
}

/// Refuses references to tasks, seats and roles that do not exist, so that no later access fails.
fn check_references(
    graph: &Graph,
    tasks: &[Task],
    progress: &GoalProgress,
) -> Result<(), PartsError> {
    let has_seat = |seat: Option<SeatNo>| seat.is_none_or(|seat| seat.0 < graph.seats.len());
    let has_task = |no: TaskNo| no.0 < tasks.len();
    for (no, task) in tasks.iter().enumerate() {
        let activity = task.activity().and_then(Activity::seat);
        let seats = [activity, task.progress.home, task.progress.judge];
        let is_whole = task.role < graph.team.roles.len()
            && task.depends_on.iter().all(|it| has_task(*it) && it.0 != no)
            && seats.into_iter().all(has_seat);
        if !is_whole {
            return Err(PartsError::Reference("task", no));
        }
    }
    if !has_seat(progress.check_progress.judge) {
        return Err(PartsError::Reference("check of the goal", 0));
    }
    for (no, seat) in progress.seats.iter().enumerate() {
        let turn = seat.turn.and_then(Input::task);
        let queued = seat.queue.iter().map(|(task, _)| *task);
        if !queued.chain(turn).all(has_task) {
            return Err(PartsError::Reference("seat", no));
        }
    }
    let waiting = progress.waiting_messages.iter();
    let mut requested = progress.message_inputs.iter().chain(waiting);
    if let Some(at) = requested.position(|(seat, _)| !has_seat(Some(*seat))) {
        return Err(PartsError::Reference("message turn", at));
    }
    let occupied = progress.occupied.iter();
    let mut unknown = occupied.filter(|(no, seat)| !has_task(**no) || !has_seat(**seat));
    if let Some((no, _)) = unknown.next() {
        return Err(PartsError::Reference("occupied path of task", no.0));
    }
    match progress.checking.iter().find(|no| !has_task(**no)) {
        Some(no) => Err(PartsError::Reference("check of task", no.0)),
        None => Ok(()),
    }
}
