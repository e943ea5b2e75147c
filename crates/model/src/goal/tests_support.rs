//! Helpers of the tests: teams, goals that are played, and choices that a seed or a failing case decides.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::*;
use crate::InputId;

/// A source of choices. The same values make the same choices, and fewer or lower values make simpler ones.
pub(super) struct Choices<'a> {
    values: &'a [u16],
    next: usize,
}

impl<'a> Choices<'a> {
    pub(super) fn new(values: &'a [u16]) -> Self {
        Self { values, next: 0 }
    }

    pub(super) fn is_over(&self) -> bool {
        self.next >= self.values.len()
    }

    /// Returns a number below `count`, 0 after the last value.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let value = self.values.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(value) % count.max(1)
    }

    pub(super) fn percent(&mut self, percent: usize) -> bool {
        // The highest values, so that a shrunk case has fewer rare things.
        self.below(100) >= 100 - percent
    }

    pub(super) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Returns the input with a number.
pub(super) fn input(number: u128) -> InputId {
    InputId::from_uuid(Uuid::from_u128(number))
}

pub(super) fn role(name: &str) -> Role {
    Role::new(name)
}

pub(super) fn seat(name: &str, role: &str, directory: Directory) -> SeatSpec {
    SeatSpec {
        name: name.to_owned(),
        role: role.to_owned(),
        directory,
    }
}

/// Returns a team of a planner, workers, and a judge unless `reviews` is `None`.
pub(super) fn team(workers: usize, reviews: Option<Reviews>) -> Team {
    let mut roles = vec![role(PLANNER), role(WORKER)];
    let mut seats = vec![seat("planner-1", PLANNER, Directory::Shared)];
    seats.extend((1..=workers).map(|no| seat(&format!("worker-{no}"), WORKER, Directory::Shared)));
    if reviews.is_some() {
        roles.push(role(JUDGE));
        seats.push(seat("judge-1", JUDGE, Directory::Shared));
    }
    Team {
        roles,
        seats,
        reviews: reviews.unwrap_or(Reviews::Marked),
        checks: BTreeSet::from(["lint".to_owned(), "tests".to_owned()]),
        verification: Vec::new(),
        approve_plan: false,
    }
}

/// Returns a task of a worker that writes nothing.
pub(super) fn work(key: &str, depends_on: &[&str]) -> NewTask {
    NewTask {
        depends_on: depends_on.iter().map(|it| (*it).to_owned()).collect(),
        writes: Some(Vec::new()),
        ..NewTask::new(key, WORKER)
    }
}

pub(super) fn blocker(id: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        severity: Severity::Blocker,
        regression: false,
    }
}

pub(super) const SILENT: TurnEnd = TurnEnd::WithoutReport { listed_tools: true };

/// A goal that a test plays event by event.
pub(super) struct Game {
    pub(super) graph: Graph,
    pub(super) effects: Vec<Effect>,
}

impl Game {
    /// Starts a goal, whose planner then has its first turn.
    pub(super) fn new(team: Team) -> Self {
        Self::with_limits(team, Limits::default())
    }

    pub(super) fn with_limits(team: Team, limits: Limits) -> Self {
        let graph = Graph::new(team, limits).unwrap();
        let effects = Vec::new();
        let mut game = Self { graph, effects };
        game.go(Event::Start);
        game
    }

    /// Starts a goal with a first plan.
    pub(super) fn planned(team: Team, tasks: Vec<NewTask>) -> Self {
        let mut game = Self::new(team);
        game.plan(tasks);
        game
    }

    pub(super) fn go(&mut self, event: Event) {
        self.effects = advance(&mut self.graph, event).unwrap();
        assert!(self.graph.is_alive(), "{:?}", self.graph);
    }

    pub(super) fn refused(&mut self, event: Event) -> String {
        let before = self.graph.clone();
        let refusal = advance(&mut self.graph, event).unwrap_err();
        assert_eq!(self.graph, before);
        refusal.to_string()
    }

    pub(super) fn seat_no(&self, name: &str) -> SeatNo {
        let found = self.graph.seats().iter().position(|seat| seat.name == name);
        SeatNo(found.unwrap())
    }

    /// Ends the turn of a seat.
    pub(super) fn end(&mut self, seat: &str, end: TurnEnd) {
        self.end_with(seat, end, false, false);
    }

