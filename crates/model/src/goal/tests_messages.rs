//! Turns for messages between seats, from their requests to their beginnings.

use super::{tests_support::*, *};

#[test]
fn message_turn_counts_once_when_it_begins() {
    let limits = Limits {
        message_turns: 2,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    let counts = |game: &Game| {
        let Graph {
            turns,
            idle_turns,
            message_turns,
            ..
        } = game.graph;
        (turns, idle_turns, message_turns)
    };
    let (turns, idle, none) = counts(&game);
    assert_eq!(none, 0);
    // Requests count towards the limit together, and as turns only when they begin.
    assert_eq!(request(&mut game, "planner-1", 1), None);
    assert_eq!(request(&mut game, "worker-2", 2), None);
    let full = Some(MessageDelay::MessageTurns);
    assert_eq!(request(&mut game, "worker-1", 3), full);
    assert_eq!(counts(&game), (turns, idle, 0));
    for _ in 0..2 {
        game.go(Event::MessageTurnBegan(input(1)));
        assert_eq!(counts(&game), (turns + 1, idle + 1, 1));
    }
    assert_eq!(request(&mut game, "worker-1", 3), full);
    // One that never begins makes room, whatever was counted after its request.
    game.go(Event::MessageTurnDropped(input(2)));
    assert_eq!(counts(&game), (turns + 1, idle + 1, 1));
    game.go(Event::MessageTurnBegan(input(2)));
    game.go(Event::MessageTurnDropped(input(1)));
    assert_eq!(counts(&game), (turns + 1, idle + 1, 1));
    assert_eq!(request(&mut game, "worker-1", 3), None);
    assert_eq!(request(&mut game, "planner-1", 4), full);
    // A removed seat takes none.
    game.presence("worker-1", Presence::Removed);
    assert!(game.graph.message_inputs().is_empty());
    assert_eq!(request(&mut game, "planner-1", 4), None);
}

#[test]
fn requested_message_turns_of_two_seats_alternate() {
    let limits = Limits {
        alternating_turns: 2,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    assert_eq!(request(&mut game, "worker-1", 1), None);
    assert_eq!(request(&mut game, "worker-2", 2), None);
    let limit = Some(MessageDelay::AlternatingTurns);
    assert_eq!(request(&mut game, "worker-1", 3), limit);
    assert_eq!(game.graph.progress().alternation.turns, 0);
    game.go(Event::MessageTurnBegan(input(1)));
    assert_eq!(request(&mut game, "worker-1", 3), limit);
    game.go(Event::MessageTurnDropped(input(2)));
    assert_eq!(request(&mut game, "worker-1", 3), None);
}

#[test]
fn requested_message_turns_exceed_no_limit_of_turns() {
    let limits = Limits {
        turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(vec![work("a", &[])]);
    assert_eq!(request(&mut game, "planner-1", 1), None);
    let stopped = Some(MessageDelay::NotActive);
    assert_eq!(request(&mut game, "worker-1", 2), stopped);
    assert_eq!(game.graph.turns(), 2);
    game.go(Event::MessageTurnDropped(input(9)));
    assert_eq!(request(&mut game, "worker-1", 2), stopped);
    game.go(Event::MessageTurnDropped(input(1)));
    assert_eq!(request(&mut game, "worker-1", 2), None);
    game.go(Event::MessageTurnBegan(input(2)));
    assert_eq!(game.graph.turns(), 3);
    // A goal that paused for the turn that it kept goes on when this turn never begins.
    let mut game = Game::with_limits(
        team(1, None),
        Limits {
            turns: 4,
            ..Limits::default()
        },
    );
    game.plan(vec![work("a", &[]), work("b", &["a"])]);
    assert_eq!(request(&mut game, "planner-1", 1), None);
    assert_eq!(request(&mut game, "planner-1", 2), None);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.graph.goal(), GoalState::Paused(PauseReason::Budget));
    game.go(Event::MessageTurnDropped(input(1)));
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn message_turn_of_removed_seat_leaves_budget() {
    let limits = Limits {
        turns: 4,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[]), work("b", &["a"])]);
    assert_eq!(request(&mut game, "worker-2", 1), None);
    assert_eq!(request(&mut game, "planner-1", 2), None);
    game.end("worker-1", TurnEnd::Reported);
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(game.graph.goal(), paused);
    // Without the turn that the removed seat never takes, the other requested one leaves room for work.
    game.presence("worker-2", Presence::Removed);
    assert_eq!(game.graph.message_inputs().len(), 1);
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn ready_task_takes_no_seat_with_another_turn() {
    let mut game = Game::new(team(2, None));
    let (first, second) = (game.seat_no("worker-1"), game.seat_no("worker-2"));
    game.go(Event::OtherTurns(seats(&[first])));
    game.plan(vec![work("a", &[]), work("b", &[])]);
    assert_eq!(game.turn("worker-2"), "work a");
    assert_eq!(game.status("b"), TaskStatus::Ready);
    assert_eq!(game.waits_for("b"), "a seat with the role worker");
    // The next input of that kind goes before the task, and the end of the last one lets it start.
    game.go(Event::OtherTurns(seats(&[first, second])));
    game.end("worker-2", TurnEnd::Reported);
    assert_eq!(game.turn("worker-2"), "other");
    assert_eq!(game.status("b"), TaskStatus::Ready);
    game.go(Event::OtherTurns(seats(&[second])));
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn goal_waits_for_turn_without_task_and_is_not_stuck() {
    let mut game = Game::new(team(1, None));
    let worker = game.seat_no("worker-1");
    game.go(Event::OtherTurns(seats(&[worker])));
    game.plan(vec![work("a", &[])]);
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.waits_for("a"), "the seat worker-1");
    // A turn on a seat that is away is not awaited.
    game.presence("worker-1", Presence::Offline);
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");
    assert_eq!(game.graph.progress().seats_wait, SeatsWait::UntilDeadline);
    game.presence("worker-1", Presence::Online);
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(game.turn("worker-1"), "work a");
    // A rework waits in the same way, and one without work delays no end.
    game.go(Event::OtherTurns(seats(&[worker])));
    game.end("worker-1", TurnEnd::ReportedFailure);
    assert_eq!(game.turn("worker-1"), "other");
    assert_eq!(game.waits_for("a"), "the seat worker-1");
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(game.turn("worker-1"), "work a");
    game.go(Event::OtherTurns(seats(&[worker])));
    game.end("worker-1", TurnEnd::Reported);
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

/// Requests a turn for messages of a seat, which waits for the end of another turn.
fn wait(game: &mut Game, seat: &str, number: u128) {
    let (seat, input) = (game.seat_no(seat), input(number));
    game.go(Event::MessageTurn { seat, input });
    assert!(game.effects.contains(&Effect::MessageTurnWaits(seat)));
}

/// Returns the seats whose message turns the last event has started.
fn started(game: &Game) -> Vec<&str> {
    let effects = game.effects.iter();
    let seats = effects.filter_map(|effect| match effect {
        Effect::MessageTurnStarted { seat, .. } => Some(*seat),
        _ => None,
    });
    let seats = seats.map(|seat| game.graph.seats()[seat.0].name.as_str());
    seats.collect()
}

/// A goal of one turn at a time, whose task `a` is under way on `worker-1`, and whose task `b` waits.
fn one_at_a_time() -> Game {
    let limits = Limits {
        parallel: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(3, None), limits);
    game.plan(vec![work("a", &[]), work("b", &[])]);
    game
}

#[test]
fn messages_wait_for_end_of_turn_and_go_before_tasks() {
    let mut game = one_at_a_time();
    for (seat, number) in [("worker-3", 1), ("worker-2", 2), ("worker-3", 3)] {
        wait(&mut game, seat, number);
    }
    let waiting: Vec<_> = game.graph.waiting_messages().iter().collect();
    assert_eq!(waiting.len(), 2, "{waiting:?}");
    assert_eq!(
        game.graph.counted_turns(),
        2,
        "a turn that waits counts not"
    );
    // The turn of messages to a busy seat follows the present one there, so that it adds none.
    assert_eq!(request(&mut game, "worker-1", 4), None);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(
        (game.turn("worker-1"), started(&game)),
        ("other".into(), vec![])
    );
    for expected in [vec!["worker-3"], vec!["worker-2"], vec![]] {
        assert_eq!(game.waits_for("b"), "the end of a turn: 1 are under way");
        game.go(Event::OtherTurns(seats(&[])));
        assert_eq!(started(&game), expected);
    }
    assert_eq!(game.turn("worker-1"), "work b");
    assert!(game.graph.waiting_messages().is_empty());
}

#[test]
fn messages_that_wait_start_after_pause_and_leave_with_their_cause() {
    let mut game = one_at_a_time();
    wait(&mut game, "worker-2", 1);
    wait(&mut game, "worker-3", 2);
    wait(&mut game, "planner-1", 3);
    // 1. A pause keeps them, and its end starts the first.
    game.go(Event::Pause);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.graph.waiting_messages().len(), 3);
    game.go(Event::Resume);
    assert_eq!(started(&game), ["worker-2"]);
    // 2. One whose messages were delivered, and that of a removed seat, never start.
    game.go(Event::MessageTurnDropped(input(3)));
    game.presence("worker-3", Presence::Removed);
    assert!(game.graph.waiting_messages().is_empty());
    // 3. A higher limit starts others at once.
    wait(&mut game, "planner-1", 4);
    let mut limits = game.graph.limits().clone();
    limits.parallel = 2;
    game.go(Event::Limits(limits));
    assert_eq!(started(&game), ["planner-1"]);
    // 4. So does the end of another turn.
    wait(&mut game, "worker-1", 5);
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(started(&game), ["worker-1"]);
}

#[test]
fn messages_that_wait_keep_to_other_limits() {
    let limits = Limits {
        parallel: 1,
        message_turns: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    wait(&mut game, "worker-2", 1);
    wait(&mut game, "planner-1", 2);
    game.end("worker-1", TurnEnd::Questions(1));
    assert_eq!(started(&game), ["worker-2"]);
    game.go(Event::MessageTurnBegan(input(1)));
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(started(&game), Vec::<&str>::new());
    let mut limits = game.graph.limits().clone();
    limits.message_turns = 2;
    game.go(Event::Limits(limits));
    assert_eq!(started(&game), ["planner-1"]);
}
