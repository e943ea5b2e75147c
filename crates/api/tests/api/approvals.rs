//! Approvals: lists, decisions, and refused decisions of ended approvals.

use std::time::Duration;

use model::{
    ApprovalId, RunId, WorkerId,
    access::{Permission, Role},
    approval::ApprovalRequest,
    turn::WriteOutcome,
};
use serde_json::{Value, json};
use testkit::clock::SeededEntropy;

use crate::world::{Answer, World};

fn worker() -> WorkerId {
    WorkerId::from_stored("host-1-aaaaaaaa".into())
}

impl World {
    /// Begins a turn of an automation.
    pub(crate) async fn begin_turn(&self, automation: &str) -> RunId {
        self.begin_turn_with_tools(automation).await.run
    }

    /// Has the agent of a run ask for something, for ten minutes.
    pub(crate) async fn request_approval(&self, run: RunId, title: &str) -> String {
        self.request_approval_of(run, title, json!({ "command": title }))
            .await
    }

    async fn request_approval_of(&self, run: RunId, title: &str, input: Value) -> String {
        let now = self.clock.advance(Duration::from_millis(1));
        let id = ApprovalId::generate(now, &SeededEntropy::new(7));
        let question = ApprovalRequest::new("execute", title, "call-1", Some(input));
        let deadline = now + Duration::from_mins(10);
        let asked = self
            .store
            .request_approval(run, &worker(), id, &question, deadline, now)
            .await;
        assert_eq!(asked.unwrap(), WriteOutcome::Committed);
        id.to_string()
    }

