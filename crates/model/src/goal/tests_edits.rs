//! Edits of tasks by people.

use super::{tests_rules::stuck_after_report, tests_support::*, *};

/// A task that runs, three that are ready, and one that waits.
fn working() -> Game {
    let tasks = vec![
        work("a", &[]),
        work("b", &[]),
        work("c", &[]),
        work("d", &["b"]),
        work("e", &[]),
    ];
    Game::planned(team(1, None), tasks)
}

#[test]
fn edited_priority_decides_next_turn() {
    let mut game = working();
    for (key, priority) in [("c", 4), ("d", 0)] {
        game.go(game.edit(key, |content| content.priority = priority));
    }
    for key in ["a", "c", "b", "d", "e"] {
        assert_eq!(game.turn("worker-1"), format!("work {key}"));
        game.end("worker-1", TurnEnd::Reported);
    }
}

#[test]
fn edit_is_new_version_of_plan_unless_nothing_changes() {
    let mut game = working();
    let before = game.graph.clone();
    game.go(game.edit("b", |_| {}));
    assert_eq!((&game.graph, game.effects.len()), (&before, 0));
    game.go(game.edit("b", |content| content.title = "Other".into()));
    assert_eq!(game.graph.plan_version(), 2);
    let version = |key: &str| game.task(key).plan_version;
    assert_eq!((version("a"), version("b")), (1, 2));
    let stale = Event::Publish {
        version: 1,
        plan: Plan::default(),
    };
    assert!(game.refused(stale).contains("the present version is 2"));
}

#[test]
fn plan_is_invalid_by_its_own_faults_and_not_by_what_has_changed_since() {
    let mut game = working();
    game.end("worker-1", TurnEnd::Reported);
    let is_invalid = |version, tasks, drops: &[&str]| {
        let drops = drops.iter().map(|key| (*key).to_owned()).collect();
        let plan = Plan { tasks, drops };
        let refusal = advance(&mut game.graph.clone(), Event::Publish { version, plan });
        refusal.unwrap_err().is_invalid_plan()
    };
    // `a` is done by now.
    assert!(!is_invalid(1, Vec::new(), &["a"]));
    assert!(!is_invalid(0, Vec::new(), &[]));
    assert!(is_invalid(1, vec![work("f", &["unknown"])], &[]));
    assert!(is_invalid(1, vec![work("f", &["unknown"])], &["a"]));
}

#[test]
fn only_tasks_that_have_not_begun_or_have_failed_are_edited() {
    let mut game = working();
    let retitle = |game: &Game, key: &str| game.edit(key, |content| content.title.push('!'));
    for (key, status) in [("plan#1", "DONE"), ("a", "RUNNING")] {
        let expected = format!(
            "the task `{key}` is {status}; PENDING, READY and FAILED tasks of the plan are accepted"
        );
        assert_eq!(game.refused(retitle(&game, key)), expected);
    }
    for key in ["b", "d"] {
        game.go(retitle(&game, key));
    }
    game.end("worker-1", TurnEnd::Reported);
    game.go(Event::CancelTask(game.no("c")));
    for (key, status) in [("a", "DONE"), ("c", "CANCELLED")] {
        let refused = game.refused(retitle(&game, key));
        assert!(refused.contains(&format!("`{key}` is {status};")));
    }
    for _ in 0..2 {
        game.end("worker-1", TurnEnd::ReportedFailure);
    }
    assert_eq!(game.status("b"), TaskStatus::Failed);
    game.go(retitle(&game, "b"));
    let unknown = TaskEdit {
        task: TaskNo(99),
        ..edit_of(retitle(&game, "b"))
    };
    let refused = game.refused(Event::EditTask(unknown));
    assert!(refused.contains("`task` 99 is unknown"), "{refused}");
    game.go(Event::Cancel);
    assert_eq!(
        game.refused(retitle(&game, "b")),
        "the goal is failed; nothing more is accepted"
    );
}

fn edit_of(event: Event) -> TaskEdit {
    match event {
        Event::EditTask(edit) => edit,
        other => panic!("{other:?}"),
    }
}

#[test]
fn title_that_earlier_programs_accepted_may_stay() {
    let mut game = working();
    let mut edit = edit_of(game.edit("b", |content| content.priority = 1));
    edit.before.title = "Write\nb".to_owned();
    edit.after.title.clone_from(&edit.before.title);
    game.go(Event::EditTask(edit));
    assert_eq!(game.task("b").priority, 1);
}

