//! `matins trace`: what happens, as it happens.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::test_installation::TestInstallation;

fn last_event(line: &str) -> Value {
    serde_json::from_str(line.lines().last().unwrap()).unwrap()
}

#[test]
fn trace_follows_session_from_creation_to_deletion() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let elsewhere = world.remote(&world.token());
    let mut trace = elsewhere.start(&["trace", session, "--after", "0", "--json"]);
    let first = trace.read_stdout_until("\n");
    let first = last_event(&first);
    assert_eq!(first["id"], "1", "{first}");
    trace.read_stdout_until("This is turn 1");
    world
        .run(&["session", "send", session, "And?"])
        .expect_success();
    let told = trace.read_stdout_until("This is turn 2");
    let ids: Vec<i64> = told
        .lines()
        .filter_map(|line| last_event(line)["id"].as_str()?.parse().ok())
        .collect();
    assert!(!ids.is_empty() && ids.windows(2).all(|two| two[1] == two[0] + 1));
    let after = ids[0].to_string();
    let mut again = elsewhere.start(&["trace", session, "--after", &after, "--json"]);
    let next = again.read_stdout_until("\n");
    assert_eq!(last_event(&next)["id"], (ids[0] + 1).to_string());
    again.signal(Signal::INT);
    assert_eq!(again.end().code, 0);
    world.run(&["session", "delete", session]).expect_success();
    let ended = trace.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
}

#[test]
fn trace_prints_one_line_per_event_and_messages() {
    let world = TestInstallation::new();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let mut trace = world.start(&["trace", session, "--after", "0"]);
    let told = trace.read_stdout_until("This is turn 1");
    assert!(told.contains("you       Hello"), "{told}");
    assert!(told.contains(" run run_"), "{told}");
    trace.signal(Signal::INT);
    assert_eq!(trace.end().code, 0);
}

#[test]
fn trace_of_missing_session_or_invalid_cursor_is_refused() {
    let world = TestInstallation::new();
    let nobody = world.run(&["trace", "nothing"]);
    assert_eq!(nobody.code, 3, "{nobody:#?}");
    let nothing = world.run(&["trace"]);
    assert_eq!(nothing.code, 2, "{nothing:#?}");
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let garbage = world.run(&["trace", session, "--after", "yesterday"]);
    assert_eq!(garbage.code, 2, "{garbage:#?}");
    assert!(garbage.stderr.contains("yesterday"), "{garbage:#?}");
}

#[test]
fn trace_of_everything_resumes_after_server_restart() {
    let world = TestInstallation::new().with_env("MATINS_LISTEN", free_address());
    let server = world.serve();
    let elsewhere = world.remote(&world.token());
    let mut trace = elsewhere.start(&["trace", "--all"]);
    let say = |words: &str| {
        let say = ["session", "send", "--new", "--agent", "demo", words];
        world.run(&say).expect_success();
    };
    // The trace omits events before its start, so send messages until it prints one.
    let heard = std::thread::spawn(move || {
        trace.read_stdout_until("This is turn 1");
        trace
    });
    while !heard.is_finished() {
        say("Hello");
    }
    let mut trace = heard.join().unwrap();
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
    trace.read_stderr_until("connection broke");
    say("While no server ran");
    let _server = world.serve();
    trace.read_stdout_until("While no server ran");
}

#[test]
fn server_stops_at_once_with_many_open_streams() {
    let world = TestInstallation::new();
    let server = world.serve();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let of_session = format!("sessions/{session}/trace?after=0");
    let open: Vec<_> = [of_session.as_str(), "trace"]
        .iter()
        .cycle()
        .take(100)
        .map(|path| open_stream(&world, path))
        .collect();
    let asked = std::time::Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
    let took = asked.elapsed();
    assert!(took < std::time::Duration::from_secs(2), "it took {took:?}");
    for mut stream in open {
        // It ends as a stream does that is whole, and is not torn off.
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
}

/// A stream of the server, which has begun.
fn open_stream(world: &TestInstallation, path: &str) -> BufReader<TcpStream> {
    let address = world.address();
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    let token = world.token();
    write!(
        stream,
        "GET /api/v1/{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "it ended at once");
    }
    stream
}

/// Returns a free address of this machine, so that two servers of one test can have the same address.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
