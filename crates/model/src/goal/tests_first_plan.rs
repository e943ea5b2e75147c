//! The first plan of the planner, before which a person may have made tasks.

use super::{tests_support::*, *};

#[test]
fn tasks_of_person_before_first_plan_leave_it_the_first_one() {
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
    // 2. The planner gets the prompt of a first plan, also after a failed turn.
    assert_eq!(game.turn("planner-1"), "plan plan#1");
    game.end("planner-1", TurnEnd::Failed);
    assert_eq!(game.turn("planner-1"), "plan plan#1");
    assert_eq!(game.graph.replans, 0);
    // 3. The plan waits for its approval. A planner that has nothing to add is done.
    let mut silent = Game {
        graph: game.graph.clone(),
        effects: Vec::new(),
    };
    silent.end("planner-1", SILENT);
    assert_eq!(silent.reason("plan#1"), "result");
    game.plan(vec![work("b", &[])]);
    let paused = GoalState::Paused(PauseReason::ApprovePlan);
    assert_eq!(game.graph.goal(), paused);
}

#[test]
fn goal_without_first_plan_is_not_done_with_tasks_of_person() {
    for end in [TurnEnd::Failed, TurnEnd::Cancelled] {
        let mut game = Game::new(team(1, None));
        game.plan_by_person(vec![work("a", &[])]);
        game.end("planner-1", end);
        if game.turn("planner-1") == "plan plan#1" {
            game.end("planner-1", TurnEnd::Failed);
        }
        game.end("worker-1", TurnEnd::Reported);
        game.end("planner-1", SILENT);
        let stuck = GoalState::Stuck(StuckCause::NoPlan);
        assert_eq!(game.graph.goal(), stuck);
        // The planner tries again, or a person does without it.
        let mut other = Game {
            graph: game.graph.clone(),
            effects: Vec::new(),
        };
        game.go(Event::Resume);
        assert_eq!(game.turn("planner-1"), "replan plan#2");
        other.plan_by_person(vec![work("b", &[])]);
        other.end("worker-1", TurnEnd::Reported);
        other.end("planner-1", SILENT);
        assert_eq!(other.graph.goal(), GoalState::Done);
    }
}
