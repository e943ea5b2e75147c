//! Permission requests of agents that wait for a person.

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{
    databases::TestDatabase,
    scripted::{Event, PromptLog, Script, Step},
};

use crate::test_installation::TestInstallation;

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Adds the automation `tidy`. Its agent runs the given steps for its prompts and requests approvals.
fn add_tidy_automation(
    world: &TestInstallation,
    prompts: impl IntoIterator<Item = Vec<Step>>,
) -> Script {
    let script = world.add_scripted_agent(prompts);
    let add = [
        "automation",
        "add",
        "--on-demand",
        "--name",
        "tidy",
        "--agent",
        "scripted",
        "--session",
        "continuous",
        "--on-unmatched",
        "ask",
        "--ask-timeout",
        "5m",
        "Tidy up.",
    ];
    world.run(&add).expect_success();
    script
}

fn approval_step(call: &str, what: &str) -> Step {
    Step::request_permission(call, what, "execute")
}

/// Waits for a pending approval of a run other than `besides`, and returns it.
fn wait_for_pending_approval(world: &TestInstallation, besides: Option<&str>) -> Value {
    let list = |world: &TestInstallation| world.json(&["approval", "list"])[0].clone();
    world.wait_for("a request", |world| {
        let first = list(world);
        first["state"] == "pending" && first["run_id"].as_str() != besides
    });
    list(world)
}

fn wait_for_success(world: &TestInstallation, run: &str) -> Value {
    world.wait_for("the end of the turn", |world| {
        world.json(&["run", "show", run])["status"] == "succeeded"
    });
    world.json(&["run", "show", run])
}

fn answers_received_by_agent(script: &Script) -> Vec<String> {
    let ledger = PromptLog::read(&script.prompt_log_path()).unwrap();
    let answers = ledger.events().filter_map(|event| match event {
        Event::PermissionAnswered(answer) => Some(answer.clone()),
        _ => None,
    });
    answers.collect()
}

#[test]
fn approvals_are_listed_allowed_and_denied() {
    let world = TestInstallation::new();
    let two = vec![
        approval_step("1", "rm -rf build"),
        approval_step("2", "rm -rf ~"),
        Step::Echo,
    ];
    let script = add_tidy_automation(&world, [two]);
    let none = world.run(&["approval", "list"]).expect_success();
    assert_eq!(none.trim(), "No pending approvals.");
    let shown = world.run(&["automation", "show", "tidy"]).expect_success();
    assert!(shown.contains("ask a person, for at most 5m"), "{shown}");

    let _server = world.serve();
    let fired = world.json(&["automation", "fire", "tidy", "--queue"]);
    let (run, session) = (&fired["run"]["id"], &fired["run"]["session_id"]);
    let mut trace = world.start(&["trace", text(session), "--after", "0"]);
    let first = wait_for_pending_approval(&world, None);
    let id = text(&first["id"]);
    let list = world.run(&["approval", "list"]).expect_success();
    assert!(list.contains("rm -rf build"), "{list}");
    let shown = world.run(&["run", "show", text(run)]).expect_success();
    let hint = format!("`matins approval allow {id}`");
    assert!(shown.contains(&hint), "{shown}");
    let shown = world.run(&["approval", "show", id]).expect_success();
    for part in ["pending", "execute", "rm -rf build", text(run)] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // From another machine, with a token that permits nothing else.
    let create = [
        "token",
        "create",
        "approver",
        "--scope",
        "approvals:read",
        "--scope",
        "approvals:write",
    ];
    let token = world.run(&create).expect_success();
    let elsewhere = world.remote(token.trim());
    let allow = ["approval", "allow", id, "--comment", "it is built again"];
    let allowed = elsewhere.run(&allow).expect_success();
    assert!(allowed.contains(": rm -rf build"), "{allowed}");

    world.wait_for("the second request", |world| {
        world.json(&["approval", "list"])[0]["title"] == "rm -rf ~"
    });
    let second = wait_for_pending_approval(&world, None);
    let denied = world.run(&["approval", "deny", text(&second["id"])]);
    assert!(denied.expect_success().starts_with("Denied apr_"));
    wait_for_success(&world, text(run));
    assert_eq!(
        answers_received_by_agent(&script),
        ["option-allow_once", "option-reject_once"]
    );

    let late = world.run(&["approval", "deny", id]);
    assert_eq!(late.code, 4, "{late:#?}");
    assert!(late.stderr.contains("` is allowed, so"), "{late:#?}");
    let shown = world.run(&["approval", "show", id]).expect_success();
    assert!(shown.contains("approver"), "{shown}");
    assert!(shown.contains("it is built again"), "{shown}");
    let all = world.json(&["approval", "list", "--all", "--automation", "tidy"]);
    let states: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| text(&it["state"]))
        .collect();
    assert_eq!(states, ["denied", "allowed"]);
    let by = &all[0]["decided_by"];
    assert_eq!(by, "socket", "by the private socket of the data folder");

    let told = trace.read_stdout_until("denied, by a person at the server, execute: rm -rf ~");
    assert!(told.contains("pending, execute: rm -rf build"), "{told}");
    let allowed = "allowed, by approver, execute: rm -rf build";
    assert!(told.contains(allowed), "{told}");
    trace.signal(Signal::INT);
    trace.end();
}

