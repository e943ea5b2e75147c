//! The life of a goal: readiness, propagation, order of turns, limits, pauses and ends.

use super::{tests_support::*, *};
use crate::lifecycle::Lifecycle;

fn optional(task: NewTask) -> NewTask {
    NewTask {
        optional: true,
        ..task
    }
}

fn writing(key: &str, path: &str) -> NewTask {
    NewTask {
        writes: Some(vec![path.to_owned()]),
        ..work(key, &[])
    }
}

fn fail(game: &mut Game, seat: &str) {
    for _ in 0..2 {
        game.end(seat, TurnEnd::ReportedFailure);
    }
}

#[test]
fn goal_runs_from_plan_to_report() {
    let mut game = Game::new(team(2, Some(Reviews::Marked)));
    assert_eq!(game.turn("planner-1"), "plan plan#1");
    game.plan(vec![work("a", &[]), work("b", &["a"]), work("c", &[])]);
    assert_eq!(
        (game.turn("worker-1"), game.turn("worker-2")),
        ("work a".into(), "work c".into())
    );
    assert_eq!(game.waits_for("b"), "a");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("worker-1"), "work b");
    game.end("worker-2", TurnEnd::Reported);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-1"), "check check#1");
    game.accept(1);
    assert_eq!(game.turn("planner-1"), "report report#1");
    game.end("planner-1", TurnEnd::Failed);
    assert_eq!(game.graph.goal(), GoalState::Done);
    assert_eq!(game.effects.last(), Some(&Effect::Goal(GoalState::Done)));
    assert_eq!(
        game.refused(Event::Replan),
        "the goal is done; nothing more is accepted"
    );
}

#[test]
fn tasks_ending_at_once_each_reach_their_successor() {
    let mut game = Game::planned(
        team(2, None),
        vec![work("a", &[]), work("b", &[]), work("c", &["a", "b"])],
    );
    game.end("worker-2", TurnEnd::Reported);
    assert_eq!(
        game.effects[1],
        Effect::Unmet {
            task: game.no("c"),
            unmet: 1
        }
    );
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("worker-1"), "work c");
}

#[test]
fn ready_tasks_start_by_priority_then_age() {
    let mut game = Game::planned(
        team(1, None),
        [5, 5, 0, 9]
            .iter()
            .zip(["a", "b", "c", "d"])
            .map(|(priority, key)| NewTask {
                priority: *priority,
                ..work(key, &[])
            })
            .collect(),
    );
    for key in ["c", "a", "b", "d"] {
        assert_eq!(game.turn("worker-1"), format!("work {key}"));
        game.end("worker-1", TurnEnd::Reported);
    }
}

#[test]
fn freed_seat_takes_other_input_then_started_task_then_ready_one() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    let worker = game.seat_no("worker-1");
    game.end("worker-1", TurnEnd::Questions(2));
    assert_eq!(game.turn("worker-1"), "work b");
    assert_eq!(game.waits_for("a"), "the answers to 2 questions");
    game.go(Event::Answered(game.no("a")));
    assert_eq!(game.waits_for("a"), "the answer to a question");
    game.go(Event::Answered(game.no("a")));
    assert_eq!(game.waits_for("a"), "the seat worker-1");
    game.go(Event::OtherTurns(seats(&[worker])));
    game.go(Event::CancelTask(game.no("b")));
    assert_eq!(game.effects[0], Effect::StopTurn(worker));
    game.plan_by_person(vec![work("c", &[])]);
    game.end("worker-1", TurnEnd::Failed);
    assert_eq!(game.turn("worker-1"), "other");
    let end = Event::TurnEnded {
        seat: worker,
        end: SILENT,
        follow_up: false,
        new_artifact: false,
    };
    assert!(game.refused(end).contains("no turn under way"));
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(game.turn("worker-1"), "answer a");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("worker-1"), "work c");
    assert_eq!(game.status("a"), TaskStatus::Done);
}

#[test]
fn turn_that_person_cancels_has_no_other_attempt() {
    // 1. A first plan, without which nothing can run.
    let mut game = Game::new(team(1, None));
    game.end("planner-1", TurnEnd::Cancelled);
    assert_eq!(game.reason("plan#1"), "turn cancelled ");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoPlan));
    // 2. A task, which no planner replaces. The others go on.
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    game.end("worker-1", TurnEnd::Cancelled);
    assert_eq!(game.reason("a"), "turn cancelled ");
    assert_eq!(game.turn("worker-1"), "work b");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("planner-1"), "report report#1");
    // 3. The report.
    game.end("planner-1", TurnEnd::Cancelled);
    assert_eq!(game.reason("report#1"), "turn cancelled ");
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    // 4. A person retries the task.
    game.go(Event::Retry(game.no("a")));
    assert_eq!(game.turn("worker-1"), "work a");
    game.end("worker-1", TurnEnd::Failed);
    assert_eq!(game.turn("worker-1"), "work a");
    // 5. A later plan, which changes nothing.
    game.go(Event::Replan);
    assert_eq!(game.turn("planner-1"), "replan plan#2");
    game.end("planner-1", TurnEnd::Cancelled);
    assert_eq!(game.reason("plan#2"), "turn cancelled ");
    assert_eq!(game.turn("worker-1"), "work a");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn task_replaced_with_the_one_before_it_says_so() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    let both = NewTask {
        replaces: vec!["a".to_owned(), "b".to_owned()],
        ..work("c", &[])
    };
    game.plan_by_person(vec![both]);
    assert_eq!(game.reason("a"), "replaced");
    assert_eq!(game.reason("b"), "replaced");
}

