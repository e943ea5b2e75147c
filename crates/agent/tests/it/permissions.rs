//! Permission requests.

use std::sync::{Arc, Mutex};

use agent::{Agent, Decision, PermissionRequest, Permissions, Update};
use futures::future::{BoxFuture, pending, ready};
use model::{
    outcome::StopReason,
    permission::{PermissionRule, PermissionRules, Verdict},
};
use serde_json::json;
use testkit::scripted::{Event, Step};
use tokio::sync::mpsc;

use crate::support::{AlwaysDecide, World, events, gather_during, send_prompt, text, with_timeout};

async fn open_with(
    world: &World,
    steps: Vec<Step>,
    permissions: impl Permissions + 'static,
) -> Agent {
    let script = world.script().prompt(steps);
    let launch = world.launch(&script);
    let agent = with_timeout(Agent::start(launch, Arc::new(permissions)))
        .await
        .unwrap();
    agent.new_session(world.cwd(), &[]).await.unwrap();
    agent
}

fn reported_decisions(told: &[Update]) -> Vec<(String, String, Decision)> {
    let asked = told.iter().filter_map(|update| match update {
        Update::Permission { request, decision } => {
            let about = &request.subject;
            Some((about.tool_kind.clone(), about.title.clone(), *decision))
        }
        _ => None,
    });
    asked.collect()
}

#[tokio::test]
async fn permission_decision_selects_once_option_by_kind() {
    for (decision, expected) in [
        (Decision::Allow, "asked: option-allow_once"),
        (Decision::Deny, "asked: option-reject_once"),
        (Decision::Cancelled, "asked: cancelled"),
    ] {
        let world = World::new();
        let steps = vec![Step::request_permission("1", "rm -rf build", "execute")];
        let agent = open_with(&world, steps, AlwaysDecide(decision)).await;
        let (end, told) = send_prompt(&agent, "go").await;
        end.unwrap();
        assert_eq!(text(&told), expected);
        let expected = ("execute".to_owned(), "rm -rf build".to_owned(), decision);
        assert_eq!(reported_decisions(&told), [expected]);
        world.end(agent).await;
    }
}

#[tokio::test]
async fn permission_decision_without_matching_option_is_cancelled() {
    for (offered, decided, told_of) in [
        ("allow_once", Decision::Deny, Decision::Deny),
        ("reject_once", Decision::Allow, Decision::Cancelled),
    ] {
        let world = World::new();
        let steps = vec![Step::RequestPermission {
            call: "1".into(),
            title_and_kind: Some(("ls".into(), "execute".into())),
            input: None,
            options: vec![("the only one".into(), offered.into())],
            times: 1,
        }];
        let agent = open_with(&world, steps, AlwaysDecide(decided)).await;
        let (_, told) = send_prompt(&agent, "go").await;
        assert_eq!(text(&told), "asked: cancelled");
        assert_eq!(reported_decisions(&told)[0].2, told_of);
        world.end(agent).await;
    }
}

#[tokio::test]
async fn bare_permission_request_takes_kind_and_title_of_tool_call() {
    let world = World::new();
    let options = vec![("n".to_owned(), "reject_once".to_owned())];
    let ask = |call: &str| Step::RequestPermission {
        call: call.into(),
        title_and_kind: None,
        input: None,
        options: options.clone(),
        times: 1,
    };
    let steps = vec![
        Step::Update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "git",
            "kind": "execute", "status": "pending"}),
        ),
        Step::Update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
            "title": "git push"}),
        ),
        ask("1"),
        ask("2"),
    ];
    let agent = open_with(&world, steps, AlwaysDecide(Decision::Deny)).await;
    let (_, told) = send_prompt(&agent, "go").await;
    let expected = [
        ("execute".into(), "git push".into(), Decision::Deny),
        ("other".into(), String::new(), Decision::Deny),
    ];
    assert_eq!(reported_decisions(&told), expected);
    world.end(agent).await;
}

