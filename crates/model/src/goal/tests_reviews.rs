//! Checks and reviews: rounds, evidence, findings, broken checks and broken judges.

use std::collections::BTreeSet;

use super::{tests_support::*, *};

fn reviewed() -> NewTask {
    NewTask {
        review: true,
        ..work("a", &[])
    }
}

/// Returns a goal whose only task is under review.
fn in_review() -> Game {
    let mut game = Game::planned(team(1, Some(Reviews::Marked)), vec![reviewed()]);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-1"), "review a");
    game
}

fn rework(game: &mut Game) {
    assert_eq!(game.turn("worker-1"), "rework a");
    game.end("worker-1", TurnEnd::Reported);
}

#[test]
fn judge_that_always_sends_back_stops_after_three_rounds() {
    let mut game = in_review();
    let regression = |id: &str| Finding {
        regression: true,
        ..blocker(id)
    };
    for id in ["f1", "f2"] {
        game.send_back(vec![regression(id)]);
        rework(&mut game);
    }
    game.send_back(vec![regression("f3")]);
    assert_eq!(game.reason("a"), "not accepted f3");
    // A retry goes on in the memories of the task.
    let seats = ["worker-1", "judge-1"].map(|it| Some(game.seat_no(it)));
    game.go(Event::Retry(game.no("a")));
    let progress = &game.task("a").progress;
    assert_eq!([progress.home, progress.judge], seats);
    // The worker has to mend the last finding, which is no round yet, and the judge may find others.
    assert_eq!(progress.findings, BTreeSet::from(["f3".to_owned()]));
    assert_eq!(
        [progress.rounds, progress.reviews, progress.equal_findings],
        [0; 3]
    );
    game.end("worker-1", TurnEnd::Reported);
    game.send_back(vec![blocker("f4")]);
    assert_eq!(game.turn("worker-1"), "rework a");
}

#[test]
fn judge_with_new_findings_stops_after_three() {
    let mut game = in_review();
    game.send_back(vec![blocker("f1"), blocker("f2")]);
    rework(&mut game);
    game.send_back(vec![blocker("f2"), blocker("f3")]);
    assert_eq!(game.task("a").progress.findings.len(), 1);
    rework(&mut game);
    // New findings are notes, so nothing counts.
    game.send_back(vec![blocker("f1"), blocker("f4")]);
    assert_eq!(game.reason("a"), "judge");
}

#[test]
fn same_findings_in_three_rounds_are_no_progress_and_named() {
    let limits = Limits {
        rounds: 5,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, Some(Reviews::All)), limits);
    game.plan(vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    for _ in 0..2 {
        game.send_back(vec![blocker("f2"), blocker("f1")]);
        rework(&mut game);
    }
    game.send_back(vec![blocker("f1"), blocker("f2")]);
    assert_eq!(game.reason("a"), "no progress f1,f2");
}

#[test]
fn minor_findings_do_not_count() {
    let mut game = in_review();
    game.send_back(vec![Finding {
        severity: Severity::Minor,
        ..blocker("f1")
    }]);
    assert_eq!(game.reason("a"), "judge");
}

#[test]
fn accept_needs_evidence_for_each_acceptance_line() {
    let task = NewTask {
        acceptance: vec!["x".to_owned(), "y".to_owned()],
        ..reviewed()
    };
    let mut game = Game::planned(team(1, Some(Reviews::Marked)), vec![task]);
    game.end("worker-1", TurnEnd::Reported);
    game.accept(1);
    assert_eq!(game.turn("judge-1"), "reminder a");
    game.accept(2);
    assert_eq!(game.reason("a"), "judge");
    let mut game = in_review();
    game.accept(0);
    assert_eq!(game.turn("judge-1"), "reminder a");
}

#[test]
fn broken_judge_is_no_rejection_and_a_person_may_accept() {
    let mut game = in_review();
    game.end("judge-1", SILENT);
    assert_eq!(game.turn("judge-1"), "reminder a");
    game.send_back(Vec::new());
    assert_eq!(game.turn("judge-1"), "review a");
    game.end("judge-1", SILENT);
    assert_eq!(game.turn("planner-1"), "report report#1");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::JudgeBroken));
    assert_eq!(game.task("a").progress.rounds, 0);
    assert_eq!(
        game.waits_for("a"),
        "a person, because no judge gives a verdict"
    );
    game.go(Event::Accept(game.no("a")));
    assert_eq!(game.reason("a"), "person");
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("judge-1"), "check check#1");
}

