//! `matins serve`, and commands that use the server of the data folder.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    thread::sleep,
    time::Duration,
};

use rustix::process::Signal;

use crate::test_installation::{MATINS_PROGRAM, TestInstallation};

fn add_fast_and_slow_automations(world: &TestInstallation) {
    world.slow_agent();
    for agent in ["demo", "slow"] {
        world
            .run(&[
                "automation",
                "add",
                "--on-demand",
                "--agent",
                agent,
                "--session",
                "continuous",
                "--name",
                agent,
                "Work",
            ])
            .expect_success();
    }
}

#[test]
fn second_server_of_folder_is_refused_with_process_of_first() {
    let world = TestInstallation::new();
    let server = world.serve();
    let refused = world.run(&["serve"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    let pid = format!("process {}", server.process_id());
    assert!(refused.stderr.contains(&pid), "{refused:#?}");
    server.signal(Signal::TERM);
    let ended = server.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(ended.stdout.contains("Stopped: "), "{ended:#?}");
    assert!(!world.data_folder().join("matins.sock").exists());
    // A killed server releases its lock and leaves its socket behind.
    drop(world.serve());
    let server = world.serve();
    server.signal(Signal::INT);
    assert_eq!(server.end().code, 0);
}

#[test]
fn server_keeps_using_its_program_after_upgrade() {
    let world = TestInstallation::new();
    let home = world.path().join("home");
    let home = home.to_str().unwrap();
    let agent = [
        "agent",
        "add",
        "own",
        "--",
        MATINS_PROGRAM,
        "demo-agent",
        "--home",
        home,
    ];
    world.run(&agent).expect_success();
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--agent",
        "own",
        "--name",
        "own",
        "Work",
    ];
    world.run(&add).expect_success();
    let program = world.path().join("matins");
    fs::copy(MATINS_PROGRAM, &program).unwrap();
    let server = world.serve_with_program(&program);
    // As an upgrade does it: another file takes the name.
    let newer = world.path().join("newer");
    fs::write(&newer, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&newer, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&newer, &program).unwrap();
    let answer = world.run(&["automation", "fire", "own"]).expect_success();
    assert!(answer.contains("This is turn 1"), "{answer}");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}

#[test]
fn command_beside_server_follows_turn_of_server() {
    let world = TestInstallation::new();
    add_fast_and_slow_automations(&world);
    let server = world.serve();
    let fired = world.run(&["automation", "fire", "demo"]);
    assert!(
        !fired.stderr.contains("this process takes the turn"),
        "{fired:#?}"
    );
    let answer = fired.expect_success();
    assert!(answer.contains("This is turn 1"), "{answer}");
    let runs = world.json(&["run", "list"]);
    let worker = runs[0]["worker_id"].as_str().unwrap();
    assert!(
        worker.contains(&format!("-{}-", server.process_id())),
        "{worker}"
    );
    let queued = world
        .run(&["automation", "fire", "demo", "--queue"])
        .expect_success();
    assert!(
        queued.contains("the server of this data folder will take it"),
        "{queued}"
    );
    world.wait_for("the queued run ends", |world| {
        world.json(&["run", "list"])[0]["status"] == "succeeded"
    });
}

/// Counts the requests for single runs, transcripts and live texts that the server has answered.
fn count_follower_requests(world: &TestInstallation) -> usize {
    let address = world.address();
    let host = address.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(host).unwrap();
    let token = world.token();
    write!(
        connection,
        "GET /metrics HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut figures = String::new();
    connection.read_to_string(&mut figures).unwrap();
    let of_followers = |line: &&str| {
        line.starts_with("matins_http_request_seconds_count")
            && ["/runs/{run}", "/messages"]
                .iter()
                .any(|route| line.contains(route))
    };
    let counts = figures.lines().filter(of_followers);
    let counts = counts.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

#[test]
fn follower_of_silent_turn_does_not_poll() {
    let world = TestInstallation::new();
    add_fast_and_slow_automations(&world);
    let _server = world.serve();
    let fired = world.start(&["automation", "fire", "slow"]);
    world.wait_for("the follower reads the running turn", |world| {
        world.json(&["run", "list"])[0]["status"] == "running" && count_follower_requests(world) > 0
    });
    let before = count_follower_requests(&world);
    sleep(Duration::from_secs(1));
    let during = count_follower_requests(&world) - before;
    // Changes just after the beginning of the turn may still be read.
    assert!(during <= 4, "{during} requests in a second");
    fired.signal(Signal::INT);
    assert_eq!(fired.end().code, 130);
}

#[test]
fn ctrl_c_beside_server_only_stops_following() {
    let world = TestInstallation::new();
    add_fast_and_slow_automations(&world);
    let _server = world.serve();
    let fired = world.start(&["automation", "fire", "slow"]);
    let status = |world: &TestInstallation| world.json(&["run", "list"])[0]["status"].clone();
    world.wait_for("the turn begins", |world| status(world) == "running");
    fired.signal(Signal::INT);
    let ended = fired.end();
    assert_eq!(ended.code, 130, "{ended:#?}");
    assert_eq!(status(&world), "running");
    let session = world.json(&["run", "list"])[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    let cancelled = world.run(&["session", "cancel", session]).expect_success();
    assert!(cancelled.contains("Cancelled 1 run"), "{cancelled}");
    world.wait_for("the agent stops", |world| status(world) == "cancelled");
}

#[test]
fn message_to_busy_session_prints_blocking_run() {
    let world = TestInstallation::new();
    add_fast_and_slow_automations(&world);
    let _server = world.serve();
    world
        .run(&["automation", "fire", "slow", "--queue"])
        .expect_success();
    let runs = |world: &TestInstallation| world.json(&["run", "list", "--all-attempts"]);
    world.wait_for("the turn begins", |world| {
        runs(world)[0]["status"] == "running"
    });
    let session = runs(&world)[0]["session_id"].clone();
    let session = session.as_str().unwrap();
    let queued = world.run(&["session", "send", session, "Hello", "--queue"]);
    assert!(queued.stderr.contains("It waits for run_"), "{queued:#?}");
    assert!(
        queued.stderr.contains("a scheduled turn, running"),
        "{queued:#?}"
    );
    let shown = world.run(&["session", "show", session]).expect_success();
    assert!(shown.contains("is deferred."), "{shown}");
    let cancelled = world.run(&["session", "cancel", session]).expect_success();
    assert!(cancelled.contains("Cancelled 2 runs"), "{cancelled}");
}

#[test]
fn second_signal_requeues_running_turn_at_once() {
    let world = TestInstallation::new();
    add_fast_and_slow_automations(&world);
    let server = world.serve();
    world
        .run(&["automation", "fire", "slow", "--queue"])
        .expect_success();
    let runs = |world: &TestInstallation| world.json(&["run", "list", "--all-attempts"]);
    world.wait_for("the turn begins", |world| {
        runs(world)[0]["status"] == "running"
    });
    server.signal(Signal::TERM);
    world.wait_for("it has removed its socket", |world| {
        !world.data_folder().join("matins.sock").exists()
    });
    server.signal(Signal::TERM);
    let ended = server.end();
    assert!(ended.stdout.contains("1 was requeued"), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("Stopping: waiting up to 30 s for run_"),
        "{ended:#?}"
    );
    let statuses: Vec<_> = runs(&world)
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(statuses, ["queued", "stalled"]);
}

#[test]
fn server_runs_schedule_repeatedly() {
    let world = TestInstallation::new();
    world
        .run(&[
            "automation",
            "add",
            "--every",
            "1s",
            "--agent",
            "demo",
            "--session",
            "continuous",
            "--name",
            "tick",
            "Work",
        ])
        .expect_success();
    let _server = world.serve();
    world.wait_for("two turns", |world| {
        let runs = world.json(&["run", "list", "--status", "succeeded"]);
        runs.as_array().unwrap().len() >= 2
    });
}

#[test]
fn follower_reports_stopped_server_and_queued_run() {
    let world = TestInstallation::new().with_env("MATINS_WORKERS", "1");
    add_fast_and_slow_automations(&world);
    let server = world.serve();
    world
        .run(&["automation", "fire", "slow", "--queue"])
        .expect_success();
    let runs = |world: &TestInstallation| world.json(&["run", "list", "--all-attempts"]);
    world.wait_for("the turn begins", |world| {
        runs(world)[0]["status"] == "running"
    });
    // The only worker is busy, so this message waits for it.
    let say = ["session", "send", "--new", "--agent", "demo", "Hello"];
    let said = world.start(&say);
    world.wait_for("the message waits", |world| {
        runs(world).as_array().unwrap().len() == 2
    });
    server.signal(Signal::KILL);
    server.end();
    let ended = said.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    let notice = "The server of this data folder has stopped.";
    assert!(ended.stderr.contains(notice), "{ended:#?}");
    assert!(
        ended.stdout.contains("this data folder has no server"),
        "{ended:#?}"
    );
    assert_eq!(runs(&world)[0]["status"], "queued");
}
