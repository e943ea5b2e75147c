//! The first plan of the planner, before which a person may have made tasks.

use super::{tests_support::*, *};

#[test]
fn first_plan_after_tasks_of_person_is_approved_and_no_replan() {
    let mut team = team(1, None);
    team.approve_plan = true;
    let limits = Limits {
        replans: 0,
        ..Limits::default()
    };
    // 1. A person adds a task to the draft, which starts with the goal and needs no approval.
    let effects = Vec::new();
    let graph = Graph::new(team, limits).unwrap();
    let mut game = Game { graph, effects };
    game.plan_by_person(vec![work("a", &[])]);
    game.go(Event::Start);
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("worker-1"), "work a");
    // 2. The planner learns which tasks there are.
    assert_eq!(game.turn("planner-1"), "replan plan#1");
    assert!(!game.graph.has_planned());
    assert_eq!(game.graph.replans, 0);
    game.plan(vec![work("b", &[])]);
    assert!(game.graph.has_planned());
    // 3. The plan waits for its approval. The next one would exceed the limit.
    let paused = GoalState::Paused(PauseReason::ApprovePlan);
    assert_eq!(game.graph.goal(), paused);
    let refusal = game.refused(Event::Replan);
    assert!(refusal.contains("`limits.replans`"), "{refusal}");
    game.go(Event::Resume);
    assert_eq!(game.graph.goal(), GoalState::Active);
}

#[test]
fn cancelled_report_is_no_failed_plan() {
    let mut game = Game::new(team(1, None));
    for _ in 0..2 {
        game.end("planner-1", TurnEnd::Failed);
    }
    assert_eq!(game.turn("planner-1"), "report report#1");
    // A person requests another plan during the report, and stops the report.
    game.go(Event::Replan);
    game.end("planner-1", TurnEnd::Cancelled);
    assert_eq!(game.turn("planner-1"), "plan plan#2");
}

#[test]
fn tasks_of_person_go_on_without_first_plan() {
    for end in [TurnEnd::Failed, TurnEnd::Cancelled] {
        let mut game = Game::new(team(1, None));
        game.plan_by_person(vec![work("a", &[])]);
        while game.status("plan#1") == TaskStatus::Running {
            game.end("planner-1", end.clone());
        }
        game.end("worker-1", TurnEnd::Reported);
        game.end("planner-1", SILENT);
        assert_eq!(game.graph.goal(), GoalState::Done);
    }
}
