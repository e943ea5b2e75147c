//! `matins demo`.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::test_installation::TestInstallation;

#[test]
fn demo_remembers_across_turns_and_restarts() {
    let world = TestInstallation::new();
    let first = world
        .run(&["demo", "--dir", "d", "--every", "1s", "--turns", "2"])
        .expect_success();
    for text in [
        "schedule  Scheduled automation triggered: demo",
        "This is turn 1 of this session.",
        "This is turn 2 of this session. Before, you asked: \"What did I ask you before?\".",
        "matins demo --dir",
        "session send ses_",
    ] {
        assert!(first.contains(text), "{text:?} is not in {first}");
    }
    assert!(!first.contains('\u{1b}'), "a pipe gets no colours");
    let second = world
        .run(&["demo", "--dir", "d", "--turns", "1"])
        .expect_success();
    assert!(second.contains("remembers it"), "{second}");
    assert!(!second.contains("turn 1 "), "{second}");
    assert!(
        second.contains("(2 times)") || second.contains("(3 times)"),
        "{second}"
    );
    assert!(
        !world.data_folder().exists(),
        "nothing but its folder is touched"
    );
}

#[test]
fn ctrl_c_stops_demo_and_prints_next_steps() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--every", "1s"]);
    demo.read_stdout_until("This is turn 1");
    demo.signal(Signal::INT);
    let ended = demo.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(ended.stdout.contains("Stopped."), "{ended:#?}");
    assert!(ended.stdout.contains("matins-demo"), "{ended:#?}");
}

#[test]
fn demo_session_accepts_message_from_another_process() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--every", "1h"]);
    demo.read_stdout_until("Ctrl-C stops");
    let folder = world.path().join("matins-demo");
    let folder = folder.to_str().unwrap();
    world
        .run(&["automation", "fire", "demo", "--data", folder])
        .expect_success();
    let sessions = world.json(&["session", "list", "--all", "--data", folder]);
    let session = sessions[0]["id"].as_str().unwrap();
    let said = world.run(&["session", "send", session, "Hello", "--data", folder]);
    assert!(said.expect_success().contains("Now you ask: \"Hello\"."));
    let shown = demo.read_stdout_until("Now you ask: \"Hello\"");
    assert!(shown.contains("you       Hello"), "{shown}");
}

#[test]
fn page_of_demo_opens_with_link_until_demo_stops() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--every", "1h"]);
    let introduction = demo.read_stdout_until("Ctrl-C stops");
    // A log must not keep the secret of a link.
    assert!(
        introduction.contains("sign-in` prints a link to its page")
            && !introduction.contains("http"),
        "{introduction}"
    );
    let folder = world.path().join("matins-demo");
    let sign_in = ["sign-in", "--data", folder.to_str().unwrap()];
    let link = world.run(&sign_in).expect_success();
    let (host, path) = link
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let path = path.split('#').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("<html"),
        "{page}"
    );
    demo.signal(Signal::INT);
    assert_eq!(demo.end().code, 0);
    let refused = world.run(&sign_in);
    assert!(refused.stderr.contains("has no server"), "{refused:#?}");
}

#[test]
fn demo_with_json_prints_one_document_per_row() {
    let world = TestInstallation::new();
    let told = world
        .run(&["demo", "--every", "1s", "--turns", "1", "--json"])
        .expect_success();
    let rows: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(rows.iter().any(|row| row["role"] == "assistant"), "{told}");
}

#[test]
fn closed_stdout_stops_demo_with_success() {
    let world = TestInstallation::new();
    let mut demo = world.command(&["demo", "--every", "1s"]);
    let mut child = demo
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

#[test]
fn paused_demo_prints_reason_and_resume_hint() {
    let world = TestInstallation::new();
    let folder = world.path().join("d");
    let folder = folder.to_str().unwrap();
    let there = |args: &[&str]| {
        let args = ["--data", folder].into_iter().chain(args.iter().copied());
        world.run(&args.collect::<Vec<_>>()).expect_success()
    };
    there(&["agent", "add", "broken", "--", "false"]);
    there(&[
        "automation",
        "add",
        "--every",
        "1s",
        "--name",
        "demo",
        "--agent",
        "broken",
        "--attempts",
        "1",
        "--pause-after-failures",
        "1",
        "Work",
    ]);
    let ended = world.run(&["demo", "--dir", "d", "--turns", "2"]);
    assert_eq!(ended.code, 5, "{ended:#?}");
    for text in [
        "paused itself after 1 consecutive",
        "automation resume demo",
    ] {
        assert!(ended.stderr.contains(text), "{text:?}: {ended:#?}");
    }
    // Without a number of turns the demonstration keeps running, because a user may resume the automation.
    let mut demo = world.start(&["demo", "--dir", "d"]);
    demo.read_stderr_until("paused itself");
    demo.signal(Signal::INT);
    let ended = demo.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
}