#[test]
fn optional_task_with_cancelled_turn_lets_tasks_behind_it_start() {
    let optional = NewTask {
        optional: true,
        ..work("a", &[])
    };
    let mut game = Game::planned(team(1, None), vec![optional, work("b", &["a"])]);
    game.end("worker-1", TurnEnd::Cancelled);
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn no_more_turns_run_at_a_time_than_parallel_allows() {
    let limits = Limits {
        parallel: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(2, None), limits);
    game.plan(vec![work("a", &[]), work("b", &[])]);
    assert_eq!(game.turn("worker-2"), "-");
    assert_eq!(game.waits_for("b"), "the end of a turn: 1 are under way");
    // Turns without a task begin at once, and count.
    game.go(Event::OtherTurns(seats(&[game.seat_no("worker-2")])));
    assert_eq!(game.turn("worker-2"), "other");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.waits_for("b"), "the end of a turn: 1 are under way");
    game.go(Event::OtherTurns(seats(&[])));
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn overlapping_writes_never_run_at_once_until_accepted() {
    let mut game = Game::planned(
        team(3, Some(Reviews::All)),
        vec![
            writing("a", "src"),
            writing("b", "src/x"),
            writing("c", "docs"),
        ],
    );
    assert_eq!(
        (game.status("b"), game.turn("worker-2")),
        (TaskStatus::Ready, "work c".into())
    );
    assert_eq!(game.waits_for("b"), "a, which writes the same paths");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.status("b"), TaskStatus::Ready);
    game.accept(1);
    assert_eq!(game.status("b"), TaskStatus::Running);
}

#[test]
fn own_directories_do_not_overlap() {
    let mut team = team(2, None);
    for seat in &mut team.seats {
        seat.directory = Directory::Own;
    }
    let game = Game::planned(team, vec![writing("a", "."), writing("b", ".")]);
    assert_eq!(game.status("b"), TaskStatus::Running);
}

#[test]
fn writes_default_to_whole_directory_for_workers_alone() {
    let mut team = team(2, Some(Reviews::Marked));
    let default = NewTask {
        writes: None,
        ..work("a", &[])
    };
    let game = Game::planned(
        team.clone(),
        vec![default.clone(), NewTask::new("b", JUDGE)],
    );
    assert_eq!(game.task("a").writes, ["."]);
    assert!(game.task("b").writes.is_empty());
    team.roles[1].writes = Some(vec!["src/".to_owned()]);
    assert_eq!(Game::planned(team, vec![default]).task("a").writes, ["src"]);
}

#[test]
fn task_fails_after_two_attempts_and_successors_stay_behind_it() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    game.end("worker-1", TurnEnd::Failed);
    assert_eq!(
        (game.status("a"), game.turn("worker-1")),
        (TaskStatus::Running, "work a".into())
    );
    game.end("worker-1", TurnEnd::ReportedFailure);
    assert_eq!(game.reason("a"), "attempts used up ");
    assert_eq!(game.waits_for("b"), "a (FAILED)");
    assert_eq!(game.turn("planner-1"), "replan plan#2");
    game.end("planner-1", SILENT);
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    assert_eq!(game.graph.stuck_cause(), Some(StuckCause::Idle));
    assert!(
        game.effects
            .contains(&Effect::SetDeadline(Deadline::GiveUp))
    );
    game.go(Event::Retry(game.no("a")));
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.graph.stuck_cause(), None);
    assert!(game.effects.iter().any(|it| matches!(
        it,
        Effect::Started {
            memory: Memory::Resumed,
            ..
        }
    )));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("worker-1"), "work b");
}

/// A goal that is stuck because its only task has failed, after its report.
pub(super) fn stuck_after_report() -> Game {
    let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
    fail(&mut game, "worker-1");
    let mut turns = Vec::new();
    while game.turn("planner-1") != "-" {
        turns.push(game.turn("planner-1"));
        game.end("planner-1", SILENT);
    }
    assert_eq!(turns.last().unwrap(), "report report#1", "{turns:?}");
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game
}

#[test]
fn goal_that_a_person_changes_after_its_report_is_reported_again() {
    let mut game = stuck_after_report();
    game.go(Event::Accept(game.no("a")));
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);

    let mut game = stuck_after_report();
    game.go(Event::CancelTask(game.no("a")));
    assert_eq!(game.turn("planner-1"), "report report#2");

    let mut game = stuck_after_report();
    let drop = Plan {
        tasks: Vec::new(),
        drops: vec!["a".to_owned()],
    };
    game.go(Event::Publish {
        version: game.graph.plan_version(),
        plan: drop,
    });
    assert_eq!(game.turn("planner-1"), "report report#2");
}

