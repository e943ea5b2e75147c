//! The graph of a goal: tasks, seats and counters.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    InputId,
    goal::{
        budget::level_of,
        event::{BudgetLevel, GoalState, StuckCause},
        limits::{Limits, MAX_TASKS},
        message_delay::MessageDelay,
        seat::{Directory, Input, Presence, Seat, SeatNo},
        task::{Progress, Step, Task, TaskKind, TaskNo, TaskStatus},
        team::{JUDGE, SeatSpec, Team, TeamError},
        writes::{DirectoryKey, OccupiedWrites},
    },
    text_enum::text_enum,
};

/// The reason for which no further work starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// A budget is nearly or fully used up.
    Budget,
    /// The goal is stuck.
    Stuck(StuckCause),
}

text_enum! {
    /// The wait for seats that are offline. It goes on while they come and go, until a turn or a check gets on there.
    SeatsWait, "a wait for seats" {
        /// No seat is awaited.
        None = "none",
        /// A deadline is set.
        UntilDeadline = "until_deadline",
        /// The deadline has passed.
        Expired = "expired",
    }
}

/// The message turns that two seats take alternately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alternation {
    /// The seat of the last message turn.
    pub last: Option<SeatNo>,
    /// The seat of the message turn before it.
    pub before: Option<SeatNo>,
    /// The number of turns.
    pub turns: u32,
}

impl Alternation {
    /// Returns the alternation after a further message turn. A second turn of the same seat changes nothing: it neither
    /// continues the talk nor begins it anew, so that two messages in one turn do not evade the limit.
    pub(super) fn after(self, seat: SeatNo) -> Self {
        if self.last == Some(seat) {
            return self;
        }
        let turns = if self.last.is_none() {
            1
        } else if self.before == Some(seat) {
            self.turns + 1
        } else {
            2
        };
        Self {
            last: Some(seat),
            before: self.last,
            turns,
        }
    }
}

/// The tasks, the seats and the counters of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub(super) team: Team,
    pub(super) limits: Limits,
    pub(super) goal: GoalState,
    pub(super) tasks: Vec<Task>,
    pub(super) seats: Vec<Seat>,
    /// The tasks of each key that plans can name. The key of a task with `each` names one task for each item.
    pub(super) keys: BTreeMap<String, Vec<TaskNo>>,
    /// The DONE tasks by their content.
    pub(super) finished: BTreeMap<[u8; 32], TaskNo>,
    /// The READY tasks of each role, in the order in which they start.
    pub(super) ready: Vec<BTreeSet<(u8, TaskNo)>>,
    pub(super) running: BTreeSet<TaskNo>,
    /// The tasks whose checks are under way.
    pub(super) checking: BTreeSet<TaskNo>,
    pub(super) writes: OccupiedWrites,
    /// The number of dependencies of all tasks.
    pub(super) dependency_count: usize,
    /// The number of tasks of the kind `work`.
    pub(super) work_count: u32,
    /// The number of tasks without which the goal cannot be done.
    pub(super) required_open: usize,
    pub(super) plan_version: u32,
    pub(super) replans: u32,
    /// `true` if a further plan is requested that no waiting plan task covers.
    pub(super) plan_requested: bool,
    pub(super) plan_task: Option<TaskNo>,
    /// `true` if the judge or a person has accepted the whole goal since the last publication.
    pub(super) accepted: bool,
    pub(super) failed_checks: u32,
    /// The judge's counters of the whole goal, which each check continues.
    pub(super) check_progress: Progress,
    /// `true` if a turn of the report has begun since the last turn or check of a task, and since the last change of a task by a
    /// person other than an edit.
    pub(super) reported: bool,
    pub(super) stop: Option<Stop>,
    pub(super) budget: BudgetLevel,
    pub(super) seats_wait: SeatsWait,
    pub(super) turns: u32,
    pub(super) idle_turns: u32,
    pub(super) messages: u32,
    pub(super) message_turns: u32,
    /// The message turns that were requested and have not begun, in the order of the requests, each with its input.
    pub(super) message_inputs: Vec<(SeatNo, InputId)>,
    /// The message turns that wait for the end of another turn, one for each seat, in the order of the requests.
    pub(super) waiting_messages: Vec<(SeatNo, InputId)>,
    pub(super) alternation: Alternation,
}

