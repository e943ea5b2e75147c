//! Graphs that are built from their parts.

use std::collections::BTreeSet;

use super::{tests_support::*, *};

/// Builds the graph of a game from its parts.
fn rebuilt(graph: &Graph) -> Graph {
    let mut tasks = graph.tasks().to_vec();
    for task in &mut tasks {
        task.dependents.clear();
    }
    let (team, limits) = (graph.team().clone(), graph.limits().clone());
    let mut built = Graph::from_parts(team, limits, graph.goal(), tasks, graph.progress()).unwrap();
    // The turns without a task are no part.
    let seats = graph.seats().iter().enumerate();
    let others =
        seats.filter(|(_, seat)| seat.is_busy() && (!seat.has_task() || seat.other_inputs > 0));
    built.note_other_turns(&others.map(|(no, _)| SeatNo(no)).collect());
    built
}

#[test]
fn graph_from_its_parts_is_equal_after_each_event() {
    let mut game = Game::new(team(2, Some(Reviews::All)));
    assert_eq!(rebuilt(&game.graph), game.graph);
    let mut posts = work("posts", &["tone"]);
    posts.each = vec!["a".into(), "b".into()];
    let mut tone = work("tone", &[]);
    tone.writes = Some(vec!["src".into()]);
    tone.checks = vec!["lint".into()];
    game.plan(vec![tone, posts, work("page", &["posts", "tone"])]);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.presence("worker-1", Presence::Offline);
    assert!(game.graph.seats()[1].waited_for);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.presence("worker-1", Presence::Online);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.go(Event::ChecksPassed(game.no("tone")));
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.send_back(vec![blocker("source")]);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.end("worker-1", TurnEnd::Questions(2));
    assert_eq!(rebuilt(&game.graph), game.graph);
    let (seat, input) = (SeatNo(1), input(1));
    game.go(Event::MessageTurn { seat, input });
    assert_eq!(game.graph.message_inputs(), [(seat, input)]);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.go(Event::Pause);
    assert_eq!(rebuilt(&game.graph), game.graph);
    assert_eq!(game.graph.named("posts").len(), 2);
    game.go(Event::Cancel);
    assert_eq!(rebuilt(&game.graph), game.graph);
    // A task that is ready waits for the only seat.
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    assert_eq!(game.status("b"), TaskStatus::Ready);
    assert_eq!(rebuilt(&game.graph), game.graph);
    game.go(game.edit("b", |content| content.priority = 0));
    assert_eq!(rebuilt(&game.graph), game.graph);
}

#[test]
fn parts_with_unknown_references_are_refused() {
    let game = Game::planned(team(2, None), vec![work("a", &[]), work("b", &["a"])]);
    // Each reference is the first that does not exist.
    let build = |change: fn(&mut Vec<Task>, &mut GoalProgress)| {
        let (mut tasks, mut progress) = (game.graph.tasks().to_vec(), game.graph.progress());
        change(&mut tasks, &mut progress);
        let (team, limits) = (game.graph.team().clone(), game.graph.limits().clone());
        Graph::from_parts(team, limits, game.graph.goal(), tasks, progress).unwrap_err()
    };
    let task = |no| PartsError::Reference("task", no);
    assert_eq!(build(|tasks, _| tasks[1].role = 2), task(1));
    assert_eq!(
        build(|tasks, _| tasks[2].depends_on[0] = TaskNo(3)),
        task(2)
    );
    assert_eq!(
        build(|tasks, _| tasks[2].depends_on[0] = TaskNo(2)),
        task(2)
    );
    let home =
        |tasks: &mut Vec<Task>, _: &mut GoalProgress| tasks[1].progress.home = Some(SeatNo(3));
    assert_eq!(build(home), task(1));
    let queue = |_: &mut Vec<Task>, progress: &mut GoalProgress| {
        progress.seats[1].queue.push((TaskNo(3), Prompt::Work));
    };
    assert_eq!(build(queue), PartsError::Reference("seat", 1));
    let seats = |_: &mut Vec<Task>, progress: &mut GoalProgress| progress.seats.truncate(1);
    assert_eq!(build(seats), PartsError::Seats(1, 3));
    let checking = |_: &mut Vec<Task>, progress: &mut GoalProgress| {
        progress.checking.insert(TaskNo(3));
    };
    assert_eq!(build(checking), PartsError::Reference("check of task", 3));
    let requested = |_: &mut Vec<Task>, progress: &mut GoalProgress| {
        progress.message_inputs = vec![(SeatNo(0), input(1)), (SeatNo(3), input(2))];
    };
    assert_eq!(build(requested), PartsError::Reference("message turn", 1));
    let occupied = |_: &mut Vec<Task>, progress: &mut GoalProgress| {
        progress.occupied.insert(TaskNo(3), None);
    };
    let expected = PartsError::Reference("occupied path of task", 3);
    assert_eq!(build(occupied), expected);
}

#[test]
fn progress_names_its_tasks_and_renumbers_them() {
    let checked = NewTask {
        checks: vec!["lint".into()],
        ..work("a", &[])
    };
    let plan = vec![checked, work("b", &[]), work("c", &[]), work("d", &[])];
    let mut game = Game::planned(team(2, Some(Reviews::All)), plan);
    let others = seats(&[game.seat_no("judge-1")]);
    game.go(Event::OtherTurns(others));
    // The checks of `a`, the waiting review of `b`, and the turns of `c` and `d`.
    for seat in ["worker-1", "worker-2"] {
        game.end(seat, TurnEnd::Reported);
    }
    let mut progress = game.graph.progress();
    let expected = |by: usize| (1 + by..=4 + by).map(TaskNo).collect::<BTreeSet<_>>();
    progress.occupied.clear();
    assert_eq!(progress.tasks(), expected(0));
    progress.renumber(|no| TaskNo(no.0 + 10));
    assert_eq!(progress.tasks(), expected(10));
    progress.occupied.insert(TaskNo(20), None);
    progress.renumber(|no| TaskNo(no.0 - 5));
    let occupied = BTreeSet::from([TaskNo(15)]);
    assert_eq!(progress.tasks(), &expected(5) | &occupied);
}