    async fn decide(
        &self,
        token: &str,
        approval: &str,
        word: &str,
        comment: Option<&str>,
    ) -> Answer {
        let path = format!("/approvals/{approval}/{word}");
        let body = comment.map(|comment| json!({ "comment": comment }));
        self.request_as(token, "POST", &path, body.as_ref(), &[])
            .await
    }
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

pub(crate) async fn pending_approvals_are_listed_and_decided_by_members(world: &World) {
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let run = world.begin_turn(automation).await;
    let [first, second, third] = [
        world.request_approval(run, "ls").await,
        world.request_approval(run, "rm -rf x").await,
        world.request_approval(run, "mv a b").await,
    ];
    let page = world.get("/approvals?limit=2").await.expect(200);
    assert_eq!(ids(&page), [&third, &second]);
    let next = page["next"].as_str().unwrap();
    let page = world.get(&format!("/approvals?limit=2&after={next}")).await;
    assert_eq!(ids(&page.expect(200)), [&first]);
    let shown = world.get(&format!("/approvals/{second}")).await.expect(200);
    assert_eq!(shown["state"], "pending");
    assert_eq!(shown["title"], "rm -rf x");
    assert_eq!(shown["input"], json!({ "command": "rm -rf x" }));
    assert_eq!(shown["run_id"], json!(run));
    assert_eq!(shown["automation_id"], json!(automation));
    // The run names the approval that blocks it.
    let waits = world.get(&format!("/runs/{run}")).await.expect(200);
    assert_eq!(
        waits["blocked_on"],
        json!({ "for": "approval", "approval": third, "title": "mv a b" })
    );

    // A viewer cannot decide.
    let viewer = world.token(Role::Viewer, None).await;
    let list = world
        .request_as(&viewer, "GET", "/approvals", None, &[])
        .await;
    assert_eq!(ids(&list.expect(200)).len(), 3);
    let refused = world.decide(&viewer, &second, "allow", None).await;
    assert!(refused.problem(403).contains("approvals:write"));
    // A token may be good for this alone.
    let decider = world
        .token(Role::Member, Some(&[Permission::ApprovalsWrite]))
        .await;
    let allowed = world
        .decide(&decider, &second, "allow", Some(" fine "))
        .await;
    let allowed = allowed.expect(200);
    assert_eq!(allowed["state"], "allowed");
    assert_eq!(allowed["decided_by"], "one more");
    assert_eq!(allowed["comment"], "fine");
    let tokens = world.get("/tokens").await.expect(200);
    let tokens = tokens["items"].as_array().unwrap();
    let by = tokens
        .iter()
        .find(|it| it["id"] == allowed["decided_by_token"]);
    assert_eq!(by.unwrap()["scopes"], json!(["approvals:write"]));
    let denied = world.decide(&world.admin, &first, "deny", None).await;
    assert_eq!(denied.expect(200)["state"], "denied");

    for (filter, expected) in [
        ("", vec![&third]),
        ("?state=any", vec![&third, &second, &first]),
        ("?state=allowed", vec![&second]),
        ("?state=denied&automation=daily", vec![&first]),
        (&format!("?run={run}"), vec![&third]),
        (
            &format!("?session={}", shown["session_id"].as_str().unwrap()),
            vec![&third],
        ),
    ] {
        let page = world.get(&format!("/approvals{filter}")).await.expect(200);
        assert_eq!(ids(&page), expected, "{filter}");
    }
    let refused = world.get("/approvals?state=maybe").await.problem(400);
    assert!(refused.contains("expired, void, any"), "{refused}");
}

pub(crate) async fn input_of_approval_is_whole_up_to_its_limit(world: &World) {
    let automation = world.automation("daily").await;
    let run = world.begin_turn(automation["id"].as_str().unwrap()).await;
    let long = json!({ "command": "ä".repeat(20_000) });
    let id = world.request_approval_of(run, "long", long.clone()).await;
    let shown = world.get(&format!("/approvals/{id}")).await.expect(200);
    assert_eq!(shown["input_cut"], true);
    let input = world.get(&format!("/approvals/{id}/input")).await;
    let bytes = long.to_string().len();
    assert_eq!(
        input.expect(200),
        json!({ "approval_id": id, "input": long, "cut": false, "bytes": bytes })
    );
    let endless = json!({ "command": "x".repeat(2 << 20) });
    let id = world.request_approval_of(run, "endless", endless).await;
    let input = world
        .get(&format!("/approvals/{id}/input"))
        .await
        .expect(200);
    assert_eq!(
        (&input["cut"], &input["bytes"]),
        (&json!(true), &json!((2 << 20) + 14))
    );
    assert_eq!(input["input"].as_str().unwrap().len(), 1 << 20);

    let viewer = world.token(Role::Viewer, None).await;
    let path = format!("/approvals/{id}/input");
    let seen = world.request_as(&viewer, "GET", &path, None, &[]).await;
    seen.expect(200);
    let blind = world
        .token(Role::Viewer, Some(&[Permission::SessionsRead]))
        .await;
    let refused = world.request_as(&blind, "GET", &path, None, &[]).await;
    assert!(refused.problem(403).contains("approvals:read"));
    let absent = format!("/approvals/apr_{}/input", "0197".repeat(8));
    world.get(&absent).await.problem(404);
}

pub(crate) async fn decision_on_ended_approval_is_refused_with_its_state(world: &World) {
    let automation = world.automation("daily").await;
    let automation = automation["id"].as_str().unwrap();
    let run = world.begin_turn(automation).await;
    let [decided, void, late] = [
        world.request_approval(run, "ls").await,
        world.request_approval(run, "rm").await,
        world.request_approval(run, "mv").await,
    ];
    world
        .decide(&world.admin, &decided, "allow", None)
        .await
        .expect(200);
    for word in ["allow", "deny"] {
        let refused = world.decide(&world.admin, &decided, word, None).await;
        let detail = refused.problem(409);
        assert!(detail.contains("` is allowed, so"), "{detail}");
    }
    let long = "x".repeat(5000);
    let refused = world
        .decide(&world.admin, &late, "allow", Some(&long))
        .await;
    assert!(refused.problem(422).contains("comment"));
    world.clock.advance(Duration::from_mins(10));
    let refused = world.decide(&world.admin, &late, "allow", None).await;
    assert!(refused.problem(409).contains("` has expired, so"));
    world
        .post(&format!("/runs/{run}/cancel"), json!({}))
        .await
        .expect(200);
    let refused = world.decide(&world.admin, &void, "deny", None).await;
    assert!(refused.problem(409).contains("` is void, so"));
    let absent = format!("/approvals/apr_{}", "0197".repeat(8));
    world.get(&absent).await.problem(404);
}

pub(crate) async fn repeated_decision_returns_same_response(world: &World) {
    let automation = world.automation("daily").await;
    let run = world.begin_turn(automation["id"].as_str().unwrap()).await;
    let id = world.request_approval(run, "ls").await;
    let send = async |key: &str, word: &str| {
        let path = format!("/approvals/{id}/{word}");
        let headers = [("idempotency-key", key)];
        world
            .request_as(&world.admin, "POST", &path, None, &headers)
            .await
    };
    let first = send("k", "allow").await.expect(200);
    let again = send("k", "allow").await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.json(), first);
    // The server stopped before it recorded the response, and the repeated request returns the same decision.
    assert_eq!(send("other", "allow").await.expect(200), first);
    // A different decision, or the decision of another person, is refused.
    send("third", "deny").await.problem(409);
    let member = world.token(Role::Member, None).await;
    let headers = [("idempotency-key", "theirs")];
    let path = format!("/approvals/{id}/allow");
    let theirs = world
        .request_as(&member, "POST", &path, None, &headers)
        .await;
    theirs.problem(409);
}