impl Graph {
    /// Returns the graph of a draft. The first plan is requested, and nothing else.
    ///
    /// # Errors
    ///
    /// [`TeamError`] for the first fault of the team or of the limits.
    pub fn new(team: Team, limits: Limits) -> Result<Self, TeamError> {
        check_limits(&limits)?;
        let roles = team.seat_roles()?;
        let seat = |(spec, role): (&SeatSpec, usize)| Seat {
            name: spec.name.clone(),
            role,
            directory: spec.directory,
            presence: Presence::Online,
            turn: None,
            queue: VecDeque::new(),
            other_inputs: 0,
            waited_for: false,
        };
        Ok(Self {
            seats: team.seats.iter().zip(roles).map(seat).collect(),
            ready: vec![BTreeSet::new(); team.roles.len()],
            team,
            limits,
            goal: GoalState::Draft,
            tasks: Vec::new(),
            keys: BTreeMap::new(),
            finished: BTreeMap::new(),
            running: BTreeSet::new(),
            checking: BTreeSet::new(),
            writes: OccupiedWrites::default(),
            dependency_count: 0,
            work_count: 0,
            required_open: 0,
            plan_version: 0,
            replans: 0,
            plan_requested: true,
            plan_task: None,
            accepted: false,
            failed_checks: 0,
            check_progress: Progress::default(),
            reported: false,
            stop: None,
            budget: BudgetLevel::Enough,
            seats_wait: SeatsWait::None,
            turns: 0,
            idle_turns: 0,
            messages: 0,
            message_turns: 0,
            message_inputs: Vec::new(),
            waiting_messages: Vec::new(),
            alternation: Alternation::default(),
        })
    }

    /// Returns the state of the goal.
    pub const fn goal(&self) -> GoalState {
        self.goal
    }

    /// Returns the tasks, in the order of their numbers.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the seats, in the order of their numbers.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// Returns the team.
    pub const fn team(&self) -> &Team {
        &self.team
    }

    /// Returns the limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the version of the plan: the number of publications and of edits of tasks.
    pub const fn plan_version(&self) -> u32 {
        self.plan_version
    }

    /// Returns the number of turns that have started, without those of people's messages.
    pub const fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns the numbers of the tasks that a key names, in order.
    pub fn named(&self, key: &str) -> &[TaskNo] {
        self.keys.get(key).map_or(&[], Vec::as_slice)
    }

    /// Notes the turns that no task has caused: they hold these seats, or take them before the next turn of a task. The caller
    /// has to note them before each event, because they are no part of the goal.
    pub fn note_other_turns(&mut self, seats: &BTreeSet<SeatNo>) {
        for (no, seat) in self.seats.iter_mut().enumerate() {
            let is_held = seats.contains(&SeatNo(no)) && seat.presence != Presence::Removed;
            if !seat.has_task() {
                seat.turn = is_held.then_some(Input::Other);
            }
            seat.other_inputs = u32::from(is_held && seat.has_task());
        }
    }

    /// Lets inputs without a task have the seats on which no turn is under way.
    pub(super) fn let_other_inputs_begin(&mut self) {
        for seat in &mut self.seats {
            if seat.turn.is_none() && seat.other_inputs > 0 {
                seat.other_inputs -= 1;
                seat.turn = Some(Input::Other);
            }
        }
    }

    /// Returns `true` if a turn of a task or a check is under way.
    pub fn has_turn_or_check(&self) -> bool {
        !self.checking.is_empty() || self.seats.iter().any(Seat::has_task)
    }

    /// Returns `true` if a turn of a task or a check is under way, apart from those that wait for a seat which is offline.
    pub(super) fn is_under_way(&self) -> bool {
        let is_here = |seat: &Seat| seat.presence != Presence::Offline;
        let mut turns = self.seats.iter().filter(|seat| seat.has_task());
        // Checks run in the directory of the seat that did the work. Those of a removed seat end by themselves.
        let homes = self
            .checking
            .iter()
            .map(|no| self.tasks[no.0].progress.home);
        let mut homes = homes.map(|home| home.map(|seat| &self.seats[seat.0]));
        turns.any(is_here) || homes.any(|home| home.is_none_or(is_here))
    }

