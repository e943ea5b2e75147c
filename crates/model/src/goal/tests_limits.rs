//! The limits of a goal, its pauses and its ends, and teams that are refused.

use super::{tests_support::*, *};

fn fail(game: &mut Game, seat: &str) {
    for _ in 0..2 {
        game.end(seat, TurnEnd::ReportedFailure);
    }
}

#[test]
fn answer_without_result_call_is_not_done() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
    game.end("worker-1", SILENT);
    assert_eq!(game.turn("worker-1"), "reminder a");
    game.end("worker-1", TurnEnd::Questions(0));
    assert_eq!(game.reason("a"), "no result reported ");
    let mut team = team(1, None);
    team.roles[1].accept_answers = true;
    let mut game = Game::planned(team, vec![work("a", &[])]);
    game.end("worker-1", SILENT);
    game.end("worker-1", SILENT);
    assert_eq!(game.reason("a"), "unreported");
}

#[test]
fn agent_without_tools_fails_as_unavailable() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
    game.end(
        "worker-1",
        TurnEnd::WithoutReport {
            listed_tools: false,
        },
    );
    assert_eq!(game.reason("a"), "tools_unavailable ");
    let mut game = Game::new(team(1, None));
    game.end(
        "planner-1",
        TurnEnd::WithoutReport {
            listed_tools: false,
        },
    );
    assert_eq!(game.reason("plan#1"), "tools_unavailable ");
}

#[test]
fn planner_without_plan_is_stuck() {
    let mut game = Game::new(team(1, None));
    game.end("planner-1", SILENT);
    assert_eq!(game.turn("planner-1"), "reminder plan#1");
    game.plan(Vec::new());
    game.end("planner-1", SILENT);
    assert_eq!(
        (game.reason("plan#1"), game.graph.goal()),
        ("no plan ".into(), GoalState::Stuck(StuckCause::NoPlan))
    );
    game.go(Event::Resume);
    assert_eq!(game.turn("planner-1"), "plan plan#2");
}

#[test]
fn worker_that_only_escalates_ends_after_five_replans() {
    let mut game = Game::planned(team(1, None), vec![work("a0", &[])]);
    for round in 1..=5 {
        game.end_with("worker-1", TurnEnd::ReportedFailure, true, false);
        game.end_with("worker-1", TurnEnd::ReportedFailure, true, false);
        // The follow-ups and the failure of one task are at most two plans.
        while game.turn("planner-1").starts_with("replan") {
            let key = format!("a{round}.{}", game.graph.tasks().len());
            game.plan(vec![work(&key, &[])]);
        }
        if game.turn("worker-1") == "-" {
            break;
        }
    }
    while game.turn("worker-1") != "-" {
        game.end_with("worker-1", TurnEnd::ReportedFailure, true, false);
    }
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    assert_eq!(game.graph.plan_version(), 6);
    assert_eq!(
        game.refused(Event::Replan),
        "the goal has had 5 plans after the first; `limits.replans` accepts 5"
    );
}

#[test]
fn turns_without_progress_are_stuck() {
    let limits = Limits {
        idle_turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(vec![work("a", &[])]);
    let worker = game.seat_no("worker-1");
    for artifact in [false, true, false, false] {
        game.end_with("worker-1", TurnEnd::Questions(1), false, artifact);
        game.go(Event::Answered(game.no("a")));
    }
    // A turn without a task counts nowhere.
    game.go(Event::OtherTurns(seats(&[worker])));
    game.end("worker-1", TurnEnd::Questions(1));
    assert_eq!(game.turn("worker-1"), "other");
    game.go(Event::OtherTurns(seats(&[])));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoProgress));
}

#[test]
fn two_seats_that_only_talk_wait_for_next_task_turn() {
    let limits = Limits {
        alternating_turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Questions(1));
    for seat in ["worker-1", "worker-2", "worker-1"] {
        assert_eq!(message_turn(&mut game, seat), None);
    }
    let turns = game.graph.turns();
    for seat in ["worker-1", "worker-2"] {
        let delay = message_turn(&mut game, seat).unwrap();
        assert_eq!(delay, MessageDelay::AlternatingTurns);
        assert_eq!(delay.as_str(), "alternating_turns");
    }
    assert_eq!(game.graph.turns(), turns, "a delayed turn is none");
    // A third seat talks with them, and the turn of a task ends the talk.
    assert_eq!(message_turn(&mut game, "planner-1"), None);
    assert_eq!(message_turn(&mut game, "worker-2"), None);
    for seat in ["planner-1", "worker-2"] {
        message_turn(&mut game, seat);
    }
    assert!(message_turn(&mut game, "planner-1").is_some());
    game.go(Event::Answered(game.no("a")));
    assert_eq!(message_turn(&mut game, "planner-1"), None);
}

