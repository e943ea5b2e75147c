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
fn demo_refuses_places_that_it_would_ignore() {
    let world = TestInstallation::new();
    for (flag, value) in [("--data", "here"), ("--database", "sqlite:other.db")] {
        let refused = world.run(&["demo", "--turns", "1", flag, value]);
        assert_eq!(refused.code, 2, "{refused:#?}");
        let expected = format!("invalid `{flag}` `{value}`");
        assert!(refused.stderr.contains(&expected), "{refused:#?}");
        assert!(refused.stderr.contains("--dir DIR"), "{refused:#?}");
    }
    assert!(!world.data_folder().exists());
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

#[test]
fn goal_of_demo_ends_with_files_after_one_rework() {
    let world = TestInstallation::new();
    let started = world.run(&[
        "demo",
        "--dir",
        "d",
        "--goal",
        "Write on tea: green and black.",
    ]);
    let shown = started.expect_success();
    for text in [
        "The goal: Write on tea: green and black.",
        "The team: planner, worker-1, worker-2, judge.",
        "Draft: green, after outline",
        "DONE      outline",
        "sent back by judge: The last line of summary.md is not",
        "round 2 of 3",
        "accepted",
        "The goal is done: 4 of 4 tasks are done",
        "The goal is reached: 4 of 4 tasks are done.",
        "goal show ses_",
    ] {
        assert!(shown.contains(text), "{text:?} is not in {shown}");
    }
    assert_eq!(shown.matches("sent back by").count(), 1, "{shown}");
    for key in ["outline", "green", "black", "summary"] {
        let is_done = |line: &str| line.contains(&format!("DONE      {key} "));
        assert_eq!(
            shown.lines().filter(|line| is_done(line)).count(),
            1,
            "{key}: {shown}"
        );
    }
    assert!(!shown.contains('\u{1b}'), "a pipe gets no colours");
    let steps = shown
        .lines()
        .skip_while(|line| !line.contains("RUNNING"))
        .take_while(|line| !line.starts_with("The goal is"));
    let longest = steps.map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{shown}");
    // 1. The files are where the command says.
    let sessions = std::fs::read_dir(world.path().join("d/sessions")).unwrap();
    let folders: Vec<_> = sessions.map(|entry| entry.unwrap().path()).collect();
    let [folder] = &folders[..] else {
        panic!("{shown}");
    };
    assert!(shown.contains(folder.to_str().unwrap()), "{shown}");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let summary = read("summary.md");
    assert!(
        summary.contains("`green.md`") && summary.contains("`black.md`"),
        "{summary}"
    );
    let (body, last) = summary.trim_end().rsplit_once('\n').unwrap();
    let words = body.split_whitespace().count();
    assert_eq!(last, format!("Words: {words}"));
    assert!(read("green.md").contains("outline: Wrote `outline.md`"));
    // 2. They are artifacts, too, and nothing but the folder is touched.
    let session = folder.file_name().unwrap().to_str().unwrap();
    let data = world.path().join("d");
    let list = [
        "artifact",
        "list",
        session,
        "--data",
        data.to_str().unwrap(),
    ];
    let artifacts = world.json(&list);
    let names: Vec<_> = artifacts
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    for name in ["outline.md", "green.md", "black.md", "summary.md"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!world.data_folder().exists());
}

#[test]
fn question_of_demo_goal_waits_for_answer_of_person() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--goal", "Write on tea: green and black. Ask me."]);
    let shown = demo.read_stdout_until("\"everyone\"");
    let question = shown
        .split_whitespace()
        .find(|word| word.starts_with("que_"));
    let folder = world.path().join("matins-demo");
    let folder = folder.to_str().unwrap();
    let answer = [
        "question",
        "answer",
        question.unwrap(),
        "my aunts",
        "--data",
        folder,
    ];
    world.run(&answer).expect_success();
    let rest = demo.read_stdout_until("goal start");
    assert_eq!(demo.end().code, 0);
    assert!(rest.contains("4 of 4 tasks are done"), "{rest}");
    let sessions = std::fs::read_dir(world.path().join("matins-demo/sessions")).unwrap();
    let folder = sessions.map(|entry| entry.unwrap().path()).next().unwrap();
    let green = std::fs::read_to_string(folder.join("green.md")).unwrap();
    assert!(green.contains("The answer: my aunts"), "{green}");
}

#[test]
fn question_of_followed_goal_is_one_line_of_json() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let text = "Write on tea: green and black. Ask me.";
    let start = [
        "goal", "start", text, "--team", "demo", "--agent", "demo", "--key", "tea",
    ];
    world.run(&start).expect_success();
    let mut follow = world.start(&["goal", "show", "tea", "--follow", "--json"]);
    let before = follow.read_stdout_until("{\"question\":");
    let asked: Value = serde_json::from_str(before.lines().last().unwrap()).unwrap();
    assert_eq!(asked["question"]["default"], "everyone");
    let id = asked["question"]["id"].as_str().unwrap();
    world
        .run(&["question", "answer", id, "my aunts"])
        .expect_success();
    let rest = follow.read_stdout_until("\"state\":\"done\"");
    assert_eq!(follow.end().code, 0);
    assert!(!rest.contains("{\"question\":"), "{rest}");
}

#[test]
fn followed_goal_goes_on_after_restart_of_server() {
    let world = TestInstallation::new();
    let server = world.serve();
    let text = "Write on tea: green and black. Ask me.";
    let start = [
        "goal", "start", text, "--team", "demo", "--agent", "demo", "--key", "tea",
    ];
    world.run(&start).expect_success();
    let mut follow = world.start(&["goal", "show", "tea", "--follow"]);
    follow.read_stdout_until("question answer");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
    follow.read_stderr_until("connection broke");
    let _server = world.serve();
    let goal = world.json(&["goal", "show", "tea"]);
    let id = goal["questions"][0]["id"].as_str().unwrap();
    world
        .run(&["question", "answer", id, "my aunts"])
        .expect_success();
    follow.read_stdout_until("The goal is done.");
    assert_eq!(follow.end().code, 0);
}

#[test]
fn demo_goal_that_is_paused_ends_with_4() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--goal", "Write on tea: green and black."]);
    demo.read_stdout_until("RUNNING   outline");
    let folder = world.path().join("matins-demo");
    let folder = folder.to_str().unwrap();
    let goals = world.json(&["goal", "list", "--data", folder]);
    let id = goals[0]["id"].as_str().unwrap();
    let pause = ["goal", "pause", id, "--data", folder];
    world.run(&pause).expect_success();
    let ended = demo.end();
    assert_eq!(ended.code, 4, "{ended:#?}");
    assert!(
        ended.stderr.contains("the goal is paused (person)"),
        "{ended:#?}"
    );
}

#[test]
fn ctrl_c_stops_demo_goal_and_keeps_it() {
    let world = TestInstallation::new();
    let mut demo = world.start(&["demo", "--goal", "Write on tea: green and black."]);
    demo.read_stdout_until("RUNNING   outline");
    demo.signal(Signal::INT);
    let ended = demo.end();
    assert_eq!(ended.code, 0, "{ended:#?}");
    assert!(ended.stdout.contains("The goal remains"), "{ended:#?}");
}

#[test]
fn goal_of_demo_has_no_schedule() {
    let world = TestInstallation::new();
    let refused = world.run(&["demo", "--goal", "Write", "--turns", "2"]);
    assert_eq!(refused.code, 2, "{refused:#?}");
}