    /// Returns `true` if a turn of a task or a check waits for a seat or is under way there, or if the seat is offline and a READY
    /// task of its role waits.
    pub(super) fn is_needed(&self, no: SeatNo) -> bool {
        let seat = &self.seats[no.0];
        let mut checks = self.checking.iter();
        seat.has_task()
            || !seat.queue.is_empty()
            || checks.any(|task| self.tasks[task.0].progress.home == Some(no))
            || (seat.presence == Presence::Offline && !self.ready[seat.role].is_empty())
    }

    /// Returns the seats that are offline, and for which something waits.
    pub(super) fn lost_seats(&self) -> Vec<SeatNo> {
        let seats = (0..self.seats.len()).map(SeatNo);
        let offline = seats.filter(|no| self.seats[no.0].presence == Presence::Offline);
        offline.filter(|no| self.is_needed(*no)).collect()
    }

    /// Returns `true` if a question to a person is open.
    pub fn has_question(&self) -> bool {
        self.running.iter().any(|no| {
            let activity = self.tasks[no.0].activity();
            activity.is_some_and(|it| it.step() == Step::Question)
        })
    }

    /// Returns `true` if the goal is not active, or has an open turn, check, question or deadline. Turns and checks that wait
    /// for seats which are offline do not count, and turns without a task only if a task waits for their end. A sweep counts
    /// `false` as a fault, because nothing would ever move such a goal.
    pub fn is_alive(&self) -> bool {
        self.goal != GoalState::Active
            || self.is_under_way()
            || self.waits_for_other_turn()
            || self.has_question()
            || self.seats_wait == SeatsWait::UntilDeadline
    }

    /// Returns the index of the judge's role. Returns `None` if the team has no judge.
    pub(super) fn judge_role(&self) -> Option<usize> {
        self.team.role(JUDGE)
    }

    /// Returns the directory in which a task on this seat writes.
    pub(super) fn directory(&self, seat: SeatNo) -> DirectoryKey {
        match self.seats[seat.0].directory {
            Directory::Shared => None,
            Directory::Own => Some(seat),
        }
    }

