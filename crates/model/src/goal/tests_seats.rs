//! Seats that are offline, for which the goal waits until a deadline, and seats that are removed.

use super::{tests_support::*, *};

#[test]
fn offline_seat_is_awaited_until_its_deadline() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    let worker = "worker-1";
    game.presence(worker, Presence::Offline);
    assert_eq!(
        game.effects.last(),
        Some(&Effect::SetDeadline(Deadline::Seats))
    );
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.waits_for("b"), "the seat worker-1, which is offline");
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.presence(worker, Presence::Online);
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn one_check_of_the_goal_waits_for_a_judge_that_stays_away() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![work("a", &[])]);
    let judge = "judge-1";
    game.presence(judge, Presence::Offline);
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
    game.presence(judge, Presence::Online);
    assert_eq!(game.turn("judge-1"), "check check#1");
}

#[test]
fn turn_on_offline_seat_is_awaited_until_deadline_and_goes_on() {
    let mut game = Game::planned(team(2, None), vec![work("a", &[]), work("b", &[])]);
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
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
    game.presence(lost, Presence::Online);
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("worker-1"), "work a");
    assert_eq!(game.task("a").progress.attempts, 0);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn turn_on_offline_seat_that_uses_parallel_up_is_awaited_beside_other_turn() {
    let limits = Limits {
        parallel: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[]), work("b", &[])]);
    let busy = game.seat_no("worker-2");
    game.go(Event::OtherTurns(seats(&[busy])));
    // The end of the other turn would not start the second task.
    game.presence("worker-1", Presence::Offline);
    assert_eq!(game.effects, [Effect::SetDeadline(Deadline::Seats)]);
}

#[test]
fn removed_seat_ends_pause_of_goal_that_waited_for_it() {
    let mut game = Game::planned(team(2, None), vec![work("a", &[]), work("b", &[])]);
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    game.end("worker-2", TurnEnd::Reported);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.presence(lost, Presence::Removed);
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
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    assert_eq!(game.effects, [Effect::SetDeadline(Deadline::Seats)]);
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.presence(lost, Presence::Online);
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
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    game.go(Event::Budget(BudgetLevel::UsedUp));
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(game.graph.goal(), paused);
    game.presence(lost, Presence::Online);
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
    let lost = "worker-2";
    game.presence(lost, Presence::Offline);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
    assert!(game.effects.contains(&Effect::StopTurn(game.seat_no(lost))));
    assert_eq!(game.reason("b"), "goal over");
}

/// Returns `true` if the last event has set the deadline of the seats.
fn is_awaited_anew(game: &Game) -> bool {
    let deadline = Effect::SetDeadline(Deadline::Seats);
    game.effects.contains(&deadline)
}

#[test]
fn seat_that_comes_and_goes_is_awaited_until_one_deadline() {
    let plan = vec![work("a", &[]), work("b", &["a"])];
    let mut game = Game::planned(team(1, None), plan);
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    assert!(is_awaited_anew(&game));
    for _ in 0..3 {
        game.presence(lost, Presence::Online);
        game.presence(lost, Presence::Offline);
        assert!(!is_awaited_anew(&game));
    }
    // The deadline passes while the seat is there.
    game.presence(lost, Presence::Online);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.presence(lost, Presence::Offline);
    game.end("planner-1", SILENT);
    let stuck = GoalState::Stuck(StuckCause::Idle);
    assert_eq!(game.graph.goal(), stuck);
    // Each return ends the pause, but no further loss of the same turn holds the goal.
    game.presence(lost, Presence::Online);
    assert_eq!(game.graph.goal(), GoalState::Active);
    game.presence(lost, Presence::Offline);
    assert_eq!(game.graph.goal(), stuck);
    assert_eq!(game.waits_for("a"), "the seat worker-1, which is offline");

    // A turn that has ended makes the next loss another one.
    game.presence(lost, Presence::Online);
    game.end(lost, TurnEnd::Reported);
    assert_eq!(game.turn(lost), "work b");
    game.presence(lost, Presence::Offline);
    assert!(is_awaited_anew(&game));
    assert_eq!(game.graph.goal(), GoalState::Active);
}

