//! Filters of lists.

use serde_json::{Value, json};

use crate::world::World;

/// Sends a message to a new session, takes its turn, and returns the ID of its run.
async fn answered_message(world: &World, text: &str) -> String {
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let sent = world.post(&path, json!({ "text": text })).await;
    sent.expect(202);
    world.take_turns(&session).await;
    sent.json()["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn run_list_filters_by_statuses_reason_and_time(world: &World) {
    let long = "Say it ".repeat(100);
    let run = answered_message(world, &long).await;
    let list = async |query: &str| {
        let page = world.get(&format!("/runs?{query}")).await;
        page.expect(200);
        page.json()["items"].as_array().unwrap().clone()
    };
    let all = list("").await;
    let [item] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(item["id"], run.as_str());
    let excerpt = item["content"].as_str().unwrap();
    assert_eq!(excerpt.chars().count(), 300);
    assert!(long.starts_with(excerpt));
    assert!(item["agent_name"].is_string(), "{item}");
    assert_eq!(item["automation_name"], Value::Null);
    let status = item["status"].as_str().unwrap();
    assert_eq!(list(&format!("status=queued,{status}")).await.len(), 1);
    assert_eq!(list("status=queued,missed").await.len(), 0);
    assert_eq!(list("reason=sign_in").await.len(), 0);
    assert_eq!(list("from=2199-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(list("to=2001-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(list("all_attempts=true").await.len(), 1);

    for (query, field, value) in [
        ("status=failed,gone", "status", "gone"),
        ("from=yesterday", "from", "yesterday"),
        ("all_attempts=maybe", "all_attempts", "maybe"),
    ] {
        let refused = world.get(&format!("/runs?{query}")).await;
        let detail = refused.problem(400);
        assert!(detail.contains(value), "{detail}");
        assert_eq!(refused.json()["field"], field, "{detail}");
    }
}

/// Sends a message to a new session and cancels its run, which can then be retried.
async fn cancelled_run(world: &World) -> String {
    let session = world.session().await;
    let path = format!("/sessions/{session}/messages");
    let sent = world.post(&path, json!({ "text": "Hello" })).await;
    let run = sent.expect(202)["id"].as_str().unwrap().to_owned();
    let cancelled = world.post(&format!("/runs/{run}/cancel"), json!({})).await;
    cancelled.expect(200);
    run
}

pub(crate) async fn many_runs_are_changed_only_with_their_number(world: &World) {
    let answered = answered_message(world, "Hello").await;
    let runs = [cancelled_run(world).await, cancelled_run(world).await];
    let counts = async |query: &str| world.get(&format!("/runs/count{query}")).await.expect(200);
    let number = |count: u32| json!({ "count": count, "more": false });
    assert_eq!(
        counts("").await,
        json!({ "matching": number(3), "retryable": number(2), "cancellable": number(0) })
    );
    let of_status = counts("?status=succeeded,queued&from=2001-01-01T00:00:00Z").await;
    assert_eq!(of_status["matching"], number(1));
    assert_eq!(of_status["retryable"], number(0));

    // 1. Another number changes nothing, and the response has the right one.
    let filter = json!({ "status": ["cancelled", "succeeded"], "from": "2001-01-01T00:00:00Z" });
    let request = |expected: u32| json!({ "filter": filter, "expected": expected });
    let refused = world.post("/runs/retry", request(3)).await;
    let detail = refused.problem(409);
    assert!(detail.contains("expected 3 runs, but 2"), "{detail}");
    assert_eq!(refused.json()["runs"], number(2));
    assert_eq!(counts("").await["retryable"], number(2));

    // 2. A repeated request gets the first response.
    let post = async |path: &str, body: Value| {
        let key = [("idempotency-key", path)];
        let sent = world.request_as(&world.admin, "POST", path, Some(&body), &key);
        sent.await.expect(200)
    };
    let retried = post("/runs/retry", request(2)).await;
    assert_eq!(post("/runs/retry", request(2)).await, retried);
    assert_eq!(retried["refused"], json!([]));
    let mut attempts = Vec::new();
    for (run, retried) in runs.iter().zip(retried["retried"].as_array().unwrap()) {
        assert_eq!(retried["run_id"], run.as_str());
        let attempt = retried["attempt_id"].as_str().unwrap();
        let shown = world.get(&format!("/runs/{attempt}")).await.expect(200);
        assert_eq!(
            (&shown["attempt"], &shown["status"]),
            (&json!(2), &retried["status"])
        );
        attempts.push(attempt.to_owned());
    }
    let open = json!({ "filter": { "session": null }, "expected": 2 });
    let cancelled = post("/runs/cancel", open).await;
    let cancelled = cancelled["cancelled"].as_array().unwrap();
    assert_eq!(cancelled.len(), 2);
    for run in cancelled {
        assert_eq!(run["status"], "cancelled");
        assert!(
            attempts
                .iter()
                .any(|attempt| run["run_id"] == attempt.as_str())
        );
    }
    let run = world.get(&format!("/runs/{answered}")).await.expect(200);
    assert_eq!(run["attempts"].as_array().unwrap().len(), 1);

    // 3. The error of an invalid request names the field.
    for (body, status, field) in [
        (json!({ "filter": {}, "expected": 0 }), 422, "expected"),
        (json!({ "filter": {}, "expected": 501 }), 422, "expected"),
        (
            json!({ "filter": { "status": ["gone"] }, "expected": 1 }),
            400,
            "filter.status[0]",
        ),
        (
            json!({ "filter": { "all": true }, "expected": 1 }),
            400,
            "filter.all",
        ),
    ] {
        let refused = world.post("/runs/retry", body.clone()).await;
        refused.problem(status);
        assert_eq!(refused.json()["field"], field, "{body}");
    }
    let unknown = json!({ "filter": { "automation": "nobody" }, "expected": 1 });
    world.post("/runs/cancel", unknown).await.problem(404);
    world.get("/runs/count?limit=3").await.problem(400);
}

pub(crate) async fn automations_are_sorted_by_name_with_counts(world: &World) {
    for name in ["beta", "Alpha", "gamma"] {
        world.automation(name).await;
    }
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/automations?sort=name&limit=2{after}");
        let page = world.get(&path).await.expect(200);
        let number = json!({ "count": 3, "more": false });
        assert_eq!(page["counts"]["all"], number);
        assert_eq!(page["counts"]["enabled"], number);
        assert_eq!(page["counts"]["attention"]["count"], 0);
        for item in page["items"].as_array().unwrap() {
            names.push(item["name"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(names, ["Alpha", "beta", "gamma"]);
    let newest = world.get("/automations").await.expect(200);
    assert_eq!(
        (&newest["items"][0]["name"], &newest["counts"]),
        (&json!("gamma"), &Value::Null)
    );
    let attention = world.get("/automations?attention=true").await.expect(200);
    assert_eq!(attention["items"], json!([]));

    for (query, field, status) in [
        ("sort=age", "sort", 400),
        ("sort=name&after=x", "after", 422),
        ("sort=next&after=a:0:aut_1:alpha", "after", 422),
        ("sort=name&state=deleted", "state", 422),
    ] {
        let refused = world.get(&format!("/automations?{query}")).await;
        refused.problem(status);
        assert_eq!(refused.json()["field"], field, "{query}");
    }
}