#[test]
fn messages_start_no_turn_while_goal_starts_none() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    let turns = game.graph.turns();
    game.go(Event::Pause);
    assert_eq!(
        message_turn(&mut game, "planner-1"),
        Some(MessageDelay::NotActive)
    );
    game.go(Event::Resume);
    game.go(Event::Budget(BudgetLevel::UsedUp));
    assert_eq!(game.graph.goal(), GoalState::Active, "a turn is under way");
    assert_eq!(
        message_turn(&mut game, "planner-1"),
        Some(MessageDelay::NotActive)
    );
    assert_eq!(game.graph.turns(), turns);
    game.go(Event::Budget(BudgetLevel::Enough));
    assert_eq!(message_turn(&mut game, "planner-1"), None);
}

#[test]
fn two_turns_of_one_seat_begin_no_new_talk() {
    let limits = Limits {
        alternating_turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Questions(1));
    for seat in ["worker-1", "worker-1", "worker-2", "worker-2", "worker-1"] {
        assert_eq!(message_turn(&mut game, seat), None);
    }
    let limit = message_turn(&mut game, "worker-2");
    assert_eq!(limit, Some(MessageDelay::AlternatingTurns));
}

#[test]
fn messages_are_refused_and_delayed_at_their_limits() {
    let limits = Limits {
        messages: 3,
        message_turns: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(vec![work("a", &[]), work("b", &[])]);
    let worker = game.seat_no("worker-1");
    for _ in 0..3 {
        game.go(Event::MessageSent(worker));
    }
    assert_eq!(
        game.refused(Event::MessageSent(worker)),
        "the goal has had 3 messages; `limits.messages` accepts 3"
    );
    assert_eq!(message_turn(&mut game, "worker-1"), None);
    for seat in ["worker-1", "planner-1"] {
        let limit = message_turn(&mut game, seat);
        assert_eq!(limit, Some(MessageDelay::MessageTurns));
    }
    // The turn of a task brings no further turns of messages.
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("worker-1"), "work b");
    assert!(message_turn(&mut game, "worker-1").is_some());
    assert_eq!(game.graph.progress().message_turns, 1);
}

#[test]
fn message_turns_without_progress_are_stuck() {
    let limits = Limits {
        idle_turns: 3,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[])]);
    for seat in ["worker-2", "planner-1", "worker-2"] {
        assert_eq!(message_turn(&mut game, seat), None);
    }
    let stuck = Stop::Stuck(StuckCause::NoProgress);
    assert_eq!(game.graph.stop, Some(stuck), "before a turn of a task ends");
    game.end("worker-1", TurnEnd::Questions(1));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoProgress));
}

#[test]
fn budget_at_ninety_percent_ends_with_report_and_pause() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    game.go(Event::Budget(BudgetLevel::Low));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(
        (game.turn("worker-1"), game.turn("planner-1")),
        ("-".into(), "report report#1".into())
    );
    assert_eq!(
        game.waits_for("b"),
        "the goal, which will be paused (budget) after the turns under way"
    );
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Paused(PauseReason::Budget));
    assert_eq!(game.waits_for("b"), "the goal, which is paused (budget)");
    game.go(Event::Budget(BudgetLevel::Enough));
    assert_eq!(game.turn("worker-1"), "work b");
    game.go(Event::Budget(BudgetLevel::UsedUp));
    game.go(Event::CancelTask(game.no("b")));
    game.end("worker-1", TurnEnd::Failed);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn used_up_turns_pause_without_report() {
    let limits = Limits {
        turns: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits.clone());
    game.plan(vec![work("a", &[])]);
    assert_eq!(game.graph.goal(), GoalState::Paused(PauseReason::Budget));
    game.go(Event::Limits(Limits {
        turns: 20,
        ..limits.clone()
    }));
    assert_eq!(game.turn("worker-1"), "work a");
    let zero = Limits { turns: 0, ..limits };
    assert_eq!(
        game.refused(Event::Limits(zero)),
        "`limits.turns` is 0; at least 1 is accepted"
    );
}

#[test]
fn approved_plan_alone_starts() {
    let mut team = team(1, None);
    team.approve_plan = true;
    let mut game = Game::planned(team, vec![work("a", &[])]);
    assert_eq!(
        game.graph.goal(),
        GoalState::Paused(PauseReason::ApprovePlan)
    );
    assert_eq!(
        game.waits_for("a"),
        "the goal, which is paused (approve plan)"
    );
    assert_eq!(game.turn("worker-1"), "-");
    game.go(Event::Resume);
    assert_eq!(game.turn("worker-1"), "work a");
    game.plan_by_person(vec![work("b", &[])]);
    assert_eq!(game.graph.goal(), GoalState::Active);
}

#[test]
fn cancelled_goal_stops_all_turns_and_checks() {
    let checked = NewTask {
        checks: vec!["tests".to_owned()],
        ..work("a", &[])
    };
    let mut game = Game::planned(
        team(2, None),
        vec![checked, work("b", &[]), work("c", &["b"])],
    );
    game.end("worker-1", TurnEnd::Reported);
    game.go(Event::Cancel);
    assert!(game.effects.contains(&Effect::StopChecks(game.no("a"))));
    assert!(
        game.effects
            .contains(&Effect::StopTurn(game.seat_no("worker-2")))
    );
    assert_eq!(
        game.effects.last(),
        Some(&Effect::Goal(GoalState::Cancelled))
    );
    for key in ["a", "b", "c"] {
        assert_eq!(game.reason(key), "goal over");
    }
    game.end("worker-2", TurnEnd::Reported);
    game.go(Event::ChecksPassed(game.no("a")));
    assert_eq!(game.reason("b"), "goal over");
    assert!(!game.graph.has_turn_or_check());
}