#[test]
fn later_plan_without_change_is_no_new_version() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    game.send_back(vec![blocker("f1")]);
    assert_eq!(game.turn("planner-1"), "replan plan#2");
    game.plan_by_person(Vec::new());
    game.plan(Vec::new());
    assert_eq!(game.status("plan#2"), TaskStatus::Done);
    assert_eq!(game.graph.plan_version(), 1);
}

#[test]
fn goal_that_a_person_changes_during_its_report_is_reported_again() {
    let accept = |game: &Game| Event::Accept(game.no("a"));
    let cancel = |game: &Game| Event::CancelTask(game.no("a"));
    let publish = |game: &Game| Event::Publish {
        version: game.graph.plan_version(),
        plan: Plan {
            tasks: Vec::new(),
            drops: vec!["a".to_owned()],
        },
    };
    let changes: [fn(&Game) -> Event; 3] = [accept, cancel, publish];
    for change in changes {
        let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
        fail(&mut game, "worker-1");
        while game.turn("planner-1") != "report report#1" {
            game.end("planner-1", SILENT);
        }
        let event = change(&game);
        game.go(event);
        assert_eq!(game.turn("planner-1"), "report report#1");
        game.end("planner-1", SILENT);
        assert_eq!(game.turn("planner-1"), "report report#2");
        // One report after the last change is enough.
        game.end("planner-1", SILENT);
        assert_eq!(game.graph.goal(), GoalState::Done);
    }
}

#[test]
fn accepted_failed_task_releases_its_successors() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    fail(&mut game, "worker-1");
    game.go(Event::Accept(game.no("a")));
    assert_eq!(
        (game.reason("a"), game.turn("worker-1")),
        ("person".into(), "work b".into())
    );
    assert!(
        game.refused(Event::Accept(game.no("b")))
            .contains("the task `b` is RUNNING")
    );
    assert!(
        game.refused(Event::Retry(game.no("a")))
            .contains("the task `a` is DONE")
    );
}

#[test]
fn dropped_task_cancels_its_successors() {
    let mut game = Game::planned(
        team(1, None),
        vec![work("a", &[]), work("b", &["a"]), work("c", &["b"])],
    );
    fail(&mut game, "worker-1");
    game.end("planner-1", SILENT);
    game.go(Event::CancelTask(game.no("a")));
    assert_eq!(game.reason("a"), "dropped");
    assert_eq!(
        (game.reason("b"), game.reason("c")),
        ("dependency cancelled".into(), "dependency cancelled".into())
    );
    // The report under way knows nothing of it.
    game.end("planner-1", SILENT);
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn cancelled_task_withdraws_its_waiting_review() {
    let tasks = vec![work("a", &[]), work("b", &[])];
    let mut game = Game::planned(team(2, Some(Reviews::All)), tasks);
    game.end("worker-1", TurnEnd::Reported);
    game.end("worker-2", TurnEnd::Reported);
    assert_eq!(game.turn("judge-1"), "review a");
    let (seat, task) = (game.seat_no("judge-1"), game.no("b"));
    game.go(Event::CancelTask(task));
    let withdrawn = Effect::Withdrawn { seat, task };
    assert!(game.effects.contains(&withdrawn), "{:?}", game.effects);
}

#[test]
fn optional_failure_satisfies_successors_and_requests_no_plan() {
    let mut game = Game::planned(
        team(1, None),
        vec![
            optional(work("a", &[])),
            work("b", &["a"]),
            work("c", &["a", "b"]),
        ],
    );
    fail(&mut game, "worker-1");
    assert_eq!(
        (game.turn("worker-1"), game.turn("planner-1")),
        ("work b".into(), "-".into())
    );
    assert!(
        game.refused(Event::CancelTask(game.no("a")))
            .contains("the task `a` is FAILED")
    );
    // A retry lets later tasks wait again, but not those that were released.
    game.go(Event::Retry(game.no("a")));
    assert_eq!(
        (game.waits_for("c"), game.status("b")),
        ("a, b".into(), TaskStatus::Running)
    );
    game.end("worker-1", TurnEnd::Reported);
    fail(&mut game, "worker-1");
    assert_eq!(game.turn("worker-1"), "work c");
    game.end("worker-1", TurnEnd::Reported);
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn active_goal_with_nothing_under_way_is_not_alive() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
    let worker = game.seat_no("worker-1");
    game.graph.seats[worker.0].turn = None;
    assert!(!game.graph.is_alive());
    game.graph.goal = GoalState::Paused(PauseReason::Person);
    assert!(game.graph.is_alive());
}

#[test]
fn goal_moves_along_its_diagram_alone() {
    let edges = [
        "[*] --> draft",
        "draft --> active: enable",
        "draft --> failed: fail",
        "active --> paused: pause",
        "active --> done: complete",
        "active --> failed: fail",
        "paused --> active: resume",
        "paused --> failed: fail",
        "done --> [*]",
        "failed --> [*]",
    ];
    let diagram = <GoalStatus as Lifecycle>::diagram();
    let drawn: Vec<&str> = diagram.lines().skip(1).map(str::trim).collect();
    assert_eq!(drawn, edges);
}