#[test]
fn turn_that_begins_after_return_is_awaited_anew() {
    let mut game = Game::new(team(1, None));
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    game.plan(vec![work("a", &[])]);
    assert!(is_awaited_anew(&game));
    game.presence(lost, Presence::Online);
    assert_eq!(game.turn(lost), "work a");
    game.presence(lost, Presence::Offline);
    assert!(is_awaited_anew(&game));
}

#[test]
fn end_of_check_on_lost_seat_begins_wait_anew() {
    let checked = |key| NewTask {
        checks: vec!["tests".to_owned()],
        ..work(key, &[])
    };
    let mut game = Game::planned(team(1, None), vec![checked("a"), checked("b")]);
    let lost = "worker-1";
    game.end(lost, TurnEnd::Reported);
    game.end(lost, TurnEnd::Reported);
    game.presence(lost, Presence::Offline);
    assert!(is_awaited_anew(&game));
    game.go(Event::ChecksPassed(game.no("a")));
    assert!(is_awaited_anew(&game));
    assert_eq!(game.waits_for("b"), "the seat worker-1, which is offline");
}

#[test]
fn next_loss_is_awaited_after_cause_of_expired_wait_is_over() {
    let of_judge = |key| NewTask {
        writes: Some(Vec::new()),
        ..NewTask::new(key, JUDGE)
    };
    let mut game = Game::new(team(1, Some(Reviews::Goal)));
    game.presence("worker-1", Presence::Offline);
    game.plan(vec![work("a", &[]), of_judge("b")]);
    game.end("judge-1", TurnEnd::Reported);
    assert!(is_awaited_anew(&game));
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    // Nothing waits for the lost seat any more, although it is still away.
    game.plan_by_person(vec![of_judge("c")]);
    assert_eq!(game.turn("judge-1"), "work c");
    game.go(Event::CancelTask(game.no("a")));
    game.presence("judge-1", Presence::Offline);
    assert!(is_awaited_anew(&game));
    assert_eq!(game.graph.goal(), GoalState::Active);
}

#[test]
fn lost_turn_that_ends_lets_next_loss_be_awaited() {
    let plan = vec![work("a", &[]), work("b", &["a"])];
    let mut game = Game::planned(team(1, None), plan);
    let lost = "worker-1";
    game.presence(lost, Presence::Offline);
    game.go(Event::DeadlinePassed(Deadline::Seats));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    // Its server is there again, and the goal has not noted that yet.
    game.end(lost, TurnEnd::Reported);
    game.go(Event::Resume);
    assert!(is_awaited_anew(&game));
    assert_eq!(game.graph.goal(), GoalState::Active);
}

#[test]
fn wait_for_seat_begins_anew_after_goal_was_stuck_for_another_cause() {
    let limits = Limits {
        idle_turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(vec![work("a", &[]), work("b", &["a"])]);
    game.presence("worker-1", Presence::Offline);
    game.end("worker-1", TurnEnd::Reported);
    assert!(is_awaited_anew(&game));
    for _ in 0..3 {
        assert_eq!(message_turn(&mut game, "planner-1"), None);
    }
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoProgress));
    // The deadline of the stuck goal has replaced that of the seats.
    game.go(Event::Resume);
    assert!(is_awaited_anew(&game));
    assert_eq!(game.waits_for("b"), "the seat worker-1, which is offline");
}

