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