type Change = fn(&mut TaskFields);

#[test]
fn content_with_faults_is_refused() {
    let mut game = working();
    let cases: [(Change, &str); 5] = [
        (
            |content| content.title = "x".repeat(121),
            "`title` of `b` has 121 bytes; at most 120 are accepted",
        ),
        (
            |content| content.description = "x".repeat(16_385),
            "`description` of `b` has 16385 bytes; at most 16384 are accepted",
        ),
        (
            |content| content.acceptance = vec!["x".into(); 11],
            "`acceptance` of `b` has 11 entries; at most 10 are accepted",
        ),
        (
            |content| content.acceptance = vec!["x".repeat(501)],
            "`acceptance` of `b` has 501 bytes; at most 500 are accepted",
        ),
        (
            |content| content.priority = 10,
            "`priority` of `b` is 10; 0 to 9 are accepted",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(game.refused(game.edit("b", change)), expected);
    }
}

#[test]
fn task_of_item_is_edited() {
    let items = NewTask {
        each: vec!["one".into(), "two".into()],
        ..work("posts", &[])
    };
    let mut game = Game::planned(team(1, None), vec![items]);
    game.go(game.edit("posts/2", |content| content.title = "{item}".into()));
    assert_eq!(game.task("posts/2").plan_version, 2);
}

#[test]
fn finished_task_is_recognized_by_its_edited_content() {
    let mut game = working();
    game.go(game.edit("b", |content| content.description = "Write it.".into()));
    game.end("worker-1", TurnEnd::Reported);
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.status("b"), TaskStatus::Done);
    let like = |description: &str| NewTask {
        key: "again".into(),
        description: description.into(),
        ..work("b", &[])
    };
    let plan = |task| Plan {
        tasks: vec![task],
        drops: Vec::new(),
    };
    let faults = validate(&game.graph, &plan(like("Write it."))).unwrap_err();
    assert!(faults[0].to_string().contains("`again` is equal to `b`"));
    validate(&game.graph, &plan(like(""))).unwrap();
}

#[test]
fn edited_acceptance_lines_each_need_evidence() {
    let mut game = working();
    assert_eq!(needed_evidence(game.task("b")), 1);
    let lines = || vec!["It is short.".to_owned(), "It has a source.".to_owned()];
    game.go(game.edit("b", |content| content.acceptance = lines()));
    assert_eq!(needed_evidence(game.task("b")), 2);
}

#[test]
fn edit_lets_goal_without_progress_go_on() {
    let limits = Limits {
        idle_turns: 1,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(vec![work("a", &[]), work("b", &[])]);
    game.end("worker-1", TurnEnd::Questions(1));
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoProgress));
    game.go(game.edit("b", |_| {}));
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoProgress));
    game.go(game.edit("b", |content| content.title = "Other".into()));
    assert_eq!(game.graph.goal(), GoalState::Active);
    assert_eq!(game.turn("worker-1"), "work b");
}

#[test]
fn edit_of_failed_task_starts_nothing_until_its_retry() {
    let mut game = stuck_after_report();
    game.go(game.edit("a", |content| content.title = "Other".into()));
    // The time until the goal is given up counts anew, and the report is not written again.
    assert_eq!(game.effects, [Effect::SetDeadline(Deadline::GiveUp)]);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::Idle));
    game.go(Event::Retry(game.no("a")));
    assert_eq!(game.turn("worker-1"), "work a");
}

#[test]
fn check_of_goal_that_began_before_an_edit_accepts_nothing() {
    let optional = NewTask {
        optional: true,
        ..work("b", &[])
    };
    let tasks = vec![work("a", &[]), optional];
    let mut game = Game::planned(team(1, Some(Reviews::Goal)), tasks);
    game.end("worker-1", TurnEnd::Reported);
    for _ in 0..2 {
        game.end("worker-1", TurnEnd::ReportedFailure);
    }
    assert_eq!(game.turn("judge-1"), "check check#1");
    game.go(game.edit("b", |content| content.priority = 0));
    game.accept(1);
    assert_eq!(game.turn("judge-1"), "check check#2");
}
