//! `matins endpoint` and `matins automation webhook`: signed notifications, and signed requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use serde_json::{Value, json};
use testkit::scripted::Step;

use crate::test_installation::TestInstallation;

/// Takes one request and answers it; gives its head and its body.
fn receive_request(listener: &TcpListener) -> (String, String) {
    let (stream, _) = listener.accept().unwrap();
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head:?}");
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let named = name.eq_ignore_ascii_case("content-length");
        named.then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).unwrap();
    let answer = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
    stream.get_mut().write_all(answer.as_bytes()).unwrap();
    (head, String::from_utf8(body).unwrap())
}

#[test]
fn endpoint_is_added_tested_edited_and_deleted() {
    let world = TestInstallation::new().with_env("MATINS_WEBHOOK_ALLOW", "127.0.0.1/32");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/matins", listener.local_addr().unwrap());
    let server = world.serve();
    let add = ["endpoint", "add", "pager", &address];
    let refused = world.run(&add);
    assert_eq!(refused.code, 2, "{refused:#?}");
    let add: Vec<_> = add.into_iter().chain(["--event", "run.failed"]).collect();
    let secret = world.run(&add).expect_success();
    assert!(secret.starts_with("whsec_"), "{secret}");

    let sent = world.json(&["endpoint", "test", "pager"]);
    let (head, body) = receive_request(&listener);
    assert!(head.contains("webhook-signature: v1,"), "{head}");
    assert!(body.contains("endpoint.test"), "{body}");
    let id = sent["id"].as_str().unwrap();
    let mut shown = world.json(&["endpoint", "delivery", id]);
    while shown["state"] == "pending" {
        shown = world.json(&["endpoint", "delivery", id]);
    }
    assert_eq!(shown["state"], "delivered", "{shown}");
    assert_eq!(shown["log"][0]["status"], 204, "{shown}");

    let edit = ["endpoint", "edit", "pager", "--name", "phone"];
    let edit: Vec<_> = edit.into_iter().chain(["--event", "run.skipped"]).collect();
    world.run(&edit).expect_success();
    let phone = world.run(&["endpoint", "show", "phone"]).expect_success();
    for text in [
        "phone",
        &address,
        "run.skipped",
        "endpoint.test",
        "delivered",
    ] {
        assert!(phone.contains(text), "{phone}");
    }
    let rotated = world
        .run(&["endpoint", "rotate-secret", "phone"])
        .expect_success();
    assert!(rotated.starts_with("whsec_") && rotated != secret);
    world
        .run(&["endpoint", "disable", "phone"])
        .expect_success();
    let list = world.run(&["endpoint", "list"]).expect_success();
    assert!(list.contains("disabled"), "{list}");
    world.run(&["endpoint", "enable", "phone"]).expect_success();
    world.run(&["endpoint", "redeliver", id]).expect_success();
    let (_, again) = receive_request(&listener);
    assert_eq!(again, body, "to the letter");
    world.run(&["endpoint", "delete", "phone"]).expect_success();
    assert_eq!(world.run(&["endpoint", "show", "phone"]).code, 3);
    drop(server);
}

/// An endpoint for the notifications of goals and questions.
struct GoalReceiver {
    world: TestInstallation,
    listener: TcpListener,
}

impl GoalReceiver {
    fn new() -> Self {
        let world = TestInstallation::new().with_env("MATINS_WEBHOOK_ALLOW", "127.0.0.1/32");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/matins", listener.local_addr().unwrap());
        let mut add = vec!["endpoint", "add", "pager", &address];
        for kind in [
            "goal.done",
            "goal.failed",
            "goal.paused",
            "goal.stuck",
            "question.asked",
        ] {
            add.extend(["--event", kind]);
        }
        world.run(&add).expect_success();
        Self { world, listener }
    }

