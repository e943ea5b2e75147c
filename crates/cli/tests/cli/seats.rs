//! Sessions with several seats, whose agents are real processes.

use std::path::Path;

use testkit::scripted::{Script, Step};

use crate::test_installation::TestInstallation;

/// Creates a session, and returns its ID.
fn new_session(world: &TestInstallation, more: &[&str]) -> String {
    let args: Vec<_> = ["session", "new"].iter().chain(more).copied().collect();
    let view = world.json(&args);
    assert_eq!(view["kind"], "background");
    view["id"].as_str().unwrap().to_owned()
}

/// Adds an agent whose turn begins with one file and ends with another.
fn add_waiting_agent(world: &TestInstallation, name: &str, began: &Path, goes_on: &Path) {
    let mut script = Script::new(world.path().join(name));
    script.prompts = vec![vec![
        Step::Touch(began.to_owned()),
        Step::WaitFor(goes_on.to_owned()),
    ]];
    let command = script.command().unwrap();
    let command = command.iter().map(String::as_str);
    let add: Vec<_> = ["agent", "add", name, "--"]
        .into_iter()
        .chain(command)
        .collect();
    world.run(&add).expect_success();
}

#[test]
fn two_seats_of_a_session_take_turns_at_the_same_time() {
    let world = TestInstallation::new();
    // Each turn waits until the other one has begun.
    let (first, second) = (
        world.path().join("first-began"),
        world.path().join("second-began"),
    );
    add_waiting_agent(&world, "first", &first, &second);
    add_waiting_agent(&world, "second", &second, &first);
    let seats = ["--seat", "planner=first", "--seat", "worker=second"];
    let session = new_session(&world, &seats);
    let _server = world.serve();
    let plan = world.start(&["session", "send", &session, "Plan"]);
    let work = world.start(&["session", "send", &session, "--seat", "worker", "Work"]);
    assert_eq!(plan.end().code, 0);
    assert_eq!(work.end().code, 0);

    let shown = world.run(&["session", "show", &session]).expect_success();
    assert!(shown.contains("entry seat"), "{shown}");
    let is_of_seats = |line: &&str| {
        ["SEAT", "planner", "worker"]
            .iter()
            .any(|it| line.contains(it))
    };
    let lines: Vec<&str> = shown.lines().filter(is_of_seats).collect();
    assert_eq!(lines.len(), 4, "the entry and the table: {shown}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    let runs = world
        .run(&["run", "list", "--session", &session])
        .expect_success();
    assert!(
        runs.contains(", planner") && runs.contains(", worker"),
        "{runs}"
    );
}

#[test]
fn each_seat_has_its_own_memory_and_folder() {
    let world = TestInstallation::new();
    let seats = ["--seat", "planner=demo", "--seat", "worker=demo:2"];
    let more = ["--own-folder", "worker", "--entry", "worker-1"];
    let session = new_session(&world, &[&seats[..], &more[..]].concat());
    let send = |seat: &[&str], text: &str| {
        let mut args = vec!["session", "send", session.as_str()];
        args.extend(seat);
        args.push(text);
        world.run(&args).expect_success()
    };
    send(&[], "One");
    let second = send(&["--seat", "worker-1"], "Two");
    assert!(second.contains("This is turn 2"), "{second}");
    for seat in ["worker-2", "planner"] {
        let first = send(&["--seat", seat], "One");
        assert!(first.contains("This is turn 1"), "{seat}: {first}");
    }
    let folder = world.data_folder().join("sessions").join(&session);
    for seat in ["worker-1", "worker-2"] {
        assert!(folder.join(seat).is_dir(), "{seat}");
    }
    assert!(!folder.join("planner").exists());
    let view = world.json(&["session", "show", &session]);
    let turns = |index: usize| view["seats"][index]["turns"].as_i64().unwrap();
    assert_eq!(view["seats"][0]["name"], "worker-1");
    assert_eq!([turns(0), turns(1), turns(2)], [2, 1, 1]);
    // The transcript names the seats.
    let shown = world.run(&["session", "show", &session]).expect_success();
    for seat in ["worker-1", "worker-2", "planner"] {
        let says =
            |line: &str| line.contains(&format!("  {seat}")) && line.contains("This is turn");
        assert!(shown.lines().any(says), "{seat}: {shown}");
    }
    let unknown = world.run(&["session", "send", &session, "--seat", "judge", "Hi"]);
    assert_eq!(unknown.code, 3, "{unknown:#?}");
    assert!(
        unknown
            .stderr
            .contains("seat `judge` not found, accepted are worker-1, "),
        "{unknown:#?}"
    );
}

#[test]
fn invalid_seats_create_no_session() {
    let world = TestInstallation::new();
    for (args, says) in [
        (&["--seat", "demo"][..], "ROLE=AGENT"),
        (&["--seat", "worker=demo:17"], "1 to 16 seats"),
        (&["--seat", "Worker=demo"], "lower-case"),
        (&["--seat", "worker=demmo"], "did you mean `demo`"),
        (
            &["--seat", "worker=demo:2", "--entry", "worker"],
            "the seats are worker-1, worker-2",
        ),
        (
            &["--seat", "worker=demo", "--own-folder", "judge"],
            "has no seat `judge`",
        ),
        (
            &["--seat", "worker=demo", "--instructions", "judge=Judge."],
            "has no seat `judge`",
        ),
    ] {
        let args: Vec<_> = ["session", "new"].iter().chain(args).copied().collect();
        let refused = world.run(&args);
        assert_ne!(refused.code, 0, "{refused:#?}");
        assert!(refused.stderr.contains(says), "{refused:#?}");
    }
    let listed = world.run(&["session", "list"]).expect_success();
    assert!(listed.contains("No sessions"), "{listed}");
}