#[test]
fn failed_judge_turn_has_another_attempt_without_reminder() {
    let mut game = in_review();
    game.end("judge-1", TurnEnd::Failed);
    assert_eq!(game.turn("judge-1"), "review a");
    game.end(
        "judge-1",
        TurnEnd::WithoutReport {
            listed_tools: false,
        },
    );
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::JudgeBroken));
    game.go(Event::Retry(game.no("a")));
    assert_eq!(game.turn("judge-1"), "review a");
    game.end("judge-1", SILENT);
    assert_eq!(game.turn("judge-1"), "reminder a");
    game.accept(1);
    assert_eq!(game.status("a"), TaskStatus::Done);
}

#[test]
fn review_that_person_cancels_has_no_other_attempt() {
    let mut game = in_review();
    game.end("judge-1", TurnEnd::Cancelled);
    assert_eq!(
        game.waits_for("a"),
        "a person, because no judge gives a verdict"
    );
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::JudgeBroken));
    game.go(Event::Retry(game.no("a")));
    assert_eq!(game.turn("judge-1"), "review a");
}

#[test]
fn person_accepts_task_whose_judge_asks_and_no_other_that_asks() {
    let mut game = in_review();
    game.end("judge-1", TurnEnd::Questions(1));
    game.go(Event::Accept(game.no("a")));
    assert_eq!(game.status("a"), TaskStatus::Done);
    let mut game = Game::planned(team(1, Some(Reviews::All)), vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Questions(1));
    let refused = game.refused(Event::Accept(game.no("a")));
    assert!(refused.contains("under review"), "{refused}");
}

fn checked() -> Game {
    let task = NewTask {
        checks: vec!["tests".to_owned()],
        ..reviewed()
    };
    let mut game = Game::planned(team(1, Some(Reviews::Marked)), vec![task]);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.effects.last(), Some(&Effect::RunChecks(game.no("a"))));
    game
}

fn fail_check(game: &mut Game, last_lines: &str) {
    let (task, check) = (game.no("a"), "tests".to_owned());
    let last_lines = last_lines.to_owned();
    game.go(Event::CheckFailed {
        task,
        check,
        last_lines,
    });
}

#[test]
fn failed_check_sends_back_without_judge_and_counts_as_round() {
    let mut game = checked();
    fail_check(&mut game, "x");
    rework(&mut game);
    game.go(Event::ChecksPassed(game.no("a")));
    game.send_back(vec![blocker("f1")]);
    assert_eq!(game.task("a").progress.rounds, 2);
    assert_eq!(game.task("a").round(), 3);
    rework(&mut game);
    fail_check(&mut game, "y");
    assert_eq!(game.reason("a"), "not accepted tests");
}

#[test]
fn same_failed_check_with_equal_lines_is_no_progress() {
    let mut game = checked();
    for _ in 0..2 {
        fail_check(&mut game, "x");
        rework(&mut game);
    }
    fail_check(&mut game, "x");
    assert_eq!(game.reason("a"), "no progress tests");
    // A retry keeps what the worker has to mend.
    game.go(Event::Retry(game.no("a")));
    let progress = &game.task("a").progress;
    let failed = Some(("tests".to_owned(), "x".to_owned()));
    assert_eq!(
        (&progress.failed_check, progress.equal_checks),
        (&failed, 0)
    );
    game.end("worker-1", TurnEnd::Reported);
    fail_check(&mut game, "x");
    assert_eq!(game.turn("worker-1"), "rework a");
}