    /// Returns the numbers of the seats of a role.
    pub(super) fn seats_of(&self, role: usize) -> impl Iterator<Item = SeatNo> + '_ {
        let seats = self.seats.iter().enumerate();
        seats.filter_map(move |(no, seat)| (seat.role == role).then_some(SeatNo(no)))
    }

    /// Returns `true` if a READY task of the role of `seat` may start there. A task that has a memory goes back to it, unless
    /// its seat is away.
    pub(super) fn may_take(&self, task: &Task, seat: SeatNo) -> bool {
        let home = task
            .progress
            .home
            .filter(|home| self.seats[home.0].presence == Presence::Online);
        home.is_none_or(|home| home == seat)
    }

    /// Returns the task that occupies paths which `task` writes on `seat`. Returns `None` if nothing prevents its start.
    pub(super) fn occupant(&self, task: TaskNo, seat: SeatNo) -> Option<TaskNo> {
        let directory = self.directory(seat);
        self.writes
            .occupant(task, directory, &self.tasks[task.0].writes)
    }

    /// Returns the message turns that were requested and have not begun, in the order of the requests, each with its input.
    pub fn message_inputs(&self) -> &[(SeatNo, InputId)] {
        &self.message_inputs
    }

    /// Returns the message turns that wait for the end of another turn, one for each seat, in the order of the requests, each
    /// with its input.
    pub fn waiting_messages(&self) -> &[(SeatNo, InputId)] {
        &self.waiting_messages
    }

    /// Adds a message turn that starts. It takes its seat before the next turn of a task.
    pub(super) fn add_message_input(&mut self, seat: SeatNo, input: InputId) {
        self.message_inputs.push((seat, input));
        self.seats[seat.0].other_inputs += 1;
    }

    /// Returns the number of requested message turns. They count towards the limits, so that requests together exceed none.
    fn requested_turns(&self) -> u32 {
        u32::try_from(self.message_inputs.len()).unwrap_or(u32::MAX)
    }

    /// Returns the reason for which messages to a seat wait for a turn of a task. Returns `None` if they may start a turn of
    /// their own.
    pub(super) fn message_delay(&self, seat: SeatNo) -> Option<MessageDelay> {
        let requested = self.message_inputs.iter().map(|(seat, _)| *seat);
        let Alternation {
            last,
            before,
            turns,
        } = requested.fold(self.alternation, Alternation::after);
        let message_turns = self.message_turns + self.requested_turns();
        let alternates = last == Some(seat) || before == Some(seat);
        if self.goal != GoalState::Active || self.stop.is_some() {
            Some(MessageDelay::NotActive)
        } else if message_turns >= self.limits.message_turns {
            Some(MessageDelay::MessageTurns)
        } else if alternates && turns >= self.limits.alternating_turns {
            Some(MessageDelay::AlternatingTurns)
        } else {
            None
        }
    }

    /// Returns `true` if as many turns are under way as `parallel` allows. Each seat takes one turn at a time. A seat that is
    /// offline counts only for the turn of a task, so that messages that wait there hold up no other seat.
    pub(super) fn is_full(&self) -> bool {
        let is_taking =
            |seat: &&Seat| seat.has_task() || seat.presence != Presence::Offline && seat.is_busy();
        self.seats.iter().filter(is_taking).count() >= self.limits.parallel as usize
    }

    /// Returns `true` if messages to a seat wait for the end of another turn. On a busy seat they do not, because their turn
    /// follows the present one there.
    pub(super) fn must_messages_wait(&self, seat: SeatNo) -> bool {
        !self.seats[seat.0].is_busy() && self.is_full()
    }

    /// Returns the level of the budget, of which the number of turns is one. Requested message turns count, so that none of
    /// them exceeds it.
    pub(super) fn budget_level(&self) -> BudgetLevel {
        let turns = u64::from(self.counted_turns());
        level_of(turns, u64::from(self.limits.turns)).max(self.budget)
    }

    /// Returns the number of turns that count towards the limit: those that have begun, and the requested message turns.
    pub fn counted_turns(&self) -> u32 {
        self.turns.saturating_add(self.requested_turns())
    }

    /// Returns `true` if the work is over: a plan was published, none is open, and each task is DONE, CANCELLED or optional.
    pub(super) fn is_complete(&self) -> bool {
        self.plan_version > 0 && self.plan_task.is_none() && self.required_open == 0
    }

    /// Returns `true` if the planner has made a plan. A person may have published tasks before it.
    pub fn has_planned(&self) -> bool {
        let is_done =
            |task: &Task| task.kind == TaskKind::Plan && task.status() == TaskStatus::Done;
        self.tasks.iter().any(is_done)
    }

    /// Returns `true` if a check of the whole goal is open.
    pub(super) fn has_open_check(&self) -> bool {
        self.running
            .iter()
            .any(|no| self.tasks[no.0].kind == TaskKind::Check)
    }

    /// Returns `true` if a task is a check of the whole goal that has failed, and a later check was accepted. Its findings are
    /// resolved then.
    pub fn is_resolved_check(&self, no: TaskNo) -> bool {
        let is_check = |task: &&Task| task.kind == TaskKind::Check;
        // The task itself is none of those that were accepted.
        let mut checks = self.tasks.iter().skip(no.0).filter(is_check);
        let task = self.tasks.get(no.0).filter(is_check);
        task.is_some_and(|task| task.status() == TaskStatus::Failed)
            && checks.any(|task| task.status() == TaskStatus::Done)
    }

    /// Returns the kind of a task.
    pub(super) fn kind(&self, task: TaskNo) -> TaskKind {
        self.tasks[task.0].kind
    }
}

/// Checks the limits.
///
/// # Errors
///
/// Refuses a limit of zero, which would stop a goal for a reason that no person expects, and too many tasks.
pub(super) fn check_limits(limits: &Limits) -> Result<(), TeamError> {
    if limits.tasks > MAX_TASKS {
        return Err(TeamError::TooManyTasks(limits.tasks));
    }
    for (name, limit) in [
        ("plan", limits.plan),
        ("tasks", limits.tasks),
        ("rounds", limits.rounds),
        ("equal_rounds", limits.equal_rounds),
        ("failed_checks", limits.failed_checks),
        ("idle_turns", limits.idle_turns),
        ("turns", limits.turns),
        ("parallel", limits.parallel),
    ] {
        if limit == 0 {
            return Err(TeamError::ZeroLimit(name));
        }
    }
    Ok(())
}
