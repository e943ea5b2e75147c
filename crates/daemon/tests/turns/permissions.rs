//! Permission requests of unattended agents.

use model::{
    agent::AgentConfig,
    permission::{PermissionRule, PermissionRules, Verdict},
    run::RunStatus,
};
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
        options: vec![("sure".into(), "allow_once".into())],
        times: 1,
    };
    let script = world.script().prompt([
        Step::request_permission("1", "ls -l", "execute"),
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
        rule("execute", "*", Verdict::Allow),
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

pub(crate) async fn permission_request_after_cancel_is_answered_cancelled(world: &World) {
    let started = world.path("started");
    let script = world.script().prompt([
        Step::Touch(started.clone()),
        Step::UntilCancelled,
        Step::request_permission("1", "ls", "execute"),
        Step::stop("cancelled"),
    ]);
    let mut config = AgentConfig::new(script.command().unwrap());
    config.permissions = PermissionRules(vec![rule("*", "*", Verdict::Allow)]);
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