#[test]
fn passed_checks_end_earlier_failure_and_its_count() {
    let limits = Limits {
        rounds: 9,
        equal_rounds: 2,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, Some(Reviews::Marked)), limits);
    let task = NewTask {
        checks: vec!["tests".to_owned()],
        ..reviewed()
    };
    game.plan(vec![task]);
    game.end("worker-1", TurnEnd::Reported);
    fail_check(&mut game, "x");
    let progress = game.task("a").progress.clone();
    assert!(progress.failed_check.is_some());
    rework(&mut game);
    game.go(Event::ChecksPassed(game.no("a")));
    let progress = game.task("a").progress.clone();
    assert_eq!((progress.failed_check, progress.equal_checks), (None, 0));
    game.send_back(vec![blocker("f1")]);
    rework(&mut game);
    // The same failure again is the first one since the checks have passed.
    fail_check(&mut game, "x");
    assert_eq!(game.turn("worker-1"), "rework a");
    assert_eq!(game.task("a").progress.equal_checks, 1);
}

#[test]
fn broken_check_waits_for_person_and_counts_as_no_round() {
    let mut game = checked();
    game.go(Event::CheckBroken {
        task: game.no("a"),
        check: "tests".to_owned(),
    });
    assert_eq!(
        game.waits_for("a"),
        "a person, because the check tests cannot run"
    );
    assert_eq!(game.task("a").progress.rounds, 0);
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.go(Event::Resume);
    assert_eq!(game.effects.first(), Some(&Effect::RunChecks(game.no("a"))));
    game.go(Event::ChecksPassed(game.no("a")));
    assert_eq!(game.turn("judge-1"), "review a");
    let refusal = game.refused(Event::ChecksPassed(game.no("a")));
    assert_eq!(
        refusal,
        "the task `a` is RUNNING; RUNNING tasks whose checks are under way are accepted"
    );
}

#[test]
fn work_whose_check_is_lost_with_its_seat_is_done_again_on_another_seat() {
    let task = NewTask {
        checks: vec!["tests".to_owned()],
        writes: Some(vec!["src".to_owned()]),
        ..reviewed()
    };
    let mut team = team(2, Some(Reviews::Marked));
    for seat in &mut team.seats {
        seat.directory = Directory::Own;
    }
    for move_on in [Event::Resume, Event::Retry(TaskNo(1))] {
        let mut game = Game::planned(team.clone(), vec![task.clone()]);
        game.end("worker-1", TurnEnd::Reported);
        let a = game.no("a");
        game.presence("worker-1", Presence::Removed);
        game.go(Event::CheckBroken {
            task: a,
            check: "tests".to_owned(),
        });
        game.end("planner-1", SILENT);
        assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
        game.go(move_on);
        assert_eq!(game.turn("worker-2"), "work a");
        game.end("worker-2", TurnEnd::Reported);
        assert_eq!(game.effects.last(), Some(&Effect::RunChecks(a)));
    }
}

