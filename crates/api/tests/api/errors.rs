//! Invalid requests and their problems.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

use crate::world::World;

/// A request, its body, the status of the response, the field of the problem, and a part of its detail.
type Refusal = (String, Option<Value>, u16, &'static str, &'static str);

fn automation_refusals(there: &Value) -> Vec<Refusal> {
    let cron = |expression: &str| json!({ "kind": "cron", "expression": expression });
    let mut table = Vec::new();
    for (more, field, value) in [
        (
            json!({ "triggers": [cron("0 9 * * *"), cron("0 25 * * *")] }),
            "triggers[1].expression",
            "25",
        ),
        (
            json!({ "triggers": [cron("0 0 30 2 *")] }),
            "triggers[0].expression",
            "0 0 30 2 *",
        ),
        (
            json!({ "triggers": [{ "kind": "every", "period": "10 minutes" }] }),
            "triggers[0].period",
            "10 minutes",
        ),
        (
            json!({ "triggers": [{ "kind": "at", "at": "2020-01-01T00:00:00Z" }] }),
            "triggers[0].at",
            "2020-01-01",
        ),
        (
            json!({ "triggers": [cron("@daily")], "zone": "Mars" }),
            "zone",
            "Mars",
        ),
        (
            json!({ "triggers": [{ "kind": "cron", "expression": "@daily", "zone": "Mars" }] }),
            "triggers[0].zone",
            "Mars",
        ),
        (
            json!({ "triggers": [{ "kind": "webhook" }], "zone": "Europe/Prague" }),
            "zone",
            "no trigger has a time zone",
        ),
        (
            json!({ "policies": { "timeout_seconds": 0 } }),
            "policies.timeout_seconds",
            "at least 1",
        ),
        (
            json!({ "policies": { "budget": { "day": { "tokens": 0 } } } }),
            "policies.budget.day.tokens",
            "expected 1 to",
        ),
        (
            json!({ "policies": { "overlap": "allow" }, "session": "continuous" }),
            "policies.overlap",
            "allow",
        ),
        (json!({ "cwd": "here" }), "cwd", "here"),
    ] {
        let mut body = json!({ "prompt": "Look.", "agent": "good" });
        let fields = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        table.push(("POST /automations".into(), Some(body), 422, field, value));
    }
    let preview = json!({ "triggers": [cron("0 25 * * *")] });
    let triggers = format!(
        "POST /automations/{}/triggers",
        there["id"].as_str().unwrap()
    );
    table.extend([
        (
            "POST /automations".into(),
            Some(json!({ "prompt": "x" })),
            422,
            "agent",
            "accepted are",
        ),
        (
            "POST /automations/preview".into(),
            Some(preview),
            422,
            "triggers[0].expression",
            "25",
        ),
        // Here the trigger is the whole body.
        (triggers, Some(cron("0 25 * * *")), 422, "expression", "25"),
    ]);
    table
}

fn of_agents_and_budgets() -> Vec<Refusal> {
    let mut table: Vec<Refusal> = Vec::new();
    for (more, field, value) in [
        (
            json!({ "limits": { "memory_bytes": 1 } }),
            "limits.memory_bytes",
            "`1`",
        ),
        (
            json!({ "limits": { "cpu_seconds": 0 } }),
            "limits.cpu_seconds",
            "`0`",
        ),
        (json!({ "start_seconds": 0 }), "start_seconds", "`0`"),
        (json!({ "pass_env": ["A", "B=C"] }), "pass_env[1]", "B=C"),
        (json!({ "env": { "A=B": "x" } }), "env", "A=B"),
        (json!({ "command": [] }), "command", "program"),
    ] {
        let mut body = json!({ "command": ["good-agent"] });
        let fields = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        table.push(("PUT /agents/mine".into(), Some(body), 422, field, value));
    }
    let budget = Some(json!({ "day": { "tokens": 0 } }));
    let request = "PUT /tenants/default/budget".to_owned();
    table.push((request, budget, 422, "day.tokens", "expected 1 to"));
    let session = Some(json!({ "agent": "good", "cwd": "here" }));
    table.push(("POST /sessions".into(), session, 422, "cwd", "absolute"));
    table
}

