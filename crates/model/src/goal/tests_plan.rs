//! Plans: their faults, their publication, and the changes of a running graph.

use super::{tests_support::*, *};

fn planning() -> Game {
    Game::new(team(2, Some(Reviews::Marked)))
}

fn faults(game: &Game, tasks: Vec<NewTask>) -> String {
    let drops = Vec::new();
    let faults = validate(&game.graph, &Plan { tasks, drops }).unwrap_err();
    faults
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

fn replacing(key: &str, old: &[&str]) -> NewTask {
    NewTask {
        replaces: old.iter().map(|it| (*it).to_owned()).collect(),
        ..work(key, &[])
    }
}

#[test]
fn plan_with_cycle_is_refused_and_names_it() {
    let tasks = vec![
        work("a", &["c"]),
        work("b", &["a"]),
        work("c", &["b"]),
        work("d", &["a"]),
    ];
    let fault = faults(&planning(), tasks);
    assert_eq!(
        fault,
        "`depends_on` makes the cycle a -> c -> b -> a; remove one of these dependencies"
    );
    let itself = faults(&planning(), vec![work("a", &["a"])]);
    assert!(itself.contains("a -> a"), "{itself}");
}

#[test]
fn unknown_key_is_refused_with_nearest_one() {
    let fault = faults(
        &planning(),
        vec![work("draft", &[]), work("mail", &["drfat"])],
    );
    assert_eq!(
        fault,
        "`depends_on` of `mail` names `drfat`, which is no task; did you mean `draft`?"
    );
    let fault = faults(&planning(), vec![replacing("a", &["zzzzzz"])]);
    assert_eq!(
        fault,
        "`replaces` of `a` names `zzzzzz`, which is no task; use the key of a task of the plan or of the goal"
    );
}

#[test]
fn role_without_seat_is_refused_with_accepted_ones() {
    let fault = faults(&planning(), vec![NewTask::new("a", "coder")]);
    assert_eq!(fault, "`role` of `a` is `coder`; use worker or judge");
    let fault = faults(&planning(), vec![NewTask::new("a", PLANNER)]);
    assert!(fault.contains("use worker or judge"), "{fault}");
    let mut alone = team(0, None);
    alone.roles.pop();
    let fault = faults(&Game::new(alone), vec![work("a", &[])]);
    assert!(fault.starts_with("no seat can do `a`"), "{fault}");
}

#[test]
fn every_field_of_task_has_its_limit() {
    let long = |bytes: usize| "x".repeat(bytes);
    let many = |count: usize| vec![String::from("x"); count];
    let task = |edit: &dyn Fn(&mut NewTask)| {
        let mut task = work("a", &[]);
        edit(&mut task);
        task
    };
    let cases: [(NewTask, &str); 13] = [
        (
            task(&|it| it.title = long(121)),
            "`title` of `a` has 121 bytes; at most 120",
        ),
        (
            task(&|it| it.description = long(16385)),
            "`description` of `a` has 16385 bytes",
        ),
        (
            task(&|it| it.acceptance = vec![long(501)]),
            "`acceptance` of `a` has 501 bytes",
        ),
        (
            task(&|it| it.writes = Some(vec![long(501)])),
            "`writes` of `a` has 501 bytes",
        ),
        (
            task(&|it| it.each = vec![long(201)]),
            "`each` of `a` has 201 bytes",
        ),
        (
            task(&|it| it.depends_on = many(21)),
            "`depends_on` of `a` has 21 entries; at most 20",
        ),
        (
            task(&|it| it.acceptance = many(11)),
            "`acceptance` of `a` has 11 entries",
        ),
        (
            task(&|it| it.checks = many(6)),
            "`checks` of `a` has 6 entries",
        ),
        (
            task(&|it| it.writes = Some(many(21))),
            "`writes` of `a` has 21 entries",
        ),
        (
            task(&|it| it.replaces = many(21)),
            "`replaces` of `a` has 21 entries",
        ),
        (
            task(&|it| it.priority = 10),
            "`priority` of `a` is 10; 0 to 9",
        ),
        (
            task(&|it| it.checks = many(1)),
            "`checks` of `a` names `x`; use lint, tests",
        ),
        (
            task(&|it| it.writes = Some(vec!["../b".to_owned()])),
            "`writes` of `a` has `../b`; paths relative",
        ),
    ];
    for (task, expected) in cases {
        let fault = faults(&planning(), vec![task]);
        assert!(fault.contains(expected), "{fault}: {expected}");
    }
    let fits = task(&|it| {
        it.title = long(120);
        it.description = long(16384);
        it.acceptance = vec![long(500); 10];
        it.priority = 9;
        it.checks = vec!["tests".to_owned(); 5];
        it.each = vec![long(200); 50];
    });
    let plan = Plan {
        tasks: vec![fits],
        drops: Vec::new(),
    };
    assert_eq!(validate(&planning().graph, &plan), Ok(()));
    for title in ["", "a ", "a\nb", "a {item}", &(long(119) + "\n")] {
        let broken = task(&|it| {
            it.title = title.to_owned();
            it.each = vec!["\u{1b}".to_owned()];
        });
        let fault = faults(&planning(), vec![broken]);
        assert!(fault.starts_with("`title` of `a` is"), "{fault}");
    }
    for key in ["", "a b", "a/1", "a#1", "ä", &long(41)] {
        assert!(
            faults(&planning(), vec![work(key, &[])]).starts_with("`key` is"),
            "{key}"
        );
    }
    assert!(faults(&planning(), vec![work("a", &[]), work("a", &[])]).contains("twice"));
    let no_judge = Game::new(team(1, None));
    let review = task(&|it| it.review = true);
    assert!(faults(&no_judge, vec![review]).contains("`review` of `a` is true"));
}

#[test]
fn faults_are_reported_at_once_up_to_twenty() {
    let tasks: Vec<_> = (0..30).map(|no| work(&format!("a{no}"), &["?"])).collect();
    let drops = Vec::new();
    let faults = validate(&planning().graph, &Plan { tasks, drops }).unwrap_err();
    assert_eq!(faults.len(), 20);
}

#[test]
fn plan_over_limit_is_refused() {
    let tasks = |count: usize| (0..count).map(|no| work(&format!("a{no}"), &[])).collect();
    let fault = faults(&planning(), tasks(51));
    assert_eq!(fault, "the plan has 51 tasks; `limits.plan` accepts 50");
    let each = NewTask {
        each: vec!["x".to_owned(); 51],
        ..work("a", &[])
    };
    assert_eq!(faults(&planning(), vec![each]), fault);
    let limits = Limits {
        tasks: 60,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    game.plan(tasks(50));
    let more = (0..11).map(|no| work(&format!("b{no}"), &[])).collect();
    assert_eq!(
        faults(&game, more),
        "the goal has 61 tasks; `limits.tasks` accepts 60"
    );
}

#[test]
fn worker_creating_tasks_is_refused() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[])]);
    let plan = Plan {
        tasks: vec![work("b", &[])],
        drops: Vec::new(),
    };
    let refusal = game.refused(Event::TurnEnded {
        seat: game.seat_no("worker-1"),
        end: TurnEnd::Planned(plan),
        follow_up: false,
        new_artifact: false,
    });
    assert_eq!(
        refusal,
        "the turn of `worker-1` cannot end as a plan; a report, questions, no report, a failure or a cancellation are accepted"
    );
}