    pub(super) fn end_with(
        &mut self,
        seat: &str,
        end: TurnEnd,
        follow_up: bool,
        new_artifact: bool,
    ) {
        let seat = self.seat_no(seat);
        self.go(Event::TurnEnded {
            seat,
            end,
            follow_up,
            new_artifact,
        });
    }

    /// Notes the presence of a seat.
    pub(super) fn presence(&mut self, seat: &str, presence: Presence) {
        self.go(Event::SeatPresence(vec![(self.seat_no(seat), presence)]));
    }

    pub(super) fn plan(&mut self, tasks: Vec<NewTask>) {
        let drops = Vec::new();
        self.end("planner-1", TurnEnd::Planned(Plan { tasks, drops }));
    }

    pub(super) fn plan_by_person(&mut self, tasks: Vec<NewTask>) {
        let (version, drops) = (self.graph.plan_version(), Vec::new());
        self.go(Event::Publish {
            version,
            plan: Plan { tasks, drops },
        });
    }

    pub(super) fn accept(&mut self, evidence: usize) {
        self.end("judge-1", TurnEnd::Verdict(Verdict::Accept { evidence }));
    }

    pub(super) fn send_back(&mut self, findings: Vec<Finding>) {
        self.end("judge-1", TurnEnd::Verdict(Verdict::SendBack(findings)));
    }

    /// Returns the edit of a task of [`work`] from its first texts on.
    pub(super) fn edit(&self, key: &str, change: impl FnOnce(&mut TaskFields)) -> Event {
        let before = TaskFields {
            title: key.to_owned(),
            description: String::new(),
            acceptance: Vec::new(),
            priority: self.task(key).priority,
        };
        let mut after = before.clone();
        change(&mut after);
        Event::EditTask(TaskEdit {
            version: self.graph.plan_version(),
            task: self.no(key),
            before,
            after,
        })
    }

    pub(super) fn no(&self, key: &str) -> TaskNo {
        let found = self.graph.tasks().iter().position(|task| task.key == key);
        TaskNo(found.unwrap_or_else(|| panic!("no task `{key}`")))
    }

    pub(super) fn task(&self, key: &str) -> &Task {
        &self.graph.tasks()[self.no(key).0]
    }

    pub(super) fn status(&self, key: &str) -> TaskStatus {
        self.task(key).status()
    }

    pub(super) fn waits_for(&self, key: &str) -> String {
        self.graph.waits_for(self.no(key)).to_string()
    }

    pub(super) fn reason(&self, key: &str) -> String {
        match &self.task(key).state {
            TaskState::Failed { reason, about } => format!("{reason} {}", about.join(",")),
            TaskState::Cancelled(reason) => reason.to_string(),
            TaskState::Done(by) => by.to_string(),
            other => format!("{other:?}"),
        }
    }

    /// Returns the prompt of the turn under way on a seat, with the key of its task.
    pub(super) fn turn(&self, seat: &str) -> String {
        match self.graph.seats()[self.seat_no(seat).0].turn {
            None => "-".to_owned(),
            Some(Input::Other) => "other".to_owned(),
            Some(Input::Task { task, prompt }) => {
                format!("{prompt} {}", self.graph.tasks()[task.0].key)
            }
        }
    }
}

/// Returns a set of seats.
pub(super) fn seats(seats: &[SeatNo]) -> BTreeSet<SeatNo> {
    seats.iter().copied().collect()
}

/// Requests a turn for messages of a seat, and returns the limit that delays it.
pub(super) fn request(game: &mut Game, seat: &str, number: u128) -> Option<MessageDelay> {
    let seat = game.seat_no(seat);
    let input = input(number);
    game.go(Event::MessageTurn { seat, input });
    let decided = game.effects.iter().find_map(|effect| match effect {
        Effect::MessageTurn {
            seat: of,
            delayed_by,
        } if *of == seat => Some(*delayed_by),
        _ => None,
    });
    decided.unwrap()
}

/// Requests a turn for messages of a seat, which begins and ends at once. Returns the limit that delays it.
pub(super) fn message_turn(game: &mut Game, seat: &str) -> Option<MessageDelay> {
    let number = 1000 + u128::from(game.graph.message_turns);
    let delay = request(game, seat, number);
    if delay.is_none() {
        game.go(Event::MessageTurnBegan(input(number)));
        game.go(Event::OtherTurns(seats(&[])));
    }
    delay
}
