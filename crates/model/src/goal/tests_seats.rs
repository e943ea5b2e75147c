//! Seats that are offline: the goal waits for them until a deadline, and then pauses.

use super::{tests_support::*, *};

#[test]
fn offline_seat_is_awaited_until_its_deadline() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    let worker = game.seat_no("worker-1");
    game.go(Event::SeatPresence(worker, Presence::Offline));
    assert_eq!(
        game.effects.last(),
        Some(&Effect::SetDeadline(Deadline::Seats))
    );
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.waits_for("b"), "the seat worker-1, which is offline");
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.go(Event::SeatPresence(worker, Presence::Online));
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn one_check_of_the_goal_waits_for_a_judge_that_stays_away() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![work("a", &[])]);
    let judge = game.seat_no("judge-1");
    game.go(Event::SeatPresence(judge, Presence::Offline));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(
        game.waits_for("check#1"),
        "the seat judge-1, which is offline"
    );
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    let checks = game.graph.tasks.iter();
    let checks = checks.filter(|task| task.kind == TaskKind::Check);
    assert_eq!(checks.count(), 1);
    game.go(Event::SeatPresence(judge, Presence::Online));
    assert_eq!(game.turn("judge-1"), "check check#1");
}

#[test]
fn turn_on_offline_seat_is_awaited_until_deadline_and_goes_on() {
    let mut game = Game::planned(team(2, None), vec![work("a", &[]), work("b", &[])]);
    let lost = game.seat_no("worker-1");
    game.go(Event::SeatPresence(lost, Presence::Offline));
    assert!(game.effects.is_empty(), "another turn is under way");
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");
    game.end("worker-2", TurnEnd::Reported);
    assert_eq!(
        game.effects.last(),
        Some(&Effect::SetDeadline(Deadline::Seats))
    );
    game.go(Event::DeadlinePassed(Deadline::Seats));
    assert_eq!(game.turn("planner-1"), "report report#1");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");
    // The turn is still there, and is no failed attempt.
    game.go(Event::SeatPresence(lost, Presence::Online));
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("worker-1"), "work a");
    assert_eq!(game.task("a").progress.attempts, 0);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn removed_seat_ends_pause_of_goal_that_waited_for_it() {
    let mut game = Game::planned(team(2, None), vec![work("a", &[]), work("b", &[])]);
    let lost = game.seat_no("worker-1");
    game.go(Event::SeatPresence(lost, Presence::Offline));
    game.end("worker-2", TurnEnd::Reported);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.go(Event::SeatPresence(lost, Presence::Removed));
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("worker-2"), "work a");
}

#[test]
fn check_on_offline_seat_is_awaited_until_deadline_and_goes_on() {
    let checked = NewTask {
        checks: vec!["tests".to_owned()],
        ..work("a", &[])
    };
    let mut game = Game::planned(team(1, None), vec![checked]);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.waits_for("a"), "nothing");
    let lost = game.seat_no("worker-1");
    game.go(Event::SeatPresence(lost, Presence::Offline));
    assert_eq!(game.effects, [Effect::SetDeadline(Deadline::Seats)]);
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.go(Event::SeatPresence(lost, Presence::Online));
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.waits_for("a"), "nothing");
    game.go(Event::ChecksPassed(game.no("a")));
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn goal_out_of_budget_pauses_at_deadline_of_offline_seat() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    let lost = game.seat_no("worker-1");
    game.go(Event::SeatPresence(lost, Presence::Offline));
    game.go(Event::Budget(BudgetLevel::UsedUp));
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(game.graph.goal(), paused);
    game.go(Event::SeatPresence(lost, Presence::Online));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(
        (game.graph.goal(), game.status("a")),
        (paused, TaskStatus::Done)
    );
    assert_eq!(game.turn("worker-1"), "-");
}

#[test]
fn optional_turn_on_offline_seat_ends_with_goal_that_is_done() {
    let optional = NewTask {
        optional: true,
        ..work("b", &[])
    };
    let mut game = Game::planned(team(2, None), vec![work("a", &[]), optional]);
    let lost = game.seat_no("worker-2");
    game.go(Event::SeatPresence(lost, Presence::Offline));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
    assert!(game.effects.contains(&Effect::StopTurn(lost)));
    assert_eq!(game.reason("b"), "goal over");
}
