//! The checks that tasks have although their planner does not name them.

use super::{tests_support::*, *};

/// Returns a team whose tasks have a check that their planner does not name.
fn verifying() -> Team {
    Team {
        verification: vec!["lint".to_owned()],
        ..team(1, Some(Reviews::Marked))
    }
}

fn checked(key: &str, checks: &[&str]) -> NewTask {
    NewTask {
        checks: checks.iter().map(|it| (*it).to_owned()).collect(),
        ..work(key, &[])
    }
}

#[test]
fn tasks_of_workers_get_verification_once() {
    let plan = vec![
        checked("a", &["lint", "tests"]),
        checked("b", &["tests"]),
        work("c", &[]),
        NewTask::new("d", JUDGE),
    ];
    let game = Game::planned(verifying(), plan);
    for (key, expected) in [
        ("a", "lint tests"),
        ("b", "tests lint"),
        ("c", "lint"),
        ("d", ""),
    ] {
        assert_eq!(game.task(key).checks.join(" "), expected, "{key}");
    }
}

#[test]
fn tasks_of_other_roles_get_verification_if_they_write() {
    let mut team = verifying();
    for (name, writes) in [
        ("coder", Some(vec!["src".to_owned()])),
        ("researcher", None),
    ] {
        team.roles.push(Role {
            writes,
            ..role(name)
        });
        team.seats.push(seat(name, name, Directory::Shared));
    }
    let task = |key: &str, role: &str, writes: Option<&[&str]>| NewTask {
        writes: writes.map(|paths| paths.iter().map(|it| (*it).to_owned()).collect()),
        ..NewTask::new(key, role)
    };
    let plan = vec![
        task("a", "coder", None),
        task("b", "coder", Some(&[])),
        task("c", "researcher", None),
        task("d", "researcher", Some(&["notes"])),
        task("e", JUDGE, Some(&["notes"])),
        task("f", WORKER, Some(&[])),
    ];
    let game = Game::planned(team, plan);
    for (key, expected) in [
        ("a", "lint"),
        ("b", ""),
        ("c", ""),
        ("d", "lint"),
        ("e", ""),
        ("f", "lint"),
    ] {
        assert_eq!(game.task(key).checks.join(" "), expected, "{key}");
    }
}

#[test]
fn verification_counts_apart_from_checks_of_planner() {
    let full = checked("a", &["tests"; 5]);
    let game = Game::planned(verifying(), vec![full.clone()]);
    assert_eq!(game.task("a").checks.len(), 6);
    let mut over = full;
    over.checks.push("tests".to_owned());
    let plan = Plan {
        tasks: vec![over],
        drops: Vec::new(),
    };
    let faults = validate(&Game::new(verifying()).graph, &plan).unwrap_err();
    let [PlanError::Entries { field, count, .. }] = &faults[..] else {
        panic!("{faults:?}");
    };
    assert_eq!((*field, *count), ("checks", 6));
}

#[test]
fn task_with_verification_that_is_done_is_no_new_one() {
    let mut game = Game::planned(verifying(), vec![work("a", &[]), work("b", &[])]);
    game.end("worker-1", TurnEnd::Reported);
    game.go(Event::ChecksPassed(game.no("a")));
    assert_eq!(game.status("a"), TaskStatus::Done);
    let mut equal = work("c", &[]);
    equal.title = "a".to_owned();
    let plan = Plan {
        tasks: vec![equal],
        drops: Vec::new(),
    };
    let faults = validate(&game.graph, &plan).unwrap_err();
    let [PlanError::Duplicate { key, finished }] = &faults[..] else {
        panic!("{faults:?}");
    };
    assert_eq!((key.as_str(), finished.as_str()), ("c", "a"));
}