#[test]
fn approval_show_prints_whole_long_input() {
    let world = TestInstallation::new();
    let long = format!("{}\u{1b}[31m the end", "x".repeat(20_000));
    let step = Step::request_command("1", "Write", json!({ "command": long }));
    add_tidy_automation(&world, [vec![step]]);
    let _server = world.serve();
    world
        .run(&["automation", "fire", "tidy", "--queue"])
        .expect_success();
    let listed = wait_for_pending_approval(&world, None);
    assert_eq!(listed["input_cut"], true);
    let id = text(&listed["id"]);
    let shown = world.run(&["approval", "show", id]).expect_success();
    assert!(shown.contains("\nInput\n"), "{shown}");
    assert!(
        shown.contains("the end") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let shown = world.json(&["approval", "show", id]);
    assert_eq!(shown["input"], json!({ "command": long }));
    assert_eq!(shown["input_cut"], false);
}

fn approval_is_requested_again_after_server_is_killed(world: &TestInstallation) {
    let asks = || vec![approval_step("1", "rm -rf build"), Step::text("It is done")];
    let script = add_tidy_automation(world, [asks(), asks()]);
    let server = world.serve();
    let fired = world.json(&["automation", "fire", "tidy", "--queue"]);
    let run = text(&fired["run"]["id"]);
    let before = wait_for_pending_approval(world, None);
    server.signal(Signal::KILL);
    server.end();

    let _server = world.serve();
    let anew = wait_for_pending_approval(world, Some(run));
    assert_eq!(anew["title"], before["title"]);
    // The answer to the first attempt is too late, and none to the second.
    let late = world.run(&["approval", "allow", text(&before["id"])]);
    assert_eq!(late.code, 4, "{late:#?}");
    assert!(late.stderr.contains("` is void, so"), "{late:#?}");
    let shown = world.json(&["approval", "show", text(&anew["id"])]);
    assert_eq!(shown["state"], "pending");
    assert_eq!(answers_received_by_agent(&script), <[String; 0]>::default());
    world
        .run(&["approval", "allow", text(&anew["id"])])
        .expect_success();
    let next = wait_for_success(world, text(&anew["run_id"]));
    assert_eq!(next["interrupted_run_id"], run);
    assert_eq!(answers_received_by_agent(&script), ["option-allow_once"]);
}

#[test]
fn approval_is_requested_again_after_server_is_killed_on_sqlite() {
    approval_is_requested_again_after_server_is_killed(&TestInstallation::new());
}

#[test]
fn approval_is_requested_again_after_server_is_killed_on_postgres() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    approval_is_requested_again_after_server_is_killed(&world);
}