#[test]
fn refused_plan_costs_one_reminder_then_loses_its_tasks() {
    let mut game = planning();
    game.plan(vec![work("a", &["?"])]);
    assert!(matches!(game.effects[0], Effect::PlanRefused(_)));
    assert!(!game.effects.contains(&Effect::DropStaged));
    assert_eq!(game.turn("planner-1"), "reminder plan#1");
    game.plan(vec![work("a", &["?"])]);
    assert!(game.effects.contains(&Effect::DropStaged));
    assert_eq!(game.reason("plan#1"), "plan refused ");
    game.end("planner-1", SILENT);
    assert_eq!(game.graph.goal(), GoalState::Stuck(StuckCause::NoPlan));
}

#[test]
fn crashed_plan_turn_publishes_one_graph() {
    let mut game = planning();
    game.end("planner-1", TurnEnd::Failed);
    assert_eq!(game.turn("planner-1"), "plan plan#1");
    assert!(!game.effects.contains(&Effect::DropStaged));
    game.plan(vec![work("a", &[])]);
    assert_eq!(game.graph.plan_version(), 1);
    assert_eq!(game.graph.named("a").len(), 1);
    assert_eq!(game.task("a").plan_version, 1);
}

#[test]
fn each_makes_one_task_per_item_and_its_key_names_all() {
    let each = NewTask {
        title: "label {item}".to_owned(),
        description: "read {item}".to_owned(),
        acceptance: vec!["{item} has a label".to_owned()],
        writes: Some(vec!["out/{item}".to_owned()]),
        each: vec!["x".to_owned(), "y".to_owned()],
        ..work("label", &[])
    };
    let expanded = each.expand();
    let single = NewTask {
        key: "label/2".to_owned(),
        title: "label y".to_owned(),
        description: "read y".to_owned(),
        acceptance: vec!["y has a label".to_owned()],
        writes: Some(vec!["out/y".to_owned()]),
        each: Vec::new(),
        ..each.clone()
    };
    assert_eq!(expanded[1], single);
    let game = Game::planned(
        team(2, None),
        vec![each, work("sum", &["label"]), work("one", &["label/2"])],
    );
    assert_eq!(game.task("label/1").writes, ["out/x"]);
    assert_eq!(game.waits_for("sum"), "label/1, label/2");
    assert_eq!(game.waits_for("one"), "label/2");
}