#[test]
fn stuck_goal_fails_after_its_deadline_and_ignores_a_stale_one() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    game.go(Event::DeadlinePassed(Deadline::GiveUp));
    assert_eq!(game.graph.goal(), GoalState::Active);
    fail(&mut game, "worker-1");
    game.end("planner-1", SILENT);
    game.end("planner-1", SILENT);
    game.go(Event::DeadlinePassed(Deadline::GiveUp));
    assert_eq!(game.graph.goal(), GoalState::GivenUp);
    assert_eq!(
        (game.status("a"), game.reason("b")),
        (TaskStatus::Failed, "goal over".into())
    );
}

#[test]
fn task_of_removed_seat_goes_on_at_another_one_with_new_memory() {
    let mut game = Game::planned(team(2, None), vec![work("a", &[])]);
    game.presence("worker-1", Presence::Removed);
    assert_eq!(game.turn("worker-2"), "work a");
    assert!(matches!(
        game.effects.last(),
        Some(Effect::Started {
            memory: Memory::New,
            ..
        })
    ));
    assert_eq!(game.task("a").progress.attempts, 0);
    game.presence("worker-2", Presence::Removed);
    assert_eq!(game.reason("a"), "no seat ");
    let seat = game.seat_no("worker-2");
    assert_eq!(
        game.refused(Event::MessageSent(seat)),
        "the seat `worker-2` is removed; other seats are accepted"
    );
    assert_eq!(
        game.refused(Event::MessageSent(SeatNo(9))),
        "`seat` 9 is unknown; seats 0 to 2 are accepted"
    );
    let last = game.graph.tasks().len() - 1;
    assert_eq!(
        game.refused(Event::Retry(TaskNo(9))),
        format!("`task` 9 is unknown; tasks 0 to {last} are accepted")
    );
}

#[test]
fn paused_goal_lets_turns_end_and_starts_none() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    game.go(Event::Pause);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(
        (game.status("b"), game.turn("worker-1")),
        (TaskStatus::Ready, "-".into())
    );
    assert_eq!(
        game.refused(Event::Pause),
        "the goal is paused, so it cannot pause"
    );
    game.go(Event::Resume);
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn refused_move_has_name_of_its_command() {
    let refusal = |status, event| Refusal::Goal { status, event }.to_string();
    assert_eq!(
        refusal(GoalStatus::Active, GoalEvent::Enable),
        "the goal is active, so it cannot start"
    );
    assert_eq!(
        refusal(GoalStatus::Draft, GoalEvent::Pause),
        "the goal is a draft, so it cannot pause"
    );
}

#[test]
fn team_that_cannot_work_is_refused_by_name() {
    let refused = |edit: &dyn Fn(&mut Team)| {
        let mut team = team(2, None);
        edit(&mut team);
        Graph::new(team, Limits::default()).unwrap_err().to_string()
    };
    let fill = |team: &mut Team, coders: usize| {
        team.roles.push(role("coder"));
        team.seats
            .extend(vec![seat("x", WORKER, Directory::Own); 6]);
        team.seats
            .extend(vec![seat("y", "coder", Directory::Own); coders]);
    };
    let cases: [(&str, String); 7] = [
        (
            "`seats` has 0 seats with the role `planner`; exactly one is accepted",
            refused(&|it| {
                it.roles.remove(0);
                it.seats.remove(0);
            }),
        ),
        (
            "`seats` has 2 seats with the role `planner`; exactly one is accepted",
            refused(&|it| {
                let planner = it.seats[0].clone();
                it.seats.push(planner);
            }),
        ),
        (
            "`count` of the role `coder` is 0; 1 to 8 are accepted",
            refused(&|it| it.roles.push(role("coder"))),
        ),
        (
            "`role` of the seat `x` is `coder`; use planner, worker",
            refused(&|it| it.seats.push(seat("x", "coder", Directory::Own))),
        ),
        (
            "the role `worker` is defined twice; each role is accepted once",
            refused(&|it| it.roles.push(role(WORKER))),
        ),
        (
            "`count` of the role `worker` is 9; 1 to 8 are accepted",
            refused(&|it| it.seats.extend(vec![seat("x", WORKER, Directory::Own); 7])),
        ),
        (
            "`seats` has 17 seats; at most 16 are accepted",
            refused(&|it| fill(it, 8)),
        ),
    ];
    for (expected, refusal) in cases {
        assert_eq!(refusal, expected);
    }
    let mut largest = team(2, None);
    fill(&mut largest, 7);
    assert!(Graph::new(largest, Limits::default()).is_ok());
    let many = Limits {
        tasks: 10_001,
        ..Limits::default()
    };
    let refusal = Graph::new(team(1, None), many).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "`limits.tasks` is 10001; at most 10000 is accepted"
    );
}