    /// Takes the next notification, which must be of this kind.
    fn receive(&self, kind: &str) -> Value {
        let (_, body) = receive_request(&self.listener);
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["type"], kind, "{body}");
        body["data"].clone()
    }

    /// Returns the kinds of the deliveries so far, the oldest first.
    fn sent_kinds(&self) -> Vec<String> {
        let shown = self.world.json(&["endpoint", "show", "pager"]);
        let sent = shown["deliveries"].as_array().unwrap().iter().rev();
        sent.map(|sent| sent["kind"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn goal_asks_and_ends_with_notifications() {
    let receiver = GoalReceiver::new();
    let world = &receiver.world;
    let _server = world.serve();
    let start = [
        "goal",
        "start",
        "Write on tea: green and black. Ask me.",
        "--team",
        "demo",
        "--agent",
        "demo",
        "--key",
        "tea",
    ];
    world.run(&start).expect_success();
    let asked = receiver.receive("question.asked");
    let question = &asked["question"];
    assert_eq!(question["text"], "Who shall read it?", "{asked}");
    assert_eq!(question["default"], "everyone", "{asked}");
    assert_eq!(question["state"], "pending", "{asked}");
    assert_eq!(question["id"], asked["event"]["question_id"], "{asked}");
    let goal = &asked["goal"];
    assert_eq!(goal["objective"], start[2], "{asked}");
    assert_eq!(
        (&goal["state"], &goal["open_questions"]),
        (&json!("active"), &json!(1)),
        "{asked}"
    );
    let listed = world.run(&["goal", "list"]).expect_success();
    assert!(listed.contains("waits for you"), "{listed}");
    let id = question["id"].as_str().unwrap();
    world
        .run(&["question", "answer", id, "beginners"])
        .expect_success();

    let done = receiver.receive("goal.done");
    let goal = &done["goal"];
    assert_eq!(goal["id"], asked["goal"]["id"], "{done}");
    assert_eq!(
        (
            &goal["state"],
            &goal["tasks"]["done"],
            &goal["open_questions"]
        ),
        (&json!("done"), &json!(4), &json!(0)),
        "{done}"
    );
    assert_eq!(done["question"], Value::Null, "{done}");
    let report = goal["report"].as_str().unwrap();
    assert!(report.ends_with("/report"), "{done}");
    assert_eq!(receiver.sent_kinds(), ["question.asked", "goal.done"]);
}

#[test]
fn stuck_goal_is_announced_with_its_cause() {
    let receiver = GoalReceiver::new();
    let world = &receiver.world;
    let said = || vec![Step::Text("I have no plan.".into())];
    world.add_scripted_agent([said(), said(), said(), said()]);
    let file = world.path().join("own.toml");
    let team = "name = \"own\"\n\n[[seats]]\nrole = \"planner\"\nentry = true\n\n[[seats]]\nrole = \"worker\"\n";
    std::fs::write(&file, team).unwrap();
    let _server = world.serve();
    let start = [
        "goal",
        "start",
        "Draft it.",
        "--team",
        file.to_str().unwrap(),
        "--agent",
        "scripted",
        "--key",
        "own",
    ];
    world.run(&start).expect_success();
    let stuck = receiver.receive("goal.stuck");
    let shown = world.json(&["goal", "show", "own"]);
    let goal = &stuck["goal"];
    for field in ["id", "state", "reason", "cause"] {
        assert_eq!(goal[field], shown[field], "{field}: {stuck}");
    }
    assert_eq!(goal["reason"], "stuck", "{stuck}");
    assert_eq!(stuck["event"]["cause"], goal["cause"], "{stuck}");
    world.run(&["goal", "cancel", "own"]).expect_success();
    let failed = receiver.receive("goal.failed");
    assert_eq!(failed["goal"]["reason"], "cancelled", "{failed}");
    assert_eq!(receiver.sent_kinds(), ["goal.stuck", "goal.failed"]);
}

#[test]
fn events_of_endpoints_are_in_help_and_completions() {
    let world = TestInstallation::new();
    let help = world.run(&["endpoint", "add", "--help"]).expect_success();
    let script = world.run(&["completions", "bash"]).expect_success();
    for kind in ["goal.stuck", "question.asked", "run.failed"] {
        assert!(help.contains(kind), "{kind}: {help}");
        assert!(script.contains(kind), "{kind}");
    }
    assert!(!help.contains("endpoint.test"), "{help}");
    let refused = world.run(&[
        "endpoint",
        "add",
        "x",
        "https://example.com",
        "--event",
        "goal.won",
    ]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("goal.done"), "{refused:#?}");
}

/// An image of a container often has no certificates.
#[test]
fn machine_without_certificates_sends_notifications() {
    let world = TestInstallation::new().with_env("MATINS_WEBHOOK_ALLOW", "127.0.0.1/32");
    let none = world.path().join("certificates");
    std::fs::create_dir(&none).unwrap();
    let world = world.with_env("SSL_CERT_DIR", none.to_str().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/matins", listener.local_addr().unwrap());
    let _server = world.serve();
    let add = [
        "endpoint",
        "add",
        "pager",
        &address,
        "--event",
        "run.failed",
    ];
    world.run(&add).expect_success();
    world.run(&["endpoint", "test", "pager"]).expect_success();
    let (_, body) = receive_request(&listener);
    assert!(body.contains("endpoint.test"), "{body}");
}

#[test]
fn webhook_is_added_and_its_secret_shown_and_rotated() {
    let world = TestInstallation::new();
    let add = ["automation", "add", "--webhook", "--agent", "demo"];
    let add: Vec<_> = add.into_iter().chain(["--name", "push", "Look"]).collect();
    world.run(&add).expect_success();
    let shown = world.json(&["automation", "webhook", "push"]);
    let secret = shown["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_"), "{shown}");
    let rotate = [
        "automation",
        "webhook",
        "push",
        "--rotate",
        "--overlap",
        "0s",
    ];
    let rotated = world.run(&rotate).expect_success();
    let now = world
        .run(&["automation", "webhook", "push"])
        .expect_success();
    assert!(rotated.trim() == now.trim() && rotated.trim() != secret);

    let second = world
        .run(&["automation", "webhook", "push", "--add"])
        .expect_success();
    assert!(second.starts_with("whsec_") && second.trim() != now.trim());
    let which = world.run(&["automation", "webhook", "push"]);
    assert_eq!(which.code, 2, "{which:#?}");
    assert!(which.stderr.contains("--trigger"), "{which:#?}");

    // A request without a signature is refused.
    let _server = world.serve();
    let path = shown["path"].as_str().unwrap();
    let address = world.address();
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 40"), "{answer}");
    let none = ["automation", "add", "--on-demand", "--agent", "demo"];
    let none: Vec<_> = none.into_iter().chain(["--name", "calm", "Work"]).collect();
    world.run(&none).expect_success();
    let none = world.run(&["automation", "webhook", "calm"]);
    assert_eq!(none.code, 3, "{none:#?}");
}