#[test]
fn task_equal_to_finished_one_is_refused() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    let same = NewTask {
        title: "a".to_owned(),
        priority: 1,
        ..work("c", &["b"])
    };
    let fault = faults(&game, vec![same.clone()]);
    assert_eq!(
        fault,
        "`c` is equal to `a`, which is DONE; depend on `a` or describe other work"
    );
    assert!(
        faults(&game, vec![work("a", &[])]).contains("`key` is `a`, which a task that is DONE has")
    );
    let other = NewTask {
        description: "otherwise".to_owned(),
        ..same
    };
    let drops = Vec::new();
    assert_eq!(
        validate(
            &game.graph,
            &Plan {
                tasks: vec![other],
                drops
            }
        ),
        Ok(())
    );
}

#[test]
fn replaced_task_never_runs_and_its_successors_wait_for_new_one() {
    let mut game = Game::planned(
        team(1, None),
        vec![work("a", &[]), work("b", &[]), work("c", &["b"])],
    );
    let plan = |tasks| Plan {
        tasks,
        drops: Vec::new(),
    };
    game.go(Event::Publish {
        version: 1,
        plan: plan(vec![replacing("x", &["b"]), replacing("y", &["b"])]),
    });
    assert_eq!(game.reason("b"), "replaced");
    assert_eq!(game.waits_for("c"), "x, y");
    assert!(game.effects.contains(&Effect::Rewired(game.no("c"))));
    for _ in 0..4 {
        game.end("worker-1", TurnEnd::Reported);
    }
    assert_eq!(game.status("c"), TaskStatus::Done);
    // The order of the plan's own tasks cannot lead back to a moved successor.
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &["a"])]);
    let back = NewTask {
        depends_on: vec!["b".to_owned()],
        ..replacing("x", &["a"])
    };
    let refusal = game.refused(Event::Publish {
        version: 1,
        plan: plan(vec![back]),
    });
    assert!(refusal.contains("cycle x -> b -> x"), "{refusal}");
    let own = NewTask {
        depends_on: vec!["a".to_owned()],
        ..replacing("x", &["a"])
    };
    let refusal = game.refused(Event::Publish {
        version: 1,
        plan: plan(vec![own]),
    });
    assert!(
        refusal.contains("`x` replaces `a`, so it cannot depend on it"),
        "{refusal}"
    );
    game.end("worker-1", TurnEnd::Reported);
    let refusal = game.refused(Event::Publish {
        version: 1,
        plan: plan(vec![replacing("x", &["a"])]),
    });
    assert!(
        refusal.contains("`replaces` names `a`, which is DONE"),
        "{refusal}"
    );
    let refusal = game.refused(Event::Publish {
        version: 0,
        plan: plan(vec![work("x", &[])]),
    });
    assert_eq!(
        refusal,
        "`plan_version` is 0; the present version is 1: read the tasks again"
    );
}