#[test]
fn two_failed_checks_of_the_goal_are_stuck() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![reviewed()]);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.reason("a"), "result");
    assert_eq!(game.turn("judge-1"), "check check#1");
    let roles = [JUDGE, PLANNER].map(|it| game.graph.team.role(it));
    game.send_back(vec![blocker("f1")]);
    assert_eq!(game.turn("planner-1"), "replan plan#2");
    let of_tasks = ["check#1", "plan#2"].map(|it| Some(game.task(it).role));
    assert_eq!(of_tasks, roles);
    game.plan(vec![work("b", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-1"), "check check#2");
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    assert_eq!(
        game.graph.goal(),
        GoalState::Stuck(StuckCause::CheckRejected)
    );
    let mut resumed = game.graph.clone();
    // A person accepts the whole: nothing is left to plan.
    game.go(Event::Accept(game.no("check#2")));
    assert_eq!(game.turn("planner-1"), "report report#2");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
    // A person resumes: the planner mends what was found.
    std::mem::swap(&mut game.graph, &mut resumed);
    game.go(Event::Resume);
    assert_eq!(game.turn("planner-1"), "replan plan#3");
}

#[test]
fn accepted_check_that_began_before_an_edit_is_repeated_without_a_plan() {
    let optional = NewTask {
        optional: true,
        ..work("b", &[])
    };
    let limits = Limits {
        failed_checks: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, Some(Reviews::Goal)), limits);
    game.plan(vec![work("a", &[]), optional]);
    game.end("worker-1", TurnEnd::Reported);
    for _ in 0..2 {
        game.end("worker-1", TurnEnd::ReportedFailure);
    }
    assert_eq!(game.turn("judge-1"), "check check#1");
    game.go(game.edit("b", |content| content.priority = 0));
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    let stuck = GoalState::Stuck(StuckCause::CheckRejected);
    assert_eq!(game.graph.goal(), stuck);
    game.go(Event::Accept(game.no("check#1")));
    assert_eq!(game.turn("judge-1"), "check check#2");
    // A goal out of budget is not stuck at the rejection, so that the planner answers it once there is more.
    game.go(Event::Budget(BudgetLevel::Low));
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    let paused = GoalState::Paused(PauseReason::Budget);
    assert_eq!(game.graph.goal(), paused);
    game.go(Event::Budget(BudgetLevel::Enough));
    assert_eq!(game.turn("planner-1"), "replan plan#2");
}

#[test]
fn request_of_earlier_version_for_rejected_goal_ends_with_acceptance() {
    let limits = Limits {
        failed_checks: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, Some(Reviews::Goal)), limits);
    game.plan(vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    game.graph.plan_requested = true;
    game.go(Event::Accept(game.no("check#1")));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn second_check_of_goal_counts_unresolved_findings_alone() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    assert_eq!(game.turn("judge-1"), "check check#2");
    assert_eq!(game.task("check#2").round(), 2);
    let [first, second] = ["check#1", "check#2"].map(|key| game.no(key));
    assert!(!game.graph.is_resolved_check(first));
    game.send_back(vec![blocker("f2")]);
    assert_eq!(game.reason("check#2"), "judge");
    assert!(game.graph.is_resolved_check(first));
    assert!(!game.graph.is_resolved_check(second));
    assert!(!game.graph.is_resolved_check(game.no("a")));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Done);
}

#[test]
fn check_after_accepted_one_counts_all_blockers() {
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), vec![work("a", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    game.send_back(vec![blocker("f1")]);
    game.end("planner-1", SILENT);
    game.accept(1);
    // A person changes the goal while its report is written.
    game.go(Event::Replan);
    game.end("planner-1", SILENT);
    game.end("planner-1", SILENT);
    assert_eq!(game.turn("judge-1"), "check check#3");
    assert_eq!(game.task("check#3").round(), 1);
    game.send_back(vec![blocker("f2")]);
    assert_eq!(game.status("check#3"), TaskStatus::Failed);
    // The count of failed checks has begun anew, too: the goal is not stuck.
    assert_eq!(game.turn("planner-1"), "replan plan#4");
}

#[test]
fn judge_takes_own_tasks_without_review() {
    let task = NewTask {
        review: true,
        ..NewTask::new("a", JUDGE)
    };
    for reviews in [Reviews::All, Reviews::Marked] {
        let mut game = Game::planned(team(1, Some(reviews)), vec![task.clone()]);
        game.end("judge-1", TurnEnd::Reported);
        assert_eq!(game.reason("a"), "result");
    }
}

/// A goal whose whole the second of two judges has sent back, while the first one was offline.
fn sent_back_by_second_judge() -> Game {
    let mut team = team(1, Some(Reviews::Goal));
    team.seats.push(seat("judge-2", JUDGE, Directory::Shared));
    let mut game = Game::planned(team, vec![work("a", &[])]);
    game.presence("judge-1", Presence::Offline);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-2"), "check check#1");
    let findings = vec![blocker("f1")];
    game.end("judge-2", TurnEnd::Verdict(Verdict::SendBack(findings)));
    game.presence("judge-1", Presence::Online);
    game.plan(vec![work("b", &[])]);
    game
}

#[test]
fn checks_of_goal_stay_with_judge_that_sent_it_back() {
    let mut game = sent_back_by_second_judge();
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-2"), "check check#2");
    // The goal changes during the check, so that its verdict needs another one.
    game.plan_by_person(vec![work("c", &[])]);
    let accepted = Verdict::Accept { evidence: 1 };
    game.end("judge-2", TurnEnd::Verdict(accepted));
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-2"), "check check#3");
}

#[test]
fn check_of_goal_moves_from_removed_judge_that_sent_it_back() {
    let mut game = sent_back_by_second_judge();
    game.presence("judge-2", Presence::Removed);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.turn("judge-1"), "check check#2");
}