fn query_refusals(session: &str, run: &str) -> Vec<Refusal> {
    let messages = format!("/sessions/{session}/messages");
    let both = "not both";
    let asked = |path: &str, status, field, value| {
        let request = format!("GET {path}");
        (request, None, status, field, value)
    };
    vec![
        asked(
            "/sessions?limit=x",
            400,
            "limit",
            "`x`: accepted is a whole",
        ),
        asked(
            "/sessions?limit=-1",
            400,
            "limit",
            "`-1`: accepted is a whole",
        ),
        asked("/sessions?limit=501", 400, "limit", "1 to 500"),
        asked(
            "/sessions?limit=99999999999",
            400,
            "limit",
            "a smaller number",
        ),
        asked(
            "/sessions?page=2",
            400,
            "page",
            "unknown field `page`; expected",
        ),
        asked("/sessions?after=x", 422, "after", "`x`: accepted is"),
        asked("/sessions?kind=x", 400, "kind", "`x`: "),
        asked("/tenants?limit=0", 400, "limit", "1 to 500"),
        asked(
            &format!("{messages}?after=x"),
            400,
            "after",
            "`x`: accepted is",
        ),
        asked(&format!("{messages}?after=-1"), 400, "after", "0 and more"),
        asked(
            &format!("{messages}?before=-1"),
            400,
            "before",
            "`before` -1: accepted are 0 and more",
        ),
        asked(
            &format!("{messages}?before=x"),
            400,
            "before",
            "`x`: accepted is",
        ),
        asked(&format!("{messages}?from_run=x"), 400, "from_run", "`x`: "),
        asked(
            &format!("/sessions/{session}/replay?after=-1"),
            400,
            "after",
            "0 and more",
        ),
        // Each order has cursors of its own.
        asked(
            &format!("/sessions?order=changed&after={session}"),
            422,
            "after",
            "`next` of the previous page",
        ),
        // An excluded parameter is refused and never ignored.
        asked(&format!("{messages}?last=1&after=2"), 422, "last", both),
        asked(&format!("{messages}?last=1&before=2"), 422, "last", both),
        asked(&format!("{messages}?before=2&after=1"), 422, "before", both),
        asked(
            &format!("{messages}?before=1&from_run={run}"),
            422,
            "before",
            both,
        ),
        asked(
            &format!("{messages}?last=1&from_run={run}"),
            422,
            "last",
            both,
        ),
        asked(
            &format!("{messages}?after=1&from_run={run}"),
            422,
            "after",
            both,
        ),
        (
            "DELETE /automations/daily?with_sessions=yes".to_owned(),
            None,
            400,
            "with_sessions",
            "`yes`: accepted are true and false",
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table, one row for each fault")]
pub(crate) async fn invalid_request_error_names_field_and_value(world: &World) {
    let session = world.session().await;
    let say = format!("/sessions/{session}/messages");
    for (path, body, status, named) in [
        ("/sessions", json!({}), 422, "agent"),
        ("/sessions", json!({ "agent": 7 }), 400, "agent"),
        (
            "/sessions",
            json!({ "agent": "goood" }),
            404,
            "did you mean",
        ),
        (
            "/sessions",
            json!({ "agent": "good", "cwd": "here" }),
            422,
            "here",
        ),
        (
            "/sessions",
            json!({ "agent": "good", "titel": "x" }),
            400,
            "titel",
        ),
        (
            "/sessions",
            json!({ "agent": "good", "title": "a\u{0}b" }),
            400,
            "title",
        ),
        (say.as_str(), json!({ "text": "  " }), 422, "text"),
        ("/automations", json!({ "prompt": "x" }), 422, "agent"),
        (
            "/automations",
            json!({ "prompt": "x", "agent": "good", "session": "new" }),
            400,
            "session",
        ),
        (
            "/automations",
            json!({ "prompt": "x", "agent": "good", "triggers": [{ "kind": "rrule" }] }),
            400,
            "triggers",
        ),
        (
            "/automations",
            json!({ "prompt": "x", "agent": "good", "session": "bound:none" }),
            404,
            "none",
        ),
        (
            "/tokens",
            json!({ "name": "x", "role": "owner" }),
            400,
            "role",
        ),
        (
            "/endpoints",
            json!({ "name": "x", "url": "http://127.0.0.1/", "events": ["run.failed"] }),
            422,
            "url",
        ),
        (
            "/endpoints",
            json!({ "name": "x", "url": "https://example.com/", "events": ["run.gone"] }),
            400,
            "events",
        ),
    ] {
        let answer = world.post(path, body.clone()).await;
        let told = answer.problem(status);
        assert!(!told.contains("failed to "), "{told}");
        assert!(
            answer.text.contains(named),
            "{path} {body}: {}",
            answer.text
        );
    }
    let automation = world.automation("daily").await;
    let run = format!("run_{}", "0197".repeat(8));
    for (request, body, status, field, value) in [
        automation_refusals(&automation),
        of_agents_and_budgets(),
        query_refusals(&session, &run),
    ]
    .concat()
    {
        let (method, path) = request.split_once(' ').unwrap();
        let answer = world.request_as(&world.admin, method, path, body.as_ref(), &[]);
        let answer = answer.await;
        let told = answer.problem(status);
        assert_eq!(answer.json()["field"], field, "{request}: {told}");
        assert!(told.contains(value), "{request}, {value}: {told}");
    }
    let list = world.get("/sessions").await.expect(200);
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        1,
        "nothing was made"
    );
}

pub(crate) async fn unknown_route_and_method_return_problem(world: &World) {
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/sessions/none", 404),
        ("GET", "/runs/%00", 404),
        ("POST", "/runs", 405),
        ("DELETE", "/whoami", 405),
        ("GET", "/sessions?text=%00", 400),
    ] {
        let answer = world
            .request_as(&world.admin, method, path, None, &[])
            .await;
        answer.problem(status);
    }
}

pub(crate) async fn oversized_or_invalid_body_is_refused(world: &World) {
    let session = world.session().await;
    let send = async |kind: Option<&str>, body: Vec<u8>| {
        let mut request = Request::builder()
            .method("POST")
            .uri(format!("/api/v1/sessions/{session}/messages"))
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", world.admin));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        world.send(request.body(Body::from(body)).unwrap()).await
    };
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(5 << 20));
    let refused = send(Some("application/json"), long.into_bytes()).await;
    assert!(refused.problem(413).contains("4194304"));
    let refused = send(Some("application/json"), b"{".to_vec()).await;
    refused.problem(400);
    let refused = send(Some("application/json"), vec![b'"', 0xff, b'"']).await;
    refused.problem(400);
    send(None, b"{}".to_vec()).await.problem(415);
    send(Some("text/plain"), b"{}".to_vec()).await.problem(415);
    let taken = send(
        Some("application/json; charset=utf-8"),
        br#"{"text":"Hi"}"#.to_vec(),
    );
    taken.await.expect(202);
}