#[test]
fn replacement_of_running_task_stops_its_turn_and_keeps_its_paths_until_the_end() {
    let writing = |key: &str| NewTask {
        writes: Some(vec!["a".to_owned()]),
        ..work(key, &[])
    };
    let mut game = Game::planned(team(2, None), vec![writing("old")]);
    let new = NewTask {
        replaces: vec!["old".to_owned()],
        ..writing("new")
    };
    game.go(Event::Publish {
        version: 1,
        plan: Plan {
            tasks: vec![new],
            drops: Vec::new(),
        },
    });
    assert!(
        game.effects
            .contains(&Effect::StopTurn(game.seat_no("worker-1")))
    );
    assert_eq!(game.status("old"), TaskStatus::Cancelled);
    assert_eq!(game.waits_for("new"), "old, which writes the same paths");
    game.end("worker-1", TurnEnd::Reported);
    assert_eq!(game.status("old"), TaskStatus::Cancelled);
    assert_eq!(game.status("new"), TaskStatus::Running);
}

#[test]
fn publication_cancels_new_tasks_behind_cancelled_ones() {
    let mut game = Game::planned(team(1, None), vec![work("a", &[]), work("b", &[])]);
    game.go(Event::CancelTask(game.no("b")));
    let tasks = vec![work("c", &["b"]), work("d", &["c"]), work("e", &[])];
    let drops = vec!["a".to_owned()];
    game.go(Event::Publish {
        version: 1,
        plan: Plan { tasks, drops },
    });
    assert_eq!(game.reason("c"), "dependency cancelled");
    assert_eq!(game.reason("d"), "dependency cancelled");
    assert_eq!(game.reason("a"), "cancelled");
    assert_eq!(game.status("e"), TaskStatus::Ready);
}

#[test]
fn cancelled_task_closes_no_cycle() {
    for is_replaced in [true, false] {
        let tasks = vec![work("a", &[]), work("b", &["a"]), work("c", &["b"])];
        let mut game = Game::planned(team(1, None), tasks);
        if is_replaced {
            game.plan_by_person(vec![replacing("c2", &["c"])]);
        } else {
            game.go(Event::CancelTask(game.no("c")));
        }
        // `b` moves behind `d`, and `c` was behind `b` when it was cancelled.
        let new = NewTask {
            depends_on: vec!["c".to_owned()],
            ..replacing("d", &["a"])
        };
        game.plan_by_person(vec![new]);
        assert_eq!(game.reason("a"), "replaced");
        assert_eq!(game.reason("d"), "dependency cancelled");
        assert_eq!(game.reason("b"), "dependency cancelled");
    }
}

#[test]
fn dependencies_of_groups_are_counted_before_they_are_made() {
    let limits = Limits {
        plan: 10_000,
        tasks: 10_000,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(1, None), limits);
    let group = |key: &str, depends_on: &[&str], count: usize| NewTask {
        each: vec!["x".to_owned(); count],
        ..work(key, depends_on)
    };
    let fault = faults(&game, vec![group("a", &[], 500), group("b", &["a"], 500)]);
    assert_eq!(
        fault,
        "`depends_on` of all tasks together has 250000 entries; at most 200000 are accepted: put a task between two groups of `each`"
    );
    let (tasks, drops) = (
        vec![group("a", &[], 400), group("b", &["a"], 500)],
        Vec::new(),
    );
    assert_eq!(validate(&game.graph, &Plan { tasks, drops }), Ok(()));
    // A replacement counts the dependencies that move to each of its tasks.
    game.plan(vec![work("a", &[]), group("b", &["a"], 500)]);
    let new = NewTask {
        each: vec!["x".to_owned(); 500],
        ..replacing("c", &["a"])
    };
    let fault = faults(&game, vec![new]);
    assert!(
        fault.starts_with("`depends_on` of all tasks together has"),
        "{fault}"
    );
}

#[test]
fn ten_thousand_tasks_publish_in_linear_time() {
    let limits = Limits {
        plan: 10_000,
        tasks: 10_000,
        ..Limits::default()
    };
    let mut game = Game::with_limits(team(3, None), limits);
    let tasks: Vec<_> = (0..10_000usize)
        .map(|no| {
            let before: Vec<_> = (1..=10)
                .filter_map(|it| no.checked_sub(it * 7))
                .map(|it| format!("t{it}"))
                .collect();
            let before: Vec<_> = before.iter().map(String::as_str).collect();
            work(&format!("t{no}"), &before)
        })
        .collect();
    game.plan(tasks);
    assert_eq!(game.graph.tasks().len(), 10_001);
    // A task costs its own move and little else: no event walks over all tasks.
    game.end("worker-1", TurnEnd::Reported);
    assert!(game.effects.len() < 40, "{}", game.effects.len());
}