#[tokio::test]
async fn permission_request_carries_history_of_its_call() {
    let world = World::new();
    let update = |kind: &str, input: serde_json::Value| {
        Step::Update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "x",
            "kind": kind, "status": "pending", "rawInput": input}),
        )
    };
    let steps = vec![
        update("execute", json!({"command": "curl x"})),
        update("read", json!({"path": "x"})),
        Step::request_permission("1", "x", "read"),
        Step::request_permission("2", "x", "read"),
    ];
    let agent = open_with(&world, steps, AlwaysDecide(Decision::Deny)).await;
    let (_, told) = send_prompt(&agent, "go").await;
    let deny = PermissionRules(vec![PermissionRule {
        tool: "execute".into(),
        title: Some("curl*".into()),
        verdict: Verdict::Deny,
    }]);
    let verdicts = told.iter().filter_map(|update| match update {
        Update::Permission { request, .. } => Some(deny.verdict(&request.subject)),
        _ => None,
    });
    assert_eq!(verdicts.collect::<Vec<_>>(), [Some(Verdict::Deny), None]);
    world.end(agent).await;
}

/// Permissions that never decide, and report each request.
struct UndecidedPermissions(mpsc::UnboundedSender<()>);

impl Permissions for UndecidedPermissions {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Decision> {
        self.0.send(()).unwrap();
        Box::pin(pending())
    }
}

#[tokio::test]
async fn prompt_cancel_cancels_pending_and_later_permissions() {
    let world = World::new();
    let three = Step::RequestPermission {
        call: "1".into(),
        title_and_kind: Some(("ls".into(), "execute".into())),
        input: None,
        options: vec![("yes".into(), "allow_once".into())],
        times: 3,
    };
    // A request after the cancellation gets the same answer.
    let steps = vec![
        three,
        Step::request_permission("2", "ls", "execute"),
        Step::stop("cancelled"),
    ];
    let (asking, mut was_asked) = mpsc::unbounded_channel();
    let agent = open_with(&world, steps, UndecidedPermissions(asking)).await;
    let (updates, mut received) = mpsc::channel(1);
    let cancel = async {
        for _ in 0..3 {
            with_timeout(was_asked.recv()).await.unwrap();
        }
        agent.cancel();
    };
    let prompt = gather_during(agent.prompt(&["go"], updates), &mut received);
    let ((end, mut told), ()) = tokio::join!(prompt, cancel);
    assert_eq!(end.unwrap(), StopReason::Cancelled);
    // A cancelled request may be reported after the answer of the prompt.
    let ((), late) = gather_during(
        async {
            world.end(agent).await;
        },
        &mut received,
    )
    .await;
    told.extend(late);
    assert_eq!(reported_decisions(&told).len(), 4);
    assert!(
        reported_decisions(&told)
            .iter()
            .all(|(_, _, decision)| *decision == Decision::Cancelled)
    );
    let events = events(&world.script());
    let cancelled = events
        .iter()
        .filter(|event| **event == Event::PermissionAnswered("cancelled".into()));
    assert_eq!(cancelled.count(), 4);
}

#[tokio::test]
async fn permission_request_outside_prompt_is_cancelled() {
    let world = World::new();
    let mut script = world.script();
    let request = json!({"jsonrpc": "2.0", "id": 99, "method": "session/request_permission",
        "params": {"sessionId": "s", "toolCall": {"toolCallId": "1"}, "options": [
            {"optionId": "y", "name": "y", "kind": "allow_once"}]}});
    script.before_open = vec![Step::raw_line(&request.to_string())];
    let (agent, _) = world.open(&script).await;
    let (end, told) = send_prompt(&agent, "go").await;
    end.unwrap();
    assert!(reported_decisions(&told).is_empty());
    world.end(agent).await;
}

/// Permissions that decide the second request before the first.
struct ReversedPermissions(Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

impl Permissions for ReversedPermissions {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Decision> {
        let mut first = self.0.lock().unwrap();
        if let Some(sender) = first.take() {
            sender.send(()).ok();
            return Box::pin(ready(Decision::Deny));
        }
        let (sender, second) = tokio::sync::oneshot::channel();
        *first = Some(sender);
        Box::pin(async {
            second.await.unwrap();
            Decision::Allow
        })
    }
}

#[tokio::test]
async fn parallel_permission_requests_are_decided_independently() {
    let world = World::new();
    let two = Step::RequestPermission {
        call: "1".into(),
        title_and_kind: Some(("ls".into(), "execute".into())),
        input: None,
        options: vec![
            ("y".into(), "allow_once".into()),
            ("n".into(), "reject_once".into()),
        ],
        times: 2,
    };
    let agent = open_with(&world, vec![two], ReversedPermissions(Mutex::default())).await;
    let (end, told) = with_timeout(send_prompt(&agent, "go")).await;
    end.unwrap();
    assert_eq!(reported_decisions(&told).len(), 2);
    world.end(agent).await;
}