#[test]
fn seats_that_are_removed_together_lose_their_turns_and_take_no_task_of_each_other() {
    let plan = vec![work("a", &[]), work("b", &[])];
    let mut game = Game::planned(team(3, None), plan);
    game.end("worker-2", TurnEnd::Reported);
    let turns = game.graph.turns();
    let removed = ["worker-1", "worker-2"].map(|seat| game.seat_no(seat));
    let changes = removed.map(|seat| (seat, Presence::Removed));
    game.go(Event::SeatPresence(changes.to_vec()));
    assert_eq!(game.effects[0], Effect::LoseTurn(removed[0]));
    assert!(!game.effects.contains(&Effect::LoseTurn(removed[1])));
    assert_eq!(game.turn("worker-3"), "work a");
    assert_eq!(game.graph.turns(), turns + 1);
    // Another seat of the list is unknown, so that nothing changes.
    let unknown = [
        (game.seat_no("worker-3"), Presence::Removed),
        (SeatNo(9), Presence::Removed),
    ];
    assert!(
        game.refused(Event::SeatPresence(unknown.to_vec()))
            .contains("`seat` 9 is unknown")
    );
}

#[test]
fn seat_is_busy_with_a_turn_and_with_an_input_that_comes_first() {
    let game = Game::new(team(1, None));
    let mut seat = game.graph.seats()[game.seat_no("worker-1").0].clone();
    for (turn, other_inputs, is_busy) in [
        (None, 0, false),
        (None, 1, true),
        (Some(Input::Other), 0, true),
    ] {
        (seat.turn, seat.other_inputs) = (turn, other_inputs);
        assert_eq!(seat.is_busy(), is_busy);
    }
}

/// A goal of two workers and two judges whose first task writes in the directory of its seat.
fn doubled() -> Game {
    let mut team = team(2, Some(Reviews::Marked));
    team.seats.push(seat("judge-2", JUDGE, Directory::Shared));
    let task = NewTask {
        review: true,
        writes: Some(vec!["src".to_owned()]),
        ..work("a", &[])
    };
    Game::planned(team, vec![task])
}

#[test]
fn removed_seat_leaves_memories_and_questions_of_others() {
    let mut game = doubled();
    game.presence("judge-1", Presence::Offline);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-2"), "review a");
    game.presence("judge-1", Presence::Online);
    let findings = vec![blocker("f1")];
    game.end("judge-2", TurnEnd::Verdict(Verdict::SendBack(findings)));
    game.end("worker-1", TurnEnd::Questions(1));
    let state = |game: &Game| {
        let occupied = game.graph.progress().occupied;
        (game.task("a").clone(), occupied)
    };
    let asked = state(&game);
    assert_eq!(asked.1.len(), 1);
    game.presence("worker-2", Presence::Removed);
    assert_eq!(state(&game), asked);
    game.go(Event::Answered(game.no("a")));
    assert_eq!(game.turn("worker-1"), "answer a");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-2"), "review a");
}

#[test]
fn question_of_removed_seat_moves_with_its_paths() {
    let (a, writes) = (TaskNo(1), |game: &Game| game.graph.progress().occupied);
    // 1. Another worker gets the answer, and takes the paths with its turn.
    let mut game = doubled();
    game.end("worker-1", TurnEnd::Questions(1));
    assert!(writes(&game).contains_key(&a));
    game.presence("worker-1", Presence::Removed);
    assert!(!writes(&game).contains_key(&a));
    // 2. The paths of work that a judge asks about stay with the work.
    let mut game = doubled();
    game.end("worker-1", TurnEnd::Reported);
    game.end("judge-1", TurnEnd::Questions(1));
    let before = writes(&game);
    game.presence("judge-1", Presence::Removed);
    assert_eq!(writes(&game), before);
    game.go(Event::Answered(a));
    assert_eq!(game.turn("judge-2"), "answer a");
    // 3. Without another judge, a person decides.
    game.end("judge-2", TurnEnd::Questions(1));
    game.presence("judge-2", Presence::Removed);
    let waits = "a person, because no judge gives a verdict";
    assert_eq!(game.waits_for("a"), waits);
}

#[test]
fn removal_of_seat_without_messages_lets_no_goal_out_of_budget_go_on() {
    let mut game = Game::new(team(2, None));
    game.go(Event::Budget(BudgetLevel::Low));
    game.plan(vec![work("a", &[])]);
    game.end("planner-1", SILENT);
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(game.graph.goal(), paused);
    game.presence("worker-2", Presence::Removed);
    assert_eq!(game.graph.stop, Some(Stop::Budget));
}
